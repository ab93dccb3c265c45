//! The metrics by Nsight Compute's names: their meaning, the source of their numbers on each device, and whether they
//! are shown by default.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::Error;
use crate::counters::{Source, rows};
use engine::names::{near, near_names};

/// A metric.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Nsight Compute's name. A metric that Nsight Compute does not have has a name of our own, without two
    /// underscores behind its first word.
    pub name: String,
    /// The heading of its column.
    pub heading: String,
    /// The group of the metric. Columns of a group stay together.
    pub group: Group,
    /// The format of its number.
    pub form: Form,
    /// Its meaning, in one sentence.
    pub meaning: String,
    /// The source of the simulator's number; the names are those of [`simt::counters::METRICS`].
    #[serde(default)]
    pub sim: Source,
    /// Whether the simulator's number is that of the PTX, of which `ptxas` makes other instructions and branches.
    #[serde(default)]
    pub of_ptx: bool,
    /// A remark about the simulator's number.
    #[serde(default)]
    pub sim_note: String,
    /// The source of the GPU's number; the names are those that `ncu` takes.
    #[serde(default)]
    pub gpu: Source,
    /// Whether it is shown by default.
    #[serde(default, rename = "default")]
    pub is_default: bool,
}

/// The known metrics, in the order in which they are shown.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| rows("metrics.toml", include_str!("metrics.toml")));

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

/// The format of a number. In JSON every number is written as Nsight Compute gives it in base units.
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
            Self::Bytes => engine::size::bytes(number as u64),
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

/// The reason why a GPU does not have a counter of the simulator's.
const PTX_ONLY: &str = "a count of the PTX, which the hardware never sees";

/// The metrics that are shown by default.
pub fn defaults() -> Vec<Metric> {
    let all = METRICS.iter().filter(|metric| metric.is_default);
    all.cloned().collect()
}

/// The metric of this name: one of [`METRICS`], a counter of the simulator, or, on a GPU, any name in the form of
/// Nsight Compute's.
///
/// # Errors
/// [`Error::Request`] with the nearest names when neither device can have it, and when it could be one of Nsight
/// Compute's and there is no GPU.
pub fn find(name: &str, on_gpu: bool) -> Result<Metric, Error> {
    if let Some(known) = METRICS.iter().find(|metric| metric.name == name) {
        return Ok(known.clone());
    }
    let mut counters = simt::counters::METRICS.iter();
    let counter = counters.find(|counter| counter.name == name);
    let missing = Source::missing_because;
    let (sim, gpu, meaning) = match counter {
        Some(own) if name.starts_with("ptx_") => (Source::Same, missing(PTX_ONLY), own.text),
        Some(own) => (Source::Same, Source::Same, own.text),
        None if on_gpu && looks_like_nsights(name) => {
            let not_on_sim = missing("the SIMT machine does not count it");
            (not_on_sim, Source::Same, "as `ncu --query-metrics` has it")
        }
        None => return Err(unknown(name)),
    };
    Ok(Metric {
        name: name.to_owned(),
        heading: name.to_owned(),
        form: form_of(name),
        meaning: meaning.to_owned(),
        sim,
        gpu,
        ..Metric::default()
    })
}

fn unknown(name: &str) -> Error {
    let nearest = nearest(name);
    if nearest.is_empty() && looks_like_nsights(name) {
        return Error::Request(format!(
            "the SIMT machine does not count {name}; --device gpu asks Nsight Compute for it, if it has it"
        ));
    }
    let hint = near(&nearest, "`ladder why --counters --explain` names those that are shown");
    Error::Request(format!("no metric is named `{name}`; {hint}"))
}

/// The names of metrics that this name was most likely meant to be.
fn nearest(name: &str) -> Vec<String> {
    let known = METRICS.iter().map(|metric| metric.name.as_str());
    let counters = simt::counters::METRICS.iter();
    near_names(name, known.chain(counters.map(|counter| counter.name)))
}

/// Suggestions for names that a chip does not have, to put in front of a message.
pub(super) fn did_you_mean(metrics: &[String]) -> String {
    // A name that we know is not misspelled: the chip lacks the metric.
    let unknown = metrics.iter().map(|name| (name, nearest(name)));
    let unknown = unknown.filter(|(name, nearest)| !nearest.contains(name));
    let nearest: Vec<String> = unknown.flat_map(|(_, nearest)| nearest).collect();
    match near(&nearest, "") {
        hint if hint.is_empty() => hint,
        hint => hint + " ",
    }
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
