//! Descriptions of devices: one TOML file each, with the source of every figure.

use std::path::Path;

use serde::Deserialize;
use simt::critical_path::Latencies;

use super::PredictError;
use crate::occupancy::Limits;

/// The descriptions that come with the program: the names that `--on` takes, and the files.
const KNOWN: [(&str, &str); 6] = [
    ("h100", include_str!("../../devices/h100.toml")),
    ("a100", include_str!("../../devices/a100.toml")),
    ("l4", include_str!("../../devices/l4.toml")),
    ("rtx4090", include_str!("../../devices/rtx4090.toml")),
    ("rtx3080", include_str!("../../devices/rtx3080.toml")),
    ("t4", include_str!("../../devices/t4.toml")),
];

/// The figures of a device that a prediction needs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name that its maker gave it.
    pub name: String,
    /// The name of its architecture for `ptxas`: `sm_90`.
    pub arch: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Their clock in MHz.
    pub clock_mhz: f64,
    /// How long an empty kernel takes, in microseconds.
    pub launch_us: f64,
    /// Its memory.
    pub memory: Memory,
    /// Its L2 cache.
    pub l2: L2,
    /// One of its multiprocessors.
    pub multiprocessor: Multiprocessor,
    /// The latencies of operations in cycles.
    #[serde(with = "LatenciesInFile")]
    pub latency: Latencies,
}

/// A device's memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The peak bandwidth in 10^9 bytes per second.
    pub gb_per_s: f64,
}

/// A device's L2 cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// The size in bytes.
    pub bytes: u64,
    /// The bandwidth in 10^9 bytes per second.
    pub gb_per_s: f64,
    /// Passes of atomics through sectors of a few lines, per clock of the multiprocessors.
    pub atomics_per_clock: f64,
    /// The partitions that make these passes in parallel. Each sector belongs to one of them.
    pub partitions: u32,
}

/// The throughput of a multiprocessor per clock.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiprocessor {
    /// Bytes of L1 and shared memory together.
    pub l1_bytes: u64,
    /// Threads' additions and products of single precision.
    pub fp32: f64,
    /// Threads' additions of 32-bit integers.
    pub int32: f64,
    /// Threads' additions and products of double precision.
    pub fp64: f64,
    /// Threads' conversions, square roots and the like.
    pub special: f64,
    /// Threads' words from shared memory and the L1.
    pub words: f64,
}

/// The fields of [`Latencies`], for a file to have exactly these.
#[derive(Deserialize)]
#[serde(remote = "Latencies", deny_unknown_fields)]
struct LatenciesInFile {
    alu: u32,
    special: u32,
    shuffle: u32,
    shared: u32,
    atomic: u32,
    l1: u32,
    l2: u32,
    memory: u32,
    barrier: u32,
}

/// The figures of a file, with the least and the largest value of each.
const BOUNDS: [(&str, f64, f64); 23] = [
    ("multiprocessors", 1.0, 4096.0),
    ("clock_mhz", 100.0, 10_000.0),
    ("launch_us", 0.1, 1000.0),
    ("memory.gb_per_s", 1.0, 1e6),
    ("l2.bytes", 65_536.0, 1e11),
    ("l2.gb_per_s", 1.0, 1e6),
    ("l2.atomics_per_clock", 0.01, 1e4),
    ("l2.partitions", 1.0, 1024.0),
    ("multiprocessor.l1_bytes", 16_384.0, 1e8),
    ("multiprocessor.fp32", 1.0, 1024.0),
    ("multiprocessor.int32", 1.0, 1024.0),
    ("multiprocessor.fp64", 1.0, 1024.0),
    ("multiprocessor.special", 1.0, 1024.0),
    ("multiprocessor.words", 1.0, 1024.0),
    ("latency.alu", 1.0, 100_000.0),
    ("latency.special", 1.0, 100_000.0),
    ("latency.shuffle", 1.0, 100_000.0),
    ("latency.shared", 1.0, 100_000.0),
    ("latency.l1", 1.0, 100_000.0),
    ("latency.l2", 1.0, 100_000.0),
    ("latency.memory", 1.0, 100_000.0),
    ("latency.barrier", 1.0, 100_000.0),
    ("latency.atomic", 1.0, 100_000.0),
];

impl Description {
    /// The names of the devices that come with the program.
    pub fn known() -> Vec<&'static str> {
        KNOWN.iter().map(|(name, _)| *name).collect()
    }

    /// The device of this name, or the one that a file describes.
    ///
    /// # Errors
    /// [`PredictError::UnknownDevice`] when the name is neither a known device's nor a file's, [`PredictError::File`] when
    /// the file cannot be read, [`PredictError::Description`] when it does not describe a device.
    pub fn open(name: &str) -> Result<Self, PredictError> {
        if let Some((name, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Self::parse(&format!("crates/analysis/devices/{name}.toml"), text);
        }
        let is_path = name.contains(['/', '\\']) || name.ends_with(".toml");
        if !is_path && !Path::new(name).exists() {
            let known = Self::known();
            return Err(PredictError::UnknownDevice {
                name: name.to_owned(),
                known,
            });
        }
        let text = std::fs::read_to_string(name).map_err(|error| PredictError::File {
            path: name.to_owned(),
            reason: error.to_string(),
        })?;
        Self::parse(name, &text)
    }

    /// Reads a description. `path` is for messages.
    ///
    /// # Errors
    /// [`PredictError::Description`] when a figure is missing, unknown, not a number or impossible.
    pub fn parse(path: &str, text: &str) -> Result<Self, PredictError> {
        let wrong = |line, problem| PredictError::Description {
            path: path.to_owned(),
            line,
            problem,
        };
        let unread = |error: toml::de::Error| {
            let start = error.span().map(|span| span.start.min(text.len()));
            let line = start.map(|start| text[..start].matches('\n').count() + 1);
            wrong(line, error.message().replace('\n', " "))
        };
        let own: Self = toml::from_str(text).map_err(unread)?;
        let figures: toml::Table = toml::from_str(text).map_err(unread)?;
        for (figure, least, most) in BOUNDS {
            let (section, key) = figure.split_once('.').unwrap_or(("", figure));
            let table = match section {
                "" => Some(&figures),
                section => figures.get(section).and_then(toml::Value::as_table),
            };
            let value = table.and_then(|table| table.get(key));
            let value = value.and_then(|value| {
                value
                    .as_float()
                    .or(value.as_integer().map(|all| all as f64))
            });
            // Not a number is not in any range either.
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                let problem =
                    format!("{figure} = {value} is impossible: it is between {least} and {most}");
                return Err(wrong(line_with(text, section, key), problem));
            }
        }
        if Limits::named(&own.arch).is_err() {
            let known: Vec<String> = Limits::all().iter().map(Limits::arch).collect();
            let problem = format!(
                "arch = \"{}\" is no architecture; there are {}",
                own.arch,
                known.join(", ")
            );
            return Err(wrong(line_with(text, "", "arch"), problem));
        }
        Ok(own)
    }
}

/// The line that gives `key` in a section, `""` for the one at the top.
fn line_with(text: &str, section: &str, key: &str) -> Option<usize> {
    let mut at = "";
    for (line, index) in text.lines().map(str::trim).zip(1..) {
        if let Some(name) = line.strip_prefix('[') {
            at = name.trim_end_matches(']').trim();
        } else if at == section && line.split('=').next().map(str::trim) == Some(key) {
            return Some(index);
        }
    }
    None
}
