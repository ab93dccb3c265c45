//! Logic and shifts (PTX ISA §9.7.8), `prmt` (§9.7.9.7).

mod permute;
mod table;

#[cfg(test)]
mod tests;

use super::lanes::{self, Kind, Lane, Numbers, each, lanes_where};
use crate::code::{Pred, R32};
use crate::lower::{Context, Refusal};
use crate::regs::{ALL, Lanes32, Regs};
use ptx::ast::{Instruction, Operand};
use table::Op;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logic {
    op: Op,
    /// What `lop3` computes: bit `4a + 2b + c` is the result for bits a, b, c. For predicates, which of the
    /// sources are negated: bit 0 for the first.
    table: u8,
    r: Numbers,
}

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    _words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Logic>, Refusal> {
    if let Some((op, kinds)) = Op::named(inst.opcode) {
        let r = lanes::numbers(inst, kinds, cx)?;
        return Ok(Some(Logic { op, table: 0, r }));
    }
    match inst.opcode {
        "and.pred" => predicates(inst, Op::AndPred, 2, cx),
        "or.pred" => predicates(inst, Op::OrPred, 2, cx),
        "xor.pred" => predicates(inst, Op::XorPred, 2, cx),
        "not.pred" => predicates(inst, Op::NotPred, 1, cx),
        "lop3.b32" => lop3(inst, Op::Lop3, cx),
        "lop3.or.b32" => lop3(inst, Op::Lop3Or, cx),
        "lop3.and.b32" => lop3(inst, Op::Lop3And, cx),
        _ => return Ok(None),
    }
    .map(Some)
}

fn predicates(
    inst: &Instruction<'_>,
    op: Op,
    sources: usize,
    cx: &mut Context<'_, '_>,
) -> Result<Logic, Refusal> {
    let [to, from @ ..] = &inst.operands[..] else {
        return Err(lanes::count(inst, sources + 1, cx));
    };
    if from.len() != sources {
        return Err(lanes::count(inst, sources + 1, cx));
    }
    let mut r = Numbers::default();
    let mut table = 0;
    r[0] = cx.dst_pred(to)?.0;
    for (at, source) in from.iter().enumerate() {
        let (pred, negated) = cx.src_pred(source)?;
        r[at + 1] = pred.0;
        table |= u8::from(negated) << at;
    }
    Ok(Logic { op, table, r })
}

/// `lop3.b32 d, a, b, c, table`, or `lop3.or.b32 d|p, a, b, c, table, q`. The registers stand in this
/// order: d, a, b, c, p, q.
fn lop3(inst: &Instruction<'_>, op: Op, cx: &mut Context<'_, '_>) -> Result<Logic, Refusal> {
    const WORD: Kind = u32::KIND;
    let plain = op == Op::Lop3;
    let (to, a, b, c, table, q) = match &inst.operands[..] {
        [to, a, b, c, table] if plain => (to, a, b, c, table, None),
        [to, a, b, c, table, q] if !plain => (to, a, b, c, table, Some(q)),
        _ => return Err(lanes::count(inst, if plain { 5 } else { 6 }, cx)),
    };
    let mut r = Numbers::default();
    let mut op = op;
    match (to, q) {
        (Operand::Pair(to, pred), Some(q)) => {
            r[0] = WORD.to(&Operand::Name(to), cx)?;
            r[4] = cx.dst_pred(&Operand::Name(pred))?.0;
            let (q, negated) = cx.src_pred(q)?;
            r[5] = q.0;
            op = match (op, negated) {
                (Op::Lop3Or, true) => Op::Lop3OrNot,
                (Op::Lop3And, true) => Op::Lop3AndNot,
                (op, _) => op,
            };
        }
        (_, Some(_)) => {
            return Err(cx.invalid(format!(
                "`{}` writes a register and a predicate: `d|p`",
                inst.opcode
            )));
        }
        (_, None) => r[0] = WORD.to(to, cx)?,
    }
    for (at, source) in [a, b, c].into_iter().enumerate() {
        r[at + 1] = WORD.from(source, cx)?;
    }
    // ptxas takes larger numbers, and their low byte.
    let table = cx.number(table)? as u8;
    Ok(Logic { op, table, r })
}

impl Logic {
    lanes::usual!(And32 Or32 Xor32 Shl32 ShrU32 ShrS32 Shl64);

    /// Runs it on the lanes of `mask`.
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
        match self.op {
            Op::AndPred => {
                let value = source(0, regs) & source(1, regs);
                regs.set_pred(Pred(r[0]), mask, value);
            }
            Op::OrPred => {
                let value = source(0, regs) | source(1, regs);
                regs.set_pred(Pred(r[0]), mask, value);
            }
            Op::XorPred => {
                let value = source(0, regs) ^ source(1, regs);
                regs.set_pred(Pred(r[0]), mask, value);
            }
            Op::NotPred => {
                let value = !source(0, regs);
                regs.set_pred(Pred(r[0]), mask, value);
            }
            op => {
                let values = self.lop3(regs);
                regs.set32(R32(r[0]), mask, &values);
                let found = || lanes_where(|lane| values[lane] != 0);
                let q = regs.pred(Pred(r[5]));
                let value = match op {
                    Op::Lop3Or => found() | q,
                    Op::Lop3OrNot => found() | !q,
                    Op::Lop3And => found() & q,
                    Op::Lop3AndNot => found() & !q,
                    _ => return,
                };
                regs.set_pred(Pred(r[4]), mask, value);
            }
        }
    }

    #[inline(always)]
    fn lop3(&self, regs: &Regs<'_>) -> Lanes32 {
        let [_, a, b, c, ..] = self.r;
        let (a, b, c) = (regs.get32(R32(a)), regs.get32(R32(b)), regs.get32(R32(c)));
        // The function as a sum modulo 2 of products, by its Möbius transform: bit 4 stands for a, bit 2
        // for ab … Each factor is all ones or zero.
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
