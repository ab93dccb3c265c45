//! Predicts how long a rung would take on another device. The model is analytic: it combines counters of the SIMT
//! machine ([`sample`]), the resource usage that `ptxas` reports ([`occupancy`]), and a device's [`description`].
//!
//! ```no_run
//! use analysis::predict::{self, Description, model::Constants};
//! use engine::selection::select;
//!
//! # fn main() -> Result<(), analysis::predict::PredictError> {
//! let device = Description::open("h100")?;
//! for selected in select(&host::CATALOG, &["reduce".to_owned()])? {
//!     let plan = selected.plan(None, None)?;
//!     let own = predict::ladder(&host::KERNELS, &device, &Constants::CALIBRATED, selected.ladder, plan)?;
//!     for rung in &own.predictions {
//!         println!("{}: {:.1} µs, bound by {}", rung.launch, rung.estimate.us, rung.estimate.bound().0.name());
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod against;
pub mod calibrate;
pub mod description;
pub mod model;
pub mod sample;
mod score;

use std::collections::BTreeMap;

use crate::occupancy::{self, EntryOccupancy, Limits, OccupancyError};
pub use description::Description;
use engine::Kernels;
use engine::device::Sim;
use engine::launch::Launch;
use engine::names::did_you_mean;
use engine::problem::Problem;
use engine::registry::{Ladder, Rung};
use engine::run::Plan;
use model::{Constants, Estimate, estimate};
use sample::{Sample, Sampler};
pub use score::{RESOLUTION_US, Score, observations, score};
use toolkit::Usage;

/// The reason why a prediction cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The occupancy of a rung is not known.
    #[error(transparent)]
    Occupancy(#[from] OccupancyError),
    /// The name is not a device's.
    #[error("no device is named `{name}`; {}, or give a file (`./mine.toml`) as those of crates/analysis/devices", did_you_mean(.name, "devices", .known))]
    UnknownDevice {
        /// The name that was asked for.
        name: String,
        /// The names of all devices.
        known: Vec<&'static str>,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A file does not describe a device.
    #[error("{path}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    Description {
        /// The file.
        path: String,
        /// The line, counted from 1, if the error is in one.
        line: Option<usize>,
        /// The error.
        problem: String,
    },
    /// A file has no measured times, or none of the requested ladders.
    #[error(
        "{path} has no times of {of}: it is neither what `ladder run --json` prints nor a file with the tables that `ladder run --update-readme` writes"
    )]
    NoTimes {
        /// The file.
        path: String,
        /// The ladders.
        of: String,
    },
}

/// The predicted time of a rung on a device.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The rung.
    pub rung: &'static Rung,
    /// How it would be launched.
    pub launch: Launch,
    /// Its time.
    pub estimate: Estimate,
    /// The sample that it was computed from.
    pub sample: Sample,
}

impl Prediction {
    /// Computes the time again with other constants, or for another device of the same latencies.
    pub fn update(&mut self, device: &Description, constants: &Constants) {
        let (blocks, resident) = (self.launch.blocks(), self.estimate.resident);
        self.estimate = estimate(device, constants, &self.sample, blocks, resident);
    }
}

/// The predictions of a ladder's rungs.
#[derive(Clone, Debug)]
pub struct LadderPrediction {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The problem in words.
    pub title: String,
    /// Its bytes, for the effective bandwidth.
    pub bytes: u64,
    /// The predictions of the rungs that run on the device.
    pub predictions: Vec<Prediction>,
    /// The reasons why other rungs do not.
    pub left_out: Vec<String>,
}

/// Measured times in microseconds, by rung.
pub type Times = BTreeMap<String, f64>;

/// Predicts the rungs of a ladder's plan. Rungs that do not run on the device are left out, unless they were requested
/// by name.
///
/// # Errors
/// [`PredictError::Occupancy`] when there is no `ptxas`, when the device does not support a rung that was requested by
/// name, and when it supports none of the rungs; [`PredictError::Engine`] when the SIMT machine fails.
pub fn ladder(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    ladder: &'static Ladder,
    mut plan: Plan,
) -> Result<LadderPrediction, PredictError> {
    let arch = &device.arch;
    plan.leave_out(|_, launch| occupancy::source(kernels, launch, arch).err())?;
    let mut entries = Vec::new();
    for (_, launch) in plan.launches() {
        entries.push(EntryOccupancy::new(kernels, launch, arch)?);
    }
    let mut all = entries.iter();
    plan.leave_out(|rung, launch| {
        let fits = all.next().is_some_and(|own| own.occupancy.blocks > 0);
        (!fits).then(|| OccupancyError::NothingFits {
            reason: format!(
                "{launch} does not fit a multiprocessor of {}: `ladder occupancy {}` says why",
                device.name, rung.name
            ),
        })
    })?;
    entries.retain(|own| own.occupancy.blocks > 0);
    if entries.is_empty() {
        let reason = plan.left_out().join("; ");
        return Err(OccupancyError::NothingFits { reason }.into());
    }
    let problem = plan.problem();
    let mut sim = Sim::open(kernels, 0)?;
    let mut sampler = Sampler::new(&mut sim, problem)?;
    let mut predictions = Vec::with_capacity(entries.len());
    for ((rung, launch), entry) in plan.launches().iter().zip(&entries) {
        let (sample, estimate) = sampled(device, constants, &mut sampler, rung, launch, entry)?;
        predictions.push(Prediction {
            rung,
            launch: launch.clone(),
            estimate,
            sample,
        });
    }
    Ok(LadderPrediction {
        ladder,
        title: problem.title(),
        bytes: problem.bytes(),
        predictions,
        left_out: plan.left_out().to_vec(),
    })
}

/// Predicts the times of launches of one problem. Without `ptxas`, registers are assumed not to limit the number of
/// blocks on a multiprocessor.
///
/// # Errors
/// [`PredictError::Engine`] when the SIMT machine fails.
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
        let entry = EntryOccupancy::with_usage(usage, launch, limits);
        let (_, estimate) = sampled(device, constants, &mut sampler, rung, launch, &entry)?;
        all.push(estimate);
    }
    Ok(all)
}

/// A sample of a launch with this occupancy, and the time that it gives.
fn sampled(
    device: &Description,
    constants: &Constants,
    sampler: &mut Sampler<'_>,
    rung: &Rung,
    launch: &Launch,
    entry: &EntryOccupancy,
) -> Result<(Sample, Estimate), PredictError> {
    let resident = entry.occupancy.blocks.max(1);
    // Shared memory and the L1 are one memory.
    let taken = u64::from(entry.shared_bytes()) * u64::from(resident);
    let l1_bytes = device.multiprocessor.l1_bytes.saturating_sub(taken) / u64::from(resident);
    let sample = sampler.launch(rung, launch, device.latency, l1_bytes)?;
    let estimate = estimate(device, constants, &sample, launch.blocks(), resident);
    Ok((sample, estimate))
}
