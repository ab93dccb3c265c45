//! The metrics by Nsight Compute's names: their meaning, the source of their numbers on each device, and whether they
//! are shown by default.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::counters::{Source, rows};

/// A metric.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Nsight Compute's name. A metric that Nsight Compute lacks has a name without two underscores after its first
    /// word.
    pub name: String,
    /// The heading of its column.
    pub heading: String,
    /// The group of the metric. Columns of the same group stay together.
    pub group: Group,
    /// The format of the number.
    pub form: Form,
    /// The meaning of the metric, in one sentence.
    pub meaning: String,
    /// The source of the simulator's number; the names are from [`simt::counters::METRICS`].
    #[serde(default)]
    pub sim: Source,
    /// Whether the simulator's number counts PTX, which `ptxas` translates to other instructions and branches.
    #[serde(default)]
    pub of_ptx: bool,
    /// A remark about the simulator's number.
    #[serde(default)]
    pub sim_note: String,
    /// The source of the GPU's number; the names are metrics of `ncu`.
    #[serde(default)]
    pub gpu: Source,
    /// Whether the metric is shown by default.
    #[serde(default, rename = "default")]
    pub is_default: bool,
}

/// The known metrics, in the order in which they are shown.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| rows("metrics.toml", include_str!("metrics.toml")));

/// One of the two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The simulator.
    Sim,
    /// The GPU, through Nsight Compute.
    Gpu,
}

impl Side {
    /// Returns the device's name on the command line (`--device`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Gpu => "gpu",
        }
    }
}

impl Metric {
    /// Returns the source of the metric's number on this device.
    pub fn source(&self, side: Side) -> &Source {
        match side {
            Side::Sim => &self.sim,
            Side::Gpu => &self.gpu,
        }
    }
}

/// The subject of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Instructions, branches and barriers.
    Instructions,
    /// Shared memory.
    Shared,
    /// The kernel's accesses to global memory.
    Global,
    /// Rates and times.
    Rates,
    /// The reasons why warps wait.
    Stalls,
    /// Anything else.
    #[default]
    Other,
}

/// The format of a number. In JSON, every number is in base units, as Nsight Compute reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A whole number.
    Count,
    /// A ratio, with two decimals.
    Ratio,
    /// Percent, with one decimal.
    Percent,
    /// Bytes, in binary units such as 2^10 bytes.
    Bytes,
    /// Bytes per second, in units of 10^9.
    Rate,
    /// Nanoseconds, shown in microseconds.
    Time,
    /// A number without a known unit.
    #[default]
    Plain,
}

impl Form {
    /// Formats a number without its unit, which is in the heading or the legend.
    pub fn write(self, number: f64) -> String {
        match self {
            Self::Count => format!("{number:.0}"),
            Self::Ratio => format!("{number:.2}"),
            Self::Percent => format!("{number:.1} %"),
            Self::Bytes => bytes(number as u64),
            Self::Rate => format!("{:.1}", number / 1e9),
            Self::Time => format!("{:.2}", number / 1e3),
            Self::Plain if number.fract() == 0.0 => format!("{number:.0}"),
            Self::Plain => format!("{number:.3}"),
        }
    }

    /// Formats a number with its unit, for a sentence.
    pub fn write_with_unit(self, number: f64) -> String {
        let unit = match self {
            Self::Rate => " GB/s",
            Self::Time => " µs",
            _ => "",
        };
        self.write(number) + unit
    }
}

/// Returns the metrics that are shown by default.
pub fn defaults() -> Vec<Metric> {
    let all = METRICS.iter().filter(|metric| metric.is_default);
    all.cloned().collect()
}

/// Formats a number of bytes with a unit of 2^10, 2^20 or 2^30.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    match (bytes.max(1).ilog2() / 10).min(3) as usize {
        0 => format!("{bytes} B"),
        unit => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, units[unit]),
    }
}
