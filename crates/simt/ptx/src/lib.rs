//! The PTX parser that all tools share: it parses a module's text into its [syntax tree](ast), and provides queries on
//! the tree.
//!
//! The crate reads PTX ISA 6.0 to 9.x as LLVM, nvcc and NVRTC write it, and provides:
//! - the tree of a whole module ([`parse`]), for the simulator and for showing kernels;
//! - an [`Outline`] of a module's top level, which takes a fraction of the time of [`parse`]. The outline provides the
//!   tree of one entry, its parameters, and its part of the text ([`extract()`]) for a driver to compile;
//! - the [`pieces`] of a line, for syntax coloring, and the source [places](Place) that code was inlined from.
//!
//! The crate implements PTX's syntax, but not the meaning of instructions. Opcodes and names stay words, so a new
//! instruction does not require a change in this crate. The crate must not depend on devices, kernels, ladders or any
//! kind of display. The parser takes linear time and memory, borrows from the text, and returns a tree or a
//! [`ParseError`] for any text.
//!
//! [`parse`] does not accept some parts of PTX that no CUDA compiler writes: module-scope registers, sampler
//! initializers, numbered names (`x<4>`) for anything but registers, and blanks inside an opcode.

pub mod ast;
mod constant;
mod cursor;
mod declaration;
mod declared;
mod error;
pub mod extract;
mod location;
mod module;
pub mod opcode;
mod operand;
mod outline;
mod query;
mod source;
mod statement;
mod token;
pub mod version;

pub use declared::{DataType, Declared, Role};
pub use error::ParseError;
pub use extract::extract;
pub use location::{FileName, Place, SourceFrame};
pub use outline::{Entry, Outline};
pub use source::Source;
pub use token::{Piece, PieceKind, pieces};

/// Parses a module.
///
/// # Errors
/// Returns [`ParseError`] when the text is not PTX, or nests braces, parentheses or operators more than 64 deep. The
/// error contains the position of the first problem, and the reason.
pub fn parse(text: &str) -> Result<ast::Module<'_>, ParseError> {
    cursor::Cursor::new(text)?.module()
}
