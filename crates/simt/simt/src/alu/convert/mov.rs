//! `mov` (PTX ISA §9.7.9.3), including the forms of `mov` that pack and unpack a register (§9.7.9.4).

use crate::alu::lanes::{Word, each, map};
use crate::regs::{ALL, LANES, Pred, R32, R64, Regs};

/// One `mov`. Parts are in the order of their bits, lowest first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Move {
    /// 32 bits.
    B32 { to: R32, from: R32 },
    /// The lower 16 bits of a source that may be wider.
    B16 { to: R32, from: R32 },
    /// 64 bits.
    B64 { to: R64, from: R64 },
    /// Two 64-bit values.
    Two64 { to: [R64; 2], from: [R64; 2] },
    /// 32 bits, zero-extended to 64.
    Wide { to: R64, from: R32 },
    /// A predicate or its negation.
    Pred { to: Pred, from: Pred, negated: bool },
    /// Packs parts into a register: the destination's number, and the registers of the parts in use.
    Pack { parts: Parts, to: u32, from: [R32; 4] },
    /// Unpacks a register into parts.
    Unpack { parts: Parts, to: [R32; 4], from: u32 },
}

/// The width and the number of a register's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the parts")]
pub enum Parts {
    B8x2,
    B8x4,
    B16x2,
    B16x4,
    B32x2,
}

impl Move {
    /// Runs the instruction on the lanes of `mask`.
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
            Move::Pack { parts, to, from } => match parts {
                Parts::B8x2 => pack::<u32, 2>(regs, mask, to, from, 8),
                Parts::B8x4 => pack::<u32, 4>(regs, mask, to, from, 8),
                Parts::B16x2 => pack::<u32, 2>(regs, mask, to, from, 16),
                Parts::B16x4 => pack::<u64, 4>(regs, mask, to, from, 16),
                Parts::B32x2 => pack::<u64, 2>(regs, mask, to, from, 32),
            },
            Move::Unpack { parts, to, from } => match parts {
                Parts::B8x2 => unpack::<u32, 2>(regs, mask, to, from, 8),
                Parts::B8x4 => unpack::<u32, 4>(regs, mask, to, from, 8),
                Parts::B16x2 => unpack::<u32, 2>(regs, mask, to, from, 16),
                Parts::B16x4 => unpack::<u64, 4>(regs, mask, to, from, 16),
                Parts::B32x2 => unpack::<u64, 2>(regs, mask, to, from, 32),
            },
        }
    }
}

#[inline(always)]
fn pack<W: Word, const N: usize>(regs: &mut Regs<'_>, mask: u32, to: u32, from: [R32; 4], bits: u32) {
    let mut values = [W::default(); LANES];
    for (i, part) in from[..N].iter().enumerate() {
        let part = regs.get32(*part);
        for lane in 0..LANES {
            let part = W::from(part[lane] & (u32::MAX >> (32 - bits)));
            values[lane] = values[lane] | part << (bits * i as u32);
        }
    }
    W::set(regs, to, mask, &values);
}

#[inline(always)]
fn unpack<W: Word, const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; 4], from: u32, bits: u32) {
    let whole = *W::get(regs, from);
    for (i, part) in to[..N].iter().enumerate() {
        let values = each(|lane| (whole[lane] >> (bits * i as u32)).low() & (u32::MAX >> (32 - bits)));
        regs.set32(*part, mask, &values);
    }
}
