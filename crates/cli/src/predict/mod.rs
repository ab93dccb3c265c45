//! `ladder predict`: times on a device that is not here.

use std::io::Write;
use std::path::PathBuf;

mod report;

use clap::{ArgMatches, Args, FromArgMatches};

use super::args::Refused;
use super::per_ladder::{of_ladder, options};
use super::{Env, progress_bar};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::document;
use analysis::predict::model::Constants;
use analysis::predict::{self, Climb, Description, against, calibrate};
use engine::Catalog;
use engine::options::Options;
use engine::registry::Ladder;
use engine::size::parse_block;

/// What goes for all ladders; before a ladder's name or behind it.
#[derive(Args, Debug, Clone)]
pub(super) struct Global {
    /// The device: h100, a100, l4, rtx4090, rtx3080, t4, or a file as host/devices has them
    #[arg(long, value_name = "DEVICE", default_value = "h100", global = true)]
    on: String,
    /// Measured times to compare with: what `ladder run --json` printed, or a file with the README's tables
    #[arg(long, value_name = "FILE", global = true)]
    against: Option<PathBuf>,
    /// Fit the model's constants to those times, and predict with them
    #[arg(long, requires = "against", global = true)]
    calibrate: bool,
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown", global = true)]
    json: bool,
    /// Print Markdown tables
    #[arg(long, global = true)]
    markdown: bool,
    /// Put the Markdown tables between the two markers `predict` in a file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["json", "markdown"], global = true)]
    update_doc: Option<PathBuf>,
}

/// What goes for one ladder.
#[derive(Args, Debug, Default)]
pub(super) struct Chosen {
    /// Only these rungs
    #[arg(long, num_args = 1.., value_name = "NAME")]
    rung: Vec<String>,
    /// Threads of a block, for all rungs [default: each rung's own]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    block: Option<[u32; 3]>,
}

/// `ladder predict`.
#[derive(Debug)]
pub(super) struct Predict {
    global: Global,
    /// One ladder with its options, or all.
    ladder: Option<(&'static Ladder, Options)>,
    chosen: Chosen,
}

impl Predict {
    pub(super) fn from_matches(catalog: &Catalog, matches: &ArgMatches) -> Result<Self, Refused> {
        let global = Global::from_arg_matches(matches)?;
        Ok(match of_ladder(catalog, matches)? {
            None => Self {
                global,
                ladder: None,
                chosen: Chosen::default(),
            },
            Some((ladder, own)) => Self {
                // clap hands what is global down to where it was not given.
                global: Global::from_arg_matches(own)?,
                ladder: Some((ladder, options(ladder, own))),
                chosen: Chosen::from_arg_matches(own)?,
            },
        })
    }
}

/// The marker of the tables in a file.
const MARKER: &str = "predict";

pub(super) fn predict(args: &Predict, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let Global {
        on,
        against,
        calibrate,
        json,
        markdown,
        update_doc,
    } = &args.global;
    let device = Description::open(on)?;
    let times = against
        .as_deref()
        .map(|path| against::read(env.catalog.ladders, path))
        .transpose()?;
    if let Some(path) = update_doc {
        document::check(path, MARKER)?;
    }
    let chosen: Vec<(&'static Ladder, Options)> = match &args.ladder {
        Some(one) => vec![one.clone()],
        None => {
            let all = env.catalog.ladders.iter();
            all.map(|ladder| (ladder, Options::default())).collect()
        }
    };
    let bar = progress_bar(chosen.len(), env.terminal);
    let mut climbs = Vec::new();
    for (ladder, options) in &chosen {
        bar.set_message(ladder.name);
        let Chosen { rung, block } = &args.chosen;
        climbs.push(predict::ladder(
            env.catalog.kernels,
            &device,
            &Constants::CALIBRATED,
            ladder,
            rung,
            options,
            *block,
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
