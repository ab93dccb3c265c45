//! `mov`: between registers, and between a register and its parts (PTX ISA §9.7.9.3, §9.7.9.4).

mod mov;

pub use mov::Move;

use crate::lower::{Context, Refusal};
use crate::parse::ast::Instruction;
use crate::regs::Regs;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are the instructions")]
pub enum Convert {
    Move(Move),
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Convert>, Refusal> {
    Ok(match words[0] {
        "mov" => Some(Convert::Move(mov::decode(inst, words, cx)?)),
        _ => None,
    })
}

impl Convert {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match self {
            Convert::Move(op) => op.execute(regs, mask),
        }
    }
}
