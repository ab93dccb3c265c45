//! The source locations of instructions, and the calls through which they were inlined.

use std::path::Path;

use super::ast::{Function, Loc, Module, Statement};

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: FileName<'a>,
    /// The line, starting at 1; 0 if the compiler did not know the line.
    pub line: u32,
    /// The column, starting at 1; 0 if the compiler did not know the column.
    pub column: u32,
}

/// A function that an instruction comes from, and the place of the instruction or call in this function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFrame<'a> {
    /// The mangled name of the function; `None` if the text does not contain the name.
    pub function: Option<String>,
    /// The place of the instruction or of the inlined call.
    pub place: Place<'a>,
}

/// The file of a place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileName<'a> {
    /// The number in [`Module::files`].
    Number(u32),
    /// A path, which may be only the end of the file's full path.
    Path(&'a str),
}

impl Loc {
    /// Returns the source location of the instructions that follow.
    #[must_use]
    pub fn place(&self) -> Place<'static> {
        place((self.file, self.line, self.column))
    }

    /// Returns the calls through which the instructions were inlined, innermost first. `text` must be the text of the
    /// directive.
    ///
    /// LLVM writes the chain in a comment after the directive, such as `// src/a.rs:9:14 @[ src/a.rs:47:42 @[
    /// src/a.rs:51:13 ] ]`. From PTX ISA 7.2 on, LLVM also writes the innermost call into the directive; nvcc writes
    /// only the directive, without a comment. Parts of a comment that cannot be parsed are left out. In a comment, a
    /// `.file` number may replace a path.
    #[must_use]
    pub fn inlined_through<'a>(&self, text: &'a str) -> Vec<Place<'a>> {
        let calls = self.commented(text);
        if calls.is_empty() { self.inlined_at.map(place).into_iter().collect() } else { calls }
    }

    /// Returns the calls in the comment after the directive.
    fn commented<'a>(&self, text: &'a str) -> Vec<Place<'a>> {
        let directive = text.get(self.at as usize..).unwrap_or_default();
        let line = directive.lines().next().unwrap_or_default();
        line.split("@[").skip(1).filter_map(call).collect()
    }
}

impl<'a> Function<'a> {
    /// Returns the source frames of an instruction with this `.loc`: the place of the instruction and the calls through
    /// which it was inlined, innermost first. `text` must be the text of the module.
    ///
    /// If there is no comment (see [`Loc::inlined_through`]), the `.loc` of each call names the next call in the chain.
    /// The `.loc` of a call is the last preceding `.loc` whose place equals the place in `inlined_at` (PTX ISA,
    /// "Debugging Directives: .loc").
    #[must_use]
    pub fn inline_chain(&self, module: &Module<'a>, loc: &Loc, text: &'a str) -> Vec<SourceFrame<'a>> {
        let name = |loc: &Loc| module.debug_string(loc.function_name?.of(text).trim());
        let frame = |function, place| SourceFrame { function, place };
        let mut frames = vec![frame(name(loc), loc.place())];
        let calls = loc.commented(text);
        frames.extend(calls.iter().map(|call| frame(None, *call)));
        if calls.is_empty() {
            let locs = self.statements().filter_map(|statement| match statement {
                Statement::Loc(loc) => Some(loc),
                _ => None,
            });
            let locs: Vec<_> = locs.take_while(|earlier| earlier.at < loc.at).collect();
            let mut left = &locs[..];
            let mut inner = loc;
            while let Some(at) = inner.inlined_at {
                let call = left.iter().rposition(|earlier| (earlier.file, earlier.line, earlier.column) == at);
                let call_loc = call.map(|call| left[call]);
                frames.push(frame(call_loc.and_then(name), place(at)));
                let (Some(call), Some(call_loc)) = (call, call_loc) else {
                    break;
                };
                (left, inner) = (&left[..call], call_loc);
            }
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.function = Some(self.name.to_owned());
        }
        frames
    }
}

impl<'a> Module<'a> {
    /// Returns the string in the section `.debug_str` at a label, with or without an offset in bytes:
    /// `$L__info_string0`, `$L__info_string0+4`. Returns `None` if there is no such string.
    #[must_use]
    pub fn debug_string(&self, at: &str) -> Option<String> {
        const SECTION: &str = ".debug_str";
        let (label, offset) = at.split_once('+').unwrap_or((at, "0"));
        let (_, body) = self.sections.iter().find(|(name, _)| *name == SECTION)?;
        let strings = match label.trim() {
            SECTION => body,
            label => body.split_once(&format!("{label}:"))?.1,
        };
        let bytes = strings
            .split(|between: char| between == ',' || between.is_whitespace())
            .filter_map(|byte| byte.parse().ok());
        let bytes = bytes.skip(offset.trim().parse().ok()?);
        let name = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8(name).ok()
    }

    /// Returns the path of a place's file as written in the module, or `None` for a number without a `.file`.
    #[must_use]
    pub fn path_of<'p>(&'p self, place: &Place<'p>) -> Option<&'p str> {
        let mut files = self.files.iter();
        match place.file {
            FileName::Number(number) => files.find(|(known, _)| *known == number).map(|(_, path)| &**path),
            FileName::Path(path) => {
                Some(files.find(|(_, file)| Path::new(&**file).ends_with(path)).map_or(path, |(_, file)| file))
            }
        }
    }
}

fn place((file, line, column): (u32, u32, u32)) -> Place<'static> {
    Place { file: FileName::Number(file), line, column }
}

/// Parses `src/a.rs:47:42` or `1:47:42`, with surrounding blanks and brackets.
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
