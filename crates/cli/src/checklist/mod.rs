//! `ladder checklist`: the optimizations, and the rungs that show them, measured.

use std::io::Write;

mod show;

use clap::{Args, FromArgMatches};

use crate::command::Command;
use crate::env::{Env, progress_bar};
use crate::error::Error;
use crate::report::OutputStyle;
use analysis::checklist::{ENTRIES, measure};
use engine::device::Sim;
use show::{json, text};

pub(crate) const CHECKLIST: Command = Command {
    name: "checklist",
    about: "List six optimizations: what each gains, how it is done, and the rungs here that show it, measured",
    arguments: |command, _| Arguments::augment_args(command),
    execute: |matches, env, to| checklist(&Arguments::from_arg_matches(matches)?, env, to.out),
};

#[derive(Args, Debug)]
struct Arguments {
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

fn checklist(args: &Arguments, env: &Env<'_>, out: &mut dyn Write) -> Result<u8, Error> {
    let pairs = ENTRIES.iter().map(|entry| entry.pairs.len()).sum();
    let bar = progress_bar(pairs, env.terminal);
    // The counters are this machine's, whatever else there is.
    let measured = measure(
        env.catalog,
        &mut Sim::open(env.catalog.kernels, 0)?,
        |pair| {
            bar.set_message(pair.after);
            bar.inc(1);
        },
    );
    bar.finish_and_clear();
    let measured = measured?;
    let style = OutputStyle {
        terminal: env.terminal,
    };
    let text = if args.json {
        json(&measured) + "\n"
    } else {
        text(&measured, style)
    };
    out.write_all(text.as_bytes())?;
    Ok(0)
}
