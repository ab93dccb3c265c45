//! `lab predict`: compares the model's times with measured ones.

mod report;

use std::path::PathBuf;

use clap::{ArgMatches, Args};

use analysis::predict::model::Constants;
use analysis::predict::{self, Description, against, calibrate};
use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, Output, progress_bar};
use cli::output::Format;
use report::Report;

pub(crate) const PREDICT: Command = Command {
    name: "predict",
    about: "Compare the times that the model predicts for a device with measured ones",
    arguments: CommandArgs::<Arguments>::arguments,
    execute,
};

#[derive(Args, Debug, Clone)]
struct Arguments {
    /// The device: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file as crates/simt/devices/known has them
    #[arg(long, value_name = "DEVICE", default_value = "h100")]
    on: String,
    /// Measured times: the output of `ladder run --json`, or a document that `lab record` wrote
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Fit the model's constants to those times, and predict with them
    #[arg(long)]
    calibrate: bool,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let device = Description::open(&args.on).map_err(analysis::Error::from)?;
    let times = against::read(env.catalog.ladders, &args.against)?;
    let selected = targets.select(env.catalog)?;
    let bar = progress_bar(selected.len(), env.terminal);
    let mut constants = Constants::CALIBRATED;
    let mut ladders = Vec::new();
    for own in &selected {
        bar.set_message(own.ladder.name);
        let plan = own.plan(targets.block(), None, predict::properties(&device))?;
        let kernels = env.catalog.kernels;
        ladders.push(predict::ladder(kernels, &device, &constants, own.ladder, plan)?);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let seen = predict::observations(&ladders, &times);
    if seen.is_empty() {
        let names = ladders.iter().map(|own| own.ladder.name);
        return Err(predict::no_times(&args.against, names).into());
    }
    if args.calibrate {
        constants = calibrate::fit(&device, constants, &seen);
        let all = ladders.iter_mut().flat_map(|own| &mut own.predictions);
        all.for_each(|own| own.estimate = own.estimate_with(&device, &constants));
    }
    let report =
        Report { device: &device, constants: &constants, is_fitted: args.calibrate, ladders: &ladders, times: &times };
    // A document has the day.
    args.format.write(&report.document(env.markdown), env.style(), to.out)?;
    Ok(0)
}
