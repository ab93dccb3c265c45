//! `ladder profile`: counters of rungs, on the simulator and through Nsight Compute.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

mod show;

use clap::{Args, ValueEnum};

use crate::command::{Command, CommandArgs};
use crate::env::{Env, progress_bar};
use crate::error::Error;
use crate::output::{Document, Format, Printer};
use analysis::predict::model::Constants;
use analysis::predict::{self, Description};
use analysis::profile::ncu::{self, MetricSet};
use analysis::profile::verdict::{Utilization, verdict};
use analysis::profile::{Metric, Numbers, Profile, Row, Side, bounds, metrics, on_sim, plan};
use engine::device::{Choice, Device, DeviceInfo, Sim};
use engine::launch::Launch;
use engine::registry::Rung;
use engine::run::Plan;
use engine::{DeviceProperties, Kernels, Provenance};
use show::View;
pub(crate) use show::how_near;

/// Where to profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ProfileDevice {
    /// The first GPU if there is one, else the SIMT machine
    #[default]
    Auto,
    /// The first GPU, through Nsight Compute
    Gpu,
    /// The SIMT machine
    Sim,
    /// Both, side by side
    Both,
}

pub(crate) const PROFILE: Command = Command {
    name: "profile",
    about: "Profile rungs: the counters of Nsight Compute on either device, and what bounds each rung",
    arguments: CommandArgs::<Arguments>::arguments,
    execute: |matches, env, to| profile(&CommandArgs::<Arguments>::read(env, matches)?, env, to.out),
};

/// The arguments of `ladder profile` alone.
#[derive(Args, Debug)]
struct Arguments {
    /// Where to profile
    #[arg(long, value_enum, default_value_t)]
    device: ProfileDevice,
    /// Only these metrics: of those that are shown, of the simulator's counters, and on a GPU any of Nsight Compute's
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Say what each metric means, and whether what is said of it holds here
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Nsight Compute's program [default: the one in PATH or where it installs itself]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

fn profile(args: &CommandArgs<Arguments>, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let own = &args.own;
    let block = args.targets.block();
    let selected = args.targets.select(env.catalog)?;
    let plans = selected.iter().map(|one| plan(one, block, DeviceProperties::default()));
    let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    // A name that no device knows is wrong wherever it runs.
    requested_metrics(own, own.device != ProfileDevice::Sim)?;

    let (mut sim, gpu) = devices(own.device, env)?;
    let metrics = requested_metrics(own, gpu.is_some())?;
    let infos = [&gpu, &sim].into_iter().flatten();
    let infos: Vec<DeviceInfo> = infos.map(|device| device.info().clone()).collect();
    // The GPU is closed before another process is profiled on it.
    let ncu = match gpu {
        Some(device) => {
            for plan in &mut plans {
                plan.leave_out_unsupported(&*device)?;
            }
            Some(env.ncu(ncu::find(own.ncu.as_deref())?, device.info())?)
        }
        None => None,
    };
    let needed = metrics.iter().flat_map(|own| own.gpu.needs(&own.name));
    let wanted = MetricSet { needed: needed.collect(), optional: bounds::metrics() };
    let view = View {
        metrics: &metrics,
        is_asked: !own.metrics.is_empty(),
        sides: match (&sim, &ncu) {
            (Some(_), Some(_)) => &[Side::Sim, Side::Gpu],
            (_, None) => &[Side::Sim],
            (None, _) => &[Side::Gpu],
        },
        style: env.style(),
    };

    let model = Description::open(MODEL).map_err(analysis::Error::from)?;
    let mut printer = Printer::new(own.format, env.style(), out);
    let mut profiles = Vec::new();
    let steps: usize = plans.iter().map(|plan| plan.launches().len()).sum();
    let bar = progress_bar(steps * view.sides.len(), env.terminal);
    for (selection, plan) in selected.iter().zip(&plans) {
        let ladder = selection.ladder;
        let mut counted = BTreeMap::new();
        if let Some(ncu) = &ncu {
            bar.set_message(format!("{} under ncu", ladder.name));
            let numbers = ncu.profile(selection, plan.launches(), block, &wanted)?;
            counted.insert(Side::Gpu, numbers);
            bar.inc(plan.launches().len() as u64);
        }
        if let Some(device) = &mut sim {
            let progress = |rung: &Rung| {
                bar.set_message(rung.name);
                bar.inc(1);
            };
            counted.insert(Side::Sim, on_sim(&mut **device, plan, progress)?);
        }
        let profile = Profile {
            ladder,
            title: plan.problem().labels().title,
            left_out: plan.left_out().to_vec(),
            rows: rows(env.catalog.kernels, &model, plan, &counted)?,
        };
        // A ladder can take a minute: each is shown when it is done.
        bar.suspend(|| printer.show(&view.profile(&profile)))?;
        profiles.push(profile);
    }
    bar.finish_and_clear();

    let mut below = Document::default();
    view.legend(&profiles, &mut below);
    if own.explain {
        view.explain(&profiles, &mut below);
    }
    for info in &infos {
        let Provenance { date, toolchain } = (env.provenance)(info);
        below.note(format!("on {info}; {date}; {toolchain}"));
    }
    printer.show(&below)?;
    printer.finish()?;
    Ok(0)
}

/// The metrics that were asked for, each once, or those that are shown where none was.
fn requested_metrics(own: &Arguments, on_gpu: bool) -> Result<Vec<Metric>, Error> {
    if own.metrics.is_empty() {
        return Ok(metrics::defaults());
    }
    let mut requested: Vec<Metric> = Vec::new();
    for name in &own.metrics {
        if requested.iter().all(|other| other.name != *name) {
            requested.push(metrics::find(name, on_gpu)?);
        }
    }
    Ok(requested)
}

type MaybeDevice = Option<Box<dyn Device>>;

/// Opens the simulator, the GPU, or both.
fn devices(on: ProfileDevice, env: &Env<'_>) -> Result<(MaybeDevice, MaybeDevice), Error> {
    let open = |choice| (env.open)(choice).map(Some);
    Ok(match on {
        ProfileDevice::Sim => (open(Choice::Sim)?, None),
        ProfileDevice::Gpu => (None, open(Choice::Gpu)?),
        ProfileDevice::Both => {
            let gpu = (env.open)(Choice::Gpu)?;
            // Both sides run the same launches, so the simulator imitates the GPU.
            let device = gpu.info().properties();
            let sim: Box<dyn Device> = match device == DeviceProperties::default() {
                true => (env.open)(Choice::Sim)?,
                false => Box::new(Sim::open_like(env.catalog.kernels, 0, None, device)?),
            };
            (Some(sim), Some(gpu))
        }
        ProfileDevice::Auto => match (env.open)(Choice::Auto)? {
            sim if sim.info().kind == "sim" => (Some(sim), None),
            gpu => (None, Some(gpu)),
        },
    })
}

/// The device that a verdict is for where there is no GPU.
const MODEL: &str = "h100";

/// A row for each rung of a plan, with what each device counted.
fn rows(
    kernels: &'static Kernels,
    model: &Description,
    plan: &Plan,
    counted: &BTreeMap<Side, Vec<Numbers>>,
) -> Result<Vec<Row>, Error> {
    let (problem, launches) = (plan.problem(), plan.launches());
    // The numbers that the GPU counted come before those of the model.
    let bytes = problem.facts().bytes;
    let utilizations: Vec<Utilization> = match (counted.get(&Side::Gpu), counted.get(&Side::Sim)) {
        (None, Some(sim)) => {
            let constants = &Constants::CALIBRATED;
            let predictions = predict::launches(kernels, model, constants, problem, launches)?;
            let both = predictions.iter().zip(sim);
            both.map(|(own, numbers)| Utilization::from_model(model, &own.estimate, numbers, &own.launch, bytes))
                .collect()
        }
        (gpu, _) => {
            let numbers = gpu.into_iter().flatten();
            numbers.map(|numbers| Utilization::from_ncu(numbers, bytes)).collect()
        }
    };
    let row = |(index, (rung, launch)): (usize, &(&'static Rung, Launch))| {
        let of_rung = |(side, all): (&Side, &Vec<Numbers>)| (*side, all[index].clone());
        Row {
            rung,
            launch: launch.clone(),
            counted: counted.iter().map(of_rung).collect(),
            verdict: utilizations.get(index).and_then(verdict),
        }
    };
    Ok(launches.iter().enumerate().map(row).collect())
}
