//! Integer arithmetic: `add` to `dp4a` (PTX ISA §9.7.1, §9.7.2).
//!
//! The ISA does not define division by zero. In the simulator, the quotient and the remainder are all ones for every
//! width, signed or unsigned, as in the code that ptxas emits for sm_90.

mod bits;
mod carry;
mod divide;
mod packed;
mod table;
mod wide;

use super::lanes::{self, RegisterNumbers};
use crate::regs::Regs;
pub(crate) use carry::NO_CARRY;
pub use table::Op;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Int {
    /// The operation.
    pub op: Op,
    /// The registers: the result, then the operands.
    pub r: RegisterNumbers,
}

impl Int {
    lanes::fast_path!(Add32 Add64 Sub32 Mul32 MulWideU32 MulWideS32 Mad32);

    /// Runs the instruction on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        if !self.op.map(&self.r, regs, mask) {
            carry::execute(self.op, &self.r, regs, mask);
        }
    }
}
