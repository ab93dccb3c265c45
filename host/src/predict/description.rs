//! What is known of a device: a TOML file each, with the source of every figure.

use std::path::Path;

use serde::Deserialize;
use simt::critical_path::Latencies;

use super::PredictError;
use crate::names::nearest;

/// The descriptions that come with the program: what `--on` calls them, and their files.
const KNOWN: [(&str, &str); 6] = [
    ("h100", include_str!("../../devices/h100.toml")),
    ("a100", include_str!("../../devices/a100.toml")),
    ("l4", include_str!("../../devices/l4.toml")),
    ("rtx4090", include_str!("../../devices/rtx4090.toml")),
    ("rtx3080", include_str!("../../devices/rtx3080.toml")),
    ("t4", include_str!("../../devices/t4.toml")),
];

/// A device, as far as a prediction needs it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its maker's name for it.
    pub name: String,
    /// What `ptxas` calls its architecture: `sm_90`.
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
    /// Cycles until results are there.
    pub latency: Latency,
}

/// A device's memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What it can move in a second at its peak, in 10^9 bytes.
    pub gb_per_s: f64,
}

/// A device's L2 cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Its bytes.
    pub bytes: u64,
    /// What it can deliver in a second, in 10^9 bytes.
    pub gb_per_s: f64,
    /// Passes of atomics through sectors of a few lines, a clock of the multiprocessors.
    pub atomics_per_clock: f64,
    /// The parts of it that make those passes at once: a sector lies in one.
    pub partitions: u32,
}

/// What a multiprocessor does in a clock.
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

/// Cycles until results are there, as [`Latencies`] has them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are those of simt::critical_path::Latencies")]
pub struct Latency {
    pub alu: u32,
    pub special: u32,
    pub shuffle: u32,
    pub shared: u32,
    pub l1: u32,
    pub l2: u32,
    pub memory: u32,
    pub barrier: u32,
    pub atomic: u32,
}

impl Description {
    /// The names of the devices that come with the program.
    pub fn known() -> Vec<&'static str> {
        KNOWN.iter().map(|(name, _)| *name).collect()
    }

    /// The device of this name, or the one that a file describes.
    ///
    /// # Errors
    /// [`PredictError::UnknownDevice`] for a name that is neither known nor a file's, [`PredictError::Description`] for a
    /// file that does not describe a device: which figure, and where.
    pub fn open(name: &str) -> Result<Self, PredictError> {
        if let Some((name, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Self::parse(&format!("host/devices/{name}.toml"), text);
        }
        let is_path = name.contains(['/', '\\']) || name.ends_with(".toml");
        if !is_path && !Path::new(name).exists() {
            let known = Self::known();
            return Err(PredictError::UnknownDevice {
                name: name.to_owned(),
                nearest: nearest(name, &known),
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
    /// [`PredictError::Description`] where a figure is missing, unknown, none at all or impossible.
    pub fn parse(path: &str, text: &str) -> Result<Self, PredictError> {
        let wrong = |line, problem| PredictError::Description {
            path: path.to_owned(),
            line,
            problem,
        };
        let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let own: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(span.start));
            wrong(line, error.message().replace('\n', " "))
        })?;
        if let Some((figure, value, bounds)) = own.impossible() {
            let key = figure.rsplit('.').next().unwrap_or(figure);
            let section = figure.split_once('.').map_or("", |(section, _)| section);
            let line = line_with(text, section, key);
            return Err(wrong(
                line,
                format!(
                    "{figure} = {value} is impossible: it is between {} and {}",
                    bounds.0, bounds.1
                ),
            ));
        }
        if crate::occupancy::Limits::named(&own.arch).is_err() {
            let known: Vec<String> = crate::occupancy::Limits::all()
                .iter()
                .map(crate::occupancy::Limits::arch)
                .collect();
            let known = known.join(", ");
            return Err(wrong(
                line_with(text, "", "arch"),
                format!(
                    "arch = \"{}\" is no architecture; there are {known}",
                    own.arch
                ),
            ));
        }
        Ok(own)
    }

    /// The first figure that no device can have, with what it may be.
    fn impossible(&self) -> Option<(&'static str, f64, (f64, f64))> {
        let Self {
            memory,
            l2,
            multiprocessor: one,
            latency,
            ..
        } = self;
        let lanes = (1.0, 1024.0);
        let cycles = (1.0, 100_000.0);
        let figures = [
            (
                "multiprocessors",
                f64::from(self.multiprocessors),
                (1.0, 4096.0),
            ),
            ("clock_mhz", self.clock_mhz, (100.0, 10_000.0)),
            ("launch_us", self.launch_us, (0.1, 1000.0)),
            ("memory.gb_per_s", memory.gb_per_s, (1.0, 1e6)),
            ("l2.bytes", l2.bytes as f64, (65_536.0, 1e11)),
            ("l2.gb_per_s", l2.gb_per_s, (1.0, 1e6)),
            ("l2.atomics_per_clock", l2.atomics_per_clock, (0.01, 1e4)),
            ("l2.partitions", f64::from(l2.partitions), (1.0, 1024.0)),
            (
                "multiprocessor.l1_bytes",
                one.l1_bytes as f64,
                (16_384.0, 1e8),
            ),
            ("multiprocessor.fp32", one.fp32, lanes),
            ("multiprocessor.int32", one.int32, lanes),
            ("multiprocessor.fp64", one.fp64, lanes),
            ("multiprocessor.special", one.special, lanes),
            ("multiprocessor.words", one.words, lanes),
            ("latency.alu", f64::from(latency.alu), cycles),
            ("latency.special", f64::from(latency.special), cycles),
            ("latency.shuffle", f64::from(latency.shuffle), cycles),
            ("latency.shared", f64::from(latency.shared), cycles),
            ("latency.l1", f64::from(latency.l1), cycles),
            ("latency.l2", f64::from(latency.l2), cycles),
            ("latency.memory", f64::from(latency.memory), cycles),
            ("latency.barrier", f64::from(latency.barrier), cycles),
            ("latency.atomic", f64::from(latency.atomic), cycles),
        ];
        // Not a number is not in any range either.
        figures
            .into_iter()
            .find(|(_, value, (least, most))| !(least..=most).contains(&value))
    }

    /// Its latencies, as an observer of the SIMT machine takes them.
    pub fn latencies(&self) -> Latencies {
        let Latency {
            alu,
            special,
            shuffle,
            shared,
            l1,
            l2,
            memory,
            barrier,
            atomic,
        } = self.latency;
        Latencies {
            alu,
            special,
            shuffle,
            shared,
            atomic,
            l1,
            l2,
            memory,
            barrier,
        }
    }
}

/// The line that gives `key` in a section, `""` for the one at the top.
fn line_with(text: &str, section: &str, key: &str) -> Option<usize> {
    let mut at = "";
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            at = name.trim_end_matches(']').trim();
        } else if at == section
            && line
                .split('=')
                .next()
                .is_some_and(|name| name.trim() == key)
        {
            return Some(index + 1);
        }
    }
    None
}
