//! Operations on `f32` and `f64`, rounded to nearest, as loops that become vector instructions.

use super::Fast;
use super::minmax::{pick32, pick64};
use crate::alu::lanes::map3;
use crate::regs::{R32, R64, Regs};

/// The canonical NaN of `f32`.
pub(crate) const NAN32: u32 = 0x7fff_ffff;

/// Flushes a subnormal number to zero of the same sign.
#[inline(always)]
pub(crate) fn flush32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Returns a number's bits, with the canonical NaN for any NaN.
#[inline(always)]
pub(crate) fn canonical32(value: f32) -> u32 {
    if value.is_nan() { NAN32 } else { value.to_bits() }
}

/// Returns a result's bits: a NaN becomes canonical and, with `FTZ`, subnormal numbers are flushed.
#[inline(always)]
fn result<const FTZ: bool>(value: f32) -> u32 {
    let bits = canonical32(value);
    if FTZ { flush32(bits) } else { bits }
}

#[inline(always)]
fn operand<const FTZ: bool>(bits: u32) -> f32 {
    f32::from_bits(if FTZ { flush32(bits) } else { bits })
}

#[inline(always)]
pub(super) fn run32<const FTZ: bool>(op: Fast, regs: &mut Regs<'_>, mask: u32, to: R32, from: [R32; 3]) {
    let x = operand::<FTZ>;
    let y = result::<FTZ>;
    match op {
        Fast::Add => map3(regs, mask, to, from, |a, b, _| y(x(a) + x(b))),
        Fast::Sub => map3(regs, mask, to, from, |a, b, _| y(x(a) - x(b))),
        Fast::Mul => map3(regs, mask, to, from, |a, b, _| y(x(a) * x(b))),
        Fast::Fma => map3(regs, mask, to, from, |a, b, c| y(x(a).mul_add(x(b), x(c)))),
        Fast::Div => map3(regs, mask, to, from, |a, b, _| y(x(a) / x(b))),
        Fast::Sqrt => map3(regs, mask, to, from, |a, _, _| y(x(a).sqrt())),
        Fast::Min => map3(regs, mask, to, from, |a, b, _| {
            let (a, b) = (x(a).to_bits(), x(b).to_bits());
            pick32(a, b, false)
        }),
        Fast::Max => map3(regs, mask, to, from, |a, b, _| {
            let (a, b) = (x(a).to_bits(), x(b).to_bits());
            pick32(a, b, true)
        }),
        Fast::Abs => map3(regs, mask, to, from, |a, _, _| y(x(a).abs())),
        Fast::Neg => map3(regs, mask, to, from, |a, _, _| y(-x(a))),
        Fast::Copysign => map3(regs, mask, to, from, |a, b, _| a & 0x8000_0000 | b & 0x7fff_ffff),
    }
}

/// Returns the NaN result of an operation: the first operand that is NaN, as a quiet NaN. If no operand is NaN, returns
/// the NaN that the hardware produces from numbers. The host's NaN cannot be used, because Rust does not define which
/// NaN an operation returns.
///
/// An H100 checks the second operand of `add`, `sub`, `mul` and `fma` first, then the third, then the first. Callers
/// pass the operands in that order.
#[inline(always)]
pub(crate) fn nan64(value: f64, a: f64, b: f64, c: f64) -> u64 {
    const QUIET: u64 = 1 << 51;
    let mut nan = 0xfff8_0000_0000_0000;
    for operand in [c, b, a] {
        if operand.is_nan() {
            nan = operand.to_bits() | QUIET;
        }
    }
    if value.is_nan() { nan } else { value.to_bits() }
}

/// `fma.rn.f64` on the bits of the numbers.
pub(crate) fn fused_multiply_add(a: u64, b: u64, c: u64) -> u64 {
    let [a, b, c] = [a, b, c].map(f64::from_bits);
    nan64(a.mul_add(b, c), b, c, a)
}

#[inline(always)]
pub(super) fn run64(op: Fast, regs: &mut Regs<'_>, mask: u32, to: R64, from: [R64; 3]) {
    let x = f64::from_bits;
    let two = |f: fn(f64, f64) -> f64| {
        move |a, b, _| {
            let (a, b) = (x(a), x(b));
            nan64(f(a, b), b, a, 0.0)
        }
    };
    const SIGN: u64 = 1 << 63;
    match op {
        Fast::Add => map3(regs, mask, to, from, two(|a, b| a + b)),
        Fast::Sub => map3(regs, mask, to, from, two(|a, b| a - b)),
        Fast::Mul => map3(regs, mask, to, from, two(|a, b| a * b)),
        Fast::Div => map3(regs, mask, to, from, |a, b, _| {
            let (a, b) = (x(a), x(b));
            nan64(a / b, a, b, 0.0)
        }),
        Fast::Fma => map3(regs, mask, to, from, fused_multiply_add),
        Fast::Sqrt => map3(regs, mask, to, from, |a, _, _| nan64(x(a).sqrt(), x(a), 0.0, 0.0)),
        Fast::Min => map3(regs, mask, to, from, |a, b, _| pick64(a, b, false)),
        Fast::Max => map3(regs, mask, to, from, |a, b, _| pick64(a, b, true)),
        // The hardware adds zero, so a NaN becomes quiet and keeps its sign.
        Fast::Abs => map3(regs, mask, to, from, |a, _, _| nan64(x(a & !SIGN), x(a), 0.0, 0.0)),
        Fast::Neg => map3(regs, mask, to, from, |a, _, _| nan64(x(a ^ SIGN), x(a), 0.0, 0.0)),
        Fast::Copysign => map3(regs, mask, to, from, |a, b, _| a & SIGN | b & !SIGN),
    }
}
