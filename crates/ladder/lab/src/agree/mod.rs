//! `lab agree`: compares the counters of the simulator with those of Nsight Compute.

mod show;

use std::path::{Path, PathBuf};

use analysis::agree::cases::{Case, cases};
use analysis::agree::record::{ComparedRun, Comparisons};
use analysis::agree::{Gpu, compare};
use analysis::profile::ncu;
use analysis::profile::plan;
use analysis::results;
use clap::Args;
use engine::DeviceProperties;
use engine::device::{Choice, Device, Sim};
use engine::run::Plan;

use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, WRONG, progress_bar};
use cli::output::{Document, Format};

/// The message when Nsight Compute is missing. No other tool reads the counters of a GPU.
const NO_NCU: &str = "Nsight Compute's `ncu` is neither in PATH nor in its usual folder; install \
                      nsight-compute (part of the CUDA toolkit) or give its path with --ncu";
pub(crate) const AGREE: Command = Command {
    name: "agree",
    about: "Compare the simulator's counters for ladders with Nsight Compute's on a GPU; exit code 1 if a \
            difference is unexplained",
    arguments: CommandArgs::<Arguments>::arguments,
    execute: |matches, env, to| {
        let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
        let cases = cases(env.catalog, &targets.names, &targets.given, targets.block())?;
        let record = Comparisons { runs: measure(&cases, args.ncu.as_deref(), env)? };
        Format::default().write(&show::report(&record), env.style(), to.out)?;
        Ok(if record.is_explained() { 0 } else { WRONG })
    },
};

#[derive(Args, Debug)]
struct Arguments {
    /// Nsight Compute's program [default: searched in PATH and in its usual folder]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
}

/// Returns the report for recorded comparisons.
pub(crate) fn of_records(records: &[results::Record]) -> Result<Document, Error> {
    let record = Comparisons::of_records(records);
    Ok(show::report(&record.map_err(|why| Error::Request(format!("cannot show the records of `agree`: {why}")))?))
}

/// Runs the comparisons of all cases.
fn measure(cases: &[Case], named: Option<&Path>, env: &Env<'_>) -> Result<Vec<ComparedRun>, Error> {
    let plans = cases.iter().map(|case| plan(&case.selection, case.block, DeviceProperties::default()));
    let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let (gpu, device) = gpu(named, env)?;
    for plan in &mut plans {
        plan.leave_out_unsupported(&*device)?;
        if plan.launches().is_empty() {
            return Err(Error::Request(format!("there is nothing to profile: {}", plan.left_out().join("; "))));
        }
    }
    // Close the device before another process is profiled on it.
    drop(device);
    // Report broken tools before spending minutes on measurements.
    if let Some((_, launch)) = plans.iter().flat_map(Plan::launches).next() {
        gpu.changes(&launch.entry)?;
    }

    let mut sim = Sim::open_like(env.catalog.kernels, 0, gpu.info.compute_capability, gpu.info.properties())?;
    // One step for each rung on the simulator, plus two steps per case, for Nsight Compute and for ptxas.
    let steps = plans.iter().map(|plan| plan.launches().len() + 2);
    let bar = progress_bar(steps.sum(), env.terminal);
    let compare = |(case, plan): (&Case, Plan)| {
        compare(case, &plan, &gpu, &mut sim, |doing| {
            bar.set_message(doing.to_owned());
            bar.inc(1);
        })
    };
    let runs = cases.iter().zip(plans).map(compare).collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    Ok(runs)
}

/// Opens the GPU and finds the tools for measuring and explaining.
///
/// # Errors
/// Returns [`Error::Request`] with everything that is missing, so that the user can fix all of it at once.
fn gpu<'a>(named: Option<&Path>, env: &Env<'a>) -> Result<(Gpu<'a>, Box<dyn Device>), Error> {
    let mut missing = Vec::new();
    let device = match (env.open)(Choice::Gpu) {
        Ok(device) => Some(device),
        Err(engine::Error::NoGpu { what }) => {
            missing.push(format!("there is no GPU: {what}"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let capability = device.as_ref().map(|device| device.info().compute_capability);
    let program = ncu::find(named).map_err(|error| {
        missing.push(match error {
            analysis::Error::NoNcu(_) => NO_NCU.to_owned(),
            other => other.to_string(),
        });
    });
    // Without a GPU, search for the tools of the newest architecture.
    let newest = env.catalog.kernels.newest_for(None)?;
    let newest = newest.map(|ptx| ptx.capability);
    let explain = (env.explain)(capability.unwrap_or(newest));
    let explain = explain.map_err(|why| missing.extend(why));
    match (device, program, explain) {
        (Some(device), Ok(program), Ok(explain)) => {
            let info = device.info().clone();
            let gpu = Gpu { ncu: env.ncu(program, &info)?, explain, provenance: (env.provenance)(&info), info };
            Ok((gpu, device))
        }
        _ => Err(Error::Request(format!("sim and GPU cannot be compared here: {}", missing.join("; ")))),
    }
}
