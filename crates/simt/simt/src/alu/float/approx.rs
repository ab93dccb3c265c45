//! The approximations in `f32`, and the approximate `rcp` and `rsqrt` in `f64`.

use super::{Approx, Approx64, special};
use crate::regs::{R32, Regs};

/// Runs an approximation in `f32`.
#[inline(always)]
pub(super) fn run32(op: Approx, ftz: bool, regs: &mut Regs<'_>, mask: u32, to: R32, [a, b, _]: [R32; 3]) {
    let (a, b) = (regs.get32(a), regs.get32(b));
    let values = match op {
        Approx::Div => special::div(a, b, false, ftz),
        Approx::DivFull => special::div(a, b, true, ftz),
        Approx::Rcp => special::rcp(a, ftz),
        Approx::Rsqrt => special::sqrt::<true, _>(a, ftz),
        Approx::Sqrt => special::sqrt::<false, _>(a, ftz),
        Approx::Ex2 => special::ex2(a, ftz),
        Approx::Lg2 => special::lg2(a, ftz),
        Approx::Sin => special::sine::<false, _>(a),
        Approx::Cos => special::sine::<true, _>(a),
        Approx::Tanh => special::tanh(a),
    };
    regs.set32(to, mask, &values);
}

/// Computes an approximate `rcp` or `rsqrt` in `f64`.
pub(super) fn one64(op: Approx64, bits: u64) -> u64 {
    match op {
        Approx64::Rcp => special::rcp64(bits),
        Approx64::Rsqrt => special::rsqrt64(bits),
        Approx64::RsqrtFtz => special::rsqrt64_ftz(bits),
    }
}
