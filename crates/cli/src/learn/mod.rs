//! `ladder learn`: exercises, whose answers are checked on the simulator, and common bugs.

pub mod bugs;
mod show;
mod watch;

use std::path::{Path, PathBuf};

use ::learn::{Exercise, Progress, State, Verdict};
use analysis::pitfalls::Record;
use clap::{Args, FromArgMatches, Subcommand};
use engine::Catalog;
use engine::names::did_you_mean;

use crate::command::{Command, Env, Output, WRONG};
use crate::error::Error;
use crate::output::{Document, Format};

pub(crate) const LEARN: Command = Command {
    name: "learn",
    about: "Exercises, which are checked on the simulator, and common bugs: list them, or check or show one",
    arguments: |command, _| Arguments::augment_args(command).after_help(AFTER_HELP).disable_help_subcommand(true),
    execute: |matches, env, to| execute(&Arguments::from_arg_matches(matches)?, env, to),
};

const AFTER_HELP: &str = "\
An exercise's file is put into your folder, exercises/mine, when you first name it. Edit it there; nothing that you write is \
ever overwritten, and git does not see that folder. Compiling an answer takes cargo and the device compiler that this \
repository is built with.";

#[derive(Args, Debug)]
struct Arguments {
    /// The exercise to check, or the bug to show [default: list the exercises]
    name: Option<String>,
    /// Check the exercise, or without a name the next one, again whenever you save it
    #[arg(long, conflicts_with_all = ["all", "bugs", "json"])]
    watch: bool,
    /// List every exercise with its task
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// List common bugs: what the sanitizers find in each, and what a GPU did
    #[arg(long, conflicts_with_all = ["name", "all"])]
    bugs: bool,
    #[command(flatten)]
    format: Format,
    /// The folder with your files [default: exercises/mine, beside the exercises]
    #[arg(long, value_name = "PATH", global = true)]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What else can be done with an exercise; without a name, with the next one that is not solved.
#[derive(Subcommand, Debug)]
enum Action {
    /// Show a hint, and each time one more
    Hint {
        /// The exercise [default: the next one]
        name: Option<String>,
    },
    /// Begin again; your file is kept under another name
    Reset {
        /// The exercise
        name: String,
    },
    /// Show an answer, and why it is one
    Solution {
        /// The exercise [default: the next one]
        name: Option<String>,
    },
}

fn execute(args: &Arguments, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => Progress::usual_folder(&std::env::current_dir()?),
    };
    if let (Some(name), Some(_)) = (&args.name, &args.action) {
        return Err(Error::Request(format!("the action comes before the name: `ladder learn hint {name}`")));
    }
    let mut progress = Progress::read(folder)?;
    match &args.action {
        None => {}
        Some(Action::Hint { name }) => {
            let exercise = named_or_next(name.as_deref(), &progress, env.catalog)?;
            write!(to.out, "{}", show::hint(exercise, &mut progress)?)?;
            return Ok(0);
        }
        Some(Action::Reset { name }) => {
            let exercise = named(name, env.catalog)?;
            let kept = progress.reset(exercise)?;
            let file = show::path(&progress.file(exercise));
            match kept {
                Some(kept) => writeln!(to.out, "{file} is as it was at the beginning; yours is {}", show::path(&kept))?,
                None => writeln!(to.out, "{file} is there; there was none before")?,
            }
            return Ok(0);
        }
        Some(Action::Solution { name }) => {
            let exercise = named_or_next(name.as_deref(), &progress, env.catalog)?;
            write!(to.out, "{}", exercise.solution)?;
            return Ok(0);
        }
    }
    match &args.name {
        _ if args.watch => watch::watch(args.name.as_deref(), &mut progress, env, to),
        None if args.bugs => show_bugs(&[], args.format, env, to),
        None => {
            args.format.write(&show::list(&progress, env.catalog.pitfalls.len(), args.all), env.style(), to.out)?;
            Ok(0)
        }
        Some(name) if env.catalog.pitfalls.iter().any(|bug| bug.name == *name) => {
            show_bugs(std::slice::from_ref(name), args.format, env, to)
        }
        Some(name) => {
            let (document, is_solved) = checked(named(name, env.catalog)?, &mut progress, env)?;
            args.format.write(&document, env.style(), to.out)?;
            Ok(if is_solved { 0 } else { WRONG })
        }
    }
}

/// Checks bugs and shows them: all in tables, or one with all that is known about it.
fn show_bugs(names: &[String], format: Format, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let checked = bugs::check(env.catalog.pitfalls(names)?, env)?;
    let record = Record::embedded();
    let document = match names.is_empty() {
        true => bugs::tables(&checked, record),
        false => bugs::one_by_one(&checked, record),
    };
    format.write(&document, env.style(), to.out)?;
    Ok(bugs::exit_code(&checked))
}

/// The exercise of this name.
fn named(name: &str, catalog: &Catalog) -> Result<&'static Exercise, Error> {
    ::learn::exercise(name).ok_or_else(|| {
        let exercises = ::learn::exercises().map(|exercise| exercise.name);
        let known: Vec<&str> = exercises.chain(catalog.pitfalls.iter().map(|bug| bug.name)).collect();
        let hint = did_you_mean(name, "exercises and bugs", &known);
        Error::Request(format!("there is no exercise `{name}`; {hint}"))
    })
}

/// The exercise of this name, or the next one.
fn named_or_next(name: Option<&str>, progress: &Progress, catalog: &Catalog) -> Result<&'static Exercise, Error> {
    match name {
        Some(name) => named(name, catalog),
        None => next(progress).ok_or_else(|| Error::Request("all exercises are solved: name one".to_owned())),
    }
}

/// The first exercise that is not solved.
fn next(progress: &Progress) -> Option<&'static Exercise> {
    ::learn::exercises().find(|exercise| progress.state(exercise) != State::Solved)
}

/// Checks a learner's answer and records it; returns what is to be shown, and whether it is solved.
fn checked(exercise: &'static Exercise, progress: &mut Progress, env: &Env<'_>) -> Result<(Document, bool), Error> {
    let repository = Path::new(env.catalog.kernels.package_folder).parent().unwrap_or(Path::new(""));
    let is_new = progress.begin(exercise)?;
    let file = progress.file(exercise);
    let verdict = match ::learn::compile(exercise, &file, repository)? {
        Ok(module) => ::learn::check(exercise, &module, exercise.name)?,
        Err(trouble) => Verdict::of(trouble),
    };
    let is_solved = verdict.trouble.is_none();
    progress.record(exercise, is_solved)?;
    Ok((show::verdict(exercise, &verdict, is_new, progress), is_solved))
}
