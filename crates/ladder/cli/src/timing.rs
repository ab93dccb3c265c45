//! The times for rooflines and reports, which are measured on a GPU, read from a file, or predicted for a device.

use std::path::PathBuf;

use clap::Args;
use engine::device::{Choice, Device, Sim};
use engine::problem::Verdict;
use engine::run::{self, Plan};
use engine::selection::Selection;
use engine::{DeviceProperties, Ladder};
use serde::{Deserialize, Serialize};

use crate::command::Env;
use crate::error::Error;
use analysis::occupancy;
use analysis::predict::measured::MeasuredTimes;
use analysis::predict::sampler::INSTRUCTIONS;
use analysis::predict::{self, Description, Prediction, Times};
use profile::model::Constants;
use profile::roofline::Measured;

/// The arguments that select the source of times.
#[derive(Args, Clone, Debug)]
pub(crate) struct TimingArguments {
    /// Where to measure. Without a GPU, and on sim, times are predicted
    #[arg(long, value_enum, default_value_t)]
    pub device: Choice,
    /// The device whose limits are shown and for which times are predicted: h200, h100, a100, l4, rtx4090, rtx3080, t4,
    /// or a file in the format of crates/simt/devices/known [default: the measured device, or else h100]
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// Read earlier measurements: the output of `ladder run --json`, or a file of results/
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    pub times: Option<PathBuf>,
}

/// The default number of timed launches of each rung.
pub const RUNS: u32 = 20;

/// The default device for predictions, if nothing was measured.
pub(crate) const MODEL: &str = "h100";

/// Returns the device to open: the simulator if `on` names a device for which to predict times.
///
/// # Errors
/// Returns [`Error::Request`] when a GPU is requested too.
pub(crate) fn choice(on: Option<&str>, device: Choice) -> Result<Choice, Error> {
    match (on, device) {
        (Some(_), Choice::Gpu) => {
            let why = "--on predicts times and --device gpu measures them; leave out one of the two options";
            Err(Error::Request(why.to_owned()))
        }
        (Some(_), _) => Ok(Choice::Sim),
        (None, choice) => Ok(choice),
    }
}

/// Opens a device. If `device` differs from the default properties, opens a simulator that imitates a device with these
/// properties.
///
/// # Errors
/// Returns an error when there is no such device.
pub(crate) fn open(env: &Env<'_>, choice: Choice, device: DeviceProperties) -> Result<Box<dyn Device>, engine::Error> {
    match device == DeviceProperties::default() {
        true => (env.open)(choice),
        false => Ok(Box::new(Sim::open_like(env.catalog.kernels, 0, None, device)?)),
    }
}

/// Removes the rungs that a described device does not support.
///
/// # Errors
/// Returns an error when no rung is left, or when a named rung is not supported.
pub(crate) fn leave_out_unsupported(
    plan: &mut Plan,
    ladder: &Ladder,
    env: &Env<'_>,
    device: &Description,
) -> Result<(), Error> {
    plan.leave_out(|_, launch| occupancy::source(env.catalog.kernels, launch, &device.arch).err())?;
    match plan.launches().is_empty() {
        true => {
            let why = plan.left_out().join(", ");
            Err(Error::Request(format!("no rung of {} is left: {why}", ladder.name)))
        }
        false => Ok(()),
    }
}

/// An open source of times.
pub(crate) struct Timing {
    given: Option<MeasuredTimes>,
    gpu: Option<Box<dyn Device>>,
    /// The device whose limits are shown.
    pub description: Description,
    pub origin: Origin,
}

/// The source of times, described in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub is_measured: bool,
    /// `measured on …`, `predicted for …`.
    pub words: String,
    /// The name of the device.
    pub device: String,
}

/// The times of a ladder.
pub(crate) struct Timed {
    /// The launches, in the ladder's order, and the reasons why other launches are left out.
    pub plan: Plan,
    /// The prediction of each launch.
    pub predictions: Vec<Prediction>,
    /// The measured times; `None` if times are predicted.
    pub measured: Option<Times>,
    /// The rungs whose results were wrong on the GPU, each with a description of the error.
    pub wrong: Vec<String>,
}

impl Timed {
    /// Returns the time of a launch in nanoseconds. Returns `None` if only other launches were measured, or if the
    /// model does not cover the launch.
    pub(crate) fn time_ns(&self, prediction: &Prediction) -> Option<f64> {
        let us = match &self.measured {
            Some(times) => times.get(prediction.rung.name).copied(),
            None => prediction.refusal().is_none().then_some(prediction.estimate.us),
        };
        us.map(|us| us * 1e3)
    }

    /// Returns the launches that have a time, for a roofline.
    pub(crate) fn points(&self) -> Vec<Measured<'_>> {
        let timed =
            self.predictions.iter().filter_map(|prediction| Some((prediction, self.time_ns(prediction)? / 1e3)));
        timed.map(|(prediction, us)| Measured { name: prediction.rung.name, us, sample: &prediction.sample }).collect()
    }
}

impl Timing {
    /// Opens the GPU or reads the measured times, and finds the description of the device.
    ///
    /// # Errors
    /// Returns an error when there is no such device, file or GPU, and when a GPU without a description is used without
    /// `--on`.
    pub(crate) fn open(args: &TimingArguments, env: &Env<'_>) -> Result<Self, Error> {
        let gpu = match (&args.times, args.device) {
            (Some(_), _) | (_, Choice::Sim) => None,
            (None, choice) => Some((env.open)(choice)?).filter(|device| device.info().kind == "gpu"),
        };
        let given = args.times.as_deref().map(MeasuredTimes::read).transpose()?;
        let name = match (&gpu, &given) {
            (Some(gpu), _) => Some(gpu.info().name.clone()),
            (None, given) => given.as_ref().and_then(MeasuredTimes::device).map(str::to_owned),
        };
        let description = match (&args.on, &name) {
            (Some(on), _) => Description::open(on),
            (None, None) => Description::open(MODEL),
            (None, Some(name)) => {
                let known = Description::known().into_iter();
                let mut known = known.filter_map(|file| Description::open(file).ok());
                return match known.find(|description| description.name == *name) {
                    Some(found) => Ok(Self::new(given, gpu, Some(name), found)),
                    None => Err(Error::Request(format!(
                        "there is no description of {name}; give --on a similar device, or a file in the format of \
                         crates/simt/devices/known"
                    ))),
                };
            }
        };
        Ok(Self::new(given, gpu, name.as_deref(), description.map_err(analysis::Error::from)?))
    }

    /// Combines the limits of the described device with the given times. `name` is the device that was measured, if
    /// known.
    fn new(
        given: Option<MeasuredTimes>,
        gpu: Option<Box<dyn Device>>,
        name: Option<&str>,
        description: Description,
    ) -> Self {
        let device = description.name.clone();
        let (is_measured, words) = match (&gpu, &given) {
            (Some(gpu), _) => (true, format!("measured on {}", gpu.info())),
            (None, Some(given)) => {
                let on = name.map_or(String::new(), |name| format!(" on {name}"));
                (true, format!("measured{on}, from {}", given.path().display()))
            }
            (None, None) => (false, format!("predicted for {device}, not measured")),
        };
        Self { given, gpu, description, origin: Origin { is_measured, words, device } }
    }

    /// Returns the times of a selection's rungs. Rungs that the device does not support are left out unless they were
    /// named.
    ///
    /// # Errors
    /// Returns an error when no rung is left, when a named rung is not supported, and when a device fails.
    pub(crate) fn of(&mut self, env: &Env<'_>, selection: &Selection, block: Option<[u32; 3]>) -> Result<Timed, Error> {
        let (kernels, ladder) = (env.catalog.kernels, selection.ladder);
        let device = predict::properties(&self.description);
        let mut plan = selection.plan(block, Some(RUNS), device)?;
        leave_out_unsupported(&mut plan, ladder, env, &self.description)?;
        let (mut measured, mut wrong) = (None, Vec::new());
        if let Some(given) = &self.given {
            measured = Some(given.of(ladder, &plan.problem().labels().title)?);
        }
        if let Some(gpu) = &mut self.gpu {
            let report = run::run(&mut **gpu, selection.plan(block, Some(RUNS), device)?, |_| {})?;
            let us = |outcome: &run::RungResult| Some((outcome.rung.name.to_owned(), outcome.median_ns()? / 1e3));
            measured = Some(report.outcomes.iter().filter_map(us).collect());
            for outcome in &report.outcomes {
                if let Verdict::Wrong(why) = &outcome.verdict {
                    wrong.push(format!("{}: {why}", outcome.launch));
                }
            }
            wrong.extend(report.not_run.iter().map(|name| format!("{name} did not run")));
        }
        let (constants, problem) = (&Constants::CALIBRATED, plan.problem());
        let predictions =
            predict::launches(kernels, &self.description, constants, problem, plan.launches(), INSTRUCTIONS)?;
        Ok(Timed { plan, predictions, measured, wrong })
    }
}
