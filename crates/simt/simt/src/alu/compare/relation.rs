//! Comparisons that return masks of lanes.
//!
//! The comparisons in this module form a minimal set: every comparison that is not in the module is one of them with
//! swapped operands, an inverted result, or both.

use crate::alu::float::flush32;
use crate::alu::lanes::{RegisterNumbers, Word, lanes_where};
use crate::regs::{Pred, Regs};

/// The test of the two sources, registers 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are relations and types of the sources")]
pub enum Test {
    /// Whether predicate 2 is true.
    Pred,
    Eq16,
    Eq32,
    Eq64,
    LtU16,
    LtS16,
    LtU32,
    LtS32,
    LtU64,
    LtS64,
    F32(Relation),
    /// With `.ftz`, subnormal numbers compare as zeros.
    F32Ftz(Relation),
    F64(Relation),
    F16(Relation),
    F16Ftz(Relation),
    Bf16(Relation),
    F16x2(Relation),
    F16x2Ftz(Relation),
    Bf16x2(Relation),
}

/// Relations of floating-point numbers. If an operand is NaN, every relation is false.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are relations")]
pub enum Relation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    /// Both operands are numbers.
    Ordered,
}

impl Test {
    /// Returns the lanes in which the test is true. For pairs of halves, returns the lanes for the lower and for the
    /// upper halves.
    #[inline(always)]
    pub(super) fn masks(self, r: &RegisterNumbers, regs: &Regs<'_>) -> [u32; 2] {
        let one = match self {
            Test::Pred => regs.pred(Pred(r[2])),
            Test::Eq16 => both(r, regs, |a: u32, b: u32| a as u16 == b as u16),
            Test::Eq32 => both(r, regs, |a: u32, b: u32| a == b),
            Test::Eq64 => both(r, regs, |a: u64, b: u64| a == b),
            Test::LtU16 => both(r, regs, |a: u32, b: u32| (a as u16) < b as u16),
            Test::LtS16 => both(r, regs, |a: u32, b: u32| (a as i16) < b as i16),
            Test::LtU32 => both(r, regs, |a: u32, b: u32| a < b),
            Test::LtS32 => both(r, regs, |a: u32, b: u32| a.cast_signed() < b.cast_signed()),
            Test::LtU64 => both(r, regs, |a: u64, b: u64| a < b),
            Test::LtS64 => both(r, regs, |a: u64, b: u64| a.cast_signed() < b.cast_signed()),
            Test::F32(relation) => floats(relation, r, regs, f32::from_bits),
            Test::F32Ftz(relation) => floats(relation, r, regs, flushed),
            Test::F64(relation) => floats(relation, r, regs, f64::from_bits),
            Test::F16(relation) => floats(relation, r, regs, f16),
            Test::F16Ftz(relation) => floats(relation, r, regs, f16_flushed),
            Test::Bf16(relation) => floats(relation, r, regs, bf16),
            Test::F16x2(relation) => return pairs(relation, r, regs, f16),
            Test::F16x2Ftz(relation) => return pairs(relation, r, regs, f16_flushed),
            Test::Bf16x2(relation) => return pairs(relation, r, regs, bf16),
        };
        [one, 0]
    }
}

#[inline(always)]
fn both<W: Word>(r: &RegisterNumbers, regs: &Regs<'_>, f: impl Fn(W, W) -> bool) -> u32 {
    let (a, b) = (W::get(regs, r[2]), W::get(regs, r[3]));
    lanes_where(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn floats<W: Word, F: PartialOrd>(
    relation: Relation,
    r: &RegisterNumbers,
    regs: &Regs<'_>,
    read: impl Fn(W) -> F,
) -> u32 {
    match relation {
        Relation::Equal => both(r, regs, |a, b| read(a) == read(b)),
        Relation::Less => both(r, regs, |a, b| read(a) < read(b)),
        Relation::LessOrEqual => both(r, regs, |a, b| read(a) <= read(b)),
        // The CPU has a single comparison instruction for this relation, and one for `Ordered`.
        Relation::Unequal => both(r, regs, |a, b| {
            let (a, b) = (read(a), read(b));
            (a < b) | (a > b)
        }),
        Relation::Ordered => both(r, regs, |a, b| {
            let (a, b) = (read(a), read(b));
            (a <= b) | (a > b)
        }),
    }
}

/// Applies the comparison to the lower and to the upper halves.
#[inline(always)]
fn pairs(relation: Relation, r: &RegisterNumbers, regs: &Regs<'_>, read: impl Fn(u32) -> f32) -> [u32; 2] {
    let low = floats(relation, r, regs, &read);
    [low, floats(relation, r, regs, |pair: u32| read(pair >> 16))]
}

/// Flushes a subnormal number to zero of the same sign.
#[inline(always)]
fn flushed(bits: u32) -> f32 {
    f32::from_bits(flush32(bits))
}

#[inline(always)]
fn f16(bits: u32) -> f32 {
    half(bits, 0x7c00, 0)
}

#[inline(always)]
fn f16_flushed(bits: u32) -> f32 {
    half(bits, 0x7c00, 0x0400)
}

#[inline(always)]
fn bf16(bits: u32) -> f32 {
    half(bits, 0x7f80, 0)
}

/// Maps the number in the low 16 bits to a float whose magnitude is the number's rank above zero. The float has the
/// sign of the number, so the floats have the same order as the numbers. Numbers below `least` become zero, and numbers
/// above `infinity` are NaN.
#[inline(always)]
fn half(bits: u32, infinity: u32, least: u32) -> f32 {
    let rank = bits & 0x7fff;
    let rank = if rank < least { 0 } else { rank };
    let value = rank.cast_signed() as f32;
    let value = if rank > infinity { f32::NAN } else { value };
    if bits & 0x8000 == 0 { value } else { -value }
}
