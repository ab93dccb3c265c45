//! Floating-point arithmetic (PTX ISA §9.7.3 to §9.7.5).

use crate::lower::{Context, Refusal};
use crate::parse::ast::Instruction;
use crate::regs::Regs;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float {}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    _inst: &Instruction<'_>,
    _words: &[&str],
    _cx: &mut Context<'_, '_>,
) -> Result<Option<Float>, Refusal> {
    Ok(None)
}

impl Float {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, _regs: &mut Regs<'_>, _mask: u32) {}
}
