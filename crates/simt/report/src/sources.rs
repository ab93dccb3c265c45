//! The source files that the PTX names, if they exist on this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Source files, each read once.
#[derive(Debug, Default)]
pub struct SourceFiles {
    /// The folders for relative paths. Paths are shown relative to the first folder.
    roots: Vec<PathBuf>,
    /// The lines of the files that were read, by path; `None` for a missing file.
    read: HashMap<String, Option<Vec<String>>>,
}

impl SourceFiles {
    /// Creates source files that resolve relative paths in these folders, in order.
    pub fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_owned(), read: HashMap::new() }
    }

    /// Returns a line of a file, counted from 1, without indentation; `None` if the file or line does not exist.
    pub fn line(&mut self, path: &str, line: u32) -> Option<&str> {
        self.indented(path, line).map(str::trim)
    }

    /// Returns a line with its indentation.
    pub fn indented(&mut self, path: &str, line: u32) -> Option<&str> {
        let lines = self.lines(path)?;
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.get(index).map(String::as_str)
    }

    /// Returns the lines of a file; `None` if the file does not exist.
    pub fn lines(&mut self, path: &str) -> Option<&Vec<String>> {
        let read = self.read.entry(path.to_owned()).or_insert_with(|| {
            let joined = self.roots.iter().map(|root| root.join(path));
            let mut candidates = [PathBuf::from(path)].into_iter().chain(joined);
            let text = candidates.find_map(|candidate| std::fs::read_to_string(candidate).ok())?;
            Some(text.lines().map(str::to_owned).collect())
        });
        read.as_ref()
    }

    /// Returns the path for display: relative to the first root, or, for a library, starting at its crate.
    pub fn path_shown(&self, path: &str) -> String {
        let root = self.roots.first();
        match root.and_then(|root| Path::new(path).strip_prefix(root).ok()) {
            Some(inside) => inside.display().to_string(),
            None => library_part(path).unwrap_or(path).to_owned(),
        }
    }

    /// Formats a line with its text: `src/a.rs:12  let a = b;`. The text is left out if the file does not exist.
    pub fn with_text(&mut self, path: &str, line: u32) -> String {
        let place = format!("{}:{line}", self.path_shown(path));
        match self.line(path, line) {
            Some(text) => format!("{place}  {text}"),
            None => place,
        }
    }
}

/// Returns the part of a path in Rust's standard library after `library/`: `core/src/ptr/mut_ptr.rs`.
pub fn library_part(path: &str) -> Option<&str> {
    let (_, part) = path.rsplit_once("/library/")?;
    // The library includes some parts through `../..`; the rest of the path is the readable name.
    Some(part.rsplit_once("../").map_or(part, |(_, part)| part))
}
