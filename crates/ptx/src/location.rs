//! The source locations of instructions, and the calls through which they were inlined.

use std::path::Path;

use super::ast::{Loc, Module};

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: FileName<'a>,
    /// Its line, from 1; 0 where the compiler knew none.
    pub line: u32,
    /// Its column, from 1; 0 where the compiler knew none.
    pub column: u32,
}

/// How a place names its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileName<'a> {
    /// By its number in [`Module::files`].
    Number(u32),
    /// By a path that may be shortened: the end of the file's full path.
    Path(&'a str),
}

impl Loc {
    /// The source location of the instructions that follow.
    #[must_use]
    pub fn place(&self) -> Place<'static> {
        place((self.file, self.line, self.column))
    }

    /// The calls that the instructions were inlined through, the innermost first. LLVM writes the chain in a comment
    /// behind the directive, `// src/a.rs:9:14 @[ src/a.rs:47:42 @[ src/a.rs:51:13 ] ]`, and with PTX ISA 7.2 or
    /// newer its first step also in the directive; nvcc writes the directive alone. Parts of a comment that are not
    /// understood are left out. A `.file` number may stand for a path. `text` is the text that the directive was read
    /// from.
    #[must_use]
    pub fn inlined_through<'a>(&self, text: &'a str) -> Vec<Place<'a>> {
        let directive = text.get(self.at as usize..).unwrap_or_default();
        let line = directive.lines().next().unwrap_or_default();
        let calls: Vec<_> = line.split("@[").skip(1).filter_map(call).collect();
        if calls.is_empty() {
            self.inlined_at.map(place).into_iter().collect()
        } else {
            calls
        }
    }
}

impl<'a> Module<'a> {
    /// The path of a place's file as the module has it; `None` for a number without a `.file`.
    #[must_use]
    pub fn path_of(&self, place: &Place<'a>) -> Option<&'a str> {
        let mut files = self.files.iter();
        match place.file {
            FileName::Number(number) => {
                files.find(|(own, _)| *own == number).map(|(_, path)| *path)
            }
            FileName::Path(path) => Some(
                files
                    .find(|(_, file)| Path::new(file).ends_with(path))
                    .map_or(path, |(_, file)| file),
            ),
        }
    }
}

fn place((file, line, column): (u32, u32, u32)) -> Place<'static> {
    Place {
        file: FileName::Number(file),
        line,
        column,
    }
}

/// `src/a.rs:47:42` or `1:47:42`, blanks and brackets around it.
fn call(text: &str) -> Option<Place<'_>> {
    let text = text.trim_end_matches(|end: char| end == ']' || end.is_whitespace());
    let (rest, column) = text.trim_start().rsplit_once(':')?;
    let (path, line) = rest.rsplit_once(':')?;
    Some(Place {
        file: path.parse().map_or(FileName::Path(path), FileName::Number),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}
