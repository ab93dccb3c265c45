//! Floating-point arithmetic (PTX ISA §9.7.3 to §9.7.5).
//!
//! NaN results: `f32`, `f16` and `bf16` operations return the canonical NaN (all bits ones except the sign). An `f64`
//! operation returns its first NaN operand as a quiet NaN; if no operand is NaN, a NaN result is 0xfff8000000000000.

mod approx;
pub mod exact;
mod fast;
mod general;
pub(crate) mod half;
mod minmax;
mod special;

pub(crate) use fast::{canonical32, flush32, fused_multiply_add, nan64};
pub(super) use general::saturate;
pub(super) use half::{from_bf16, from_f16};

use super::lanes::{lanes_where, map3};
use super::modifiers::Modifiers;
use crate::regs::{ALL, Pred, R32, R64, Regs};
use exact::{Format, Rounding};

/// One instruction: the operation, and the numbers of its destination and source registers. If an operation has fewer
/// than three sources, the remaining ones repeat the first. All registers have the operation's type, except a test's
/// predicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float {
    pub(crate) op: FloatOp,
    pub(crate) to: u32,
    pub(crate) from: [u32; 3],
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FloatOp {
    /// An operation on `f32`, rounded to nearest. The flag states whether subnormal operands and results are flushed to
    /// zero.
    Fast32(Fast, bool),
    /// An operation on `f64`, rounded to nearest.
    Fast64(Fast),
    /// An operation on `f32`, in any rounding mode.
    General32(Fast, Rounding, Modifiers),
    /// An operation on two `f32` values in a 64-bit register, in any rounding mode.
    Pair32(Fast, Rounding, Modifiers),
    /// An operation on `f64`, in any rounding mode.
    General64(Fast, Rounding),
    /// An operation on a 16-bit format.
    Half(Half, Modifiers),
    /// `min` or `max` with modifiers or three operands.
    MinMax32 {
        /// Whether the result is the greater operand instead of the lesser one.
        max: bool,
        /// Whether there are three operands.
        three: bool,
        /// The modifiers.
        modifiers: Modifiers,
    },
    /// An approximation in `f32`. The flag states whether subnormal operands and results are flushed to zero.
    Approx32(Approx, bool),
    /// `rcp.approx.ftz.f64`, `rsqrt.approx{.ftz}.f64`
    Approx64(Approx64),
    /// `testp.f32`
    Test32(Test),
    /// `testp.f64`
    Test64(Test),
}

const _: () = assert!(size_of::<Float>() <= 24);

/// Operations with a fast path. The operations up to `Sqrt` also support other rounding modes. Operations with one or
/// two operands ignore the remaining sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the opcodes")]
pub enum Fast {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
    Min,
    Max,
    Abs,
    Neg,
    Copysign,
}

/// Operations of the 16-bit formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the opcodes")]
pub enum Half {
    Add,
    Sub,
    Mul,
    Fma,
    Min,
    Max,
    Abs,
    Neg,
    Ex2,
    Tanh,
}

/// Approximations of `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the opcodes")]
pub enum Approx {
    /// `div.approx`
    Div,
    /// `div.full`
    DivFull,
    Rcp,
    Rsqrt,
    Sqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Approximations of `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approx64 {
    /// `rcp.approx.ftz.f64`
    Rcp,
    /// `rsqrt.approx.ftz.f64`
    RsqrtFtz,
    /// `rsqrt.approx.f64`
    Rsqrt,
}

/// `testp`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Test {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Float {
    /// Runs the instruction on all lanes, if it is one of the most frequent instructions.
    #[inline(always)]
    pub(crate) fn fast_path(&self, regs: &mut Regs<'_>) -> bool {
        let FloatOp::Fast32(op, false) = self.op else {
            return false;
        };
        let (to, from) = (R32(self.to), self.from.map(R32));
        match op {
            Fast::Add => fast::run32::<false>(Fast::Add, regs, ALL, to, from),
            Fast::Mul => fast::run32::<false>(Fast::Mul, regs, ALL, to, from),
            Fast::Fma => fast::run32::<false>(Fast::Fma, regs, ALL, to, from),
            _ => return false,
        }
        true
    }

    /// Runs the instruction on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let (to32, from32) = (R32(self.to), self.from.map(R32));
        let (to64, from64) = (R64(self.to), self.from.map(R64));
        match self.op {
            FloatOp::Fast32(op, false) => fast::run32::<false>(op, regs, mask, to32, from32),
            FloatOp::Fast32(op, true) => fast::run32::<true>(op, regs, mask, to32, from32),
            FloatOp::Fast64(op) => fast::run64(op, regs, mask, to64, from64),
            FloatOp::Approx32(op, ftz) => approx::run32(op, ftz, regs, mask, to32, from32),
            FloatOp::General32(..) | FloatOp::Half(..) | FloatOp::MinMax32 { .. } => self.run32(regs, mask),
            FloatOp::Pair32(..) | FloatOp::General64(..) | FloatOp::Approx64(_) => self.run64(regs, mask),
            FloatOp::Test32(op) => {
                let from = regs.get32(from32[0]);
                regs.set_pred(Pred(self.to), mask, lanes_where(|lane| test::<8, 23>(op, u64::from(from[lane]))));
            }
            FloatOp::Test64(op) => {
                let from = regs.get64(from64[0]);
                regs.set_pred(Pred(self.to), mask, lanes_where(|lane| test::<11, 52>(op, from[lane])));
            }
        }
    }

    /// Runs an operation on 32-bit registers that does not have a vectorized loop.
    #[inline(never)]
    fn run32(&self, regs: &mut Regs<'_>, mask: u32) {
        let (to, from) = (R32(self.to), self.from.map(R32));
        match self.op {
            FloatOp::General32(op, rounding, modifiers) => {
                map3(regs, mask, to, from, |a, b, c| general::one32(op, rounding, modifiers, [a, b, c]));
            }
            FloatOp::Half(op, modifiers) => map3(regs, mask, to, from, |a, b, c| {
                let low = half::one(op, modifiers, a & 0xffff, b & 0xffff, c & 0xffff);
                let high = || half::one(op, modifiers, a >> 16, b >> 16, c >> 16) << 16;
                if modifiers.has(Modifiers::PACKED) { low | high() } else { low }
            }),
            FloatOp::MinMax32 { max, three, modifiers } => map3(regs, mask, to, from, |a, b, c| {
                let flush = |bits| if modifiers.has(Modifiers::FTZ) { flush32(bits) } else { bits };
                let pick = |a, b| minmax::min_max(max, modifiers, Format::F32, a, b);
                let two = pick(flush(a), flush(b));
                if three { pick(two, flush(c)) } else { two }
            }),
            _ => {}
        }
    }

    /// Runs an operation on 64-bit registers that does not have a vectorized loop.
    #[inline(never)]
    fn run64(&self, regs: &mut Regs<'_>, mask: u32) {
        let (to, from) = (R64(self.to), self.from.map(R64));
        match self.op {
            FloatOp::Pair32(op, rounding, modifiers) => map3(regs, mask, to, from, |a, b, c| {
                let one = |at: u32| {
                    let operands = [a, b, c].map(|bits| (bits >> at) as u32);
                    u64::from(general::one32(op, rounding, modifiers, operands)) << at
                };
                one(0) | one(32)
            }),
            FloatOp::General64(op, rounding) => {
                map3(regs, mask, to, from, |a, b, c| general::one64(op, rounding, [a, b, c]));
            }
            FloatOp::Approx64(op) => map3(regs, mask, to, from, |a, _, _| approx::one64(op, a)),
            _ => {}
        }
    }
}

/// `testp` (§9.7.3.1): zero counts as normal.
#[inline(always)]
fn test<const EXPONENT: u32, const MANTISSA: u32>(op: Test, bits: u64) -> bool {
    let infinity = ((1 << EXPONENT) - 1) << MANTISSA;
    let magnitude = bits & ((1 << (EXPONENT + MANTISSA)) - 1);
    let subnormal = magnitude != 0 && magnitude < 1 << MANTISSA;
    match op {
        Test::Finite => magnitude < infinity,
        Test::Infinite => magnitude == infinity,
        Test::Number => magnitude <= infinity,
        Test::NotANumber => magnitude > infinity,
        Test::Normal => magnitude < infinity && !subnormal,
        Test::Subnormal => subnormal,
    }
}
