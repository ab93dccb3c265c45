//! `f32` and `f64` in every rounding mode, and with saturation.

use super::General;
use super::exact::{self, Format, Rounding};
use super::fast::{flush32, nan64};
use crate::alu::lanes::map3;
use crate::alu::modifiers::Modifiers;
use crate::regs::{R32, R64, Regs};

fn apply(op: General, a: f64, b: f64, c: f64, format: Format, rounding: Rounding) -> u64 {
    match op {
        General::Add => exact::fma(a, 1.0, b, format, rounding),
        General::Sub => exact::fma(a, 1.0, -b, format, rounding),
        // Plus a zero of the product's sign, which changes nothing.
        General::Mul => {
            let positive = a.is_sign_negative() == b.is_sign_negative();
            exact::fma(a, b, if positive { 0.0 } else { -0.0 }, format, rounding)
        }
        General::Fma => exact::fma(a, b, c, format, rounding),
        General::Div => exact::div(a, b, format, rounding),
        General::Sqrt => exact::sqrt(a, format, rounding),
    }
}

/// Clamped to 0…1; NaN and −0 become +0.
#[inline(always)]
pub(in crate::alu) fn saturate(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

#[inline(never)]
pub(super) fn run32(
    op: General,
    (rounding, modifiers): (Rounding, Modifiers),
    regs: &mut Regs<'_>,
    mask: u32,
    to: R32,
    from: [R32; 3],
) {
    map3(regs, mask, to, from, |a, b, c| single(op, rounding, modifiers, [a, b, c]));
}

#[inline(never)]
pub(super) fn run_pair(
    op: General,
    (rounding, modifiers): (Rounding, Modifiers),
    regs: &mut Regs<'_>,
    mask: u32,
    to: R64,
    from: [R64; 3],
) {
    map3(regs, mask, to, from, |a, b, c| {
        let low = single(op, rounding, modifiers, [a, b, c].map(|bits| bits as u32));
        let high = single(op, rounding, modifiers, [a, b, c].map(|bits| (bits >> 32) as u32));
        u64::from(high) << 32 | u64::from(low)
    });
}

/// The operation on `f32`.
fn single(op: General, rounding: Rounding, modifiers: Modifiers, from: [u32; 3]) -> u32 {
    let flush = |bits| {
        if modifiers.has(Modifiers::FTZ) { flush32(bits) } else { bits }
    };
    let [a, b, c] = from.map(|bits| f64::from(f32::from_bits(flush(bits))));
    let bits = flush(apply(op, a, b, c, Format::F32, rounding) as u32);
    if modifiers.has(Modifiers::SAT) { (saturate(f64::from(f32::from_bits(bits))) as f32).to_bits() } else { bits }
}

#[inline(never)]
pub(super) fn run64(op: General, rounding: Rounding, regs: &mut Regs<'_>, mask: u32, to: R64, from: [R64; 3]) {
    let x = f64::from_bits;
    map3(regs, mask, to, from, |a, b, c| {
        let bits = apply(op, x(a), x(b), x(c), Format::F64, rounding);
        // Only operands that the operation has may hand on their NaN, in the order of the hardware.
        let [first, second, third] = match op {
            General::Sqrt => [x(a), 0.0, 0.0],
            General::Fma => [x(b), x(c), x(a)],
            General::Div => [x(a), x(b), 0.0],
            _ => [x(b), x(a), 0.0],
        };
        nan64(x(bits), first, second, third)
    });
}
