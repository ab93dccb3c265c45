//! `ladder pitfalls`: faults that people make, whether the simulator's checks find them, and what a GPU makes of them.

mod record;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use analysis::document;
use analysis::pitfalls::Record;
use clap::{Args, FromArgMatches};
use engine::device::{Choice, Sim};
use engine::pitfall::{self, Checked, Kernel, Pitfall};
use simt::run::is_interrupted;

use crate::command::{Command, Output};
use crate::env::{Env, WRONG, progress_bar};
use crate::error::Error;
use crate::output::Format;

/// The name of the tables' markers in a file.
const MARKER: &str = "pitfalls";

pub(crate) const PITFALLS: Command = Command {
    name: "pitfalls",
    about: "Show faults that people make: what the simulator's checks say of each, and what a GPU makes of it; exit \
            code 1 where a check does not find one",
    arguments: |command, _| Arguments::augment_args(command),
    execute: |matches, env, to| execute(&Arguments::from_arg_matches(matches)?, env, to),
};

#[derive(Args, Debug)]
struct Arguments {
    /// Pitfalls, which are then shown one by one [default: all, in a table]
    names: Vec<String>,
    #[command(flatten)]
    format: Format,
    /// Put the Markdown tables of all pitfalls between the markers ladder:pitfalls:begin and ladder:pitfalls:end of a
    /// file: docs/pitfalls.md
    #[arg(long, value_name = "PATH", conflicts_with = "names")]
    update_doc: Option<PathBuf>,
    /// Launch them on a GPU, each kernel in a process of its own, and put what became of them into a record; this
    /// program shows crates/analysis/src/pitfalls/recorded.json
    #[arg(long, value_name = "PATH")]
    update_record: Option<PathBuf>,
    /// Show this record of a GPU in the place of this program's
    #[arg(long, value_name = "PATH", conflicts_with = "update_record")]
    from: Option<PathBuf>,
    /// For the record, also run the four tools of NVIDIA's compute-sanitizer, which is this program
    #[arg(long, value_name = "PATH", requires = "update_record")]
    compute_sanitizer: Option<PathBuf>,
    /// Where to launch for the record
    #[arg(long, value_enum, default_value = "gpu")]
    device: Choice,
    /// How long a kernel may take there
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    time_limit: u64,
    /// Launch one of the kernels of the one pitfall that is named, and print what became of it
    #[arg(long, value_enum, hide = true)]
    alone: Option<Kernel>,
}

/// A pitfall with what the checks say of it.
struct CheckedPitfall {
    pitfall: &'static Pitfall,
    checked: Checked,
}

fn execute(args: &Arguments, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let pitfalls = env.catalog.pitfalls(&args.names)?;
    let limit = Duration::from_secs(args.time_limit.max(1));
    if let Some(kernel) = args.alone {
        return record::alone(&pitfalls, kernel, args.device, limit, env, to.out);
    }
    if let Some(doc) = &args.update_doc {
        document::check(doc, MARKER)?;
    }
    let record = match (&args.update_record, &args.from) {
        (Some(path), _) => record::update(path, &pitfalls, args, limit, env)?,
        (None, Some(path)) => Record::read(path)?,
        (None, None) => Record::embedded().clone(),
    };

    let bar = progress_bar(pitfalls.len(), env.terminal);
    // One thread, as the checks run on one.
    let mut sim = Sim::open(env.catalog.kernels, 1)?;
    let mut shown = Vec::with_capacity(pitfalls.len());
    for pitfall in pitfalls {
        bar.set_message(pitfall.name);
        let checked = pitfall::check(&mut sim, pitfall)?;
        // Somebody may have ended the launches, which says nothing about the pitfall.
        if is_interrupted() {
            break;
        }
        shown.push(CheckedPitfall { pitfall, checked });
        bar.inc(1);
    }
    bar.finish_and_clear();

    let document = match args.names.is_empty() {
        true => show::tables(&shown, &record),
        false => show::one_by_one(&shown, &record),
    };
    if let Some(doc) = args.update_doc.as_ref().filter(|_| !is_interrupted()) {
        document::update(doc, MARKER, &document.markdown())?;
    }
    args.format.write(&document, env.style(), to.out)?;
    let is_right = shown.iter().all(|own| own.checked.is_found() && own.checked.is_clean());
    Ok(if is_right { 0 } else { WRONG })
}
