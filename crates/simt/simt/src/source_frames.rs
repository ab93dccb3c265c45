//! The source lines of an instruction, from the debug lines of the text, including those of inlined functions.

use std::fmt;

use crate::demangle::demangled;

/// A function that was on the call stack when a thread faulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function's name in the source; `None` if the PTX does not contain the name.
    pub function: Option<String>,
    /// The file and line in the function; `None` if the PTX does not specify them.
    pub place: Option<(String, u32)>,
    /// The column in that line, in bytes from 1; 0 if the PTX does not specify one.
    pub column: u32,
    /// Whether the function was inlined into the function of the next frame. If not, the function of the next frame
    /// calls it.
    pub inlined: bool,
    /// Whether the function is library code, so that the cause of the fault is more likely in a later frame.
    ///
    /// The function's file determines whether the function is library code. Library files are those of Rust's library,
    /// of crates from a registry or repository, and of `cuda_std`. A file below a directory `include` is also a library
    /// file, unless the kernel's file is below the parent directory but not below `include`. If the PTX contains only
    /// the end of the file's path, the file also counts as library code.
    pub library: bool,
}

impl fmt::Display for Frame {
    /// Writes the place, or else the function: `a.cuh:12 in `load``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, &self.function) {
            (Some((file, line)), Some(function)) => write!(f, "{file}:{line} in `{function}`"),
            (Some((file, line)), None) => write!(f, "{file}:{line}"),
            (None, function) => write!(f, "`{}`", function.as_deref().unwrap_or("?")),
        }
    }
}

/// Returns the frames of one instruction.
pub(crate) fn frames_of(
    module: &ptx::ast::Module<'_>,
    chain: Vec<ptx::SourceFrame<'_>>,
) -> impl Iterator<Item = Frame> {
    let last = chain.len() - 1;
    chain.into_iter().enumerate().map(move |(index, frame)| Frame {
        function: frame.function.as_deref().map(demangled),
        place: module.path_of(&frame.place).map(|path| (path.to_owned(), frame.place.line)),
        column: frame.place.column,
        inlined: index < last,
        library: false,
    })
}

/// Marks the frames that are library code.
pub(crate) fn mark_libraries(module: &ptx::ast::Module<'_>, frames: &mut [Frame]) {
    let kernel = frames.last().and_then(|frame| frame.place.clone());
    let kernel = kernel.map_or(String::new(), |(file, _)| file);
    for frame in frames {
        let file = frame.place.as_ref().map(|(file, _)| file.as_str());
        let known = |file: &str| module.files.iter().any(|(_, path)| path == file);
        frame.library = file.is_some_and(|file| !known(file) || is_library(file, &kernel));
    }
}

/// Returns the frame to look at: the innermost frame that has a line and is not library code. If there is no such
/// frame, returns the innermost frame.
pub(crate) fn origin(frames: &[Frame]) -> Option<&Frame> {
    // Line 0 marks code that the compiler combined from several lines.
    let has_line = |frame: &&Frame| frame.place.as_ref().is_some_and(|(_, line)| *line > 0);
    let lead = frames.iter().filter(has_line).find(|frame| !frame.library);
    lead.or_else(|| frames.iter().find(|frame| frame.place.is_some()))
}

/// Returns the frames of library code between an instruction and the frame to look at, innermost first.
pub fn library_frames(frames: &[Frame]) -> Vec<Frame> {
    let origin = origin(frames);
    let inner_frames = frames.iter().take_while(|frame| origin.is_some_and(|origin| !std::ptr::eq(*frame, origin)));
    inner_frames.filter(|frame| frame.library).cloned().collect()
}

/// Returns the source position to look at (file and line, and column) for a position in a text that was not lowered to
/// a program.
pub(crate) fn origin_at(module: &ptx::ast::Module<'_>, text: &str, at: ptx::ast::At) -> Option<((String, u32), u32)> {
    let function = module.functions.iter().find(|function| (function.span.start..function.span.end).contains(&at))?;
    let locs = function.statements().filter_map(|statement| match statement {
        ptx::ast::Statement::Loc(loc) if loc.at < at => Some(loc),
        _ => None,
    });
    let mut frames: Vec<Frame> = frames_of(module, function.inline_chain(module, locs.last()?, text)).collect();
    mark_libraries(module, &mut frames);
    let frame = origin(&frames)?;
    Some((frame.place.clone()?, frame.column))
}

/// Returns whether a file is library code, for a kernel in the file `kernel`.
fn is_library(file: &str, kernel: &str) -> bool {
    const LIBRARIES: [&str; 10] = [
        "/rustc/",
        "/rustlib/src/rust/library/",
        "/registry/src/",
        "/git/checkouts/",
        "/cuda_std/src/",
        "/vendor/",
        // The layout of CCCL's repository.
        "/cub/cub/",
        "/thrust/thrust/",
        "/libcudacxx/include/",
        "/cudax/include/",
    ];
    let outside = |at| {
        let (parent, of_kernel) = (&file[..=at], kernel.strip_prefix(&file[..=at]));
        parent == "/" || of_kernel.is_none_or(|rest| rest.starts_with("include/"))
    };
    LIBRARIES.iter().any(|library| file.contains(library)) || file.find("/include/").is_some_and(outside)
}
