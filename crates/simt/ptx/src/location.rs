//! The source locations of instructions, and the calls through which they were inlined.

use std::path::Path;

use super::ast::{Function, Loc, Module, Statement};

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

/// A function that an instruction comes from, and the place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFrame<'a> {
    /// The function's name, as it is mangled; `None` where the text does not say it.
    pub function: Option<String>,
    /// The place of the instruction, or of the call that was inlined.
    pub place: Place<'a>,
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
        let calls = self.commented(text);
        if calls.is_empty() { self.inlined_at.map(place).into_iter().collect() } else { calls }
    }

    /// The calls that a comment behind the directive names.
    fn commented<'a>(&self, text: &'a str) -> Vec<Place<'a>> {
        let directive = text.get(self.at as usize..).unwrap_or_default();
        let line = directive.lines().next().unwrap_or_default();
        line.split("@[").skip(1).filter_map(call).collect()
    }
}

impl<'a> Function<'a> {
    /// Where an instruction comes from whose `.loc` this is: its own place and those of the calls that it was inlined
    /// through, the innermost first. `text` is what the module was read from.
    ///
    /// Where there is no comment to read (see [`Loc::inlined_through`]), the call's own `.loc` says what it was inlined
    /// through in turn: it is the last one before with the place that `inlined_at` names (PTX ISA, "Debugging
    /// Directives: .loc").
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
            let locs: Vec<_> = locs.take_while(|own| own.at < loc.at).collect();
            let mut left = &locs[..];
            let mut inner = loc;
            while let Some(at) = inner.inlined_at {
                let call = left.iter().rposition(|own| (own.file, own.line, own.column) == at);
                let own = call.map(|call| left[call]);
                frames.push(frame(own.and_then(name), place(at)));
                let (Some(call), Some(own)) = (call, own) else {
                    break;
                };
                (left, inner) = (&left[..call], own);
            }
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.function = Some(self.name.to_owned());
        }
        frames
    }
}

impl<'a> Module<'a> {
    /// The string of the section `.debug_str` that begins at a label, or so many bytes behind it: `$L__info_string0`,
    /// `$L__info_string0+4`. `None` where there is none.
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

    /// The path of a place's file as the module has it; `None` for a number without a `.file`.
    #[must_use]
    pub fn path_of<'p>(&'p self, place: &Place<'p>) -> Option<&'p str> {
        let mut files = self.files.iter();
        match place.file {
            FileName::Number(number) => files.find(|(own, _)| *own == number).map(|(_, path)| &**path),
            FileName::Path(path) => {
                Some(files.find(|(_, file)| Path::new(&**file).ends_with(path)).map_or(path, |(_, file)| file))
            }
        }
    }
}

fn place((file, line, column): (u32, u32, u32)) -> Place<'static> {
    Place { file: FileName::Number(file), line, column }
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
