//! The source lines that instructions come from.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ptx::Place;
use ptx::ast::Loc;

use super::Listing;
use super::style::{DIM, SOURCE, paint};

/// Shows the source lines of a function's instructions, on the way through them.
#[derive(Debug)]
pub(super) struct Interleave {
    /// Where a relative path may start. The first is also the one that paths are shown relative to.
    roots: Vec<PathBuf>,
    /// The lines of the files that were read, by path; `None` for a file that is not there.
    read: HashMap<String, Option<Vec<String>>>,
    /// The frames shown last, the outermost first.
    shown: Vec<(String, u32)>,
    missing: BTreeSet<String>,
}

impl Interleave {
    /// Looks for relative paths in these folders, in order.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_owned(), read: HashMap::new(), shown: Vec::new(), missing: BTreeSet::new() }
    }

    /// A line of a file, from 1, without its indentation; `None` where there is no such file or line.
    fn line(&mut self, path: &str, line: u32) -> Option<&str> {
        let lines = self.lines(path)?;
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.get(index).map(|line| line.trim())
    }

    fn lines(&mut self, path: &str) -> Option<&Vec<String>> {
        let read = self.read.entry(path.to_owned()).or_insert_with(|| {
            let joined = self.roots.iter().map(|root| root.join(path));
            let mut candidates = [PathBuf::from(path)].into_iter().chain(joined);
            let text = candidates.find_map(|candidate| std::fs::read_to_string(candidate).ok())?;
            Some(text.lines().map(str::to_owned).collect())
        });
        read.as_ref()
    }

    /// The path as it is shown: relative to the first root, and a library's from its crate on.
    fn path_shown(&self, path: &str) -> String {
        let root = self.roots.first();
        match root.and_then(|root| Path::new(path).strip_prefix(root).ok()) {
            Some(inside) => inside.display().to_string(),
            None => library_part(path).unwrap_or(path).to_owned(),
        }
    }

    /// The lines to print before an instruction: the frames that differ from the previous instruction's, the
    /// outermost first, each indented under its caller. Nothing where the place is the same.
    pub(super) fn lines_for(&mut self, listing: &Listing<'_>, loc: &Loc) -> String {
        let calls = loc.inlined_through(listing.source.text());
        let places = calls.into_iter().rev().chain([loc.place()]);
        let frames = places.filter_map(|place| frame(listing, place)).collect();
        self.frames(frames)
    }

    /// The same from paths and lines, the outermost first.
    pub(super) fn frames(&mut self, mut frames: Vec<(String, u32)>) -> String {
        // The library calls itself on the way: of it, only where the instruction is.
        let innermost = frames.len().saturating_sub(1);
        let mut depth = 0..;
        frames.retain(|(path, _)| depth.next() == Some(innermost) || library_part(path).is_none());
        if frames == self.shown {
            return String::new();
        }
        let pairs = frames.iter().zip(&self.shown);
        let same = pairs.take_while(|(a, b)| a == b).count();
        // An instruction of a caller, after one that was inlined into it: its own line again.
        let from = same.min(frames.len().saturating_sub(1));
        let mut out = String::new();
        for (depth, (path, line)) in frames.iter().enumerate().skip(from) {
            out += &self.frame_line(depth, path, *line);
        }
        self.shown = frames;
        out
    }

    fn frame_line(&mut self, depth: usize, path: &str, line: u32) -> String {
        let (width, shown) = (depth * 2, self.path_shown(path));
        let mut out = paint(DIM, format_args!("//{:width$} {shown}:{line}", ""));
        // What the library does inside `add` or `sync_threads` is known by its name; its text would only
        // come between the kernel's own lines.
        if library_part(path).is_none() {
            if let Some(text) = self.line(path, line) {
                out += &format!("  {}", paint(SOURCE, text));
            } else if self.lines(path).is_none() {
                self.missing.insert(path.to_owned());
            }
        }
        out + "\n"
    }

    /// The files that could not be shown, reported at the end of the output.
    pub(super) fn notes(self) -> String {
        let note = |path: &String| paint(DIM, format_args!("// no such file here: {path}")) + "\n";
        self.missing.iter().map(note).collect()
    }
}

/// The part of a path in Rust's own library after `library/`: `core/src/ptr/mut_ptr.rs`.
fn library_part(path: &str) -> Option<&str> {
    let (_, part) = path.rsplit_once("/library/")?;
    // The library includes some parts through `../..`; what follows is the readable name.
    Some(part.rsplit_once("../").map_or(part, |(_, part)| part))
}

/// A place's path and line. Line 0 means that the compiler knew none; then the place says nothing.
fn frame<'a>(listing: &Listing<'a>, place: Place<'a>) -> Option<(String, u32)> {
    let path = listing.tree.path_of(&place)?;
    (place.line > 0).then(|| (path.to_owned(), place.line))
}
