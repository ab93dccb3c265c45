//! The source lines that a text's debug lines give for a place in it, through the functions that were inlined there.

use std::fmt;

use crate::demangle::demangled;

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

impl fmt::Display for Frame {
    /// The place, or else the function: `a.cuh:12 in `load``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, &self.function) {
            (Some((file, line)), Some(function)) => write!(f, "{file}:{line} in `{function}`"),
            (Some((file, line)), None) => write!(f, "{file}:{line}"),
            (None, function) => write!(f, "`{}`", function.as_deref().unwrap_or("?")),
        }
    }
}

/// The frames of one instruction.
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

/// Finds out which frames are a library's.
pub(crate) fn mark_libraries(module: &ptx::ast::Module<'_>, frames: &mut [Frame]) {
    let kernel = frames.last().and_then(|frame| frame.place.clone());
    let kernel = kernel.map_or(String::new(), |(file, _)| file);
    for frame in frames {
        let file = frame.place.as_ref().map(|(file, _)| file.as_str());
        let known = |file: &str| module.files.iter().any(|(_, own)| own == file);
        frame.library = file.is_some_and(|file| !known(file) || is_library(file, &kernel));
    }
}

/// The frame to look at: the innermost with a line that is not a library's, or else the innermost.
pub(crate) fn origin(frames: &[Frame]) -> Option<&Frame> {
    // Line 0 is code that the compiler made of several lines.
    let has_line = |frame: &&Frame| frame.place.as_ref().is_some_and(|(_, line)| *line > 0);
    let lead = frames.iter().filter(has_line).find(|frame| !frame.library);
    lead.or_else(|| frames.iter().find(|frame| frame.place.is_some()))
}

/// The frames of library code between an instruction and the frame to look at, the innermost first.
pub fn library_frames(frames: &[Frame]) -> Vec<Frame> {
    let origin = origin(frames);
    let own = frames.iter().take_while(|frame| origin.is_some_and(|origin| !std::ptr::eq(*frame, origin)));
    own.filter(|frame| frame.library).cloned().collect()
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

/// Whether a file is a library's, for a kernel in the file `kernel`.
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
        let (beside, of_kernel) = (&file[..=at], kernel.strip_prefix(&file[..=at]));
        beside == "/" || of_kernel.is_none_or(|rest| rest.starts_with("include/"))
    };
    LIBRARIES.iter().any(|library| file.contains(library)) || file.find("/include/").is_some_and(outside)
}
