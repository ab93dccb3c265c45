//! Floating-point arithmetic (PTX ISA §9.7.3 to §9.7.5).
//!
//! NaN results: of `f32`, `f16` and `bf16` operations the canonical NaN (all bits ones but the sign). An
//! `f64` operation passes on the first of its operands that is NaN, made quiet; one that makes a NaN of
//! numbers gives 0xfff8000000000000.

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

use super::lanes::lanes_where;
use super::modifiers::Modifiers;
use crate::regs::{ALL, Pred, R32, R64, Regs};
use exact::Rounding;

/// One instruction: the operation, and the numbers of its destination and sources. Sources that the
/// operation lacks repeat the first. All registers have the operation's type, except that a test writes a predicate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float {
    pub(crate) op: FloatOp,
    pub(crate) to: u32,
    pub(crate) from: [u32; 3],
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FloatOp {
    /// An operation on `f32`, rounded to nearest; and whether subnormal operands and results become zero.
    Fast32(Fast, bool),
    /// An operation on `f64`, rounded to nearest.
    Fast64(Fast),
    /// An operation on `f32`, in any rounding mode.
    General32(General, Rounding, Modifiers),
    /// An operation on two `f32` in a register of 64 bits, in any rounding mode.
    Pair32(General, Rounding, Modifiers),
    /// An operation on `f64`, in any rounding mode.
    General64(General, Rounding),
    /// An operation on a 16-bit format.
    Half(Half, Modifiers),
    /// `min`, `max` with modifiers, or of three.
    MinMax32 {
        /// Whether the greater is the result, else the lesser.
        max: bool,
        /// Whether there are three operands.
        three: bool,
        /// The modifiers.
        modifiers: Modifiers,
    },
    /// Approximations of `f32`; and whether subnormal operands and results become zero.
    Approx32(Approx, bool),
    /// `rcp.approx.ftz.f64`, `rsqrt.approx{.ftz}.f64`
    Approx64(Approx64),
    /// `testp.f32`
    Test32(Test),
    /// `testp.f64`
    Test64(Test),
}

const _: () = assert!(size_of::<Float>() <= 24);

/// Operations with a fast path. Those of one or two operands ignore the other sources.
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

/// Operations in every rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the opcodes")]
pub enum General {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
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
    /// Runs it on all lanes, if it is one of the most frequent.
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

    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let (to32, from32) = (R32(self.to), self.from.map(R32));
        let (to64, from64) = (R64(self.to), self.from.map(R64));
        match self.op {
            FloatOp::Fast32(op, false) => fast::run32::<false>(op, regs, mask, to32, from32),
            FloatOp::Fast32(op, true) => fast::run32::<true>(op, regs, mask, to32, from32),
            FloatOp::Fast64(op) => fast::run64(op, regs, mask, to64, from64),
            FloatOp::General32(op, rounding, modifiers) => {
                general::run32(op, (rounding, modifiers), regs, mask, to32, from32);
            }
            FloatOp::Pair32(op, rounding, modifiers) => {
                general::run_pair(op, (rounding, modifiers), regs, mask, to64, from64);
            }
            FloatOp::General64(op, rounding) => {
                general::run64(op, rounding, regs, mask, to64, from64);
            }
            FloatOp::Half(op, modifiers) => half::run(op, modifiers, regs, mask, to32, from32),
            FloatOp::MinMax32 { max, three, modifiers } => {
                minmax::run32((max, three, modifiers), regs, mask, to32, from32);
            }
            FloatOp::Approx32(op, ftz) => approx::run32(op, ftz, regs, mask, to32, from32),
            FloatOp::Approx64(op) => approx::run64(op, regs, mask, to64, from64[0]),
            FloatOp::Test32(op) => {
                let from = regs.get32(from32[0]);
                let found = lanes_where(|lane| test::<8, 23>(op, u64::from(from[lane])));
                regs.set_pred(Pred(self.to), mask, found);
            }
            FloatOp::Test64(op) => {
                let from = regs.get64(from64[0]);
                let found = lanes_where(|lane| test::<11, 52>(op, from[lane]));
                regs.set_pred(Pred(self.to), mask, found);
            }
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
