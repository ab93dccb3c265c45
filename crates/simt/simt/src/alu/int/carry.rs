//! Extended precision: `add.cc` to `madc` (PTX ISA §9.7.2).
//!
//! The carry flag `CC.CF` is one predicate per function, because calls do not preserve it. After a subtraction, the
//! flag holds the carry of `a + !b + 1`, which is set when there is no borrow. The hardware has the same flag: the
//! result of `addc` following `sub.cc` shows this. The ISA describes a borrow flag instead; the results of `subc` do
//! not show which of the two flags a GPU uses.

use super::table::Op;
use super::wide::Wide;
use crate::alu::lanes::{RegisterNumbers, Word, each, lanes_where};
use crate::regs::{Pred, Regs};

/// Stands in for the carry register if the carry is not read or not written.
pub(crate) const NO_CARRY: u32 = u32::MAX;

/// Runs an instruction that is not in the table.
#[inline(always)]
pub(super) fn execute(op: Op, r: &RegisterNumbers, regs: &mut Regs<'_>, mask: u32) {
    // A subtraction that does not read the carry adds one.
    let one = r[4] == NO_CARRY;
    match op {
        Op::CarryAdd32 => carried(regs, mask, r, |a: u32, b, _, cc| a.carrying_add(b, cc)),
        Op::CarryAdd64 => carried(regs, mask, r, |a: u64, b, _, cc| a.carrying_add(b, cc)),
        Op::CarrySub32 => carried(regs, mask, r, |a: u32, b: u32, _, cc| a.carrying_add(!b, cc | one)),
        Op::CarrySub64 => carried(regs, mask, r, |a: u64, b: u64, _, cc| a.carrying_add(!b, cc | one)),
        Op::CarryMadLo32 => carried(regs, mask, r, |a: u32, b, c, cc| a.wrapping_mul(b).carrying_add(c, cc)),
        Op::CarryMadLo64 => carried(regs, mask, r, |a: u64, b, c, cc| a.wrapping_mul(b).carrying_add(c, cc)),
        Op::CarryMadHiU32 => carried(regs, mask, r, |a: u32, b, c, cc| a.high(b).carrying_add(c, cc)),
        Op::CarryMadHiU64 => carried(regs, mask, r, |a: u64, b, c, cc| a.high(b).carrying_add(c, cc)),
        Op::CarryMadHiS32 => carried(regs, mask, r, |a: u32, b, c, cc| {
            a.cast_signed().high(b.cast_signed()).cast_unsigned().carrying_add(c, cc)
        }),
        Op::CarryMadHiS64 => carried(regs, mask, r, |a: u64, b, c, cc| {
            a.cast_signed().high(b.cast_signed()).cast_unsigned().carrying_add(c, cc)
        }),
        // `Op::map` has already run the table's rows.
        _ => {}
    }
}

/// In each lane, applies `f` to three sources and the carry.
#[inline(always)]
fn carried<W: Word>(regs: &mut Regs<'_>, mask: u32, r: &RegisterNumbers, f: impl Fn(W, W, W, bool) -> (W, bool)) {
    let (a, b, c) = (W::get(regs, r[1]), W::get(regs, r[2]), W::get(regs, r[3]));
    let carries = match r[4] {
        NO_CARRY => 0,
        carry => regs.pred(Pred(carry)),
    };
    let at = |lane: usize| f(a[lane], b[lane], c[lane], carries & 1 << lane != 0);
    let values = each(|lane| at(lane).0);
    let carry = lanes_where(|lane| at(lane).1);
    W::set(regs, r[0], mask, &values);
    if r[5] != NO_CARRY {
        regs.set_pred(Pred(r[5]), mask, carry);
    }
}
