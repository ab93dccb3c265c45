//! Measures the numbers before and after each optimization.

use super::{Entry, Gain, Optimization, Pair, entries, gain};
use crate::counters::Numbers;
use engine::device::Device;
use engine::options::Options;
use engine::problem::{Problem, Verdict};
use engine::registry::Ladder;
use engine::run::Session;
use engine::{Catalog, Error};

/// The measured gains of a pair of rungs.
#[derive(Clone, Debug)]
pub struct MeasuredPair {
    /// The optimization that the pair shows.
    pub optimization: Optimization,
    /// The pair.
    pub pair: &'static Pair,
    /// The problem, in words.
    pub size: String,
    /// Each of its [gains](Pair::gains).
    pub gains: Vec<MeasuredGain>,
}

/// A number before and after.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredGain {
    /// A short description of the number.
    pub what: &'static str,
    /// The expression that it is computed from.
    pub gain: &'static Gain,
    /// The number without the optimization.
    pub before: f64,
    /// The number with the optimization.
    pub after: f64,
}

impl MeasuredGain {
    /// Whether the optimization improved the number.
    pub fn is_gain(&self) -> bool {
        self.gain.better.is_gain(self.before, self.after)
    }
}

/// Runs every pair of the checklist on a device that counts, and checks the results. `progress` is called with each
/// pair before it runs.
///
/// # Errors
/// [`Error::Device`] when the device does not count, when a result is wrong, and when it fails; [`Error`] when the
/// catalog does not have a ladder or a rung that the checklist names.
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
            all.push(measure_pair(catalog, device, entry, pair)?);
        }
    }
    Ok(all)
}

fn measure_pair(
    catalog: &Catalog,
    device: &mut dyn Device,
    entry: &Entry,
    pair: &'static Pair,
) -> Result<MeasuredPair, Error> {
    let ladder = catalog.ladder(&pair.ladder)?;
    let problem = ladder.problem(&pair.options(ladder))?;
    let before = counted(device, ladder, &*problem, &pair.before)?;
    let after = counted(device, ladder, &*problem, &pair.after)?;
    let measured = |what: &'static String| -> Result<MeasuredGain, Error> {
        let gain = gain(what).ok_or_else(|| failed(format!("no gain is called `{what}`")))?;
        let of = |(launch, numbers): &(String, Numbers)| {
            let number = gain.number.of(&|name| numbers.get(name));
            number.ok_or_else(|| failed(format!("{launch} has no {what}; --device sim counts it")))
        };
        Ok(MeasuredGain {
            what,
            gain,
            before: of(&before)?,
            after: of(&after)?,
        })
    };
    Ok(MeasuredPair {
        optimization: entry.optimization,
        pair,
        size: problem.size(),
        gains: pair.gains.iter().map(measured).collect::<Result<_, _>>()?,
    })
}

/// The launch of a rung in words, and its counters.
fn counted(
    device: &mut dyn Device,
    ladder: &Ladder,
    problem: &dyn Problem,
    name: &str,
) -> Result<(String, Numbers), Error> {
    let rung = ladder.rung(name)?;
    let launch = ladder.launch(rung, problem, None)?;
    let tried = Session::new(device, problem, false)?.launch_checked(rung, &launch)?;
    if let Verdict::Wrong(why) = tried.verdict {
        return Err(failed(format!("{launch} is wrong: {why}")));
    }
    let mut numbers = Numbers::counted(&tried.ran.counters);
    let shared = rung.shared.bytes(launch.block);
    numbers.insert("shared_bytes_per_block", f64::from(shared));
    Ok((launch.to_string(), numbers))
}

fn failed(reason: String) -> Error {
    Error::Device {
        doing: "measuring the checklist",
        reason,
    }
}

impl Pair {
    /// The options of the problem that shows the pair, as far as the ladder has them.
    pub fn options(&self, ladder: &Ladder) -> Options {
        let declared = ladder.options.iter();
        let given =
            declared.filter_map(|option| Some((option.name, self.options.get(option.name)?)));
        given.fold(Options::default(), |all, (name, value)| {
            all.with(name, value)
        })
    }
}
