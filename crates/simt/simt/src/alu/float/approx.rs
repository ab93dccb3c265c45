//! The approximations of `f32`, and the rough `rcp` and `rsqrt` of `f64`.

use super::{Approx, Approx64, special};

/// An approximation of `f32`.
pub(super) fn one32(op: Approx, ftz: bool, a: u32, b: u32) -> u32 {
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
        Approx::Tanh => special::tanh(a),
    }
}

/// A rough `rcp` or `rsqrt` of `f64`.
pub(super) fn one64(op: Approx64, bits: u64) -> u64 {
    match op {
        Approx64::Rcp => special::rcp64(bits),
        Approx64::Rsqrt => special::rsqrt64(bits),
        Approx64::RsqrtFtz => special::rsqrt64_ftz(bits),
    }
}
