//! The only reader of PTX: from a module's text to its [syntax tree](ast), with the queries that tools need.
//!
//! In flows a text of PTX ISA 6.0 to 9.x, as LLVM, nvcc and NVRTC write it. Out flow
//! - the tree of a whole module, by [`parse`], for the simulator and for showing kernels;
//! - an [`Outline`] of what stands at a module's top, which takes a fraction of the time, and from it the tree of one
//!   entry, its parameters, and its part of the text ([`extract()`]), which is what a driver compiles;
//! - the [`pieces`] of a line, for colours, and the [places](Place) in the source that code was inlined from.
//!
//! It knows PTX's syntax, not what instructions do: opcodes and names stay words, so that a newer instruction needs no
//! change here. It must not know devices, kernels, ladders or how anything is shown. It takes linear time and memory,
//! borrows from the text, and gives a tree or a [`ParseError`] for any text at all.
//!
//! Not part of what [`parse`] accepts, because no CUDA compiler writes it: registers of the module's scope,
//! samplers' initializers, numbered names (`x<4>`) of anything but registers, and blanks inside an opcode.

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
/// [`ParseError`] when the text is not PTX, or nests braces, parentheses or operators more than 64 deep. The error
/// names the first such place and says what is wrong there.
pub fn parse(text: &str) -> Result<ast::Module<'_>, ParseError> {
    cursor::Cursor::new(text)?.module()
}
