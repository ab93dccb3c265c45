//! `ladder profile`: counters of rungs, on the simulator and through Nsight Compute.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

mod json;
mod show;

use clap::{Args, ValueEnum};

use crate::command::{Command, On};
use crate::env::{Env, progress_bar};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::predict::model::Constants;
use analysis::predict::{self, Description};
use analysis::profile::ncu::{self, Ncu, Runner, Wanted};
use analysis::profile::plan::Chosen;
use analysis::profile::verdict::{Shares, verdict};
use analysis::profile::{Metric, Numbers, Profile, Row, Side, bounds, metrics, on_sim};
use engine::device::{Choice, Device, DeviceInfo};
use engine::registry::Rung;
use engine::run::Plan;
use engine::{Kernels, Provenance};
use json::json;
use show::Shown;

/// Where to profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Where {
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
    arguments: On::<Own>::arguments,
    execute: |matches, env, to| profile(&On::<Own>::read(env, matches)?, env, to.out),
};

/// The arguments of `ladder profile` alone.
#[derive(Args, Debug)]
struct Own {
    /// Where to profile
    #[arg(long, value_enum, default_value_t)]
    device: Where,
    /// Only these metrics: of those that are shown, of the simulator's counters, and on a GPU any of Nsight Compute's
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Say what each metric means, and whether what is said of it holds here
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Nsight Compute's program [default: the one in PATH or where it installs itself]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
}

fn profile(args: &On<Own>, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let own = &args.own;
    let block = args.targets.block();
    let chosen = args
        .targets
        .select(env.catalog)?
        .into_iter()
        .map(|one| Chosen {
            ladder: one.ladder,
            named: one.named,
            whole: one.whole,
            options: one.given,
        });
    let chosen: Vec<Chosen> = chosen.collect();
    let plans: Vec<Plan> = chosen
        .iter()
        .map(|one| one.plan(block))
        .collect::<Result<_, _>>()?;
    // A name that no device knows is wrong wherever it runs.
    asked(own, own.device != Where::Sim)?;

    let (mut sim, gpu) = devices(own.device, env)?;
    let metrics = asked(own, gpu.is_some())?;
    let infos = [&gpu, &sim].into_iter().flatten();
    let infos: Vec<DeviceInfo> = infos.map(|device| device.info().clone()).collect();
    let on_gpu = match gpu {
        Some(device) => Some(OnGpu::new(
            env.runner, own, &metrics, &*device, &chosen, &plans,
        )?),
        None => None,
    };
    let sides = [(sim.is_some(), Side::Sim), (on_gpu.is_some(), Side::Gpu)];
    let sides: Vec<Side> = sides
        .into_iter()
        .filter_map(|(there, side)| there.then_some(side))
        .collect();
    let shown = Shown {
        metrics: &metrics,
        asked: !own.metrics.is_empty(),
        sides: &sides,
        style: OutputStyle {
            terminal: env.terminal,
        },
    };

    let model = Description::open(MODEL)?;
    let mut profiles = Vec::new();
    let steps: usize = plans.iter().map(|plan| plan.launches().len()).sum();
    let bar = progress_bar(steps * sides.len(), env.terminal);
    for (index, (one, plan)) in chosen.iter().zip(&plans).enumerate() {
        let gpu = match &on_gpu {
            Some(on_gpu) => {
                bar.set_message(format!("{} under ncu", one.ladder.name));
                let numbers = on_gpu.profile(index, one, plan, block)?;
                bar.inc(plan.launches().len() as u64);
                Some(numbers)
            }
            None => None,
        };
        let sim = match &mut sim {
            Some(device) => Some(on_sim(&mut **device, plan, |rung: &Rung| {
                bar.set_message(rung.name);
                bar.inc(1);
            })?),
            None => None,
        };
        let lacking = on_gpu.iter().flat_map(|on_gpu| on_gpu.lacks(index));
        let profile = Profile {
            ladder: one.ladder,
            title: plan.problem().title(),
            left_out: plan.left_out().iter().cloned().chain(lacking).collect(),
            rows: rows(env.catalog.kernels, &model, plan, sim, gpu)?,
        };
        if !own.json {
            // A ladder can take a minute: each is shown when it is done.
            bar.suspend(|| {
                writeln!(out, "{}", shown.profile(&profile))?;
                out.flush()
            })?;
        }
        profiles.push(profile);
    }
    bar.finish_and_clear();

    if own.json {
        write!(out, "{}", json(&profiles, &metrics))?;
        return Ok(0);
    }
    write!(out, "{}", shown.legend(&profiles))?;
    if own.explain {
        writeln!(out, "{}", shown.explain(&profiles))?;
    }
    for info in &infos {
        let Provenance { date, toolchain } = (env.provenance)(info);
        writeln!(out, "on {info}; {date}; {toolchain}")?;
    }
    Ok(0)
}

/// The metrics that were asked for, each once, or those that are shown where none was.
fn asked(own: &Own, on_gpu: bool) -> Result<Vec<Metric<'_>>, Error> {
    if own.metrics.is_empty() {
        return Ok(metrics::defaults());
    }
    let mut asked: Vec<Metric<'_>> = Vec::new();
    for name in &own.metrics {
        if asked.iter().all(|other| other.name != name) {
            asked.push(metrics::find(name, on_gpu)?);
        }
    }
    Ok(asked)
}

type MaybeDevice = Option<Box<dyn Device>>;

/// Opens the simulator, the GPU, or both.
fn devices(on: Where, env: &Env<'_>) -> Result<(MaybeDevice, MaybeDevice), Error> {
    let open = |choice| (env.open)(choice).map(Some);
    Ok(match on {
        Where::Sim => (open(Choice::Sim)?, None),
        Where::Gpu => (None, open(Choice::Gpu)?),
        Where::Both => {
            let gpu = open(Choice::Gpu)?;
            (open(Choice::Sim)?, gpu)
        }
        Where::Auto => {
            let best = (env.open)(Choice::Auto)?;
            if best.info().kind == "sim" {
                (Some(best), None)
            } else {
                (None, Some(best))
            }
        }
    })
}

/// The device that a verdict is for where there is no GPU.
const MODEL: &str = "h100";

/// A row for each rung that a device has numbers of.
fn rows(
    kernels: &'static Kernels,
    model: &Description,
    plan: &Plan,
    sim: Option<Vec<Numbers>>,
    gpu: Option<Vec<Option<Numbers>>>,
) -> Result<Vec<Row>, Error> {
    let bytes = plan.problem().bytes();
    // Where the GPU has counted, its numbers tell.
    let estimates = match (&gpu, &sim) {
        (None, Some(_)) => predict::launches(
            kernels,
            model,
            &Constants::CALIBRATED,
            plan.problem(),
            plan.launches(),
        )?,
        _ => Vec::new(),
    };
    let rows = plan
        .launches()
        .iter()
        .enumerate()
        .map(|(index, (rung, launch))| {
            let sim = sim.as_ref().and_then(|all| all.get(index)).cloned();
            let gpu = gpu
                .as_ref()
                .and_then(|all| all.get(index))
                .cloned()
                .flatten();
            let shares = match (&gpu, &sim, estimates.get(index)) {
                (Some(numbers), _, _) => Some(Shares::from_ncu(numbers, bytes)),
                (None, Some(numbers), Some(estimate)) => {
                    let shares = Shares::from_model(model, estimate, numbers, launch, bytes);
                    Some(shares)
                }
                _ => None,
            };
            Row {
                rung,
                launch: launch.clone(),
                sim,
                gpu,
                verdict: shares.and_then(|shares| verdict(&shares)),
            }
        });
    Ok(rows
        .filter(|row| row.sim.is_some() || row.gpu.is_some())
        .collect())
}

/// Nsight Compute on the GPU.
struct OnGpu<'a> {
    runner: &'a dyn Runner,
    /// The GPU's name.
    name: String,
    program: PathBuf,
    own: PathBuf,
    metrics: BTreeSet<String>,
    optional: BTreeSet<String>,
    /// For each plan, what the GPU lacks for each of its launches.
    lacking: Vec<Vec<Option<String>>>,
}

impl<'a> OnGpu<'a> {
    /// Asks the GPU what it lacks; it is not held while another process is profiled on it.
    fn new(
        runner: &'a dyn Runner,
        own: &Own,
        asked: &[Metric<'_>],
        device: &dyn Device,
        chosen: &[Chosen],
        plans: &[Plan],
    ) -> Result<Self, Error> {
        let mut lacking = Vec::new();
        for (one, plan) in chosen.iter().zip(plans) {
            let lacks = plan
                .launches()
                .iter()
                .map(|(_, launch)| device.lacks(launch));
            let lacks: Vec<Option<engine::Error>> = lacks.collect();
            // As in `ladder run`, an error for what was asked for by name.
            if !one.whole
                && let Some(at) = lacks.iter().position(Option::is_some)
            {
                return Err(lacks
                    .into_iter()
                    .nth(at)
                    .flatten()
                    .expect("it is there")
                    .into());
            }
            let words = lacks.into_iter().map(|error| Some(error?.to_string()));
            lacking.push(words.collect());
        }
        let metrics = asked
            .iter()
            .flat_map(|metric| metric.gpu.needs(metric.name))
            .collect();
        Ok(Self {
            runner,
            name: device.info().name.clone(),
            program: ncu::find(own.ncu.as_deref())?,
            own: std::env::current_exe()?,
            metrics,
            optional: bounds::METRICS
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
            lacking,
        })
    }

    /// Profiles the plan of this index: the numbers of its launches, in their order, but for those that the GPU
    /// cannot run.
    fn profile(
        &self,
        index: usize,
        chosen: &Chosen,
        plan: &Plan,
        block: Option<[u32; 3]>,
    ) -> Result<Vec<Option<Numbers>>, Error> {
        let ncu = Ncu {
            program: self.program.clone(),
            own: self.own.clone(),
            device: self.name.clone(),
            runner: self.runner,
        };
        let wanted = Wanted {
            metrics: &self.metrics,
            optional: &self.optional,
        };
        let lacking = &self.lacking[index];
        let launches: Vec<_> = plan
            .launches()
            .iter()
            .zip(lacking)
            .filter(|(_, lacks)| lacks.is_none())
            .map(|((rung, launch), _)| (*rung, launch))
            .collect();
        let mut numbers = ncu.profile(chosen, &launches, block, &wanted)?.into_iter();
        let all = lacking.iter().map(|lacks| match lacks {
            Some(_) => None,
            None => numbers.next(),
        });
        Ok(all.collect())
    }

    /// Why rungs of the plan of this index do not run on this GPU.
    fn lacks(&self, index: usize) -> impl Iterator<Item = String> {
        self.lacking[index].iter().flatten().cloned()
    }
}
