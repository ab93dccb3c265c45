//! Finds metrics by name: listed metrics, counters of the simulator, and any metric of a GPU.

use ::profile::counters::Source;
use ::profile::metrics::{Form, METRICS, Metric};

use crate::Error;
use engine::names::{near, near_names};

/// The reason why a GPU lacks a counter of the simulator.
const PTX_ONLY: &str = "a count of PTX instructions, which the hardware does not execute";

/// Returns the metric with this name: one of [`METRICS`], a counter of the simulator, or, on a GPU, any name in the
/// format of Nsight Compute.
///
/// # Errors
/// Returns [`Error::Request`] with the nearest names when neither device can have the metric, or when only Nsight
/// Compute could have it and there is no GPU.
pub fn find(name: &str, on_gpu: bool) -> Result<Metric, Error> {
    if let Some(known) = METRICS.iter().find(|metric| metric.name == name) {
        return Ok(known.clone());
    }
    let mut counters = simt::counters::METRICS.iter();
    let counter = counters.find(|counter| counter.name == name);
    let missing = Source::missing_because;
    let (sim, gpu, meaning) = match counter {
        Some(metric) if name.starts_with("ptx_") => (Source::Same, missing(PTX_ONLY), metric.text),
        Some(metric) => (Source::Same, Source::Same, metric.text),
        None if on_gpu && looks_like_nsights(name) => {
            let not_on_sim = missing("the simulator does not count it");
            (not_on_sim, Source::Same, "see `ncu --query-metrics`")
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
            "the simulator does not count {name}; --device gpu counts it with Nsight Compute, if Nsight Compute has \
             the metric"
        ));
    }
    let hint = near(&nearest, "`ladder why --counters --explain` lists the metrics that are shown");
    Error::Request(format!("no metric is named `{name}`; {hint}"))
}

/// Returns the names of metrics that the user most likely meant.
fn nearest(name: &str) -> Vec<String> {
    let known = METRICS.iter().map(|metric| metric.name.as_str());
    let counters = simt::counters::METRICS.iter();
    near_names(name, known.chain(counters.map(|counter| counter.name)))
}

/// Returns suggestions for names of metrics that a chip does not have, as the start of an error message.
pub(super) fn did_you_mean(metrics: &[String]) -> String {
    // A known name is not misspelled; the chip lacks the metric.
    let unknown = metrics.iter().map(|name| (name, nearest(name)));
    let unknown = unknown.filter(|(name, nearest)| !nearest.contains(name));
    let nearest: Vec<String> = unknown.flat_map(|(_, nearest)| nearest).collect();
    match near(&nearest, "") {
        hint if hint.is_empty() => hint,
        hint => hint + " ",
    }
}

/// Returns whether a name has the form `unit__what.how` of Nsight Compute's metrics (Nsight Compute CLI, "Metrics
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
