//! `ladder run`: checks every rung against the CPU, times or counts it, and compares the rungs.

use analysis::predict::{self, Description};
use clap::{ArgMatches, Args};
use engine::DeviceProperties;
use engine::device::{Checks, Choice};
use engine::run::{Plan, Report};
use engine::selection::Selection;
use simt::run::is_interrupted;

use crate::check::sanitize;
use crate::command::{Command, CommandArgs, Env, Output, WRONG, progress_bar};
use crate::error::Error;
use crate::launcher::ProcessArguments;
use crate::output::{Form, Format, Printer};
use crate::report::{self, Predictions};
use crate::several::{self, DeviceGroupArguments};
use crate::targets::NAMES;
use crate::timing::{self, MODEL};

pub use crate::timing::RUNS;

pub(crate) const RUN: Command = Command {
    name: "run",
    about: "Time rungs on a GPU, or count them on the simulator; every result is checked against the CPU",
    arguments: |command, scope| {
        let command = CommandArgs::<Arguments>::arguments(command, scope);
        command.mut_arg("names", |arg| arg.help(NAMES))
    },
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Take the median of K timed launches; sim has no clock and counts one launch [default: 20, or none for ladders
    /// that are shown as pictures]
    #[arg(long, value_name = "K", conflicts_with = "no_time")]
    runs: Option<u32>,
    /// The device to predict times for, from the counts of sim: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file
    /// in the format of crates/simt/devices/known [default: h100]
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["no_time", "devices"])]
    on: Option<String>,
    /// Only check the results: neither time nor count
    #[arg(long)]
    no_time: bool,
    /// Sanitizers of sim: memory, init, race and sync, separated by commas, or all
    #[arg(long, value_name = "CHECKS")]
    sanitize: Option<Checks>,
    #[command(flatten)]
    several: DeviceGroupArguments,
    #[command(flatten)]
    process: ProcessArguments,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
    targets.require_names(env.catalog)?;
    if args.runs == Some(0) {
        let why = "--runs must be 1 or more; to check results without timing, use --no-time";
        return Err(Error::Request(why.to_owned()));
    }
    let selected = targets.select(env.catalog)?;
    if let Some(several) = args.several.requested()? {
        if args.sanitize.is_some() {
            let why = "--sanitize supports only one device; leave out --devices and unset RANK in the environment";
            return Err(Error::Request(why.to_owned()));
        }
        let runs = |selection: &Selection| args.runs(selection);
        let request = several::Request {
            device: args.device,
            block: targets.block(),
            runs: &runs,
            time_limit: args.process.time_limit(),
            format: &args.format,
        };
        return several::run(several, &selected, &request, env, to);
    }
    let on = args.on.as_deref();
    let choice = timing::choice(on, args.device)?;
    let model = Description::open(on.unwrap_or(MODEL)).map_err(analysis::Error::from)?;
    let properties = on.map_or(DeviceProperties::default(), |_| predict::properties(&model));
    let plans = selected.iter().map(|selection| selection.plan(targets.block(), args.runs(selection), properties));
    let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    if on.is_some() {
        for (selection, plan) in selected.iter().zip(&mut plans) {
            timing::leave_out_unsupported(plan, selection.ladder, env, &model)?;
        }
    }
    let mut device = timing::open(env, choice, properties)?;
    device.set_time_limit(args.process.time_limit());
    sanitize(&mut *device, args.sanitize, Checks::NONE)?;
    for plan in &mut plans {
        plan.leave_out_unsupported(&*device)?;
    }
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    let (info, checks) = (device.info().clone(), device.checks());
    let mut launcher = args.process.launcher(env, device)?;
    for (selection, plan) in selected.iter().zip(&plans) {
        if is_interrupted() {
            break;
        }
        if launcher.skips_problem() {
            continue;
        }
        let bar = progress_bar(plan.rungs().len(), env.terminal);
        let steps = launcher.steps(|device, first| plan.steps(device, first))?;
        let mut report = plan.report(info.clone(), checks, steps, |rung| {
            bar.set_message(rung.name);
            bar.inc(1);
        })?;
        if launcher.is_child() {
            continue;
        }
        explain_failures(&mut report, env);
        // `lab record` records measurements and counts, but not predictions.
        let is_shown = !selection.ladder.shown.pictures && env.form != Form::Records;
        let is_predicted = report.counted() && report.runs.is_none() && is_shown;
        let predictions = is_predicted.then(|| Predictions::new(&report, env.catalog.kernels, &model));
        bar.finish_and_clear();

        let provenance = (env.provenance)(&report.device);
        printer.show(&report::document(&report, predictions.as_ref(), &provenance, env.style()))?;
        if !report.all_right() {
            code = WRONG;
        }
    }
    if launcher.is_child() {
        return Ok(0);
    }
    launcher.finish();
    printer.finish()?;
    Ok(code)
}

/// Reruns on the simulator the launches that failed on a GPU, to explain the failures.
fn explain_failures(report: &mut Report, env: &Env<'_>) {
    if report.device.kind == "sim" {
        return;
    }
    let device = report.device.properties();
    for outcome in report.outcomes.iter_mut().filter(|outcome| outcome.has_failed) {
        let launch = (outcome.rung, outcome.launch.block);
        (outcome.findings, outcome.notes) =
            engine::on_sim(env.catalog.kernels, report.ladder, &report.options, launch, device);
    }
}

impl Arguments {
    /// Returns the number of timed launches of each rung of a ladder.
    fn runs(&self, selected: &Selection) -> Option<u32> {
        match self.runs {
            _ if self.no_time => None,
            None if selected.ladder.shown.pictures => None,
            runs => Some(runs.unwrap_or(RUNS)),
        }
    }
}
