//! `lab predict`: compares the model's times with measured ones.

mod report;

use std::path::PathBuf;

use clap::{ArgMatches, Args};

use analysis::predict::measured::MeasuredTimes;
use analysis::predict::{self, Description, Times, calibrate};
use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, Output, progress_bar};
use cli::output::Format;
use profile::model::Constants;
use report::PredictionReport;

pub(crate) const PREDICT: Command = Command {
    name: "predict",
    about: "Compare the times that the model predicts for a device with measured times",
    arguments: CommandArgs::<Arguments>::arguments,
    execute,
};

#[derive(Args, Debug, Clone)]
struct Arguments {
    /// Device: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file in the format of crates/simt/devices/known
    #[arg(long, value_name = "DEVICE", default_value = "h100")]
    on: String,
    /// Measured times: the output of `ladder run --json`, or a file of results/
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Fit the model's constants to the measured times before predicting
    #[arg(long)]
    calibrate: bool,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let device = Description::open(&args.on).map_err(analysis::Error::from)?;
    let measured = MeasuredTimes::read(&args.against)?;
    let mut times = Times::new();
    let selected = targets.select(env.catalog)?;
    let bar = progress_bar(selected.len(), env.terminal);
    let mut constants = Constants::CALIBRATED;
    let mut ladders = Vec::new();
    for selection in &selected {
        bar.set_message(selection.ladder.name);
        let plan = selection.plan(targets.block(), None, predict::properties(&device))?;
        match measured.of(selection.ladder, &plan.problem().labels().title) {
            Ok(ladder_times) => times.extend(ladder_times),
            // With several ladders, skip the ladders without measurements.
            Err(_) if selected.len() > 1 => continue,
            Err(error) => return Err(error.into()),
        }
        let kernels = env.catalog.kernels;
        ladders.push(predict::ladder(kernels, &device, &constants, selection.ladder, plan)?);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let seen = predict::observations(&ladders, &times);
    if seen.is_empty() {
        return Err(Error::Request(format!("{} has no times of these ladders", args.against.display())));
    }
    if args.calibrate {
        constants = calibrate::fit(&device, constants, &seen);
        let all = ladders.iter_mut().flat_map(|ladder| &mut ladder.predictions);
        all.for_each(|prediction| prediction.estimate = prediction.estimate_with(&device, &constants));
    }
    let report = PredictionReport {
        device: &device,
        constants: &constants,
        is_fitted: args.calibrate,
        ladders: &ladders,
        times: &times,
    };
    let toolchain = env.catalog.kernels.toolchain(None);
    args.format.write(&report.document(toolchain), env.style(), to.out)?;
    Ok(0)
}
