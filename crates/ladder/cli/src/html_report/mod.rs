//! `ladder report`: writes ladders as one self-contained HTML file, or compares two such files.
//!
//! [`collect`] creates the [data](data::Data) of a report and the other contents of its page. [`compare`] compares two
//! reports. The pages are rendered from the templates in this folder and the charts' templates.

mod code;
mod collect;
mod compare;
mod data;
mod ladder_chart;
mod page;

use std::path::{Path, PathBuf};

use clap::Args;

pub use code::{Changed, difference};
pub use ladder_chart::{Mark, climb};

use crate::command::{Command, CommandArgs, Env, Output, WRONG};
use crate::error::Error;
use crate::timing::{Timing, TimingArguments};
use data::Data;
use report::files::{check_new, replace};
use report::page::GENERATOR;

pub(crate) const REPORT: Command = Command {
    name: "report",
    about: "Write ladders as one HTML file: times, lessons, code, figures and counters; or compare two such files",
    arguments: CommandArgs::<Arguments>::arguments,
    execute: |matches, env, to| execute(&CommandArgs::<Arguments>::read(env, matches)?, env, to),
};

/// The arguments of `ladder report` that other commands do not have.
#[derive(Args, Debug)]
struct Arguments {
    /// The file to write; an existing file is replaced only if it is a report
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compare two existing reports
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["names", "device", "on", "times"])]
    compare: Option<Vec<PathBuf>>,
    #[command(flatten)]
    timing: TimingArguments,
}

fn execute(args: &CommandArgs<Arguments>, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = args;
    let path = &args.output;
    check_output(path)?;
    let mut wrong = Vec::new();
    let (html, what) = if let Some(pair) = &args.compare {
        let [old, new] = [Data::read(&pair[0])?, Data::read(&pair[1])?];
        let names = [&pair[0], &pair[1]].map(|path| path.display().to_string());
        (
            page::comparison(&compare::comparison(names, &old, &new)),
            format!("{} and {}", pair[0].display(), pair[1].display()),
        )
    } else {
        let selected = targets.select(env.catalog)?;
        let mut timing = Timing::open(&args.timing, env)?;
        let report = collect::report(env, &selected, targets.block(), &mut timing, &mut wrong)?;
        let names: Vec<&str> = selected.iter().map(|selection| selection.ladder.name).collect();
        (page::report(&report), format!("{}, times {}", names.join(", "), report.data.origin.words))
    };
    replace(path, &html).map_err(|why| analysis::Error::file("write", path, why))?;
    writeln!(to.out, "{}: {what}", path.display())?;
    wrong.iter().try_for_each(|why| writeln!(to.out, "wrong: {why}"))?;
    Ok(if wrong.is_empty() { 0 } else { WRONG })
}

/// Checks that the page can be written before the work starts. A file that is not a report is not overwritten.
fn check_output(path: &Path) -> Result<(), Error> {
    let refused = |why: &str| Error::Request(format!("cannot write {}: {why}", path.display()));
    if path.is_dir() {
        return Err(refused("it is a folder; give the path of a file, for example report.html"));
    }
    if path.exists() {
        let text = std::fs::read(path).map_err(|why| analysis::Error::file("read", path, why))?;
        if !String::from_utf8_lossy(&text).contains(GENERATOR) {
            return Err(refused("the file exists and is not a report; name another file, or remove it"));
        }
    }
    check_new(path).map_err(|why| analysis::Error::file("write", path, why))?;
    Ok(())
}
