//! `ladder checklist`: the optimizations, and the rungs that show them, measured.

use std::io::Write;

use clap::Args;

use super::{Surroundings, progress_bar};
use crate::checklist::{ENTRIES, json, measure, text};
use crate::device::Sim;
use crate::error::Error;
use crate::report::Look;

#[derive(Args, Debug)]
pub(super) struct Checklist {
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn checklist(
    args: &Checklist,
    surroundings: &Surroundings<'_>,
    out: &mut dyn Write,
) -> Result<u8, Error> {
    let pairs = ENTRIES.iter().map(|entry| entry.pairs.len()).sum();
    let bar = progress_bar(pairs, surroundings.terminal);
    // The counters are this machine's, whatever else there is.
    let measured = measure(&mut Sim::open(0)?, |pair| {
        bar.set_message(pair.after);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let measured = measured?;
    let look = Look {
        terminal: surroundings.terminal,
    };
    let text = if args.json {
        json(&measured) + "\n"
    } else {
        text(&measured, look)
    };
    out.write_all(text.as_bytes())?;
    Ok(0)
}
