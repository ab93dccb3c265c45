//! From PTX text to its [syntax tree](ast).
//!
//! The parser knows PTX's syntax (PTX ISA 6.0 to 9.x, as LLVM, nvcc and NVRTC write it), not its
//! instructions: opcodes and names stay words, and [`opcode`] says what they mean. It takes linear time and
//! memory, borrows from the text, and answers any text at all with a tree or a [`ParseError`].
//!
//! Not part of what it accepts, because no CUDA compiler writes it: registers of the module's scope,
//! samplers' initializers, numbered names (`x<4>`) of anything but registers, and blanks inside an opcode.

pub mod ast;
mod constant;
mod cursor;
mod declaration;
mod error;
mod module;
pub mod opcode;
mod operand;
mod source;
mod statement;
#[cfg(test)]
mod tests;
mod token;

pub use error::ParseError;
pub use source::Source;

/// Parses a module.
///
/// # Errors
/// The first thing in the text that is not PTX, and where it stands. Braces, parentheses and operators
/// may be nested up to 64 deep.
pub fn parse(text: &str) -> Result<ast::Module<'_>, ParseError> {
    cursor::Cursor::new(text)?.module()
}
