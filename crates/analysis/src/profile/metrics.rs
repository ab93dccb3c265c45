//! The metrics by Nsight Compute's names: what each means, where its number comes from on either device, and
//! which of them are shown where none is asked for.

mod list;

use super::Numbers;
use super::error::ProfileError;
use engine::names::near_names;

pub use list::METRICS;

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric<'a> {
    /// Nsight Compute's name; one of our own, without two underscores behind its first word, where that has none.
    pub name: &'a str,
    /// The heading of its column.
    pub heading: &'a str,
    /// What it belongs with: columns of a group stay together.
    pub group: Group,
    /// How its number is written.
    pub form: Form,
    /// What it says, in one sentence.
    pub meaning: &'a str,
    /// Where the simulator's number comes from: names are those of [`simt::counters::METRICS`].
    pub sim: Source,
    /// Whether the simulator's number is that of the PTX, of which `ptxas` makes other instructions and branches.
    pub of_ptx: bool,
    /// What else there is to know of the simulator's number.
    pub sim_note: &'static str,
    /// Where the GPU's number comes from: names are what `ncu` is asked for.
    pub gpu: Source,
    /// Whether it is shown where no metric is asked for.
    pub is_default: bool,
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    Other,
}

/// How a number is written. In JSON it is always as Nsight Compute has it in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The counter of the metric's own name.
    Same,
    /// The counter of the metric's own name, but nothing where this other is zero: Nsight Compute writes 0 for
    /// a quotient that has nothing to divide by.
    SameUnlessZero(&'static str),
    /// Another counter.
    Counter(&'static str),
    /// A sum of counters times a number.
    Sum(&'static [&'static str], f64),
    /// A sum of counters by another, times a number; nothing where there is nothing to divide by.
    Quotient(&'static [&'static str], &'static [&'static str], f64),
    /// The device does not have it, and why.
    Missing(&'static str),
}

impl Source {
    /// The counters that it needs, for a metric of this name.
    pub fn needs(&self, name: &str) -> Vec<String> {
        let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        match *self {
            Self::Same => vec![name.to_owned()],
            Self::SameUnlessZero(other) => vec![name.to_owned(), other.to_owned()],
            Self::Counter(counter) => all(&[counter]),
            Self::Sum(counters, _) => all(counters),
            Self::Quotient(over, under, _) => all(&[over, under].concat()),
            Self::Missing(_) => Vec::new(),
        }
    }

    /// The number, where all that it needs was counted and there is something to divide by.
    pub fn of(&self, name: &str, numbers: &Numbers) -> Option<f64> {
        let sum = |names: &[&str]| {
            let all = names.iter().map(|&name| numbers.get(name));
            all.sum::<Option<f64>>()
        };
        match *self {
            Self::Same => numbers.get(name),
            Self::SameUnlessZero(other) => {
                let other = numbers.get(other)?;
                numbers.get(name).filter(|_| other > 0.0)
            }
            Self::Counter(counter) => numbers.get(counter),
            Self::Sum(counters, by) => Some(sum(counters)? * by),
            Self::Quotient(over, under, by) => {
                let (over, under) = (sum(over)?, sum(under)?);
                (under > 0.0).then(|| over / under * by)
            }
            Self::Missing(_) => None,
        }
    }

    /// Why the device does not have it.
    pub fn missing(&self) -> Option<&'static str> {
        match *self {
            Self::Missing(why) => Some(why),
            _ => None,
        }
    }
}

/// Why the simulator does not have what is a count of its own.
const PTX_ONLY: &str = "a count of the PTX, which the hardware never sees";

/// What most metrics have.
const PLAIN: Metric<'_> = Metric {
    name: "",
    heading: "",
    group: Group::Other,
    form: Form::Count,
    meaning: "",
    sim: Source::Same,
    of_ptx: false,
    sim_note: "",
    gpu: Source::Same,
    is_default: false,
};

/// The metrics that are shown where none is asked for.
pub fn defaults() -> Vec<Metric<'static>> {
    let all = METRICS.iter().filter(|metric| metric.is_default);
    all.copied().collect()
}

/// The metric of this name: one of [`METRICS`], a counter of the simulator, or, on a GPU, whatever has the form
/// of a name of Nsight Compute's.
///
/// # Errors
/// [`ProfileError::UnknownMetric`] with the nearest names; [`ProfileError::NotOnSim`] for what could be one of
/// Nsight Compute's, but for a GPU.
pub fn find(name: &str, on_gpu: bool) -> Result<Metric<'_>, ProfileError> {
    if let Some(known) = METRICS.iter().find(|metric| metric.name == name) {
        return Ok(*known);
    }
    let counters = simt::counters::METRICS;
    if let Some(counter) = counters.iter().find(|counter| counter.name == name) {
        return Ok(Metric {
            name: counter.name,
            heading: counter.name,
            form: form_of(counter.name),
            meaning: counter.text,
            gpu: if counter.name.starts_with("ptx_") {
                Source::Missing(PTX_ONLY)
            } else {
                Source::Same
            },
            ..PLAIN
        });
    }
    if on_gpu && looks_like_nsights(name) {
        return Ok(Metric {
            name,
            heading: name,
            form: form_of(name),
            meaning: "as `ncu --query-metrics` has it",
            sim: Source::Missing("the SIMT machine does not count it"),
            ..PLAIN
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
    let known = METRICS.iter().map(|metric| metric.name);
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
