//! Extended precision: `add.cc` to `madc` (PTX ISA §9.7.2).
//!
//! The carry flag `CC.CF` is a predicate, one a function: it is not preserved across calls. After a
//! subtraction it holds the borrow.

use super::Int;
use super::table::Op;
use super::wide::Wide;
use crate::alu::lanes::{self, Lane, Numbers, Word, each, lanes_where};
use crate::code::Pred;
use crate::lower::{Context, Refusal};
use crate::regs::Regs;
use ptx::ast::Instruction;

/// In the place of a carry that is not read, or not written.
const NONE: u32 = u32::MAX;

/// Decodes an instruction that reads or writes the carry flag.
///
/// Its registers are the result, three sources, and the carries in and out, [`NONE`] where none is read or
/// written.
pub(super) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Int>, Refusal> {
    let (name, writes, ty) = match words {
        [name @ .., "cc", ty] => (name, true, *ty),
        [name @ .., ty] => (name, false, *ty),
        [] => return Ok(None),
    };
    let wide = match ty {
        "u32" | "s32" => false,
        "u64" | "s64" => true,
        _ => return Ok(None),
    };
    let op = match (name, ty) {
        (["add" | "addc"], _) if wide => Op::CarryAdd64,
        (["add" | "addc"], _) => Op::CarryAdd32,
        (["sub" | "subc"], _) if wide => Op::CarrySub64,
        (["sub" | "subc"], _) => Op::CarrySub32,
        (["mad" | "madc", "lo"], _) if wide => Op::CarryMadLo64,
        (["mad" | "madc", "lo"], _) => Op::CarryMadLo32,
        (["mad" | "madc", "hi"], "u32") => Op::CarryMadHiU32,
        (["mad" | "madc", "hi"], "s32") => Op::CarryMadHiS32,
        (["mad" | "madc", "hi"], "u64") => Op::CarryMadHiU64,
        (["mad" | "madc", "hi"], _) => Op::CarryMadHiS64,
        _ => return Ok(None),
    };
    let reads = name[0].ends_with('c');
    let kind = if wide { u64::KIND } else { u32::KIND };
    let kinds = if name.len() == 1 { 3 } else { 4 };
    let mut r = lanes::numbers(inst, &[kind; 4][..kinds], cx)?;
    r[4] = if reads { cx.carry().0 } else { NONE };
    r[5] = if writes { cx.carry().0 } else { NONE };
    if kinds == 3 {
        r[3] = r[2];
    }
    Ok(Some(Int { op, r }))
}

/// Runs an instruction that is not one of the table's rows.
#[inline(always)]
pub(super) fn execute(op: Op, r: &Numbers, regs: &mut Regs<'_>, mask: u32) {
    match op {
        Op::CarryAdd32 => carried(regs, mask, r, |a: u32, b, _, carry| {
            a.carrying_add(b, carry)
        }),
        Op::CarryAdd64 => carried(regs, mask, r, |a: u64, b, _, carry| {
            a.carrying_add(b, carry)
        }),
        Op::CarrySub32 => carried(regs, mask, r, |a: u32, b, _, carry| {
            a.borrowing_sub(b, carry)
        }),
        Op::CarrySub64 => carried(regs, mask, r, |a: u64, b, _, carry| {
            a.borrowing_sub(b, carry)
        }),
        Op::CarryMadLo32 => carried(regs, mask, r, |a: u32, b, c, carry| {
            a.wrapping_mul(b).carrying_add(c, carry)
        }),
        Op::CarryMadLo64 => carried(regs, mask, r, |a: u64, b, c, carry| {
            a.wrapping_mul(b).carrying_add(c, carry)
        }),
        Op::CarryMadHiU32 => carried(regs, mask, r, |a: u32, b, c, carry| {
            a.high(b).carrying_add(c, carry)
        }),
        Op::CarryMadHiU64 => carried(regs, mask, r, |a: u64, b, c, carry| {
            a.high(b).carrying_add(c, carry)
        }),
        Op::CarryMadHiS32 => carried(regs, mask, r, |a: u32, b, c, carry| {
            let high = a.cast_signed().high(b.cast_signed());
            high.cast_unsigned().carrying_add(c, carry)
        }),
        Op::CarryMadHiS64 => carried(regs, mask, r, |a: u64, b, c, carry| {
            let high = a.cast_signed().high(b.cast_signed());
            high.cast_unsigned().carrying_add(c, carry)
        }),
        // The table's rows have been run by `Op::map`.
        _ => {}
    }
}

/// `f` of three sources and the carry in each lane.
#[inline(always)]
fn carried<W: Word>(
    regs: &mut Regs<'_>,
    mask: u32,
    r: &Numbers,
    f: impl Fn(W, W, W, bool) -> (W, bool),
) {
    let (a, b, c) = (W::get(regs, r[1]), W::get(regs, r[2]), W::get(regs, r[3]));
    let carries = match r[4] {
        NONE => 0,
        carry => regs.pred(Pred(carry)),
    };
    let at = |lane: usize| f(a[lane], b[lane], c[lane], carries & 1 << lane != 0);
    let values = each(|lane| at(lane).0);
    let carry = lanes_where(|lane| at(lane).1);
    W::set(regs, r[0], mask, &values);
    if r[5] != NONE {
        regs.set_pred(Pred(r[5]), mask, carry);
    }
}
