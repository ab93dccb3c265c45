//! The numbers before and after, counted in this very run.

use super::{ENTRIES, Entry, Gain, Optimization, Pair};
use engine::device::Device;
use engine::options::Options;
use engine::problem::{Problem, Verdict};
use engine::registry::Ladder;
use engine::run::Session;
use engine::{Catalog, Error};

/// A pair of rungs, measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What the pair shows.
    pub optimization: Optimization,
    /// The pair.
    pub pair: &'static Pair,
    /// The problem, in words.
    pub size: String,
    /// Each of its [metrics](Pair::metrics).
    pub gains: Vec<Numbers>,
}

/// A number before and after.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// What it is.
    pub gain: Gain,
    /// Without the optimization.
    pub before: f64,
    /// With it.
    pub after: f64,
}

impl Numbers {
    /// Whether the optimization made it better.
    pub fn is_gain(&self) -> bool {
        self.gain.better.is_gain(self.before, self.after)
    }
}

/// Runs every pair of the checklist on a device that counts, and checks the results. `progress` hears of each pair
/// before it runs.
///
/// # Errors
/// [`Error::Device`] from a device that does not count, and where a result is wrong or a number is not there; what
/// the device refuses.
pub fn measure(
    catalog: &Catalog,
    device: &mut dyn Device,
    mut progress: impl FnMut(&Pair),
) -> Result<Vec<Measured>, Error> {
    device.set_counting(true);
    let mut all = Vec::new();
    for entry in ENTRIES {
        for pair in entry.pairs {
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
) -> Result<Measured, Error> {
    let ladder = catalog.ladder(pair.ladder)?;
    let mut options = Options::default();
    for (name, value) in pair.options {
        options = options.with(name, value);
    }
    let problem = ladder.problem(&options)?;
    let before = numbers(device, ladder, &*problem, pair, pair.before)?;
    let after = numbers(device, ladder, &*problem, pair, pair.after)?;
    let gains = pair.metrics.iter().zip(before.into_iter().zip(after));
    Ok(Measured {
        optimization: entry.optimization,
        pair,
        size: problem.size(),
        gains: gains
            .map(|(&gain, (before, after))| Numbers {
                gain,
                before,
                after,
            })
            .collect(),
    })
}

/// The pair's metrics of one of its rungs.
fn numbers(
    device: &mut dyn Device,
    ladder: &Ladder,
    problem: &dyn Problem,
    pair: &Pair,
    name: &str,
) -> Result<Vec<f64>, Error> {
    let rung = ladder.rung(name)?;
    let launch = ladder.launch(rung, problem, pair.block)?;
    let tried = Session::new(device, problem, false)?.try_out(rung, &launch)?;
    let failed = |reason| Error::Device {
        doing: "measuring the checklist",
        reason,
    };
    if let Verdict::Wrong(why) = tried.verdict {
        return Err(failed(format!("{launch} is wrong: {why}")));
    }
    let counter = |name: &str| {
        let mut counters = tried.ran.counters.iter();
        counters.find(|metric| metric.name == name)?.value.number()
    };
    let number = |gain: &Gain| {
        gain.measure.of(rung, &launch, counter).ok_or_else(|| {
            failed(format!(
                "{launch} has no {}; --device sim counts it",
                gain.what
            ))
        })
    };
    pair.metrics.iter().map(number).collect()
}
