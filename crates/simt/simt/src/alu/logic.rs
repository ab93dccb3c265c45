//! Logic and shifts (PTX ISA §9.7.8), `prmt` (§9.7.9.7).

mod permute;
mod table;

use super::lanes::{self, RegisterNumbers, each, lanes_where};
use crate::regs::{ALL, Lanes32, Pred, R32, Regs};
pub use table::Op;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logic {
    /// The operation.
    pub op: Op,
    /// The truth table of `lop3`: bit `4a + 2b + c` is the result for the bits a, b, c. For operations on predicates, a
    /// mask of the negated sources; bit 0 stands for the first source.
    pub table: u8,
    /// The registers: the result, then the operands.
    pub r: RegisterNumbers,
}

impl Logic {
    lanes::fast_path!(And32 Or32 Xor32 Shl32 ShrU32 ShrS32 Shl64);

    /// Runs the instruction on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let r = &self.r;
        if self.op.map(r, regs, mask) {
            return;
        }
        let source = |at: usize, regs: &Regs<'_>| {
            let negate = if self.table >> at & 1 == 1 { ALL } else { 0 };
            regs.pred(Pred(r[at + 1])) ^ negate
        };
        let (to, value) = match self.op {
            Op::AndPred => (r[0], source(0, regs) & source(1, regs)),
            Op::OrPred => (r[0], source(0, regs) | source(1, regs)),
            Op::XorPred => (r[0], source(0, regs) ^ source(1, regs)),
            Op::NotPred => (r[0], !source(0, regs)),
            op => {
                let values = self.lop3(regs);
                regs.set32(R32(r[0]), mask, &values);
                // If no operand is a predicate, the function may not have a predicate register.
                if op == Op::Lop3 {
                    return;
                }
                let found = lanes_where(|lane| values[lane] != 0);
                let q = regs.pred(Pred(r[5]));
                let value = match op {
                    Op::Lop3Or => found | q,
                    Op::Lop3OrNot => found | !q,
                    Op::Lop3And => found & q,
                    _ => found & !q,
                };
                (r[4], value)
            }
        };
        regs.set_pred(Pred(to), mask, value);
    }

    #[inline(always)]
    fn lop3(&self, regs: &Regs<'_>) -> Lanes32 {
        let [_, a, b, c, ..] = self.r;
        let (a, b, c) = (regs.get32(R32(a)), regs.get32(R32(b)), regs.get32(R32(c)));
        // Computes the function as a sum modulo 2 of products, with the Möbius transform: bit 4 represents a, bit 2
        // represents ab, and so on. Each factor is all ones or zero.
        let mut sums = self.table;
        sums ^= sums << 1 & 0xaa;
        sums ^= sums << 2 & 0xcc;
        sums ^= sums << 4 & 0xf0;
        let k: [u32; 8] = std::array::from_fn(|at| if sums >> at & 1 == 1 { ALL } else { 0 });
        each(|lane| {
            let (a, b, c) = (a[lane], b[lane], c[lane]);
            let without_a = k[0] ^ c & k[1] ^ b & (k[2] ^ c & k[3]);
            let with_a = k[4] ^ c & k[5] ^ b & (k[6] ^ c & k[7]);
            without_a ^ a & with_a
        })
    }
}
