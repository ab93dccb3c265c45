//! `ladder check`: checks rungs × problems × blocks, with one launch of each.

mod show;
mod sweep;

use clap::{ArgMatches, Args};
use engine::device::{Checks, Choice, Device, Schedule};
use simt::run::is_interrupted;

use crate::command::{Command, CommandArgs, Env, Output, WRONG};
use crate::error::Error;
use crate::launcher::ProcessArguments;
use crate::output::Format;
use show::Sweep;
use sweep::Plan;

pub(crate) const CHECK: Command = Command {
    name: "check",
    about: "Check the results of rungs over many sizes and blocks, one launch each, without timing",
    arguments: CommandArgs::<Arguments>::arguments_of_several,
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Sanitizers of sim: memory, init, race and sync, separated by commas, or all, or none [default: all, if the
    /// problem has up to 256 KiB of data]
    #[arg(long, value_name = "CHECKS")]
    sanitize: Option<Checks>,
    /// Also launch each of them under N random schedules on sim. A schedule changes the order of blocks, warps and
    /// diverged lanes, delays asynchronous copies, and changes the values of uninitialized memory
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    schedules: u32,
    /// The order in which sim runs blocks, warps and diverged lanes: fixed, round-robin or random:SEED
    #[arg(long, value_name = "ORDER", default_value_t)]
    schedule: Schedule,
    /// Show a table of all sizes, and every wrong result, not only the first of each rung
    #[arg(long, conflicts_with = "json")]
    all: bool,
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    let most_bytes = if args.sanitize.is_some() { u64::MAX } else { USUAL_BYTES };
    let plans = selected.iter().map(|selection| Plan::new(selection, &targets.blocks, args.schedules, most_bytes));
    let plans: Vec<Plan<'_>> = plans.collect::<Result<_, _>>()?;

    let mut device = (env.open)(args.device)?;
    device.set_time_limit(args.process.time_limit());
    sanitize(&mut *device, args.sanitize, Checks::ALL)?;
    if device.info().kind != "sim" && (args.schedules > 0 || args.schedule != Schedule::Fixed) {
        let why = "--schedules and --schedule work only on sim; add --device sim";
        return Err(Error::Request(why.to_owned()));
    }
    device.set_schedule(args.schedule);
    let (info, usual) = (device.info().clone(), device.checks());
    let mut launcher = args.process.launcher(env, device)?;
    let mut sweeps = Vec::new();
    let mut failed = None;
    for plan in plans {
        if is_interrupted() {
            break;
        }
        let mut sweep = match plan.sweep(&mut launcher, &info, usual, env.terminal) {
            Ok(sweep) => sweep,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        if info.kind != "sim" {
            sweep.explain_failures(plan.selected.ladder, info.properties(), env);
        }
        sweeps.push(sweep);
    }
    if launcher.is_child() {
        return failed.map_or(Ok(0), Err);
    }
    launcher.finish();
    // Show the results that were complete before an error.
    if failed.is_none() || !sweeps.is_empty() && !args.format.json {
        let mut document = show::document(&sweeps, args.all);
        document.note(format!("on {info}"));
        args.format.write(&document, env.style(), to.out)?;
    }
    match failed {
        Some(error) => Err(error),
        None if sweeps.iter().all(Sweep::all_right) => Ok(0),
        None => Ok(WRONG),
    }
}

/// The maximum size of a problem that the sanitizers check by default. All edge cases of every rung are within this
/// size. The largest problems exceed this size, because they would take minutes.
const USUAL_BYTES: u64 = 256 << 10;

/// Turns on the requested sanitizers. If none were requested, turns on those in `usual` if the device has sanitizers.
///
/// # Errors
/// Returns [`Error::Request`] when the device does not have the requested sanitizers.
pub(crate) fn sanitize(device: &mut dyn Device, asked: Option<Checks>, usual: Checks) -> Result<(), Error> {
    if device.info().kind != "sim" && asked.is_some_and(|checks| !checks.is_empty()) {
        let why = "--sanitize works only on sim; add --device sim, or use compute-sanitizer on a GPU";
        return Err(Error::Request(why.to_owned()));
    }
    device.set_checks(asked.unwrap_or(usual));
    Ok(())
}
