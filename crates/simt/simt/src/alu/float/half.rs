//! Operations on `f16`, on `bf16`, and on pairs of these numbers (PTX ISA §9.7.4).
//!
//! Results are computed as doubles and then rounded once. A double holds a product of two numbers exactly; a sum is
//! rounded to odd. `ex2` and `tanh` truncate the `f32` result, which matches an H200 for all 65,536 arguments.

pub(crate) use super::Half;
use super::exact::{Format, Rounding, add_to_odd};
use super::general::saturate;
use super::{minmax::min_max, special};
use crate::alu::modifiers::Modifiers;

/// Returns the value of an `f16`.
#[inline(always)]
pub(in crate::alu) fn from_f16(bits: u32) -> f32 {
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7fff;
    let value = if magnitude >= 0x7c00 {
        f32::from_bits(0x7f80_0000 | (magnitude & 0x3ff) << 13)
    } else {
        // In an `f32`, the fields of the `f16` encode a value that is 2^112 times too small. The multiplication
        // corrects this, and also normalizes subnormal numbers.
        f32::from_bits(magnitude << 13) * f32::from_bits(239 << 23)
    };
    f32::from_bits(value.to_bits() | sign)
}

/// Returns the value of a `bf16`.
#[inline(always)]
pub(in crate::alu) fn from_bf16(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// Returns the result for one number from each operand.
pub(crate) fn one(op: Half, modifiers: Modifiers, a: u32, b: u32, c: u32) -> u32 {
    let format = if modifiers.has(Modifiers::BRAIN) { Format::Bf16 } else { Format::F16 };
    let infinity = format.infinity() as u32;
    let flush = |bits: u32| {
        let subnormal = bits & infinity == 0;
        bits & if modifiers.has(Modifiers::FTZ) && subnormal { 0x8000 } else { 0xffff }
    };
    // The NaN that a tensor copy can write for out-of-bounds elements. On an H100, its bits are the same in both
    // formats.
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
    // A power of two that is too large for `f16` becomes infinity instead of being truncated.
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
