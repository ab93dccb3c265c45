//! `ladder occupancy`: how many blocks of a rung a multiprocessor holds, and why not more.

use std::io::Write;

mod chart;
mod report;

use clap::Args;

use crate::command::{Command, On};
use crate::env::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::occupancy::OccupancyError;
use analysis::occupancy::check::{self, Checked};
use engine::device::{Choice, Device};
use engine::selection::Selection;
use report::{Held, Report};

/// The architecture where none is asked for and there is no GPU.
const ARCH: &str = "sm_90";

pub(crate) const OCCUPANCY: Command = Command {
    name: "occupancy",
    about: "Compute how many blocks of a rung a multiprocessor holds at once, and what limits that",
    arguments: |command, scope| {
        let command = On::<Arguments>::arguments(command, scope);
        command.mut_arg("block", |arg| arg.conflicts_with("check"))
    },
    execute: |matches, env, to| {
        occupancy(&On::<Arguments>::read(env, matches)?, env, to.out, to.err)
    },
};

#[derive(Args, Debug)]
struct Arguments {
    /// The architecture to assemble for [default: the GPU's where there is one, else sm_90]
    #[arg(long, value_name = "sm_XX", conflicts_with = "check")]
    arch: Option<String>,
    /// Whose architecture, and whose driver to ask
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Compare the calculation with the driver's for every block of these rungs, or of all
    #[arg(long)]
    check: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

fn occupancy(
    args: &On<Arguments>,
    env: &Env<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    let On { targets, own: args } = args;
    let block = targets.block();
    let selected = targets.select(env.catalog)?;
    if args.check {
        return against_the_driver(args, &selected, env, out, err);
    }
    if targets.is_empty() {
        return Err(OccupancyError::NoRung.into());
    }
    // A GPU that only another architecture is asked of is not needed.
    let mut device = match (&args.arch, args.device) {
        (Some(_), Choice::Auto | Choice::Sim) => None,
        (None, _) | (Some(_), Choice::Gpu) => Some((env.open)(args.device)?),
    };
    let arch = args.arch.clone().unwrap_or_else(|| {
        let info = device.as_ref().map(|device| device.info());
        let capability = info.and_then(|info| info.compute_capability);
        capability.map_or(ARCH.to_owned(), |(major, minor)| {
            format!("sm_{major}{minor}")
        })
    });

    let style = OutputStyle {
        terminal: env.terminal,
    };
    if let [one] = &selected[..]
        && let [rung] = one.rungs()[..]
    {
        let report = Report::new(
            env.catalog.kernels,
            one.ladder,
            rung,
            &*one.ladder.problem(&one.options())?,
            block,
            &arch,
        )?;
        let report = asked(report, device.as_deref_mut())?;
        if args.json {
            writeln!(out, "{}", report::json(&[report]))?;
        } else {
            write!(out, "{}", report::details(&report, style))?;
        }
        return Ok(0);
    }

    let (mut all, mut shown, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for own in selected {
        let (ladder, rungs) = (own.ladder, own.rungs());
        let problem = ladder.problem(&own.options())?;
        let mut lines = Vec::new();
        let bar = progress_bar(rungs.len(), env.terminal);
        for rung in rungs {
            bar.set_message(rung.name);
            bar.inc(1);
            let done = if args.json {
                Report::new(env.catalog.kernels, ladder, rung, &*problem, block, &arch)
                    .and_then(|report| asked(report, device.as_deref_mut()))
                    .map(|report| all.push(report))
            } else {
                let launch = ladder.launch(rung, &*problem, block);
                launch
                    .map_err(Error::from)
                    .and_then(|launch| Ok(Held::new(env.catalog.kernels, launch, &arch)?))
                    .map(|held| lines.push((rung, held)))
            };
            match done {
                Err(error) if !own.named.iter().any(|name| name == rung.name) => {
                    left_out.push(possible(error)?);
                }
                done => done?,
            }
        }
        bar.finish_and_clear();
        if !lines.is_empty() {
            shown.push((ladder, lines));
        }
    }
    if all.is_empty()
        && shown.is_empty()
        && let Some(error) = left_out.pop()
    {
        return Err(error);
    }
    if args.json {
        writeln!(out, "{}", report::json(&all))?;
        // Not within the JSON, and not unsaid.
        for error in left_out {
            writeln!(err, "left out: {error}")?;
        }
        return Ok(0);
    }
    for (ladder, lines) in shown {
        writeln!(out, "{} on {arch}", ladder.name)?;
        write!(out, "{}", report::summary(&lines, style))?;
    }
    for error in left_out {
        writeln!(out, "left out: {error}")?;
    }
    Ok(0)
}

/// An error that keeps one rung out of several, which were not named: this architecture or block is not for
/// it. Any other is passed on.
fn possible(error: Error) -> Result<Error, Error> {
    match error {
        Error::Occupancy(OccupancyError::NeedsNewer { .. })
        | Error::Engine(
            engine::Error::NotCompiled { .. }
            | engine::Error::BlockOutOfBounds { .. }
            | engine::Error::TooMuchShared { .. },
        ) => Ok(error),
        error => Err(error),
    }
}

/// With the driver's answer, where it is the driver of a device of this architecture.
fn asked(mut report: Report, device: Option<&mut (dyn Device + 'static)>) -> Result<Report, Error> {
    if let Some(device) = device
        && device.info().compute_capability == Some(report.limits.capability)
    {
        report.driver = device.resident(&report.own.launch)?;
    }
    Ok(report)
}

fn against_the_driver(
    args: &Arguments,
    selected: &[Selection],
    env: &Env<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    let mut device = (env.open)(args.device)?;
    let (mut agree, mut all) = (true, Vec::new());
    for own in selected {
        let checked = check::check(&mut *device, own.ladder, &own.rungs())?;
        agree &= checked.compared.iter().all(check::Compared::agrees);
        if args.json {
            all.extend(checked.compared);
            for why in checked.left_out {
                writeln!(err, "left out: {why}")?;
            }
        } else {
            write!(out, "{}", line(&checked))?;
            out.flush()?;
        }
    }
    if args.json {
        let text = serde_json::to_string_pretty(&all);
        writeln!(
            out,
            "{}",
            text.expect("strings and numbers always serialize")
        )?;
    } else {
        writeln!(out, "on {}", device.info())?;
    }
    Ok(if agree { 0 } else { WRONG })
}

/// A ladder's result, and below it what differs and what was left out.
fn line(checked: &Checked) -> String {
    let Checked {
        ladder,
        compared,
        left_out,
    } = checked;
    let different: Vec<_> = compared.iter().filter(|one| !one.agrees()).collect();
    let result = match different.len() {
        0 => "all as the driver says".to_owned(),
        count => format!("{count} NOT as the driver says"),
    };
    let mut text = format!(
        "{}: {} entries and blocks, {result}\n",
        ladder.name,
        compared.len()
    );
    for one in different {
        text += &format!("  {one}\n");
    }
    for why in left_out {
        text += &format!("  left out: {why}\n");
    }
    text
}
