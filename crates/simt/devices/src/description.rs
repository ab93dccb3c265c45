//! Descriptions of devices: one TOML file each, with the source of every figure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Error, Latencies, Limits, Rates, embedded};

/// The descriptions in this crate: the names of the devices, and the files.
const KNOWN: [(&str, &str); 8] = [
    ("h200", include_str!("../known/h200.toml")),
    ("h100", include_str!("../known/h100.toml")),
    ("a100", include_str!("../known/a100.toml")),
    ("l4", include_str!("../known/l4.toml")),
    ("rtx5090", include_str!("../known/rtx5090.toml")),
    ("rtx4090", include_str!("../known/rtx4090.toml")),
    ("rtx3080", include_str!("../known/rtx3080.toml")),
    ("t4", include_str!("../known/t4.toml")),
];

/// The figures that a prediction or a simulation needs to know about a device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The manufacturer's name for the device.
    pub name: String,
    /// The name of the architecture for `ptxas`: `sm_90`.
    pub arch: String,
    /// The number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// The clock of the multiprocessors in MHz.
    pub clock_mhz: f64,
    /// The time of an empty kernel in microseconds.
    pub launch_us: f64,
    /// The device memory.
    pub memory: Memory,
    /// The L2 cache.
    pub l2: L2,
    /// The throughput of one multiprocessor.
    pub multiprocessor: Multiprocessor,
    /// The latencies of operations in cycles.
    pub latency: Latencies,
    /// Additional board data that the CUDA driver reports. Predictions do not need it.
    pub board: Option<Board>,
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
    /// Passes of atomics through the sectors of a slice, per clock of the multiprocessors.
    pub atomics_per_clock: f64,
    /// The number of slices that make these passes in parallel. Each sector belongs to one slice.
    pub slices: u32,
}

/// The throughput of a multiprocessor per clock.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiprocessor {
    /// The combined size of L1 and shared memory in bytes.
    pub l1_bytes: u64,
    /// Single-precision additions and multiplications by threads.
    pub fp32: f64,
    /// 32-bit integer additions by threads.
    pub int32: f64,
    /// Double-precision additions and multiplications by threads.
    pub fp64: f64,
    /// Conversions, square roots and similar operations by threads.
    pub special: f64,
    /// Words from shared memory and the L1 for threads.
    pub words: f64,
    /// Multiply-add operations on halves by the tensor cores; 0 if the number is unknown, in which case nothing waits
    /// for the tensor cores.
    #[serde(default)]
    pub matrix: f64,
    /// The share of `matrix` that `mma` and `wmma` reach.
    #[serde(default = "whole")]
    pub mma_share: f64,
    /// Bytes that bulk copies write to shared memory; infinite if the number is unknown.
    #[serde(default = "unlimited")]
    pub bulk_in: f64,
    /// Bytes that bulk copies read from shared memory; infinite if the number is unknown.
    #[serde(default = "unlimited")]
    pub bulk_out: f64,
    /// Bytes that loads read from the L2; infinite if the number is unknown.
    #[serde(default = "unlimited")]
    pub loads: f64,
    /// Bytes of whole sectors that stores write to the L2; infinite if the number is unknown.
    #[serde(default = "unlimited")]
    pub stores: f64,
}

fn whole() -> f64 {
    1.0
}

fn unlimited() -> f64 {
    f64::INFINITY
}

impl Multiprocessor {
    /// Returns the rates per clock of the units that work independently of the warps.
    pub fn rates(&self) -> Rates {
        Rates {
            matrix: if self.matrix > 0.0 { self.matrix } else { f64::INFINITY },
            mma_share: self.mma_share,
            // A word has four bytes.
            shared_bytes: self.words * 4.0,
            bulk_in: self.bulk_in,
            bulk_out: self.bulk_out,
            loads: self.loads,
            stores: self.stores,
        }
    }
}

/// The data of a device's board.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The memory that is available to programs in bytes.
    pub memory_bytes: u64,
    /// The clock of the memory in MHz. Each line of the bus transfers two bits per cycle.
    pub memory_mhz: f64,
    /// The width of the memory's bus in bits.
    pub memory_bits: u32,
    /// Whether the memory corrects errors (ECC).
    pub ecc: bool,
    /// Whether other devices can access the memory over PCI Express (GPUDirect RDMA).
    pub gpudirect: bool,
    /// The number of engines that copy memory while kernels run.
    pub copy_engines: u32,
    /// NVIDIA's number for the device, which identifies the device on the PCI bus.
    pub pci_device: u32,
    /// NVIDIA's number for the board.
    pub pci_subsystem: u32,
}

/// The minimum and maximum of a figure, or of all figures of a section.
static BOUNDS: LazyLock<BTreeMap<String, [f64; 2]>> =
    LazyLock::new(|| embedded("bounds.toml", include_str!("bounds.toml")));

impl Description {
    /// Returns the names of the devices that come with the crate.
    pub fn known() -> Vec<&'static str> {
        KNOWN.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the device with this name, or the device that a file describes.
    ///
    /// # Errors
    /// Returns an [`Error`] when the name is neither a known device nor a file, and when the file cannot be read or
    /// does not describe a device.
    pub fn open(name: &str) -> Result<Self, Error> {
        if let Some((name, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Self::parse(&format!("crates/simt/devices/known/{name}.toml"), text);
        }
        let is_path = name.contains(['/', '\\']) || name.ends_with(".toml");
        if !is_path && !Path::new(name).exists() {
            return Err(Error::NoSuchDevice { name: name.to_owned(), nearest: nearest(name), known: Self::known() });
        }
        let text = std::fs::read_to_string(name);
        let text = text.map_err(|error| Error::Unread { path: name.to_owned(), why: error.to_string() })?;
        Self::parse(name, &text)
    }

    /// Parses a description. `path` is used in messages.
    ///
    /// # Errors
    /// Returns [`Error::Wrong`] when a figure is missing, unknown, not a number or out of range.
    pub fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let wrong = |span: Option<Range<usize>>, problem: String| {
            let line = |at: Range<usize>| 1 + text[..at.start.min(text.len())].matches('\n').count();
            Error::Wrong { path: path.to_owned(), line: span.map(line), problem }
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
            // NaN is outside every range.
            if let (Some(number), Some([least, most])) = (number, bounds)
                && !(least..=most).contains(&&number)
            {
                let problem = format!("{figure} = {number} is out of range; use a value from {least} to {most}");
                return Err(wrong(Some(value.span()), problem));
            }
            if figure == "arch" && Limits::named(&description.arch).is_err() {
                let known: Vec<String> = Limits::all().iter().map(Limits::arch).collect();
                let (arch, known) = (&description.arch, known.join(", "));
                let problem = format!("arch = \"{arch}\" is not a known architecture; known architectures: {known}");
                return Err(wrong(Some(value.span()), problem));
            }
        }
        Ok(description)
    }
}

/// Returns the most similar known name, ignoring case, if a name is similar enough.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let known = Description::known().into_iter();
    let known = known.map(|known| (strsim::damerau_levenshtein(&name, known), known));
    known.min().filter(|(distance, known)| *distance <= 2 + known.len() / 4).map(|(_, known)| known)
}

/// Returns the values of a file with their names: `arch`, `memory.gb_per_s`.
fn figures<'a>(file: &'a DeTable<'a>) -> Vec<(String, &'a Spanned<DeValue<'a>>)> {
    let figures = file.iter().flat_map(|(key, value)| match value.get_ref() {
        DeValue::Table(section) => {
            let name = |figure: &str| format!("{}.{figure}", key.get_ref());
            let named = section.iter().map(|(key, value)| (name(key.get_ref()), value));
            named.collect()
        }
        _ => vec![(key.get_ref().to_string(), value)],
    });
    figures.collect()
}

#[cfg(test)]
mod tests;
