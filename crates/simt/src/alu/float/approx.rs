//! The approximations of `f32`, and the rough `rcp` and `rsqrt` of `f64`.

use super::{Approx, Approx64, special};
use crate::alu::lanes::{map, map3};
use crate::regs::{R32, R64, Regs};

#[inline(never)]
pub(super) fn run32(op: Approx, ftz: bool, regs: &mut Regs<'_>, mask: u32, to: R32, from: [R32; 3]) {
    map3(regs, mask, to, from, |a, b, _| match op {
        Approx::Div => special::div(a, b, false, ftz),
        Approx::DivFull => special::div(a, b, true, ftz),
        Approx::Rcp => special::rcp(a, ftz),
        Approx::Rsqrt => special::rsqrt(a, ftz),
        Approx::Sqrt => special::sqrt(a, ftz),
        Approx::Ex2 => special::ex2(a, ftz),
        Approx::Lg2 => special::lg2(a, ftz),
        Approx::Sin => special::sine(a, false),
        Approx::Cos => special::sine(a, true),
        Approx::Tanh => special::tanh(a),
    });
}

#[inline(never)]
pub(super) fn run64(op: Approx64, regs: &mut Regs<'_>, mask: u32, to: R64, from: R64) {
    map(regs, mask, to, from, |bits| match op {
        Approx64::Rcp => special::rcp64(bits),
        Approx64::Rsqrt => special::rsqrt64(bits),
        Approx64::RsqrtFtz => special::rsqrt64_ftz(bits),
    });
}
