//! `ladder run`: every rung checked against the CPU, timed or counted, and compared.

use analysis::predict::{self, Description};
use clap::{ArgMatches, Args};
use engine::DeviceProperties;
use engine::device::{Checks, Choice, Device, DeviceInfo};
use engine::run::{self, Outcome, Plan, Report, Step};
use engine::selection::Selection;
use simt::run::is_interrupted;

use crate::check::sanitize;
use crate::command::{Command, CommandArgs, Env, Output, WRONG, progress_bar};
use crate::error::Error;
use crate::output::{Format, Printer};
use crate::report::{self, Predictions};
use crate::several::{self, DeviceGroupArguments};
use crate::targets::NAMES;
use crate::timing::{self, MODEL};
use crate::workers::{self, LaunchResult, Message, Part, ProcessArguments, Workers};

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
    /// How many timed launches to take the median of; sim has no clock and counts one launch [default: 20, and
    /// none for ladders that are shown as pictures]
    #[arg(long, value_name = "K", conflicts_with = "no_time")]
    runs: Option<u32>,
    /// The device to predict times for, from the counts of sim: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file
    /// as crates/simt/devices/known has them [default: h100]
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["no_time", "devices"])]
    on: Option<String>,
    /// Check only: neither time nor count
    #[arg(long)]
    no_time: bool,
    /// What sim looks for besides wrong results: memory, init, race and sync with commas between them, or all
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
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    targets.require_names(env.catalog)?;
    if args.runs == Some(0) {
        let why = "0 runs measure nothing; --runs takes 1 or more, --no-time checks without timing";
        return Err(Error::Request(why.to_owned()));
    }
    let selected = targets.select(env.catalog)?;
    if let Some(several) = args.several.asked()? {
        if args.sanitize.is_some() {
            let why = "--sanitize is for one device; leave out --devices, and RANK in the environment";
            return Err(Error::Request(why.to_owned()));
        }
        let runs = |own: &Selection| args.runs(own);
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
    let plans = selected.iter().map(|own| own.plan(targets.block(), args.runs(own), properties));
    let mut plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    if on.is_some() {
        for (own, plan) in selected.iter().zip(&mut plans) {
            timing::leave_out_unsupported(plan, own.ladder, env, &model)?;
        }
    }
    let mut device = timing::open(env, choice, properties)?;
    device.set_time_limit(args.process.time_limit());
    sanitize(&mut *device, args.sanitize, Checks::NONE)?;
    for plan in &mut plans {
        plan.leave_out_unsupported(&*device)?;
    }
    if let Some(part) = args.process.part() {
        return work(&mut *device, part, &selected, &plans, to);
    }
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    let info = device.info().clone();
    let mut device = args.process.close(env, device);
    for (own, plan) in selected.iter().zip(plans) {
        if is_interrupted() {
            break;
        }
        let bar = progress_bar(plan.rungs().len(), env.terminal);
        let progress = |name: &str| {
            bar.set_message(name.to_owned());
            bar.inc(1);
        };
        let report = match &mut device {
            Some(device) => run::run(&mut **device, plan, |rung| progress(rung.name)).map_err(Error::from),
            None => run_elsewhere(args.process.workers(env, own.ladder), plan, info.clone(), progress),
        };
        let mut report = report?;
        explain_failures(&mut report, env);
        let is_predicted = report.counted() && report.runs.is_none() && !own.ladder.shown.pictures;
        let predictions = is_predicted.then(|| Predictions::new(&report, env.catalog.kernels, &model));
        bar.finish_and_clear();

        let provenance = (env.provenance)(&report.device);
        printer.show(&report::document(&report, predictions.as_ref(), &provenance))?;
        if !report.all_right() {
            code = WRONG;
        }
    }
    printer.finish()?;
    Ok(code)
}

/// Runs the launches that another process wants from this one, and tells it what came of each.
fn work(
    device: &mut dyn Device,
    part: &Part,
    selected: &[Selection],
    plans: &[Plan],
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let Some((_, plan)) = selected.iter().zip(plans).find(|(own, _)| part.is_of(own.ladder)) else { return Ok(0) };
    let mut sent = Ok(());
    let done = |Step { outcome, sets, is_usable }| {
        let Outcome { verdict, has_failed, picture, samples, .. } = outcome;
        let result = LaunchResult { verdict, has_failed, picture, samples, sets, is_usable };
        if sent.is_ok() {
            sent = workers::send(&Message::Result(result), to.out);
        }
    };
    let ran = run::measure(device, plan, part.first, |_| {}, done);
    sent?;
    workers::end(ran.map_err(Error::from), to.out)
}

/// Runs a plan by other processes, on a device that this one has closed.
fn run_elsewhere(
    mut workers: Workers<'_>,
    plan: Plan,
    info: DeviceInfo,
    progress: impl Fn(&str),
) -> Result<Report, Error> {
    let (mut outcomes, mut sets) = (Vec::new(), 1);
    for (rung, launch) in plan.launches() {
        progress(rung.name);
        let result = match workers.result() {
            Err(Error::Engine(engine::Error::Interrupted)) => break,
            // What the device does not support is not in the plan.
            result => result?.map_err(Error::Request)?,
        };
        let LaunchResult { verdict, has_failed, picture, samples, sets: own, .. } = result;
        sets = sets.max(own);
        let launch = launch.clone();
        let (counters, findings, notes) = Default::default();
        outcomes.push(Outcome { rung, launch, verdict, has_failed, picture, samples, counters, findings, notes });
    }
    workers.end();
    Ok(plan.report(info, Checks::NONE, sets, outcomes))
}

/// Asks the simulator about launches that failed on a GPU.
fn explain_failures(report: &mut Report, env: &Env<'_>) {
    if report.device.kind == "sim" {
        return;
    }
    let device = report.device.properties();
    for own in report.outcomes.iter_mut().filter(|own| own.has_failed) {
        let launch = (own.rung, own.launch.block);
        (own.findings, own.notes) = engine::on_sim(env.catalog.kernels, report.ladder, &report.options, launch, device);
    }
}

impl Arguments {
    /// How many launches of each rung of a ladder to time.
    fn runs(&self, selected: &Selection) -> Option<u32> {
        match self.runs {
            _ if self.no_time => None,
            None if selected.ladder.shown.pictures => None,
            runs => Some(runs.unwrap_or(RUNS)),
        }
    }
}
