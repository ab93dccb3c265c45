//! Integer arithmetic: `add` to `dp4a` (PTX ISA §9.7.1, §9.7.2).
//!
//! Division by zero, which the ISA leaves open, gives all ones, the quotient and the remainder alike: so
//! does the code that ptxas makes for sm_90, at every width and with either sign.

mod bits;
mod carry;
mod divide;
mod packed;
mod table;
mod wide;

#[cfg(test)]
mod tests;

use super::lanes::{self, Numbers};
use crate::lower::{Context, Refusal};
use crate::regs::Regs;
use ptx::ast::Instruction;
use table::Op;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Int {
    op: Op,
    r: Numbers,
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Int>, Refusal> {
    if let Some((op, kinds)) = Op::named(inst.opcode) {
        let r = lanes::numbers(inst, kinds, cx)?;
        return Ok(Some(Int { op, r }));
    }
    carry::decode(inst, words, cx)
}

impl Int {
    lanes::usual!(Add32 Add64 Sub32 Mul32 MulWideU32 MulWideS32 Mad32);

    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        if !self.op.map(&self.r, regs, mask) {
            carry::execute(self.op, &self.r, regs, mask);
        }
    }
}
