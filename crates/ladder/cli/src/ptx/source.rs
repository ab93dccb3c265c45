//! Shows the source lines that instructions come from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ptx::Place;
use ptx::ast::Loc;

use super::Listing;
use super::style::{DIM, SOURCE, paint};
use report::sources::{SourceFiles, library_part};

/// A printer of the source lines of a function's instructions, in the order of the instructions.
#[derive(Debug)]
pub(super) struct Interleave {
    files: SourceFiles,
    /// The frames that were shown last, the outermost first.
    shown: Vec<(String, u32)>,
    missing: BTreeSet<String>,
}

impl Interleave {
    /// Creates a printer that looks for relative paths in these folders, in order.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        Self { files: SourceFiles::new(roots), shown: Vec::new(), missing: BTreeSet::new() }
    }

    /// Returns the lines to print before an instruction: the frames that differ from the previous instruction's frames,
    /// outermost first, each indented under its caller. Returns an empty string if no frame differs.
    pub(super) fn lines_for(&mut self, listing: &Listing<'_>, loc: &Loc) -> String {
        let calls = loc.inlined_through(listing.source.text());
        let places = calls.into_iter().rev().chain([loc.place()]);
        let frames = places.filter_map(|place| frame(listing, place)).collect();
        self.frames(frames)
    }

    /// Returns the same lines as [`Self::lines_for`] from paths and line numbers, the outermost first.
    pub(super) fn frames(&mut self, mut frames: Vec<(String, u32)>) -> String {
        // Frames in library code are left out, except the innermost one.
        let innermost = frames.len().saturating_sub(1);
        let mut depth = 0..;
        frames.retain(|(path, _)| depth.next() == Some(innermost) || library_part(path).is_none());
        if frames == self.shown {
            return String::new();
        }
        let pairs = frames.iter().zip(&self.shown);
        let same = pairs.take_while(|(a, b)| a == b).count();
        // After inlined instructions, an instruction of the caller shows the caller's line again.
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
        // The text of library code is not shown, because it would interrupt the lines of the kernel. Names such as
        // `add` and `sync_threads` say what the code does.
        if library_part(path).is_none() {
            if let Some(text) = self.files.line(path, line) {
                out += &format!("  {}", paint(SOURCE, text));
            } else if self.files.lines(path).is_none() {
                self.missing.insert(path.to_owned());
            }
        }
        out + "\n"
    }

    /// Returns notes about the files that were not found, for the end of the output.
    pub(super) fn notes(self) -> String {
        let note = |path: &String| paint(DIM, format_args!("// no such file here: {path}")) + "\n";
        self.missing.iter().map(note).collect()
    }
}

/// Returns the path and line of a place; `None` for line 0, which means that the compiler did not know the line.
fn frame<'a>(listing: &Listing<'a>, place: Place<'a>) -> Option<(String, u32)> {
    let path = listing.tree.path_of(&place)?;
    (place.line > 0).then(|| (path.to_owned(), place.line))
}
