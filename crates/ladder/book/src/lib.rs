//! The book (`docs/book`): Markdown chapters in which directives stand for code, figures, counters and measured times,
//! so that the book cannot contradict the repository.
//!
//! The inputs are the chapters, the kernels' files, the recorded results, and the program `ladder`, whose commands run
//! in this process on the simulator. The output is a [`Book`]: chapters of plain Markdown, and the figures' files. This
//! crate's program writes the book to [`RENDERED`], which is part of the repository, or to a folder from which
//! `book-pages` generates the site's pages. A fault is a directive that cannot be resolved, a dead link, or a measured
//! number without a directive; each fault has its file and line.
//!
//! This crate must not depend on the content of the chapters: a chapter is just a file and a line of `SUMMARY.md`.
//!
//! A chapter can contain these directives:
//!
//! | directive | replaced by |
//! |---|---|
//! | `{{item FILE NAME…}}` | items of a file of kernels, without their documentation; `*` is the whole file |
//! | `{{item FILE NAME from="…" until="…"}}` | the item's lines from the first text to the second |
//! | `{{lesson RUNG}}` | the rung's lesson |
//! | `{{lessons LADDER}}` | a table of the ladder's rungs and lessons |
//! | `{{ladders}}` | a table of all ladders, with the number of rungs and the computation of each |
//! | `{{published RUNG}}` | the published speedup of the rung |
//! | `{{figure [A-B] RUNG …}}` | the figures of `ladder why RUNG …` (from the A-th to the B-th), with the command |
//! | `{{change RUNG [ITEM…] [over=RUNG]}}` | the changes from the previous rung in a rung's kernel, and in items of its file, as a `diff` |
//! | `{{climb LADDER SOURCE [rungs=RUNG,…] [mark="NAME\|SOURCE\|ROW"]}}` | a chart of the ladder's recorded times, with the memory's floor or the marked time |
//! | `{{picture NAME}}` | the drawing `docs/book/pictures/NAME.svg` |
//! | `{{device NAME KEY}}` | a value of `crates/simt/devices/known/NAME.toml`: `{{device h100 l2.gb_per_s}}` |
//! | `{{counter RUNG METRIC …}}` | a number of `ladder why RUNG … --counters --device sim`, by its heading or its name; with the option `--grid`, a number of a kernel that is not a rung |
//! | `{{metrics GROUP}}` | a table of a group's counters: the meaning and the name of each |
//! | `{{recorded SOURCE ROW QUANTITY}}` | a recorded value: `h100/run reduce_smem time` is from `results/h100/run.jsonl`; `h100/versus@2^28` selects a problem |
//! | `{{factor SOURCE ROW QUANTITY}}` | a recorded factor without its `×` |
//! | `{{ratio SOURCE ROW ROW QUANTITY}}` | the first row's number divided by the second row's |
//! | `{{table rows=… columns=SOURCE\|QUANTITY,…}}` | a table of recorded values; a ladder's name stands for its recorded rungs; headings contain the problem if it differs between columns |
//! | `{{uses TEXT RUNG}}` | nothing; a fault if the rung's PTX lacks the text |
//! | `{{holds A < B}}` | nothing; a fault if the comparison is false. A and B are numbers or `SOURCE\|ROW\|QUANTITY` |
//! | `{{exercises TOPIC}}` | the exercises of `ladder learn` with this topic |
//! | `{{playground RUNG}}` | on the site, the playground with this rung; in the repository, a link to its document |
//! | `{{document FILE}}` | a document of `docs` |
//!
//! A code block with the language `console` is run: the page shows the output of each line `$ ladder …`. Options may
//! follow the language: `from="…"` and `until="…"` select the lines of output to show, and `rendered` is for output in
//! Markdown. `gpu` is for commands that need a GPU or NVIDIA's tools; only their arguments are checked. `recorded=FILE`
//! shows output from `docs/book/recorded`, and `tested=FILE` is for commands of other programs, which that test runs.

mod arguments;
mod change;
mod chapter;
mod command;
mod context;
mod directive;
mod exercises;
mod fault;
mod figure;
mod item;
mod links;
mod numbers;
mod prose;
mod record;
mod recorded;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use command::Commands;
use context::Context;
use fault::at;
use record::Results;

pub use fault::Faults;
pub use recorded::Recorded;

/// The folder of the book, relative to the repository's root.
pub const FOLDER: &str = "docs/book";

/// The folder of the finished chapters, relative to the repository's root.
pub const RENDERED: &str = "docs/book/rendered";

/// The place where the book is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The repository. Links point to the documents and source files in the repository.
    Repository,
    /// The site, which includes documents as chapters and the playground, but not source files.
    Site,
}

/// The finished text of the book.
#[derive(Debug)]
pub struct Book {
    /// The text of each chapter and of the table of contents, by file name: `warps.md`.
    pub chapters: BTreeMap<String, String>,
    /// The text of the figures' files: `figures/transpose_naive.svg`.
    pub files: BTreeMap<String, String>,
    /// The number of commands that ran.
    pub commands: usize,
}

impl Book {
    /// Returns every file of the book: its path within the book's folder, and its text.
    pub fn all_files(&self) -> impl Iterator<Item = (&String, &String)> {
        self.chapters.iter().chain(&self.files)
    }
}

/// Resolves all directives of the book in the repository at `root`.
///
/// Changes the process's working folder to `root`, because commands name files relative to it.
///
/// # Errors
/// Returns all faults, if any: directives that cannot be resolved, commands that fail, dead links, numbers without a
/// directive, files that cannot be read.
pub fn prepare(root: &Path, destination: Destination) -> Result<Book, Faults> {
    std::env::set_current_dir(root).map_err(|why| Faults::one(root.display(), why))?;
    let sources = summary::chapters()?;
    let names: BTreeSet<String> = sources.keys().cloned().collect();
    let results = Results::default();
    let documents = chapter::documents(&sources);
    let expanded = |commands: &Commands| {
        let mut faults = Vec::new();
        let mut files = BTreeMap::new();
        let (mut chapters, mut pages) = (BTreeMap::new(), BTreeMap::new());
        for (name, text) in &sources {
            let file = format!("{FOLDER}/src/{name}");
            let mut context = Context { file: &file, commands, results: &results, files: &mut files, destination };
            let whole = chapter::expanded(text, &mut context, &mut faults);
            pages.insert(name.clone(), links::resolved(&file, &whole, &names, &documents, &mut faults));
            chapters.insert(name.clone(), whole);
        }
        links::anchors(&pages, &mut faults);
        if destination == Destination::Site {
            chapters = pages;
        }
        (chapters, files, faults)
    };
    // The first pass collects the commands, which then run in parallel. The second pass inserts their output.
    let mut commands = Commands::default();
    expanded(&commands);
    commands.run();
    let (mut chapters, files, faults) = expanded(&commands);
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    let contents = read(&format!("{FOLDER}/src/SUMMARY.md")).map_err(|fault| Faults(vec![fault]))?;
    match destination {
        Destination::Site => drop(chapters.insert("SUMMARY.md".to_owned(), contents)),
        Destination::Repository => {
            chapters.retain(|name, _| !documents.values().any(|document| document == name));
            chapters.insert("README.md".to_owned(), summary::contents(&contents, &documents));
        }
    }
    Ok(Book { chapters, files, commands: commands.len() })
}

/// Reads a file of the repository.
fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|why| at(path, why))
}
