//! Runs commands of `ladder` and `lab` in this process, on the simulator. Each command runs once per book, even if
//! several chapters show it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use analysis::profile::ncu::System;
use cli::output::{Form, WIDTH};
use cli::{Env, LADDER};
use engine::device::{Choice, Device, Sim};
use engine::{Error, Provenance};
use host::{CATALOG, KERNELS, SHARED_LADDERS};
use lab::LAB;

use crate::arguments::words;

/// A command, and the requested kind of output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommandUse {
    /// The arguments of `ladder`, or `lab` with its arguments.
    pub arguments: String,
    pub kind: OutputKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutputKind {
    /// The printed text.
    Text,
    /// The printed text, as Markdown.
    Markdown,
    /// The figures.
    Svg,
    /// Only a check of the arguments, because the command can fail if there is no GPU or NVIDIA tool.
    Parsing,
}

/// The exit code and the output of a command.
#[derive(Debug, Default)]
pub(crate) struct CommandOutput {
    pub code: u8,
    pub out: String,
    pub err: String,
    /// The text of the figures' file.
    pub svg: String,
}

/// The requested commands, and the output of the commands that have run.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    requested: RefCell<BTreeSet<CommandUse>>,
    outputs: BTreeMap<CommandUse, CommandOutput>,
}

/// The error message of a command that opens a GPU.
const NO_GPU: &str = "the book does not open a GPU";
/// Error messages of commands that have valid arguments but cannot run here.
const NOT_HERE: [&str; 2] = [NO_GPU, "no ptxas was found"];

impl Commands {
    /// Returns the output of a command, or requests the command for the next [`Commands::run`].
    ///
    /// # Errors
    /// Returns a message when the command has not run yet or has failed.
    pub(crate) fn output(&self, arguments: &str, kind: OutputKind) -> Result<&CommandOutput, String> {
        let command = CommandUse { arguments: arguments.to_owned(), kind };
        let Some(output) = self.outputs.get(&command) else {
            self.requested.borrow_mut().insert(command);
            return Err(format!("`ladder {arguments}` has not run"));
        };
        let is_fine = match kind {
            OutputKind::Parsing => output.code == 0 || NOT_HERE.iter().any(|why| output.err.contains(why)),
            OutputKind::Text | OutputKind::Markdown | OutputKind::Svg => output.code == 0,
        };
        if is_fine {
            Ok(output)
        } else {
            Err(format!("`ladder {arguments}`: {}{}", output.err.trim(), refusal(output)))
        }
    }

    /// Runs all requested commands in parallel.
    pub(crate) fn run(&mut self) {
        let requested: Vec<CommandUse> = self.requested.take().into_iter().collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            for _ in 0..available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(command) = requested.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let output = run_command(command);
                        done.lock().expect("no thread panics while it holds the lock").insert(command.clone(), output);
                    }
                });
            }
        });
        self.outputs = done.into_inner().expect("no thread panics while it holds the lock");
    }

    /// Returns the number of commands that have run.
    pub(crate) fn len(&self) -> usize {
        self.outputs.len()
    }
}

/// Returns the standard output of a command that failed without an error message.
fn refusal(output: &CommandOutput) -> String {
    if output.err.is_empty() { format!("exit code {}: {}", output.code, output.out.trim()) } else { String::new() }
}

/// Runs a command.
pub(crate) fn run_command(command: &CommandUse) -> CommandOutput {
    let refused = |err: String| CommandOutput { code: 2, err, ..CommandOutput::default() };
    let (is_lab, arguments) = match command.arguments.strip_prefix("lab ") {
        Some(arguments) => (true, arguments),
        None => (false, &*command.arguments),
    };
    let mut arguments = match words(arguments) {
        Ok(words) => words,
        Err(why) => return refused(why),
    };
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(why) => return refused(why.to_string()),
    };
    let drawn = folder.path().join("figures.svg");
    if command.kind == OutputKind::Svg {
        arguments.extend(["--svg".to_owned(), drawn.display().to_string()]);
    }
    let open = |choice| -> Result<Box<dyn Device>, Error> {
        match (command.kind, choice) {
            (OutputKind::Parsing, _) | (_, Choice::Gpu) => Err(Error::NoGpu { what: NO_GPU.to_owned() }),
            _ => Ok(Box::new(Sim::open(&KERNELS, 1)?)),
        }
    };
    let env = Env {
        program: if is_lab { &LAB } else { &LADDER },
        catalog: &CATALOG,
        shared: SHARED_LADDERS,
        open: &open,
        command: None,
        request: None,
        terminal: false,
        form: if command.kind == OutputKind::Markdown { Form::Markdown } else { Form::Text },
        width: WIDTH,
        wide: false,
        runner: &System,
        explain: &|_| Err(vec!["the book does not run the tools".to_owned()]),
        // Use a fixed text in place of the date, so that the same sources produce the same book.
        provenance: &|device| Provenance {
            date: "when this book was built".to_owned(),
            ..Provenance::now(CATALOG.kernels, device)
        },
    };
    let (code, out, err) = cli::captured(&arguments, &env);
    let svg = std::fs::read_to_string(drawn).unwrap_or_default();
    // Remove the repository's path, so that the book does not depend on it.
    let here = std::env::current_dir().map(|root| format!("{}/", root.display())).unwrap_or_default();
    let [out, svg] = [out, svg].map(|text| if here.is_empty() { text } else { text.replace(&here, "") });
    CommandOutput { code, out, err, svg }
}
