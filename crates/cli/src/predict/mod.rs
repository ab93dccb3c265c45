//! `ladder predict`: times on a device that is not here.

use std::io::Write;
use std::path::PathBuf;

mod report;

use clap::Args;

use crate::command::{Command, On};
use crate::env::{Env, progress_bar};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::document;
use analysis::predict::model::Constants;
use analysis::predict::{self, Climb, Description, against, calibrate};

pub(crate) const PREDICT: Command = Command {
    name: "predict",
    about: "Predict how long rungs take on a device that is not here, and compare with measured times",
    arguments: On::<Arguments>::arguments,
    execute: |matches, env, to| predict(&On::<Arguments>::read(env, matches)?, env, to.out),
};

#[derive(Args, Debug, Clone)]
struct Arguments {
    /// The device: h100, a100, l4, rtx4090, rtx3080, t4, or a file as host/devices has them
    #[arg(long, value_name = "DEVICE", default_value = "h100")]
    on: String,
    /// Measured times to compare with: what `ladder run --json` printed, or a file with the README's tables
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Fit the model's constants to those times, and predict with them
    #[arg(long, requires = "against")]
    calibrate: bool,
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,
    /// Put the Markdown tables between the two markers `predict` in a file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["json", "markdown"])]
    update_doc: Option<PathBuf>,
}

/// The marker of the tables in a file.
const MARKER: &str = "predict";

fn predict(args: &On<Arguments>, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let Arguments {
        on,
        against,
        calibrate,
        json,
        markdown,
        update_doc,
    } = &args.own;
    let device = Description::open(on)?;
    let times = against
        .as_deref()
        .map(|path| against::read(env.catalog.ladders, path))
        .transpose()?;
    if let Some(path) = update_doc {
        document::check(path, MARKER)?;
    }
    let selected = args.targets.select(env.catalog)?;
    let bar = progress_bar(selected.len(), env.terminal);
    let mut climbs = Vec::new();
    for own in &selected {
        bar.set_message(own.ladder.name);
        climbs.push(predict::ladder(
            env.catalog.kernels,
            &device,
            &Constants::CALIBRATED,
            own.ladder,
            own.rung_names(),
            &own.options(),
            args.targets.block(),
        )?);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let mut constants = Constants::CALIBRATED;
    if *calibrate && let Some(times) = &times {
        let seen = predict::observations(&climbs, times);
        if seen.is_empty() {
            return Err(none_of(&climbs, against.clone().unwrap_or_default()).into());
        }
        constants = calibrate::fit(&device, constants, &seen);
        for climb in &mut climbs {
            climb.predict_again(&device, &constants);
        }
    }
    if let (Some(times), Some(path)) = (&times, against)
        && predict::score(&climbs, times).is_none()
    {
        return Err(none_of(&climbs, path.clone()).into());
    }
    let shown = report::Shown {
        device: &device,
        constants: &constants,
        fitted: *calibrate,
        climbs: &climbs,
        times: times.as_ref(),
    };
    if let Some(path) = update_doc {
        document::update(path, MARKER, &report::markdown(&shown))?;
    }
    let text = if *json {
        report::json(&shown) + "\n"
    } else if *markdown {
        report::markdown(&shown)
    } else {
        let style = OutputStyle {
            terminal: env.terminal,
        };
        report::table(&shown, style)
    };
    write!(out, "{text}")?;
    Ok(0)
}

/// That a file has times, and none of these.
fn none_of(climbs: &[Climb], path: PathBuf) -> predict::PredictError {
    let names: Vec<&str> = climbs.iter().map(|climb| climb.ladder.name).collect();
    predict::PredictError::NoTimes {
        path: path.display().to_string(),
        of: names.join(", "),
    }
}
