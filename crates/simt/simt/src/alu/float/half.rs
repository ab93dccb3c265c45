//! `f16`, `bf16` and pairs of them (PTX ISA §9.7.4).
//!
//! Computed as doubles, which hold a product of two exactly and a sum rounded to odd, then rounded once. `ex2` and `tanh`
//! are those of `f32`, cut: so an H200 answers for each of the 65,536 arguments.

pub(crate) use super::Half;
use super::exact::{Format, Rounding, add_to_odd};
use super::general::saturate;
use super::{minmax::min_max, special};
use crate::alu::modifiers::Modifiers;

/// An `f16`'s value.
#[inline(always)]
pub(in crate::alu) fn from_f16(bits: u32) -> f32 {
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7fff;
    let value = if magnitude >= 0x7c00 {
        f32::from_bits(0x7f80_0000 | (magnitude & 0x3ff) << 13)
    } else {
        // The fields moved into an f32 mean 2^112 times less; subnormal ones become right as well.
        f32::from_bits(magnitude << 13) * f32::from_bits(239 << 23)
    };
    f32::from_bits(value.to_bits() | sign)
}

/// A `bf16`'s value.
#[inline(always)]
pub(in crate::alu) fn from_bf16(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// The result for one number of each operand.
pub(crate) fn one(op: Half, modifiers: Modifiers, a: u32, b: u32, c: u32) -> u32 {
    let format = if modifiers.has(Modifiers::BRAIN) { Format::Bf16 } else { Format::F16 };
    let infinity = format.infinity() as u32;
    let flush = |bits: u32| {
        let subnormal = bits & infinity == 0;
        bits & if modifiers.has(Modifiers::FTZ) && subnormal { 0x8000 } else { 0xffff }
    };
    // What a tensor copy can fill in for elements that are out of bounds. For both formats it is this, on an H100.
    let is_oob = |bits: u32| bits & 0x7fff == 0x7ff7;
    if modifiers.has(Modifiers::OOB) && (is_oob(a) || is_oob(b)) {
        return 0;
    }
    let [a, b, c] = [a, b, c].map(flush);
    match op {
        Half::Min | Half::Max => return min_max(op == Half::Max, modifiers, format, a, b),
        Half::Abs | Half::Neg => {
            return if a & 0x7fff > infinity {
                0x7fff
            } else if op == Half::Abs {
                a & 0x7fff
            } else {
                a ^ 0x8000
            };
        }
        _ => {}
    }
    let value = |bits| f64::from(if modifiers.has(Modifiers::BRAIN) { from_bf16(bits) } else { from_f16(bits) });
    let (a, b, c) = (value(a), value(b), value(c));
    let exact = match op {
        Half::Add => add_to_odd(a, b),
        Half::Sub => add_to_odd(a, -b),
        Half::Mul => a * b,
        Half::Fma => add_to_odd(a * b, c),
        Half::Ex2 => f64::from(f32::from_bits(special::ex2(&[(a as f32).to_bits()], true)[0])),
        _ => f64::from(f32::from_bits(special::tanh(&[(a as f32).to_bits()])[0])),
    };
    // A power of two that is too large for f16 is not cut: it is infinity.
    let is_cut = matches!(op, Half::Ex2 | Half::Tanh) && (exact < 65536.0 || modifiers.has(Modifiers::BRAIN));
    let rounding = if is_cut { Rounding::Zero } else { Rounding::Nearest };
    let bits = flush(format.round(exact, rounding) as u32);
    if modifiers.has(Modifiers::SAT) {
        format.round(saturate(value(bits)), Rounding::Nearest) as u32
    } else if modifiers.has(Modifiers::RELU) && bits & 0x8000 != 0 {
        0
    } else {
        bits
    }
}
