//! `ladder predict`: predicts times on another device.

mod report;

use std::path::PathBuf;

use clap::{ArgMatches, Args};

use crate::command::{Command, CommandArgs, Output};
use crate::env::{Env, progress_bar};
use crate::error::Error;
use crate::output::Format;
use analysis::document;
use analysis::predict::model::Constants;
use analysis::predict::{self, Description, against, calibrate};
use report::Report;

pub(crate) const PREDICT: Command = Command {
    name: "predict",
    about: "Predict how long rungs take on a device that is not here, and compare with measured times",
    arguments: CommandArgs::<Arguments>::arguments,
    execute,
};

#[derive(Args, Debug, Clone)]
struct Arguments {
    /// The device: h200, h100, a100, l4, rtx4090, rtx3080, t4, or a file as crates/devices/known has them
    #[arg(long, value_name = "DEVICE", default_value = "h100")]
    on: String,
    /// Measured times to compare with: what `ladder run --json` printed, or a file with the tables that
    /// `ladder run --update-readme` wrote
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Fit the model's constants to those times, and predict with them
    #[arg(long, requires = "against")]
    calibrate: bool,
    #[command(flatten)]
    format: Format,
    /// Put the Markdown tables between the two markers `predict-DEVICE` in a file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["json", "markdown"])]
    update_doc: Option<PathBuf>,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, own: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let device = Description::open(&args.on).map_err(analysis::Error::from)?;
    let times = match &args.against {
        Some(path) => Some(against::read(env.catalog.ladders, path)?),
        None => None,
    };
    let marker = format!("predict-{}", args.on);
    if let Some(path) = &args.update_doc {
        document::check(path, &marker)?;
    }
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

    if let (Some(times), Some(path)) = (&times, &args.against) {
        let seen = predict::observations(&ladders, times);
        if seen.is_empty() {
            let names = ladders.iter().map(|own| own.ladder.name);
            return Err(predict::no_times(path, names).into());
        }
        if args.calibrate {
            constants = calibrate::fit(&device, constants, &seen);
            let all = ladders.iter_mut().flat_map(|own| &mut own.predictions);
            all.for_each(|own| own.estimate = own.estimate_with(&device, &constants));
        }
    }
    let report = Report {
        device: &device,
        constants: &constants,
        is_fitted: args.calibrate,
        ladders: &ladders,
        times: times.as_ref(),
    };
    if let Some(path) = &args.update_doc {
        document::update(path, &marker, &report.document(true).markdown())?;
    }
    let document = report.document(args.format.markdown);
    args.format.write(&document, env.style(), to.out)?;
    Ok(0)
}
