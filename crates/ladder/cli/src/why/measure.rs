//! The measurement that verdicts and counters are based on: the simulator or Nsight Compute counts a launch of each
//! rung.

use std::collections::BTreeMap;

use super::Arguments;
use crate::command::{CommandArgs, Env, progress_bar};
use crate::error::Error;
use crate::output::{Context, Document};
use crate::timing::{self, MODEL};
use analysis::occupancy::geometry;
use analysis::predict::sampler::INSTRUCTIONS;
use analysis::predict::{self, Description, Prediction};
use analysis::profile::ncu::{self, MetricSet, Ncu};
use analysis::profile::next_rung;
use analysis::profile::{Profile, RungProfile, on_sim, plan};
use engine::device::{Choice, Device, DeviceInfo};
use engine::run::Plan;
use engine::selection::Selection;
use engine::{DeviceProperties, Provenance};
use indicatif::ProgressBar;
use profile::checklist::Optimization;
use profile::counters::Numbers;
use profile::metrics::Metric;
use profile::metrics::Side;
use profile::model::Constants;
use profile::utilization;
use profile::verdict::{BoundVerdict, Utilization, verdict};
use serde::Serialize;

/// Selected rungs, and the device that counts their launches.
pub(super) struct Measurement<'a> {
    env: &'a Env<'a>,
    block: Option<[u32; 3]>,
    pub selected: Vec<Selection>,
    plans: Vec<Plan>,
    counter: CountingDevice<'a>,
    info: DeviceInfo,
    wanted: MetricSet,
    bar: ProgressBar,
    is_of_named_device: bool,
}

/// A device that counts launches.
enum CountingDevice<'a> {
    /// The simulator, and the device that the model predicts times for.
    Sim(Box<dyn Device>, Box<Description>),
    /// A GPU, through Nsight Compute.
    Gpu(Ncu<'a>),
}

/// A ladder's profile, and the predictions that its verdicts are based on if no GPU was measured.
pub(super) struct Measured {
    pub profile: Profile,
    /// The predictions, by the rung's name.
    pub predictions: BTreeMap<&'static str, Prediction>,
    /// For each rung that is not predicted because its blocks wait in a chain, the verdict without these waits.
    pub without_waits: BTreeMap<&'static str, BoundVerdict>,
}

impl<'a> Measurement<'a> {
    /// Opens the device that counts the launches, and returns the metrics for this device. The metrics depend on
    /// whether the device is a GPU.
    ///
    /// # Errors
    /// Returns an error when the request cannot be fulfilled, or when the device cannot be opened.
    pub(super) fn open(
        args: &'a CommandArgs<Arguments>,
        env: &'a Env<'a>,
        metrics: impl Fn(Side) -> Result<Vec<Metric>, Error>,
    ) -> Result<(Self, Vec<Metric>), Error> {
        let (arguments, block) = (&args.command, args.targets.block());
        let selected = args.targets.select(env.catalog)?;
        let named = arguments.timing.on.as_deref();
        let model = Description::open(named.unwrap_or(MODEL)).map_err(analysis::Error::from)?;
        let choice = timing::choice(named, arguments.timing.device)?;
        let properties = named.map_or(DeviceProperties::default(), |_| predict::properties(&model));
        let plans = selected.iter().map(|one| plan(one, block, properties));
        let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
        if named.is_some() {
            for (one, plan) in selected.iter().zip(&mut plans) {
                timing::leave_out_unsupported(plan, one.ladder, env, &model)?;
            }
        }
        // Refuse an unknown name before a device is opened.
        metrics(if choice == Choice::Sim { Side::Sim } else { Side::Gpu })?;
        let device = timing::open(env, choice, properties)?;
        let info = device.info().clone();
        let side = if info.kind == "sim" { Side::Sim } else { Side::Gpu };
        let metrics = metrics(side)?;
        let counter = match side {
            Side::Sim => CountingDevice::Sim(device, Box::new(model)),
            Side::Gpu => {
                for plan in &mut plans {
                    plan.leave_out_unsupported(&*device)?;
                }
                // This process has closed the GPU by the time another process is profiled on it.
                CountingDevice::Gpu(env.ncu(ncu::find(arguments.ncu.as_deref())?, &info)?)
            }
        };
        let needed = metrics.iter().flat_map(|metric| metric.gpu.needs(&metric.name));
        let wanted = MetricSet { needed: needed.collect(), optional: utilization::metrics() };
        let steps: usize = plans.iter().map(|plan| plan.launches().len()).sum();
        let bar = progress_bar(steps, env.terminal);
        let is_of_named_device = named.is_some();
        Ok((Self { env, block, selected, plans, counter, info, wanted, bar, is_of_named_device }, metrics))
    }

    /// Returns whether exactly one rung is selected.
    pub(super) fn is_one_rung(&self) -> bool {
        matches!(&self.plans[..], [plan] if plan.launches().len() == 1)
    }

    /// Returns whether the verdicts are for a device that the user named.
    pub(super) fn is_of_named_device(&self) -> bool {
        self.is_of_named_device
    }

    /// Returns the side that counts the launches: the simulator or a GPU.
    pub(super) fn side(&self) -> Side {
        match self.counter {
            CountingDevice::Sim(..) => Side::Sim,
            CountingDevice::Gpu(_) => Side::Gpu,
        }
    }

    /// Describes the source of the verdicts' numbers.
    pub(super) fn origin(&self) -> String {
        match &self.counter {
            CountingDevice::Sim(_, model) => format!("predicted for {}, not measured", model.name),
            CountingDevice::Gpu(_) => format!("measured on {}", self.info.name),
        }
    }

    /// Returns the device that the model predicts times for.
    pub(super) fn model(&self) -> Option<&Description> {
        match &self.counter {
            CountingDevice::Sim(_, model) => Some(model),
            CountingDevice::Gpu(_) => None,
        }
    }

    /// Measures each ladder, and passes the measurements of a ladder to `show` as soon as they are complete.
    ///
    /// # Errors
    /// Returns an error when the device, the simulator or Nsight Compute fails, and the errors of `show`.
    pub(super) fn each(&mut self, mut show: impl FnMut(&Self, Measured) -> Result<(), Error>) -> Result<(), Error> {
        for index in 0..self.plans.len() {
            let measured = self.measure(index)?;
            let bar = self.bar.clone();
            bar.suspend(|| show(self, measured))?;
        }
        self.bar.finish_and_clear();
        Ok(())
    }

    fn measure(&mut self, index: usize) -> Result<Measured, Error> {
        let (selection, plan, bar) = (&self.selected[index], &self.plans[index], &self.bar);
        let (problem, launches) = (plan.problem(), plan.launches());
        let bytes = problem.facts().bytes;
        let kernels = self.env.catalog.kernels;
        let (mut left_out, mut without_waits) = (plan.left_out().to_vec(), BTreeMap::new());
        let (side, counted, mut predictions, utilizations): (
            _,
            Vec<Numbers>,
            Vec<Prediction>,
            Vec<Option<Utilization>>,
        ) = match &mut self.counter {
            CountingDevice::Sim(device, model) => {
                let counted = on_sim(&mut **device, plan, |rung| {
                    bar.set_message(rung.name);
                    bar.inc(1);
                })?;
                let predictions =
                    predict::launches(kernels, model, &Constants::CALIBRATED, problem, launches, INSTRUCTIONS)?;
                let both = predictions.iter().zip(&counted);
                let utilizations = both.map(|(prediction, numbers)| {
                    let refusal = prediction.refusal();
                    left_out.extend(refusal.as_ref().map(ToString::to_string));
                    let geometry = geometry(&prediction.launch);
                    let of_model = Utilization::from_model(model, &prediction.estimate, numbers, geometry, bytes);
                    if refusal.is_none() {
                        return Some(of_model);
                    }
                    let found = verdict(&Utilization { predicted_ns: None, ..of_model });
                    without_waits.extend(found.map(|found| (prediction.rung.name, found)));
                    None
                });
                let utilizations = utilizations.collect();
                (Side::Sim, counted, predictions, utilizations)
            }
            CountingDevice::Gpu(ncu) => {
                bar.set_message(format!("{} under ncu", selection.ladder.name));
                let counted = ncu.profile(selection, launches, self.block, &self.wanted)?;
                bar.inc(launches.len() as u64);
                let utilizations = counted.iter().map(|numbers| Some(Utilization::from_ncu(numbers, bytes)));
                let utilizations = utilizations.collect();
                (Side::Gpu, counted, Vec::new(), utilizations)
            }
        };
        let rows = launches.iter().zip(counted).zip(&utilizations).map(|(((rung, launch), numbers), utilization)| {
            RungProfile { rung, launch: launch.clone(), numbers, verdict: utilization.as_ref().and_then(verdict) }
        });
        predictions.retain(|prediction| prediction.refusal().is_none());
        Ok(Measured {
            profile: Profile {
                ladder: selection.ladder,
                side,
                title: problem.labels().title,
                rows: rows.collect(),
                left_out,
            },
            predictions: predictions.into_iter().map(|prediction| (prediction.rung.name, prediction)).collect(),
            without_waits,
        })
    }

    /// Returns the device that counts the launches, and the date.
    pub(super) fn context(&self) -> Context {
        let provenance = (self.env.provenance)(&self.info);
        Context { device: self.info.to_string(), conditions: String::new(), provenance }
    }

    /// Adds the device that counted the launches, the date and the compilers.
    pub(super) fn provenance(&self, document: &mut Document) {
        let Context { device, provenance: Provenance { date, toolchain }, .. } = self.context();
        document.note(format!("on {device}; {date}; {toolchain}"));
    }
}

/// The JSON record of a rung. `metrics` contains the value of each metric on `sim` and on `gpu`, in Nsight Compute's
/// base unit: bytes, bytes per second, nanoseconds, percent. A value is `null` for the device that did not count. It is
/// also `null` if the device lacks the metric or the divisor is zero.
#[derive(Serialize)]
pub(super) struct CounterRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    metrics: BTreeMap<&'a str, SimAndGpu>,
    #[serde(flatten)]
    verdict: Option<VerdictRecord>,
    #[serde(flatten)]
    prediction: Option<PredictionRecord<'a>>,
}

#[derive(Serialize)]
struct SimAndGpu {
    sim: Option<f64>,
    gpu: Option<f64>,
}

#[derive(Serialize)]
struct VerdictRecord {
    bound_by: &'static str,
    /// The fraction of the bound `bound_by` that the rung reaches, from 0 to 1.
    share: f64,
    fix: Option<Optimization>,
    next_rung: Option<&'static str>,
}

#[derive(Serialize)]
struct PredictionRecord<'a> {
    device: &'a str,
    resident_blocks: u32,
    predicted_ns: f64,
    /// The time that each resource would take by itself.
    alone_ns: BTreeMap<&'static str, f64>,
}

impl Measured {
    /// Returns a record with these metrics for each rung.
    pub(super) fn records<'a>(
        &'a self,
        metrics: &'a [Metric],
        model: Option<&'a Description>,
    ) -> impl Iterator<Item = CounterRecord<'a>> {
        let (ladder, side) = (self.profile.ladder, self.profile.side);
        self.profile.rows.iter().map(move |row| CounterRecord {
            ladder: ladder.name,
            rung: row.rung.name,
            grid: row.launch.grid,
            block: row.launch.block,
            metrics: metrics
                .iter()
                .map(|metric| {
                    let number = |value_side| row.number(metric, side).filter(|_| value_side == side);
                    (metric.name.as_str(), SimAndGpu { sim: number(Side::Sim), gpu: number(Side::Gpu) })
                })
                .collect(),
            verdict: row.verdict.map(|found| VerdictRecord {
                bound_by: found.bound.name(),
                share: found.share,
                fix: found.helps,
                next_rung: found.helps.and_then(|fix| next_rung(ladder, row.rung, fix)),
            }),
            prediction: model.zip(self.predictions.get(row.rung.name)).map(|(device, prediction)| PredictionRecord {
                device: &device.name,
                resident_blocks: prediction.estimate.resident,
                predicted_ns: prediction.estimate.us * 1e3,
                alone_ns: prediction.estimate.alone.iter().map(|(resource, us)| (resource.name(), us * 1e3)).collect(),
            }),
        })
    }
}
