//! Operations on `f32` and `f64` in every rounding mode, and with saturation.

use super::Fast;
use super::exact::{self, Format, Rounding};
use super::fast::{flush32, nan64};
use crate::alu::modifiers::Modifiers;

fn apply(op: Fast, a: f64, b: f64, c: f64, format: Format, rounding: Rounding) -> u64 {
    match op {
        Fast::Add => exact::fma(a, 1.0, b, format, rounding),
        Fast::Sub => exact::fma(a, 1.0, -b, format, rounding),
        // Adding a zero with the product's sign does not change the product.
        Fast::Mul => {
            let positive = a.is_sign_negative() == b.is_sign_negative();
            exact::fma(a, b, if positive { 0.0 } else { -0.0 }, format, rounding)
        }
        Fast::Fma => exact::fma(a, b, c, format, rounding),
        Fast::Div => exact::div(a, b, format, rounding),
        Fast::Sqrt => exact::sqrt(a, format, rounding),
        _ => unreachable!("the other operations have no rounding mode"),
    }
}

/// Clamps to 0…1; NaN and −0 become +0.
#[inline(always)]
pub(in crate::alu) fn saturate(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// Runs the operation on `f32`.
pub(super) fn one32(op: Fast, rounding: Rounding, modifiers: Modifiers, from: [u32; 3]) -> u32 {
    let flush = |bits| {
        if modifiers.has(Modifiers::FTZ) { flush32(bits) } else { bits }
    };
    let [a, b, c] = from.map(|bits| f64::from(f32::from_bits(flush(bits))));
    let bits = flush(apply(op, a, b, c, Format::F32, rounding) as u32);
    if modifiers.has(Modifiers::SAT) { (saturate(f64::from(f32::from_bits(bits))) as f32).to_bits() } else { bits }
}

/// Runs the operation on `f64`.
pub(super) fn one64(op: Fast, rounding: Rounding, from: [u64; 3]) -> u64 {
    let [a, b, c] = from.map(f64::from_bits);
    let bits = apply(op, a, b, c, Format::F64, rounding);
    // Only the operands that the operation uses can propagate a NaN, in the hardware's order.
    let [first, second, third] = match op {
        Fast::Sqrt => [a, 0.0, 0.0],
        Fast::Fma => [b, c, a],
        Fast::Div => [a, b, 0.0],
        _ => [b, a, 0.0],
    };
    nan64(f64::from_bits(bits), first, second, third)
}
