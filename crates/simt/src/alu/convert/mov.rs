//! `mov` (PTX ISA §9.7.9.3), and `mov` that takes a register apart or puts one together (§9.7.9.4).

use crate::alu::lanes::{each, map};
use crate::regs::{ALL, LANES, Pred, R32, R64, Regs};

/// One `mov`. Parts are in the order of their bits, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Move {
    /// 32 bits.
    B32 { to: R32, from: R32 },
    /// The lower 16 bits, where the source may have more.
    B16 { to: R32, from: R32 },
    /// 64 bits.
    B64 { to: R64, from: R64 },
    /// Two times 64 bits.
    Two64 { to: [R64; 2], from: [R64; 2] },
    /// 32 bits, zero-extended to 64.
    Wide { to: R64, from: R32 },
    /// A predicate or its contrary.
    Pred { to: Pred, from: Pred, negated: bool },
    /// Two times 8 bits to 16.
    Pack8x2 { to: R32, from: [R32; 2] },
    /// Four times 8 bits to 32.
    Pack8x4 { to: R32, from: [R32; 4] },
    /// Two times 16 bits to 32.
    Pack16x2 { to: R32, from: [R32; 2] },
    /// Four times 16 bits to 64.
    Pack16x4 { to: R64, from: [R32; 4] },
    /// Two times 32 bits to 64.
    Pack32x2 { to: R64, from: [R32; 2] },
    /// 16 bits to two times 8.
    Unpack8x2 { to: [R32; 2], from: R32 },
    /// 32 bits to four times 8.
    Unpack8x4 { to: [R32; 4], from: R32 },
    /// 32 bits to two times 16.
    Unpack16x2 { to: [R32; 2], from: R32 },
    /// 64 bits to four times 16.
    Unpack16x4 { to: [R32; 4], from: R64 },
    /// 64 bits to two times 32.
    Unpack32x2 { to: [R32; 2], from: R64 },
}

impl Move {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(super) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match *self {
            Move::B32 { to, from } => map(regs, mask, to, from, |value| value),
            Move::B16 { to, from } => map(regs, mask, to, from, |value| value & 0xffff),
            Move::B64 { to, from } => map(regs, mask, to, from, |value| value),
            Move::Two64 { to, from } => {
                let from = from.map(|from| *regs.get64(from));
                regs.set64(to[0], mask, &from[0]);
                regs.set64(to[1], mask, &from[1]);
            }
            Move::Wide { to, from } => map(regs, mask, to, from, u64::from),
            Move::Pred { to, from, negated } => {
                let values = regs.pred(from) ^ if negated { ALL } else { 0 };
                regs.set_pred(to, mask, values);
            }
            Move::Pack8x2 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack8x4 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack16x2 { to, from } => pack32(regs, mask, to, from, 16),
            Move::Pack16x4 { to, from } => pack64(regs, mask, to, from, 16),
            Move::Pack32x2 { to, from } => pack64(regs, mask, to, from, 32),
            Move::Unpack8x2 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack8x4 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack16x2 { to, from } => unpack32(regs, mask, to, from, 16),
            Move::Unpack16x4 { to, from } => unpack64(regs, mask, to, from, 16),
            Move::Unpack32x2 { to, from } => unpack64(regs, mask, to, from, 32),
        }
    }
}

#[inline(always)]
fn pack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R32, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (part[lane] & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set32(to, mask, &values);
}

#[inline(always)]
fn pack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R64, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (u64::from(part[lane]) & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set64(to, mask, &values);
}

#[inline(always)]
fn unpack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R32, bits: u32) {
    let whole = *regs.get32(from);
    for (i, part) in to.into_iter().enumerate() {
        let values = each(|lane| whole[lane] >> (bits * i as u32) & ((1 << bits) - 1));
        regs.set32(part, mask, &values);
    }
}

#[inline(always)]
fn unpack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R64, bits: u32) {
    let whole = *regs.get64(from);
    for (i, part) in to.into_iter().enumerate() {
        let part_of = |value: u64| (value >> (bits * i as u32) & ((1 << bits) - 1)) as u32;
        regs.set32(part, mask, &each(|lane| part_of(whole[lane])));
    }
}
