//! How long a rung would take on a device that is not here: an analytic model of counters that the SIMT machine
//! makes ([`sample`]), of what `ptxas` says of the kernel ([`occupancy`]), and of a device's
//! [`description`].
//!
//! ```no_run
//! use host::predict::{self, Description, model::Constants};
//!
//! # fn main() -> Result<(), host::Error> {
//! let device = Description::open("h100")?;
//! let reduce = host::ladder("reduce")?;
//! let all = predict::ladder(&device, &Constants::CALIBRATED, reduce, &[], &Default::default(), None)?;
//! for rung in &all.predictions {
//!     println!("{}: {:.1} µs, bound by {}", rung.launch, rung.estimate.us, rung.estimate.bound().0.name());
//! }
//! # Ok(())
//! # }
//! ```

pub mod against;
pub mod calibrate;
pub mod description;
pub mod model;
pub mod sample;

use std::collections::BTreeMap;

use crate::occupancy::{self, Limits, OccupancyError};
use calibrate::Observation;
pub use description::Description;
use engine::Kernels;
use engine::device::Sim;
use engine::launch::Launch;
use engine::names::did_you_mean;
use engine::options::Options;
use engine::problem::Problem;
use engine::registry::{Ladder, Rung};
use engine::stats::Samples;
use model::{Constants, Estimate, estimate};
use sample::{Sample, Sampler};
use toolkit::Usage;

/// What keeps a prediction from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The occupancy of a rung is not known.
    #[error(transparent)]
    Occupancy(#[from] OccupancyError),
    /// A name that is no device's.
    #[error("no device is named `{name}`; {}, or give a file (`./mine.toml`) as those of host/devices", did_you_mean(.nearest, "devices", .known))]
    UnknownDevice {
        /// What was asked for.
        name: String,
        /// The device whose name is nearest.
        nearest: Option<&'static str>,
        /// All of them.
        known: Vec<&'static str>,
    },
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// A file that does not describe a device.
    #[error("{path}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    Description {
        /// The file.
        path: String,
        /// The line, from 1, where it is at one.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A file of measured times that has none, or none of the ladders that were asked for.
    #[error(
        "{path} has no times of {of}: it is neither what `ladder run --json` prints nor a file with the tables that `ladder run --update-readme` writes"
    )]
    NoTimes {
        /// The file.
        path: String,
        /// The ladders.
        of: String,
    },
    /// No rung that was asked for runs on the device.
    #[error("{reason}")]
    NothingRuns {
        /// Why not.
        reason: String,
    },
}

/// A rung and its time on a device.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The rung.
    pub rung: &'static Rung,
    /// How it would be launched.
    pub launch: Launch,
    /// Its time.
    pub estimate: Estimate,
    /// What it was learned from.
    pub sample: Sample,
}

/// A ladder's predictions.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The problem in words.
    pub title: String,
    /// Its bytes, for the effective bandwidth.
    pub bytes: u64,
    /// Those of its rungs that run on the device.
    pub predictions: Vec<Prediction>,
    /// Why others do not.
    pub left_out: Vec<String>,
}

/// Predicts rungs of a ladder: those of these names, or all that run on the device.
///
/// # Errors
/// Options, names and blocks as for a run; [`engine::Error::Occupancy`] without `ptxas`, and for a rung that was named
/// and that the device is too old for; [`engine::Error::Launch`] where the SIMT machine fails.
pub fn ladder(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    ladder: &'static Ladder,
    rungs: &[String],
    options: &Options,
    block: Option<[u32; 3]>,
) -> Result<Climb, PredictError> {
    let limits = Limits::named(&device.arch)?;
    let problem = ladder.problem(options)?;
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for rung in ladder.select(rungs, &*problem)? {
        let launch = match ladder.launch(rung, &*problem, block) {
            Ok(launch) => launch,
            Err(error @ engine::Error::NotCompiled { .. }) if rungs.is_empty() => {
                left_out.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let usage = match occupancy::usage(kernels, &launch, &device.arch) {
            Ok(usage) => usage,
            Err(error @ OccupancyError::NeedsNewer { .. }) if rungs.is_empty() => {
                left_out.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let resident = occupancy::of(limits, usage, &launch).blocks;
        if resident == 0 {
            let reason = format!(
                "{launch} does not fit a multiprocessor of {}: `ladder occupancy {}` says why",
                device.name, rung.name
            );
            if rungs.is_empty() {
                left_out.push(reason);
                continue;
            }
            return Err(PredictError::NothingRuns { reason });
        }
        let shared = usage.shared_bytes + launch.shared_bytes;
        runs.push((rung, launch, resident, shared));
    }
    if runs.is_empty() {
        let reason = left_out.join("; ");
        return Err(PredictError::NothingRuns { reason });
    }
    let mut sim = Sim::open(kernels, 0)?;
    let mut sampler = Sampler::new(&mut sim, &*problem)?;
    let mut predictions = Vec::with_capacity(runs.len());
    for (rung, launch, resident, shared) in runs {
        let sample = sampled(device, &mut sampler, rung, &launch, resident, shared)?;
        predictions.push(Prediction {
            rung,
            estimate: estimate(device, constants, &sample, launch.blocks(), resident),
            launch,
            sample,
        });
    }
    Ok(Climb {
        ladder,
        title: problem.title(),
        bytes: problem.bytes(),
        predictions,
        left_out,
    })
}

/// A sample of a launch of which a multiprocessor holds `resident` blocks with so much shared memory.
fn sampled(
    device: &Description,
    sampler: &mut Sampler<'_>,
    rung: &Rung,
    launch: &Launch,
    resident: u32,
    shared_bytes: u32,
) -> Result<Sample, PredictError> {
    // Shared memory and the L1 are one memory.
    let resident = u64::from(resident.max(1));
    let taken = u64::from(shared_bytes) * resident;
    let l1_bytes = device.multiprocessor.l1_bytes.saturating_sub(taken) / resident;
    sampler.launch(rung, launch, device.latencies(), l1_bytes)
}

/// The times of launches of one problem. Without `ptxas` their registers are taken not to limit how many blocks
/// a multiprocessor holds.
///
/// # Errors
/// [`engine::Error::Launch`] where the SIMT machine fails.
pub fn launches(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    problem: &dyn Problem,
    launches: &[(&'static Rung, Launch)],
) -> Result<Vec<Estimate>, PredictError> {
    let limits = Limits::named(&device.arch)?;
    let mut sim = Sim::open(kernels, 0)?;
    let mut sampler = Sampler::new(&mut sim, problem)?;
    let mut all = Vec::new();
    for (rung, launch) in launches {
        let usage = occupancy::usage(kernels, launch, &device.arch).unwrap_or_else(|_| Usage {
            shared_bytes: rung.shared.bytes(launch.block) - launch.shared_bytes,
            ..Usage::default()
        });
        let resident = occupancy::of(limits, usage, launch).blocks.max(1);
        let shared = usage.shared_bytes + launch.shared_bytes;
        let sample = sampled(device, &mut sampler, rung, launch, resident, shared)?;
        all.push(estimate(
            device,
            constants,
            &sample,
            launch.blocks(),
            resident,
        ));
    }
    Ok(all)
}

impl Climb {
    /// The same predictions with other constants, or for another device of the same latencies.
    pub fn predict_again(&mut self, device: &Description, constants: &Constants) {
        for prediction in &mut self.predictions {
            let resident = prediction.estimate.resident;
            let blocks = prediction.launch.blocks();
            prediction.estimate = estimate(device, constants, &prediction.sample, blocks, resident);
        }
    }
}

/// The predictions' samples with the measured times, of those rungs that have one.
pub fn observations(climbs: &[Climb], times: &Times) -> Vec<Observation> {
    let all = climbs.iter().flat_map(|climb| &climb.predictions);
    all.filter_map(|own| {
        Some(Observation {
            us: *times.get(own.rung.name)?,
            sample: own.sample.clone(),
            blocks: own.launch.blocks(),
            resident: own.estimate.resident,
        })
    })
    .collect()
}

/// Measured times in microseconds, by rung.
pub type Times = BTreeMap<String, f64>;

/// How near predictions come to measured times.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// How many rungs have both.
    pub rungs: usize,
    /// The median of the errors' absolute values, as shares of the measured times.
    pub median: f64,
    /// The largest of them, and whose it is.
    pub worst: (f64, &'static str),
    /// For each ladder with measured times: Spearman's rank correlation. `None` where all of a ladder's times are
    /// alike. Measured times that are nearer to each other than [`RESOLUTION_US`] are.
    pub ranks: Vec<(&'static str, Option<f64>)>,
}

/// The resolution of measured times in microseconds (CUDA Driver API, `cuEventElapsedTime`: "around 0.5
/// microseconds").
pub const RESOLUTION_US: f64 = 0.5;

/// Judges predictions by measured times; `None` where no rung has any.
pub fn score(climbs: &[Climb], times: &Times) -> Option<Score> {
    let mut errors: Vec<(f64, &'static str)> = Vec::new();
    let mut ranks = Vec::new();
    for climb in climbs {
        let both: Vec<(f64, f64)> = climb
            .predictions
            .iter()
            .filter_map(|prediction| {
                let measured = *times.get(prediction.rung.name)?;
                let error = (prediction.estimate.us / measured - 1.0).abs();
                errors.push((error, prediction.rung.name));
                Some((prediction.estimate.us, measured))
            })
            .collect();
        if !both.is_empty() {
            let both = leveled(both);
            ranks.push((climb.ladder.name, spearman(&both)));
        }
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let worst = *errors.last()?;
    let sizes = Samples::new(errors.iter().map(|(error, _)| *error).collect())?;
    Some(Score {
        rungs: errors.len(),
        median: sizes.median(),
        worst,
        ranks,
    })
}

/// Makes measured times, the second of each pair, equal where they are nearer than [`RESOLUTION_US`] to the least of
/// those that are made equal.
fn leveled(mut pairs: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut least = f64::NEG_INFINITY;
    for (_, measured) in &mut pairs {
        if *measured - least >= RESOLUTION_US {
            least = *measured;
        }
        *measured = least;
    }
    pairs
}

/// Spearman's rank correlation: equal values have the mean of their ranks. `None` where either side's values
/// are all equal.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        pairs
            .iter()
            .map(|pair| {
                let less = pairs.iter().filter(|other| of(other) < of(pair)).count();
                let equal = pairs.iter().filter(|other| of(other) == of(pair)).count();
                less as f64 + (equal as f64 + 1.0) / 2.0
            })
            .collect()
    };
    let (a, b) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        let both = x.iter().zip(y);
        both.map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

#[cfg(test)]
mod tests {
    use super::{leveled, spearman};

    #[test]
    fn what_the_clock_cannot_tell_apart_is_alike() {
        let pairs = vec![
            (1.0, 52.6),
            (2.0, 45.6),
            (3.0, 52.2),
            (4.0, 53.0),
            (5.0, 3.4),
        ];
        let expected = [
            (5.0, 3.4),
            (2.0, 45.6),
            (3.0, 52.2),
            (1.0, 52.2),
            (4.0, 53.0),
        ];
        assert_eq!(leveled(pairs), expected);
        // An empty kernel, seven times.
        let alike = leveled(vec![(1.0, 3.456), (2.0, 3.648), (3.0, 3.424)]);
        assert_eq!(spearman(&alike), None);
    }

    #[test]
    fn ranks_correlate() {
        assert_eq!(
            spearman(&[(1.0, 10.0), (2.0, 20.0), (9.0, 21.0)]),
            Some(1.0)
        );
        assert_eq!(spearman(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0)]), None);
        // One pair of six swapped: 1 - 6 * 2 / (6 * 35).
        let swapped = [(1., 1.), (2., 3.), (3., 2.), (4., 4.), (5., 5.), (6., 6.)];
        assert!((spearman(&swapped).unwrap_or(0.0) - (1.0 - 12.0 / 210.0)).abs() < 1e-12);
        // Equal values: ranks 1.5 and 1.5.
        let equal = spearman(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]).unwrap_or(0.0);
        assert!((equal - 0.75f64.sqrt()).abs() < 1e-12);
    }
}
