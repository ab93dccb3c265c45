//! The source lines that instructions come from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ptx::Place;
use ptx::ast::Loc;

use super::Listing;
use super::style::{DIM, SOURCE, paint};
use report::sources::{SourceFiles, library_part};

/// Shows the source lines of a function's instructions, on the way through them.
#[derive(Debug)]
pub(super) struct Interleave {
    files: SourceFiles,
    /// The frames shown last, the outermost first.
    shown: Vec<(String, u32)>,
    missing: BTreeSet<String>,
}

impl Interleave {
    /// Looks for relative paths in these folders, in order.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        Self { files: SourceFiles::new(roots), shown: Vec::new(), missing: BTreeSet::new() }
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
        let (width, shown) = (depth * 2, self.files.path_shown(path));
        let mut out = paint(DIM, format_args!("//{:width$} {shown}:{line}", ""));
        // What the library does inside `add` or `sync_threads` is known by its name; its text would only
        // come between the kernel's own lines.
        if library_part(path).is_none() {
            if let Some(text) = self.files.line(path, line) {
                out += &format!("  {}", paint(SOURCE, text));
            } else if self.files.lines(path).is_none() {
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

/// A place's path and line. Line 0 means that the compiler knew none; then the place says nothing.
fn frame<'a>(listing: &Listing<'a>, place: Place<'a>) -> Option<(String, u32)> {
    let path = listing.tree.path_of(&place)?;
    (place.line > 0).then(|| (path.to_owned(), place.line))
}
