//! Integer arithmetic: `add` to `dp4a` (PTX ISA §9.7.1).

use crate::lower::{Context, Refusal};
use crate::parse::ast::Instruction;
use crate::regs::Regs;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Int {}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    _inst: &Instruction<'_>,
    _words: &[&str],
    _cx: &mut Context<'_, '_>,
) -> Result<Option<Int>, Refusal> {
    Ok(None)
}

impl Int {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, _regs: &mut Regs<'_>, _mask: u32) {}
}
