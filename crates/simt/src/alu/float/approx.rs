//! The approximations of `f32`, and the rough `rcp` and `rsqrt` of `f64`.
//!
//! `tanh`, and those of `f64`, are computed as doubles by a library that gives the same bits on every host, and rounded:
//! nearer than the ISA asks for, so not the bits that a GPU gives.

use super::fast::{canonical32, flush32, nan64};
use super::{Approx, Approx64, special};

/// An approximation of `f32`.
pub(super) fn one32(op: Approx, ftz: bool, a: u32, b: u32) -> u32 {
    let flush = |bits| if ftz { flush32(bits) } else { bits };
    match op {
        Approx::Div => special::div(a, b, false, ftz),
        Approx::DivFull => special::div(a, b, true, ftz),
        Approx::Rcp => special::rcp(a, ftz),
        Approx::Rsqrt => special::sqrt(a, true, ftz),
        Approx::Sqrt => special::sqrt(a, false, ftz),
        Approx::Ex2 => special::ex2(a, ftz),
        Approx::Lg2 => special::lg2(a, ftz),
        Approx::Sin => special::sine(a, false),
        Approx::Cos => special::sine(a, true),
        Approx::Tanh => flush(canonical32(libm::tanh(f64::from(f32::from_bits(flush(a)))) as f32)),
    }
}

/// A rough `rcp` or `rsqrt` of `f64`.
pub(super) fn one64(op: Approx64, bits: u64) -> u64 {
    // The rough forms see and make the upper 32 bits only, and know no subnormals.
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let flush = |bits: u64| {
        let subnormal = bits & 0x7ff0_0000_0000_0000 == 0;
        if subnormal { bits & 1 << 63 } else { bits }
    };
    match op {
        Approx64::Rsqrt => {
            let a = f64::from_bits(bits);
            nan64(1.0 / a.sqrt(), a, 0.0, 0.0)
        }
        Approx64::Rcp | Approx64::RsqrtFtz => {
            let a = f64::from_bits(flush(bits));
            // For `rsqrt` a NaN whose upper half is infinity's is infinity.
            let whole = a.is_nan() && op == Approx64::Rcp;
            let a = if whole { a } else { f64::from_bits(flush(bits & UPPER)) };
            let value = if op == Approx64::Rcp { 1.0 / a } else { 1.0 / a.sqrt() };
            flush(nan64(value, a, 0.0, 0.0) & UPPER)
        }
    }
}
