//! Descriptions of devices: one TOML file each, with the source of every figure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use simt::critical_path::Latencies;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Error;
use crate::counters::embedded;
use crate::occupancy::Limits;
use engine::names::did_you_mean;

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
    /// The tensor cores' additions of products of two halves; 0 if that is not known, and then nothing waits for them.
    #[serde(default)]
    pub matrix: f64,
}

/// The least and the largest value of a figure, or of all those of a section.
static BOUNDS: LazyLock<BTreeMap<String, [f64; 2]>> =
    LazyLock::new(|| embedded("bounds.toml", include_str!("bounds.toml")));

impl Description {
    /// The names of the devices that come with the program.
    pub fn known() -> Vec<&'static str> {
        KNOWN.iter().map(|(name, _)| *name).collect()
    }

    /// The device of this name, or the one that a file describes.
    ///
    /// # Errors
    /// [`Error::Request`] when the name is neither a known device's nor a file's, and when the file cannot be read or
    /// does not describe a device.
    pub fn open(name: &str) -> Result<Self, Error> {
        if let Some((name, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Self::parse(&format!("crates/analysis/devices/{name}.toml"), text);
        }
        let is_path = name.contains(['/', '\\']) || name.ends_with(".toml");
        if !is_path && !Path::new(name).exists() {
            let hint = did_you_mean(name, "devices", &Self::known());
            return Err(Error::Request(format!(
                "no device is named `{name}`; {hint}, or give a file (`./mine.toml`) as those of crates/analysis/devices"
            )));
        }
        let text = std::fs::read_to_string(name);
        let text = text.map_err(|error| Error::file("read", Path::new(name), error))?;
        Self::parse(name, &text)
    }

    /// Reads a description. `path` is for messages.
    ///
    /// # Errors
    /// [`Error::Request`] when a figure is missing, unknown, not a number or impossible.
    pub fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let wrong = |span: Option<Range<usize>>, problem| {
            let line = |at: Range<usize>| text[..at.start.min(text.len())].matches('\n').count() + 1;
            let place = span.map_or(String::new(), |at| format!(", line {}", line(at)));
            Error::Request(format!("{path}{place}: {problem}"))
        };
        let unread = |error: toml::de::Error| {
            let problem = error.message().replace('\n', " ");
            wrong(error.span(), problem)
        };
        let description: Self = toml::from_str(text).map_err(unread)?;
        for (figure, value) in figures(DeTable::parse(text).map_err(unread)?.get_ref()) {
            let number = text[value.span()].parse().ok();
            let number = number.and_then(|value: toml::Value| value.try_into::<f64>().ok());
            let section = figure.split('.').next().unwrap_or_default();
            let bounds = BOUNDS.get(&figure).or_else(|| BOUNDS.get(section));
            // Not a number is not in any range either.
            if let (Some(number), Some([least, most])) = (number, bounds)
                && !(least..=most).contains(&&number)
            {
                let problem = format!("{figure} = {number} is impossible: it is between {least} and {most}");
                return Err(wrong(Some(value.span()), problem));
            }
            if figure == "arch" && Limits::named(&description.arch).is_err() {
                let known: Vec<String> = Limits::all().iter().map(Limits::arch).collect();
                let (arch, known) = (&description.arch, known.join(", "));
                let problem = format!("arch = \"{arch}\" is no architecture; there are {known}");
                return Err(wrong(Some(value.span()), problem));
            }
        }
        Ok(description)
    }
}

/// The values of a file, each with its name: `arch`, `memory.gb_per_s`.
fn figures<'a>(file: &'a DeTable<'a>) -> Vec<(String, &'a Spanned<DeValue<'a>>)> {
    let figures = file.iter().flat_map(|(key, value)| match value.get_ref() {
        DeValue::Table(section) => {
            let name = |figure: &str| format!("{}.{figure}", key.get_ref());
            let named = section.iter().map(|(own, value)| (name(own.get_ref()), value));
            named.collect()
        }
        _ => vec![(key.get_ref().to_string(), value)],
    });
    figures.collect()
}
