//! `ladder learn`: exercises that the simulator checks, which are kernels with blanks or with a bug.

mod keys;
mod show;
mod watch;

use std::path::{Path, PathBuf};

use ::learn::{AnswerVerdict, Course, Exercise, Progress};
use clap::{Args, FromArgMatches, Subcommand};
use engine::Catalog;
use engine::names::did_you_mean;

use crate::command::{Command, Env, Output, WRONG};
use crate::error::Error;
use crate::output::{Document, Format};

pub(crate) const LEARN: Command = Command {
    name: "learn",
    about: "Solve exercises that the simulator checks: fill in blanks, or find and fix bugs",
    arguments: |command, _| Arguments::augment_args(command).after_help(AFTER_HELP).disable_help_subcommand(true),
    execute: |matches, env, to| execute(&Arguments::from_arg_matches(matches)?, env, to),
};

const AFTER_HELP: &str = "\
The first time you name an exercise, the program copies its file to exercises/mine. Edit the copy: the program never overwrites \
it, and git ignores the folder. Compiling your code needs cargo and the device compiler of this repository.";

#[derive(Args, Debug)]
struct Arguments {
    /// The exercise to check, or the topic whose exercises to list [default: list the topics]
    #[arg(value_name = "EXERCISE|TOPIC")]
    name: Option<String>,
    /// Check the exercise whenever you save it; without a name, watch the next unsolved one
    #[arg(long, conflicts_with_all = ["list", "all", "json"])]
    watch: bool,
    /// List the topics, the same as without a name
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// List every exercise with its task
    #[arg(long, conflicts_with = "name")]
    all: bool,
    #[command(flatten)]
    format: Format,
    /// The folder with your files [default: exercises/mine, next to the exercises]
    #[arg(long, value_name = "PATH", global = true)]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

/// The other actions on an exercise. Without a name, they act on the next unsolved exercise.
#[derive(Subcommand, Debug)]
enum Action {
    /// Show one more hint each time
    Hint {
        /// The exercise [default: the next unsolved one]
        name: Option<String>,
    },
    /// Compile your file and show its PTX, with the Rust line of each instruction
    Ptx {
        /// The exercise [default: the next unsolved one]
        name: Option<String>,
    },
    /// Restore the original file and keep your file under another name
    Reset {
        /// The exercise
        name: String,
    },
    /// Show a solution with an explanation
    Solution {
        /// The exercise [default: the next unsolved one]
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
    let (mut progress, course) = (Progress::read(folder)?, Course::new(env.catalog.pitfalls));
    match &args.action {
        None => {}
        Some(Action::Hint { name }) => {
            let exercise = named_or_next(name.as_deref(), &progress, &course, env.catalog)?;
            Format::default().write(&show::hint(exercise, &mut progress)?, env.style(), to.out)?;
            return Ok(0);
        }
        Some(Action::Ptx { name }) => {
            let exercise = named_or_next(name.as_deref(), &progress, &course, env.catalog)?;
            progress.begin(exercise)?;
            let file = progress.file(exercise);
            return match ::learn::compile(exercise, &file, repository(env))? {
                Ok(module) => {
                    let function = module.kernels().next().map(|kernel| module.function(kernel)).transpose();
                    let function = function.map_err(|why| Error::Source(why.to_string()))?;
                    let text = function.as_ref().map_or("", |function| function.ptx());
                    write!(to.out, "{}", crate::ptx::with_rust(text, env)?)?;
                    Ok(0)
                }
                Err(trouble) => Err(Error::Source(show::trouble_in_words(&trouble, &file))),
            };
        }
        Some(Action::Reset { name }) => {
            let exercise = named(name, &course, env.catalog)?;
            let kept = progress.reset(exercise)?;
            let file = show::path(&progress.file(exercise));
            let mut document = Document::default();
            document.note(match kept {
                Some(kept) => format!("restored {file}; your file is now {}", show::path(&kept)),
                None => format!("created {file}"),
            });
            Format::default().write(&document, env.style(), to.out)?;
            return Ok(0);
        }
        Some(Action::Solution { name }) => {
            let exercise = named_or_next(name.as_deref(), &progress, &course, env.catalog)?;
            write!(to.out, "{}", exercise.solution)?;
            return Ok(0);
        }
    }
    match &args.name {
        _ if args.watch => watch::watch(args.name.as_deref(), &mut progress, &course, env, to),
        None => {
            let list = match args.all {
                true => show::exercises(&course.topics, &progress),
                false => show::list(&progress, &course),
            };
            args.format.write(&list, env.style(), to.out)?;
            Ok(0)
        }
        Some(name) => {
            if let Some(topic) = course.topics.iter().find(|topic| topic.name == name) {
                args.format.write(&show::exercises(std::slice::from_ref(topic), &progress), env.style(), to.out)?;
                return Ok(0);
            }
            let (document, is_solved) = checked(named(name, &course, env.catalog)?, &mut progress, &course, env)?;
            args.format.write(&document, env.style(), to.out)?;
            Ok(if is_solved { 0 } else { WRONG })
        }
    }
}

/// Returns the exercise with this name.
fn named<'c>(name: &str, course: &'c Course, catalog: &Catalog) -> Result<&'c Exercise, Error> {
    course.exercise(name).ok_or_else(|| match catalog.pitfalls.iter().find(|bug| bug.name == name) {
        Some(bug) => {
            let source = bug.source;
            Error::Request(format!("the bug `{name}` is in host code, so it is not an exercise; read {source}"))
        }
        None => {
            let known: Vec<&str> = course.exercises().map(|exercise| exercise.name).collect();
            Error::Request(format!("there is no exercise `{name}`; {}", did_you_mean(name, "exercises", &known)))
        }
    })
}

/// Returns the exercise with this name, or the next unsolved exercise.
fn named_or_next<'c>(
    name: Option<&str>,
    progress: &Progress,
    course: &'c Course,
    catalog: &Catalog,
) -> Result<&'c Exercise, Error> {
    match name {
        Some(name) => named(name, course, catalog),
        None => progress
            .next(course.exercises())
            .ok_or_else(|| Error::Request("all exercises are solved; name an exercise".to_owned())),
    }
}

/// Returns the folder of this repository.
fn repository<'a>(env: &Env<'a>) -> &'a Path {
    Path::new(env.catalog.kernels.package_folder).parent().unwrap_or(Path::new(""))
}

/// Checks a learner's answer and records the result. Returns the verdict as a document, and whether the exercise is
/// solved.
fn checked(
    exercise: &Exercise,
    progress: &mut Progress,
    course: &Course,
    env: &Env<'_>,
) -> Result<(Document, bool), Error> {
    let is_new = progress.begin(exercise)?;
    let file = progress.file(exercise);
    let verdict = match ::learn::compile(exercise, &file, repository(env))? {
        Ok(module) => ::learn::check(exercise, &module, exercise.name)?,
        Err(trouble) => AnswerVerdict::of(trouble),
    };
    let is_solved = verdict.trouble.is_none();
    progress.record(exercise, is_solved)?;
    Ok((show::verdict(exercise, &verdict, is_new, progress, course), is_solved))
}
