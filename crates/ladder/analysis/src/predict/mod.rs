//! Predicts the time that a rung takes on a given device. The model is analytic: it combines counters of the simulator
//! ([`sampler`]), the resource usage that `ptxas` reports ([`occupancy`]), and a device's [`Description`].
//!
//! ```no_run
//! use analysis::predict::{self, Description};
//! use profile::model::Constants;
//! use engine::selection::select;
//!
//! # fn main() -> Result<(), analysis::Error> {
//! let device = Description::open("h100")?;
//! for selected in select(&host::CATALOG, &["reduce".to_owned()])? {
//!     let plan = selected.plan(None, None, predict::properties(&device))?;
//!     let predicted = predict::ladder(&host::KERNELS, &device, &Constants::CALIBRATED, selected.ladder, plan)?;
//!     for rung in &predicted.predictions {
//!         println!("{}: {:.1} µs, bound by {}", rung.launch, rung.estimate.us, rung.estimate.bound().0.name());
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod calibrate;
pub mod measured;
pub mod sampler;
mod score;

use std::collections::BTreeMap;

use crate::Error;
use crate::occupancy::{self, EntryOccupancy, Limits};
pub use devices::Description;
use engine::device::Sim;
use engine::launch::Launch;
use engine::problem::Problem;
use engine::registry::{Ladder, Rung};
use engine::run::Plan;
use engine::{DeviceProperties, Kernels};
use profile::model::{Constants, Estimate, estimate};
use profile::sample::Sample;
use rayon::prelude::*;
use sampler::{INSTRUCTIONS, Sampler};
pub use score::{RESOLUTION_US, Score, observations, score};
use toolkit::Usage;

/// The predicted time of a rung on a device.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The rung.
    pub rung: &'static Rung,
    /// The launch that the prediction is for.
    pub launch: Launch,
    /// The predicted time.
    pub estimate: Estimate,
    /// The sample that the time was computed from.
    pub sample: Sample,
}

impl Prediction {
    /// Returns the time with other constants, or for another device with the same latencies.
    pub fn estimate_with(&self, device: &Description, constants: &Constants) -> Estimate {
        let (blocks, resident) = (self.launch.blocks(), self.estimate.resident);
        estimate(device, constants, &self.sample, blocks, resident)
    }

    /// Returns the reason why the time is not a valid prediction, if blocks wait for blocks that themselves wait for
    /// other blocks. The model does not include waits between blocks. A single wait is short compared with a block's
    /// time, but a chain of waits can dominate the time.
    pub fn refusal(&self) -> Option<Error> {
        let is_chain = self.sample.resource_use.waits > 1;
        is_chain.then(|| {
            Error::Request(format!(
                "{} is not predicted: its blocks wait for blocks that wait for others, which the model does not include",
                self.rung.name
            ))
        })
    }
}

/// The predictions of a ladder's rungs.
#[derive(Clone, Debug)]
pub struct LadderPrediction {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The problem in words.
    pub title: String,
    /// The number of bytes of the problem, from which effective bandwidth is computed.
    pub bytes: u64,
    /// The predictions of the rungs that run on the device.
    pub predictions: Vec<Prediction>,
    /// The reasons why other rungs are left out.
    pub left_out: Vec<String>,
}

/// Returns the properties of a device that launches depend on.
pub fn properties(device: &Description) -> DeviceProperties {
    DeviceProperties { multiprocessors: device.multiprocessors }
}

/// Measured times in microseconds, by rung.
pub type Times = BTreeMap<String, f64>;

/// Predicts the times of the rungs in a ladder's plan. Rungs that the device does not support are left out, unless they
/// were requested by name.
///
/// # Errors
/// Returns [`Error`] when there is no `ptxas`, or when the simulator fails. Also returns [`Error`] when the device does
/// not support a rung that was requested by name, or supports none of the rungs.
pub fn ladder(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    ladder: &'static Ladder,
    mut plan: Plan,
) -> Result<LadderPrediction, Error> {
    plan.fit(properties(device))?;
    let arch = &device.arch;
    plan.leave_out(|_, launch| occupancy::source(kernels, launch, arch).err())?;
    // Run in parallel, because each entry needs a run of ptxas.
    let entries = plan.launches().par_iter().map(|(_, launch)| EntryOccupancy::new(kernels, launch, arch));
    let mut entries = entries.collect::<Result<Vec<_>, Error>>()?;
    let mut all = entries.iter();
    plan.leave_out(|rung, launch| {
        let fits = all.next().is_some_and(|entry| entry.occupancy.blocks > 0);
        (!fits).then(|| {
            Error::Request(format!(
                "{launch} does not fit on a multiprocessor of {}: `ladder why {} --occupancy` shows the reason",
                device.name, rung.name
            ))
        })
    })?;
    entries.retain(|entry| entry.occupancy.blocks > 0);
    if entries.is_empty() {
        let reason = plan.left_out().join("; ");
        return Err(Error::Request(reason));
    }
    let problem = plan.problem();
    let (title, bytes) = (problem.labels().title, problem.facts().bytes);
    let launches = plan.launches().iter().zip(&entries);
    let predictions = predictions(kernels, device, constants, problem, launches, INSTRUCTIONS)?;
    let mut predictions = predictions.into_iter().collect::<Result<Vec<Prediction>, Error>>()?;
    let mut left_out = plan.left_out().to_vec();
    predictions.retain(|prediction| match prediction.refusal() {
        Some(why) => {
            left_out.push(why.to_string());
            false
        }
        None => true,
    });
    Ok(LadderPrediction { ladder, title, bytes, predictions, left_out })
}

/// Predicts the times of one problem's launches, which were planned for the device, from samples of up to
/// `most_instructions` warp instructions. Without `ptxas`, registers are assumed not to limit the number of blocks on a
/// multiprocessor. [`Prediction::refusal`] marks times that are not predictions.
///
/// # Errors
/// Returns [`Error::Engine`] when the simulator fails.
pub fn launches(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    problem: &dyn Problem,
    launches: &[(&'static Rung, Launch)],
    most_instructions: u64,
) -> Result<Vec<Prediction>, Error> {
    let entries = entries(kernels, device, launches)?;
    let all = predictions(kernels, device, constants, problem, launches.iter().zip(&entries), most_instructions)?;
    all.into_iter().collect()
}

/// Returns the occupancy of each launch.
fn entries(
    kernels: &'static Kernels,
    device: &Description,
    launches: &[(&'static Rung, Launch)],
) -> Result<Vec<EntryOccupancy>, Error> {
    let entry = |(_, launch): &(&'static Rung, Launch)| Ok(occupancy_of(Some(kernels), device, launch)?.0);
    launches.par_iter().map(entry).collect()
}

/// Predicts times like [`launches`], but returns an error for each launch that is not predicted. A launch is not
/// predicted if the model [refuses](Prediction::refusal) it or its sample fails. For example, a sample fails if its
/// blocks wait for blocks outside of the sample.
///
/// # Errors
/// Returns an error when the device is unknown, and when the simulator cannot hold the problem.
pub fn each_launch(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    problem: &dyn Problem,
    launches: &[(&'static Rung, Launch)],
    most_instructions: u64,
) -> Result<Vec<Result<Prediction, Error>>, Error> {
    let entries = entries(kernels, device, launches)?;
    let all = predictions(kernels, device, constants, problem, launches.iter().zip(&entries), most_instructions)?;
    Ok(all
        .into_iter()
        .map(|prediction| prediction.and_then(|prediction| prediction.refusal().map_or(Ok(prediction), Err)))
        .collect())
}

/// Returns the occupancy of a launch on a device, and whether `ptxas` reported the registers. Without `ptxas`,
/// registers are assumed not to limit the number of blocks. Without kernels, static shared memory is not counted
/// either.
pub(crate) fn occupancy_of(
    kernels: Option<&'static Kernels>,
    device: &Description,
    launch: &Launch,
) -> Result<(EntryOccupancy, bool), Error> {
    let known = kernels.and_then(|kernels| occupancy::usage(kernels, launch, &device.arch).ok());
    let usage = known.unwrap_or_else(|| Usage {
        shared_bytes: kernels.map_or(0, |kernels| kernels.static_shared_bytes(&launch.entry)),
        ..Usage::default()
    });
    Ok((EntryOccupancy::with_usage(usage, launch, Limits::named(&device.arch)?), known.is_some()))
}

/// Predicts the times of one problem's launches, given the occupancy of each launch.
fn predictions<'a>(
    kernels: &'static Kernels,
    device: &Description,
    constants: &Constants,
    problem: &dyn Problem,
    launches: impl Iterator<Item = (&'a (&'static Rung, Launch), &'a EntryOccupancy)>,
    most_instructions: u64,
) -> Result<Vec<Result<Prediction, Error>>, Error> {
    let mut sim = Sim::open_like(kernels, 0, None, properties(device))?;
    let mut sampler = Sampler::new(&mut sim, problem, device, most_instructions)?;
    let predict = |((rung, launch), entry): (&(&'static Rung, Launch), &EntryOccupancy)| {
        let sample = sampler.launch(rung, launch, entry)?;
        Ok(Prediction {
            rung,
            launch: launch.clone(),
            estimate: estimate(device, constants, &sample, launch.blocks(), entry.occupancy.blocks.max(1)),
            sample,
        })
    };
    Ok(launches.map(predict).collect())
}
