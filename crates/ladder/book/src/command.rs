//! Commands of `ladder` and `lab`, run in this process on the simulator. Each runs once for the whole book, however many chapters show it.

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

/// A command, and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommandUse {
    /// The arguments of `ladder`, or `lab` with its arguments.
    pub arguments: String,
    pub wanted: OutputKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutputKind {
    /// What it prints.
    Text,
    /// What it prints, as Markdown.
    Markdown,
    /// The figures that it draws.
    Svg,
    /// Whether its arguments are right: it may lack a GPU, or NVIDIA's tools.
    Parsing,
}

/// What became of a command.
#[derive(Debug, Default)]
pub(crate) struct CommandOutput {
    pub code: u8,
    pub out: String,
    pub err: String,
    /// The text of the figures' file.
    pub svg: String,
}

/// The requested commands, and the results of those that have run.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    asked: RefCell<BTreeSet<CommandUse>>,
    ended: BTreeMap<CommandUse, CommandOutput>,
}

/// Why no device is opened.
const NO_GPU: &str = "it is not opened for a book";
/// What a command says that was understood and cannot run here.
const NOT_HERE: [&str; 2] = [NO_GPU, "no ptxas was found"];

impl Commands {
    /// What became of a command.
    ///
    /// # Errors
    /// When it has not run yet, and when it did not succeed.
    pub(crate) fn ended(&self, arguments: &str, wanted: OutputKind) -> Result<&CommandOutput, String> {
        let asked = CommandUse { arguments: arguments.to_owned(), wanted };
        let Some(ended) = self.ended.get(&asked) else {
            self.asked.borrow_mut().insert(asked);
            return Err(format!("`ladder {arguments}` has not run"));
        };
        let is_fine = match wanted {
            OutputKind::Parsing => ended.code == 0 || NOT_HERE.iter().any(|why| ended.err.contains(why)),
            OutputKind::Text | OutputKind::Markdown | OutputKind::Svg => ended.code == 0,
        };
        if is_fine { Ok(ended) } else { Err(format!("`ladder {arguments}`: {}{}", ended.err.trim(), refusal(ended))) }
    }

    /// Runs all commands that were asked for, side by side.
    pub(crate) fn run(&mut self) {
        let asked: Vec<CommandUse> = self.asked.take().into_iter().collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            for _ in 0..available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(own) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let ended = ended(own);
                        done.lock().expect("no thread panics while it holds the lock").insert(own.clone(), ended);
                    }
                });
            }
        });
        self.ended = done.into_inner().expect("no thread panics while it holds the lock");
    }

    /// How many have run.
    pub(crate) fn len(&self) -> usize {
        self.ended.len()
    }
}

/// What a command printed that ended with an error and said nothing.
fn refusal(ended: &CommandOutput) -> String {
    if ended.err.is_empty() { format!("exit code {}: {}", ended.code, ended.out.trim()) } else { String::new() }
}

/// Runs a command.
pub(crate) fn ended(asked: &CommandUse) -> CommandOutput {
    let refused = |err: String| CommandOutput { code: 2, err, ..CommandOutput::default() };
    let (is_lab, arguments) = match asked.arguments.strip_prefix("lab ") {
        Some(arguments) => (true, arguments),
        None => (false, &*asked.arguments),
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
    if asked.wanted == OutputKind::Svg {
        arguments.extend(["--svg".to_owned(), drawn.display().to_string()]);
    }
    let open = |choice| -> Result<Box<dyn Device>, Error> {
        match (asked.wanted, choice) {
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
        form: if asked.wanted == OutputKind::Markdown { Form::Markdown } else { Form::Text },
        width: WIDTH,
        wide: false,
        runner: &System,
        explain: &|_| Err(vec!["the tools are not asked for a book".to_owned()]),
        // Without the day, so that the same sources give the same book.
        provenance: &|device| Provenance {
            date: "when this book was built".to_owned(),
            ..Provenance::now(CATALOG.kernels, device)
        },
    };
    let (code, out, err) = cli::captured(&arguments, &env);
    let svg = std::fs::read_to_string(drawn).unwrap_or_default();
    // Wherever this repository lies, the book is the same.
    let here = std::env::current_dir().map(|root| format!("{}/", root.display())).unwrap_or_default();
    let [out, svg] = [out, svg].map(|text| if here.is_empty() { text } else { text.replace(&here, "") });
    CommandOutput { code, out, err, svg }
}
