//! The functions on a thread's call stack when it faults: inlined functions and callers.

use std::collections::HashMap;

use ptx::Source;

use crate::code::Program;
use crate::demangle::demangled;
use crate::module::Function;
use crate::observe::Site;
use crate::source_frames::{Frame, frames_of, library_frames, mark_libraries, origin};

/// The largest number of calls that are examined.
const LISTED: usize = 24;

/// Returns the functions on a thread's call stack. The first of `sites` is the instruction that the thread executes,
/// and the remaining sites are the thread's calls, innermost first.
pub fn frames(text: &str, program: &Program, sites: impl Iterator<Item = Site>) -> Vec<Frame> {
    // Parsing the text again takes milliseconds, and a fault is rare.
    let Ok(module) = ptx::parse(text) else {
        return Vec::new();
    };
    frames_in(&module, text, program, sites)
}

/// Does the same as [`frames`] for a text that has already been parsed.
fn frames_in(
    module: &ptx::ast::Module<'_>,
    text: &str,
    program: &Program,
    sites: impl Iterator<Item = Site>,
) -> Vec<Frame> {
    let mut frames = Vec::new();
    for site in sites.take(LISTED) {
        let func = &program.functions[site.function as usize];
        let of_name = |function: &&ptx::ast::Function<'_>| function.name == func.name && function.body.is_some();
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

/// The position of an instruction in the PTX and in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The line number in the PTX, from 1.
    pub ptx_line: u32,
    /// The file and line of the source to look at: those of the innermost frame that is not library code, or else of
    /// the innermost frame.
    pub source: Option<(String, u32)>,
    /// The column in the source line, in bytes from 1; 0 if the PTX does not specify one.
    pub column: u32,
    /// The frames of library code between the instruction and the line in `source`, innermost first.
    pub library: Vec<Frame>,
}

impl Position {
    /// Returns the position of an instruction of a kernel.
    ///
    /// # Panics
    /// Panics if the kernel's program has no such instruction.
    pub fn of(function: &Function, site: Site) -> Self {
        Self::of_all(function, &[site]).remove(0)
    }

    /// Returns the positions of several instructions.
    ///
    /// # Panics
    /// Panics if the kernel's program does not contain one of the instructions.
    pub fn of_all(function: &Function, sites: &[Site]) -> Vec<Self> {
        Self::of_chains(function, sites.iter().map(std::slice::from_ref))
    }

    /// Returns the positions of several instructions. Each chain is an instruction followed by the calls that led to
    /// it, innermost first. A chain can consist of the instruction alone.
    pub fn of_chains<'s>(function: &Function, chains: impl Iterator<Item = &'s [Site]>) -> Vec<Self> {
        let (text, program) = (&function.module.ptx, &function.program);
        let (lines, module) = (Source::new(text), ptx::parse(text).unwrap_or_default());
        // Many instructions share a `.loc`.
        let mut known = HashMap::new();
        let place = |sites: &'s [Site]| {
            let site = &sites[0];
            let origin = &program.functions[site.function as usize].origins[site.pc as usize];
            let (ptx_line, _) = lines.line_column(origin.at);
            let read = || {
                let frames = frames_in(&module, text, program, sites.iter().copied());
                let origin = self::origin(&frames)?;
                Some((origin.place.clone(), origin.column, library_frames(&frames)))
            };
            let frame = match (origin.loc.map(|loc| loc.at), &sites[1..]) {
                (None, []) => None,
                (loc, calls) => known.entry((site.function, loc, calls)).or_insert_with(read).clone(),
            };
            let (source, column, library) = frame.unwrap_or_default();
            Self { ptx_line, source, column, library }
        };
        chains.map(place).collect()
    }
}

/// Returns the message of a Rust panic if the frames are those of a panic. The name of the called library function,
/// such as `core::panicking::panic_bounds_check`, determines the message.
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
        // `slice_index_fail`, or a function for each kind of range before Rust 1.93.
        slice if slice.starts_with("slice_") => Some("slice index out of range".to_owned()),
        // `div_by_zero`, `add_overflow`, `unwrap_failed`.
        other => Some(other.replace('_', " ")),
    })
}

/// Returns the message of Rust's library for an index and a length, or for the start and end of a range and a length.
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
