//! The metrics by Nsight Compute's names: what each means, where its number comes from on either device, and
//! which of them are shown where none is asked for.

use std::sync::LazyLock;

use serde::Deserialize;

use super::error::ProfileError;
use crate::counters::{Source, embedded};
use engine::names::near_names;

/// A metric.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Nsight Compute's name; one of our own, without two underscores behind its first word, where that has none.
    pub name: String,
    /// The heading of its column.
    pub heading: String,
    /// What it belongs with: columns of a group stay together.
    pub group: Group,
    /// How its number is written.
    pub form: Form,
    /// What it says, in one sentence.
    pub meaning: String,
    /// Where the simulator's number comes from: names are those of [`simt::counters::METRICS`].
    #[serde(default)]
    pub sim: Source,
    /// Whether the simulator's number is that of the PTX, of which `ptxas` makes other instructions and branches.
    #[serde(default)]
    pub of_ptx: bool,
    /// What else there is to know of the simulator's number.
    #[serde(default)]
    pub sim_note: String,
    /// Where the GPU's number comes from: names are what `ncu` is asked for.
    #[serde(default)]
    pub gpu: Source,
    /// Whether it is shown where no metric is asked for.
    #[serde(default, rename = "default")]
    pub is_default: bool,
}

/// The metrics that are known here, in the order in which they are shown.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        metric: Vec<Metric>,
    }
    embedded::<File>("metrics.toml", include_str!("metrics.toml")).metric
});

/// What a metric is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Instructions, branches and barriers.
    Instructions,
    /// Shared memory.
    Shared,
    /// What the kernel asks global memory for.
    Global,
    /// Rates and times.
    Rates,
    /// What warps wait for.
    Stalls,
    /// Anything else.
    #[default]
    Other,
}

/// How a number is written. In JSON it is always as Nsight Compute has it in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A whole number.
    Count,
    /// With two decimals.
    Ratio,
    /// Per cent, with one decimal.
    Percent,
    /// Bytes, in units of 2^10 and so on.
    Bytes,
    /// Bytes a second, in 10^9.
    Rate,
    /// Nanoseconds, in microseconds.
    Time,
    /// A number of which nothing is known.
    #[default]
    Plain,
}

impl Form {
    /// A number without its unit, which is in the heading or the legend.
    pub fn write(self, number: f64) -> String {
        match self {
            Self::Count => format!("{number:.0}"),
            Self::Ratio => format!("{number:.2}"),
            Self::Percent => format!("{number:.1} %"),
            Self::Bytes => engine::size::bytes(number as u64),
            Self::Rate => format!("{:.1}", number / 1e9),
            Self::Time => format!("{:.2}", number / 1e3),
            Self::Plain if number.fract() == 0.0 => format!("{number:.0}"),
            Self::Plain => format!("{number:.3}"),
        }
    }

    /// A number in a sentence.
    pub fn write_with_unit(self, number: f64) -> String {
        let unit = match self {
            Self::Rate => " GB/s",
            Self::Time => " µs",
            _ => "",
        };
        self.write(number) + unit
    }
}

/// Why a GPU does not have what is a count of the simulator's own.
const PTX_ONLY: &str = "a count of the PTX, which the hardware never sees";

/// The metrics that are shown where none is asked for.
pub fn defaults() -> Vec<Metric> {
    let all = METRICS.iter().filter(|metric| metric.is_default);
    all.cloned().collect()
}

/// The metric of this name: one of [`METRICS`], a counter of the simulator, or, on a GPU, whatever has the form
/// of a name of Nsight Compute's.
///
/// # Errors
/// [`ProfileError::UnknownMetric`] with the nearest names when neither device can have it;
/// [`ProfileError::NotOnSim`] when it could be one of Nsight Compute's and there is no GPU.
pub fn find(name: &str, on_gpu: bool) -> Result<Metric, ProfileError> {
    if let Some(known) = METRICS.iter().find(|metric| metric.name == name) {
        return Ok(known.clone());
    }
    let plain = |meaning: &str| Metric {
        name: name.to_owned(),
        heading: name.to_owned(),
        form: form_of(name),
        meaning: meaning.to_owned(),
        ..Metric::default()
    };
    let mut counters = simt::counters::METRICS.iter();
    if let Some(counter) = counters.find(|counter| counter.name == name) {
        let gpu = match name.starts_with("ptx_") {
            true => Source::missing_because(PTX_ONLY),
            false => Source::Same,
        };
        return Ok(Metric {
            gpu,
            ..plain(counter.text)
        });
    }
    if on_gpu && looks_like_nsights(name) {
        return Ok(Metric {
            sim: Source::missing_because("the SIMT machine does not count it"),
            ..plain("as `ncu --query-metrics` has it")
        });
    }
    let nearest = nearest(name);
    let name = name.to_owned();
    Err(if nearest.is_empty() && looks_like_nsights(&name) {
        ProfileError::NotOnSim { name }
    } else {
        ProfileError::UnknownMetric { name, nearest }
    })
}

/// The names of metrics that this was most likely meant to be.
pub(super) fn nearest(name: &str) -> Vec<String> {
    let known = METRICS.iter().map(|metric| metric.name.as_str());
    let counters = simt::counters::METRICS.iter();
    near_names(name, known.chain(counters.map(|counter| counter.name)))
}

/// Whether a name has the form `unit__what.how`, as those of Nsight Compute have (Nsight Compute CLI, "Metrics
/// Structure"), or `launch__what`.
fn looks_like_nsights(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
    let Some((unit, what)) = name.split_once("__") else {
        return false;
    };
    let is_word = |text: &str| !text.is_empty() && text.chars().all(plain);
    is_word(unit)
        && !unit.contains('.')
        && is_word(what)
        && (what.contains('.') || ["launch", "device", "profiler"].contains(&unit))
}

fn form_of(name: &str) -> Form {
    let last = name.rsplit('.').next().unwrap_or("");
    match last {
        "pct" => Form::Percent,
        "ratio" => Form::Ratio,
        _ if name.contains(".pct_of_peak") => Form::Percent,
        "sum" if !name.contains("duration") => Form::Count,
        _ => Form::Plain,
    }
}
