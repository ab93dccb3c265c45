//! The book (`docs/book`): chapters of Markdown in which code, figures, counters and measured times are directives, so that
//! none of them can differ from the repository.
//!
//! The input is the chapters, the kernels' files, the recorded results, and the program `ladder`, whose commands run in this
//! process on the simulator. The output is a [`Book`]: chapters of plain Markdown, and the figures' files. The program of
//! this crate writes it into [`RENDERED`], which is part of the repository, or into a folder for the site, whose pages
//! `book-pages` makes. A directive that cannot be resolved, a dead link, and a measured number without a directive are
//! faults, each with its file and line.
//!
//! It must not know what is written in the chapters: a chapter is a file and a line of `SUMMARY.md`.
//!
//! What a chapter can contain besides Markdown:
//!
//! | directive | what stands in its place |
//! |---|---|
//! | `{{item FILE NAME…}}` | items of a file of kernels, without their documentation; `*` is the whole file |
//! | `{{item FILE NAME from="…" until="…"}}` | the item's lines from the first text to the second |
//! | `{{lesson RUNG}}` | the rung's lesson |
//! | `{{lessons LADDER}}` | a table of the ladder's rungs and lessons |
//! | `{{ladders}}` | a table of all ladders, with the number of rungs and what each computes |
//! | `{{published RUNG}}` | the speedup that the rung's text gives for it |
//! | `{{figure [A-B] RUNG …}}` | the figures of `ladder why RUNG …` (from the A-th to the B-th), with the command |
//! | `{{change RUNG [ITEM…] [over=RUNG]}}` | what a rung's kernel, and items of its file, change in the rung before it, as a `diff` |
//! | `{{climb LADDER SOURCE [rungs=RUNG,…] [mark="NAME\|SOURCE\|ROW"]}}` | a chart of the ladder's recorded times, with the memory's floor or the marked time |
//! | `{{picture NAME}}` | the drawing `docs/book/pictures/NAME.svg` |
//! | `{{device NAME KEY}}` | a figure of `crates/simt/devices/known/NAME.toml`: `{{device h100 l2.gb_per_s}}` |
//! | `{{counter RUNG METRIC …}}` | a number of `ladder why RUNG … --counters --device sim`, by its heading or its name; with `--grid` among the options, of a kernel that is not a rung |
//! | `{{metrics GROUP}}` | a table of the counters of a group: what each is, and its name |
//! | `{{recorded SOURCE ROW QUANTITY}}` | a recorded value: `h100/run reduce_smem time` is of `results/h100/run.jsonl`; `h100/versus@2^28` selects a problem |
//! | `{{factor SOURCE ROW QUANTITY}}` | the same without its `×` |
//! | `{{ratio SOURCE ROW ROW QUANTITY}}` | the first row's number over the second's |
//! | `{{table rows=… columns=SOURCE\|QUANTITY,…}}` | such values side by side; a ladder's name stands for its rungs that are recorded; headings name the problem if columns differ in it |
//! | `{{uses TEXT RUNG}}` | nothing; a fault if the rung's PTX lacks the text |
//! | `{{holds A < B}}` | nothing; a fault where it does not hold. A and B are numbers or `SOURCE\|ROW\|QUANTITY` |
//! | `{{exercises TOPIC}}` | the exercises of `ladder learn` with this topic |
//! | `{{playground RUNG}}` | on the site the playground with this rung, in the repository a link to its document |
//! | `{{document FILE}}` | a document of `docs` |
//!
//! A block of code with the language `console` is run: the page shows what each line `$ ladder …` prints. After the
//! language may stand `from="…"` and `until="…"`, lines between which the output is shown, `rendered` for output that is
//! Markdown, `gpu` for commands that need a GPU or NVIDIA's
//! tools (only their arguments are checked), `recorded=FILE` for output that was kept
//! in `docs/book/recorded`, and `tested=FILE` for commands of other programs, which that test runs.

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

/// The folder of the book, from the repository's root.
pub const FOLDER: &str = "docs/book";

/// The folder of the finished chapters in the repository, from its root.
pub const RENDERED: &str = "docs/book/rendered";

/// Where the book is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// In the repository, next to the documents and the source files: links lead to them.
    Repository,
    /// On the site, which has the documents as chapters, the playground, and no source files.
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
    /// Returns every file of the book: its path in the book's folder, and its text.
    pub fn all_files(&self) -> impl Iterator<Item = (&String, &String)> {
        self.chapters.iter().chain(&self.files)
    }
}

/// Resolves all directives of the book below the repository's root.
///
/// The process's working folder becomes `root`, because commands name files from there.
///
/// # Errors
/// Returns all faults, if there are any: directives that cannot be resolved, commands that fail, dead links, numbers
/// without a directive, files that cannot be read.
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
    // The first pass finds the commands, which then run in parallel. The second pass inserts what they print.
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
