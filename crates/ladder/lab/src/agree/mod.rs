//! `lab agree`: compares the counters of the simulator with those of Nsight Compute.

mod show;

use std::io::Write;
use std::path::{Path, PathBuf};

use analysis::agree::cases::{Case, cases};
use analysis::agree::record::{Record, Run};
use analysis::agree::{Gpu, compare};
use analysis::profile::ncu;
use analysis::profile::plan;
use clap::{Arg, Args};
use engine::DeviceProperties;
use engine::device::{Choice, Device, Sim};
use engine::run::Plan;

use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, WRONG, progress_bar};
use cli::targets::Targets;

/// The message when Nsight Compute is missing, without which nothing counts on a GPU.
const NO_NCU: &str = "Nsight Compute's `ncu` is neither in PATH nor where it is usually installed; install \
                      nsight-compute (part of the CUDA toolkit) or name it with --ncu";
pub(crate) const AGREE: Command = Command {
    name: "agree",
    about: "Compare what the simulator counts of ladders with what Nsight Compute counts on a GPU; exit code 1 where a \
            difference is unexplained",
    arguments: |command, scope| {
        let command = CommandArgs::<Arguments>::arguments(command, scope);
        // A record has its own ladders, options and blocks.
        let is_shared = |arg: &Arg| arg.get_id() == "names" || scope.is_option(arg.get_id().as_str());
        command.mut_args(|arg| match is_shared(&arg) {
            true => arg.conflicts_with("from"),
            false => arg,
        })
    },
    execute: |matches, env, to| {
        let CommandArgs { targets, own } = CommandArgs::<Arguments>::read(env, matches)?;
        run(&own, &targets, env, to.out)
    },
};

#[derive(Args, Debug)]
struct Arguments {
    /// Nsight Compute's program [default: found in PATH and where it is installed]
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
    /// Put what was compared into a record, in the place of what it has of these ladders; the tests read
    /// crates/simt/simt/tests/fixtures/ncu/agree.json
    #[arg(long, value_name = "PATH")]
    update_fixture: Option<PathBuf>,
    /// Compare nothing, and report what is in a record
    #[arg(long, value_name = "PATH", conflicts_with_all = ["block", "ncu", "update_fixture"])]
    from: Option<PathBuf>,
}

fn run(args: &Arguments, targets: &Targets, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    if let Some(path) = &args.from {
        let record = Record::read(path, false)?;
        return report(&record, Some(&record), env, out);
    }
    let cases = cases(env.catalog, &targets.names, &targets.given, targets.block())?;
    let mut whole = match &args.update_fixture {
        Some(path) => Record::read(path, true)?,
        None => Record::default(),
    };
    let mut shown = Record::default();
    // A ladder that was compared is kept, whatever becomes of the next.
    let measured = measure(&cases, args.ncu.as_deref(), env, |runs| {
        shown.runs.extend(runs.iter().cloned());
        whole.replace(env.catalog, runs);
        match &args.update_fixture {
            Some(path) => Ok(whole.write(path)?),
            None => Ok(()),
        }
    });
    let mut code = 0;
    if !shown.runs.is_empty() {
        let whole = args.update_fixture.as_ref().map(|_| &whole);
        code = report(&shown, whole, env, out)?;
    }
    measured.map(|()| code)
}

/// Shows what was compared, or the whole record where that is written into a document, and returns the exit code.
fn report(shown: &Record, whole: Option<&Record>, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let mut report = show::report(whole.filter(|_| env.markdown).unwrap_or(shown));
    // What is missing is not part of a document: a new rung does not change it.
    if let Some(whole) = whole.filter(|_| !env.markdown) {
        show::not_measured(&whole.missing(env.catalog), &mut report);
    }
    write!(out, "{}", report.markdown())?;
    Ok(if shown.is_explained() { 0 } else { WRONG })
}

/// Compares the cases. `keep` takes the runs of each ladder when it is done.
fn measure(
    cases: &[Case],
    named: Option<&Path>,
    env: &Env<'_>,
    mut keep: impl FnMut(Vec<Run>) -> Result<(), Error>,
) -> Result<(), Error> {
    let plans = cases.iter().map(|case| plan(&case.selection, case.block, DeviceProperties::default()));
    let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let (gpu, device) = gpu(named, env)?;
    for plan in &mut plans {
        plan.leave_out_unsupported(&*device)?;
        if plan.launches().is_empty() {
            return Err(Error::Request(format!("nothing is left to profile: {}", plan.left_out().join("; "))));
        }
    }
    // It is closed before another process is profiled on it.
    drop(device);
    // Tools that do not work are told of before minutes are spent.
    if let Some((_, launch)) = plans.iter().flat_map(Plan::launches).next() {
        gpu.changes(&launch.entry)?;
    }

    let mut sim = Sim::open_like(env.catalog.kernels, 0, gpu.info.compute_capability, gpu.info.properties())?;
    // For each rung of the simulator, and for each case of Nsight Compute and of ptxas.
    let steps = plans.iter().map(|plan| plan.launches().len() + 2);
    let bar = progress_bar(steps.sum(), env.terminal);
    let ladder_of = |case: &Case| case.selection.ladder.name;
    let all: Vec<(&Case, Plan)> = cases.iter().zip(plans).collect();
    for own in all.chunk_by(|a, b| ladder_of(a.0) == ladder_of(b.0)) {
        let compare = |(case, plan): &(&Case, Plan)| {
            compare(case, plan, &gpu, &mut sim, |doing| {
                bar.set_message(doing.to_owned());
                bar.inc(1);
            })
        };
        keep(own.iter().map(compare).collect::<Result<_, _>>()?)?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Opens the GPU and finds the tools that measure and explain.
///
/// # Errors
/// [`Error::Request`] with everything that is missing, so that the user can fix it all at once.
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
    let capability = device.as_ref().map(|own| own.info().compute_capability);
    let program = ncu::find(named).map_err(|error| {
        missing.push(match error {
            analysis::Error::NoNcu(_) => NO_NCU.to_owned(),
            other => other.to_string(),
        });
    });
    // Without a GPU, the tools are looked for as for the newest.
    let newest = env.catalog.kernels.newest_for(None);
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
