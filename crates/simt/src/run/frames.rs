//! The functions that a thread is in when it faults: those that were inlined, and those that were called.

use std::collections::HashMap;

use ptx::Source;

use crate::code::Program;
use crate::demangle::demangled;
use crate::module::Function;
use crate::observe::Site;

/// How many frames are listed, and calls looked at.
const LISTED: usize = 24;

/// A function that a thread was in when it faulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its name as the source has it; `None` where the PTX does not say it.
    pub function: Option<String>,
    /// The place in it: file and line. `None` where the PTX says none.
    pub place: Option<(String, u32)>,
    /// The column in that line, in bytes from 1; 0 where the PTX says none.
    pub column: u32,
    /// Whether it was inlined into the function of the next frame, which else calls it.
    pub inlined: bool,
    /// Whether it is a library's, so that the fault's reason is rather in a frame behind it.
    ///
    /// That is decided by the file: one of Rust's own library, of a registry's or repository's crate, or of
    /// `cuda_std`; one below a directory `include`, unless the kernel's own file lies beside that directory; and one
    /// of which the PTX has only the end of the path.
    pub library: bool,
}

/// The functions that a thread is in which executes the first of these instructions, and got there by calls at the
/// others.
pub(super) fn frames(text: &str, program: &Program, sites: impl Iterator<Item = Site>) -> Vec<Frame> {
    // A fault is rare, and a text is read in milliseconds.
    let Ok(module) = ptx::parse(text) else {
        return Vec::new();
    };
    frames_in(&module, text, program, sites)
}

/// The same of a text that has been read.
fn frames_in(
    module: &ptx::ast::Module<'_>,
    text: &str,
    program: &Program,
    sites: impl Iterator<Item = Site>,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    for site in sites.take(LISTED) {
        let func = &program.functions[site.function as usize];
        let of_name = |own: &&ptx::ast::Function<'_>| own.name == func.name && own.body.is_some();
        let function = module.functions.iter().find(of_name);
        let chain = function
            .zip(func.origins[site.pc as usize].loc)
            .map(|(function, loc)| function.inline_chain(module, &loc, text));
        let Some(chain) = chain else {
            let function = Some(demangled(&func.name));
            frames.push(Frame { function, place: None, column: 0, inlined: false, library: false });
            continue;
        };
        frames.extend(frames_of(module, chain));
    }
    mark_libraries(module, &mut frames);
    frames
}

/// The frames of one instruction.
fn frames_of(module: &ptx::ast::Module<'_>, chain: Vec<ptx::SourceFrame<'_>>) -> impl Iterator<Item = Frame> {
    let last = chain.len() - 1;
    chain.into_iter().enumerate().map(move |(index, frame)| Frame {
        function: frame.function.as_deref().map(demangled),
        place: module.path_of(&frame.place).map(|path| (path.to_owned(), frame.place.line)),
        column: frame.place.column,
        inlined: index < last,
        library: false,
    })
}

/// Finds out which frames are a library's.
fn mark_libraries(module: &ptx::ast::Module<'_>, frames: &mut [Frame]) {
    let kernel = frames.last().and_then(|frame| frame.place.clone());
    let kernel = kernel.map_or(String::new(), |(file, _)| file);
    for frame in frames {
        let file = frame.place.as_ref().map(|(file, _)| file.as_str());
        let known = |file: &str| module.files.iter().any(|(_, own)| *own == file);
        frame.library = file.is_some_and(|file| !known(file) || is_library(file, &kernel));
    }
}

/// The frame to look at: the innermost with a line that is not a library's, or else the innermost.
pub(super) fn origin(frames: &[Frame]) -> Option<&Frame> {
    // Line 0 is code that the compiler made of several lines.
    let has_line = |frame: &&Frame| frame.place.as_ref().is_some_and(|(_, line)| *line > 0);
    let lead = frames.iter().filter(has_line).find(|frame| !frame.library);
    lead.or_else(|| frames.iter().find(|frame| frame.place.is_some()))
}

/// The source line to look at for a place in a text that is not part of a program: file and line, and the column.
pub(crate) fn origin_at(module: &ptx::ast::Module<'_>, text: &str, at: ptx::ast::At) -> Option<((String, u32), u32)> {
    let function = module.functions.iter().find(|own| (own.span.start..own.span.end).contains(&at))?;
    let locs = function.statements().filter_map(|statement| match statement {
        ptx::ast::Statement::Loc(loc) if loc.at < at => Some(loc),
        _ => None,
    });
    let mut frames: Vec<Frame> = frames_of(module, function.inline_chain(module, locs.last()?, text)).collect();
    mark_libraries(module, &mut frames);
    let frame = origin(&frames)?;
    Some((frame.place.clone()?, frame.column))
}

/// Where an instruction stands in the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The line of the PTX, from 1.
    pub ptx_line: u32,
    /// The source line to look at, file and line: the innermost that is not a library's, or else the innermost.
    pub source: Option<(String, u32)>,
    /// The column in the source line, in bytes from 1; 0 where the PTX says none.
    pub column: u32,
}

impl Position {
    /// The place of an instruction of a kernel.
    ///
    /// # Panics
    /// When the kernel's program has no such instruction.
    pub fn of(function: &Function, site: Site) -> Self {
        Self::of_all(function, &[site]).remove(0)
    }

    /// The places of several instructions.
    ///
    /// # Panics
    /// When the kernel's program does not have one of them.
    pub fn of_all(function: &Function, sites: &[Site]) -> Vec<Self> {
        let (text, program) = (&function.module.ptx, &function.program);
        let (lines, module) = (Source::new(text), ptx::parse(text).unwrap_or_default());
        // Many instructions stand behind one `.loc`.
        let mut known = HashMap::new();
        let place = |site: &Site| {
            let origin = &program.functions[site.function as usize].origins[site.pc as usize];
            let (ptx_line, _) = lines.line_column(origin.at);
            let read = || {
                let frames = frames_in(&module, text, program, std::iter::once(*site));
                self::origin(&frames).map(|frame| (frame.place.clone(), frame.column))
            };
            let frame = origin.loc.and_then(|loc| known.entry((site.function, loc.at)).or_insert_with(read).clone());
            let (source, column) = frame.unwrap_or_default();
            Self { ptx_line, source, column }
        };
        sites.iter().map(place).collect()
    }
}

/// Whether a file is a library's, for a kernel in the file `kernel`.
fn is_library(file: &str, kernel: &str) -> bool {
    const LIBRARIES: [&str; 6] =
        ["/rustc/", "/rustlib/src/rust/library/", "/registry/src/", "/git/checkouts/", "/cuda_std/src/", "/vendor/"];
    let outside = |at| {
        let (beside, of_kernel) = (&file[..=at], kernel.strip_prefix(&file[..=at]));
        beside == "/" || of_kernel.is_none_or(|rest| rest.starts_with("include/"))
    };
    LIBRARIES.iter().any(|library| file.contains(library)) || file.find("/include/").is_some_and(outside)
}

/// The message of a Rust panic, in words, if the frames are those of one. The function of Rust's library that the
/// program called says what went wrong: `core::panicking::panic_bounds_check`.
pub(super) fn panicked(frames: &[Frame]) -> Option<Option<String>> {
    let is_core = |frame: &&Frame| {
        let function = frame.function.as_deref().unwrap_or_default();
        let file = frame.place.as_ref().map_or("", |(file, _)| file);
        function.starts_with("core::") && (function.contains("panic") || function.contains("_fail"))
            || file.ends_with("core/src/panicking.rs")
    };
    let outermost = frames.iter().rfind(is_core)?;
    let function = outermost.function.as_deref().unwrap_or_default();
    let name = function.split("::<").next().and_then(|name| name.rsplit("::").next());
    let name = name.unwrap_or_default();
    Some(match name.strip_prefix("panic_const_").unwrap_or(name) {
        "" | "panic" | "panic_fmt" | "panic_nounwind" | "panic_display" => None,
        "panic_bounds_check" => Some("index out of bounds".to_owned()),
        // `slice_index_fail`, and one for each kind of range until Rust 1.93.
        slice if slice.starts_with("slice_") => Some("slice index out of range".to_owned()),
        // `div_by_zero`, `add_overflow`, `unwrap_failed`.
        other => Some(other.replace('_', " ")),
    })
}

/// What Rust's library says of an index and a length, or of the begin and end of a range and a length.
pub(super) fn bounds(values: &[u64]) -> Option<String> {
    Some(match *values {
        [index, len] => {
            format!("index out of bounds: the len is {len} but the index is {index}")
        }
        [start, _, len] if start > len => {
            format!("range start index {start} out of range for slice of length {len}")
        }
        [_, end, len] if end > len => {
            format!("range end index {end} out of range for slice of length {len}")
        }
        [start, end, _] => format!("slice index starts at {start} but ends at {end}"),
        _ => return None,
    })
}
