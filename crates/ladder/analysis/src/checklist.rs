//! Measures the numbers before and after each optimization.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::selection::selection;
use engine::device::Device;
use engine::problem::Verdict;
use engine::run::Session;
use engine::selection::Selection;
use engine::{Catalog, Error};
use profile::checklist::{Gain, Optimization, Pair, entries, gain};
use profile::counters::counted;

/// The measured gains of a pair of rungs.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredPair {
    /// The optimization that the pair shows.
    #[serde(skip)]
    pub optimization: Optimization,
    /// The pair.
    #[serde(flatten)]
    pub pair: &'static Pair,
    /// The problem in words.
    #[serde(skip)]
    pub size: String,
    /// The measurement of each of the pair's [gains](Pair::gains).
    #[serde(rename = "metrics")]
    pub gains: Vec<MeasuredGain>,
}

/// A number before and after an optimization.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredGain {
    /// A short description of the number.
    pub what: &'static str,
    /// The gain that the numbers are computed for, with its expression.
    #[serde(flatten)]
    pub gain: &'static Gain,
    /// The number without the optimization.
    pub before: f64,
    /// The number with the optimization.
    pub after: f64,
}

impl MeasuredGain {
    /// Returns whether the optimization improved the number.
    pub fn is_gain(&self) -> bool {
        self.gain.better.is_gain(self.before, self.after)
    }
}

/// Runs every pair of the checklist on a device that can count launches, and checks the results. `progress` is called
/// with each pair before it runs.
///
/// # Errors
/// Returns [`Error::Device`] when the device cannot count launches, when a result is wrong, and when the device fails.
/// Returns [`Error`] when the catalog lacks a ladder or a rung that the checklist names.
pub fn measure(
    catalog: &Catalog,
    device: &mut dyn Device,
    mut progress: impl FnMut(&'static Pair),
) -> Result<Vec<MeasuredPair>, Error> {
    device.set_counting(true);
    let mut all = Vec::new();
    for entry in entries() {
        for pair in &entry.pairs {
            progress(pair);
            all.push(measure_pair(catalog, device, entry.optimization, pair)?);
        }
    }
    Ok(all)
}

fn measure_pair(
    catalog: &Catalog,
    device: &mut dyn Device,
    optimization: Optimization,
    pair: &'static Pair,
) -> Result<MeasuredPair, Error> {
    let plan = pair_selection(pair, catalog)?.plan(None, None, device.info().properties())?;
    let mut numbers = BTreeMap::new();
    for (rung, launch) in plan.launches() {
        let checked = Session::new(device, plan.problem(), false)?.launch_checked(rung, launch)?;
        if let Verdict::Wrong(why) = checked.verdict {
            return Err(failed(format!("{launch} is wrong: {why}")));
        }
        numbers.insert(rung.name, counted(&checked.ran.counters));
    }
    let measured = |what: &'static String| -> Result<MeasuredGain, Error> {
        let gain = gain(what).ok_or_else(|| failed(format!("no gain is named `{what}`")))?;
        let of = |rung: &'static String| {
            let counter = |name: &str| numbers.get(rung.as_str())?.get(name).copied();
            let missing = || failed(format!("there is no {what} for {rung}; use --device sim, which counts it"));
            gain.number.of(&counter).ok_or_else(missing)
        };
        Ok(MeasuredGain { what, gain, before: of(&pair.before)?, after: of(&pair.after)? })
    };
    Ok(MeasuredPair {
        optimization,
        pair,
        size: plan.problem().labels().size,
        gains: pair.gains.iter().map(measured).collect::<Result<_, _>>()?,
    })
}

/// Returns both rungs of a pair, with the options of the problem that shows the gain.
///
/// # Errors
/// Returns [`Error`] when the catalog does not contain the ladder.
pub fn pair_selection(pair: &Pair, catalog: &Catalog) -> Result<Selection, Error> {
    let rungs = vec![pair.before.clone(), pair.after.clone()];
    Ok(selection(catalog.ladder(&pair.ladder)?, rungs, &pair.options))
}

fn failed(reason: String) -> Error {
    Error::Device { doing: "measuring the checklist", reason }
}
