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

pub(super) use general::saturate;
pub(super) use half::{from_bf16, from_f16};

use super::lanes::lanes_where;
use super::modifiers::Modifiers;
use crate::regs::{ALL, Pred, R32, R64, Regs};
use exact::Rounding;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a destination and sources")]
pub enum Float {
    /// Of `f32`, to nearest.
    Fast32 {
        op: Fast,
        /// Whether subnormal operands and results become zero.
        ftz: bool,
        to: R32,
        from: [R32; 3],
    },
    /// Of `f64`, to nearest.
    Fast64 { op: Fast, to: R64, from: [R64; 3] },
    /// Of `f32`, in any mode.
    General32 {
        op: General,
        rounding: Rounding,
        modifiers: Modifiers,
        to: R32,
        from: [R32; 3],
    },
    /// Of `f64`, in any mode.
    General64 {
        op: General,
        rounding: Rounding,
        to: R64,
        from: [R64; 3],
    },
    /// Of 16-bit formats.
    Half {
        op: Half,
        modifiers: Modifiers,
        to: R32,
        from: [R32; 3],
    },
    /// `min`, `max` with modifiers, or of three.
    MinMax32 {
        /// Whether the greater is the result, else the lesser.
        max: bool,
        /// Whether there are three operands.
        three: bool,
        modifiers: Modifiers,
        to: R32,
        from: [R32; 3],
    },
    /// Approximations of `f32`.
    Approx32 {
        op: Approx,
        ftz: bool,
        to: R32,
        from: R32,
    },
    /// `rcp.approx.ftz.f64`, `rsqrt.approx{.ftz}.f64`
    Approx64 { op: Approx64, to: R64, from: R64 },
    /// `testp.f32`
    Test32 { op: Test, to: Pred, from: R32 },
    /// `testp.f64`
    Test64 { op: Test, to: Pred, from: R64 },
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
    /// `div.approx`: a quotient that is lost where the divisor's reciprocal would be subnormal.
    DivApprox,
    Sqrt,
    /// 1 / √a
    Rsqrt,
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
        let Float::Fast32 {
            op,
            ftz: false,
            to,
            from,
        } = *self
        else {
            return false;
        };
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
        match *self {
            Float::Fast32 {
                op,
                ftz: false,
                to,
                from,
            } => fast::run32::<false>(op, regs, mask, to, from),
            Float::Fast32 {
                op,
                ftz: true,
                to,
                from,
            } => fast::run32::<true>(op, regs, mask, to, from),
            Float::Fast64 { op, to, from } => fast::run64(op, regs, mask, to, from),
            Float::General32 {
                op,
                rounding,
                modifiers,
                to,
                from,
            } => general::run32(op, (rounding, modifiers), regs, mask, to, from),
            Float::General64 {
                op,
                rounding,
                to,
                from,
            } => general::run64(op, rounding, regs, mask, to, from),
            Float::Half {
                op,
                modifiers,
                to,
                from,
            } => half::run(op, modifiers, regs, mask, to, from),
            Float::MinMax32 {
                max,
                three,
                modifiers,
                to,
                from,
            } => minmax::run32((max, three, modifiers), regs, mask, to, from),
            Float::Approx32 { op, ftz, to, from } => {
                approx::run32(op, ftz, regs, mask, to, from);
            }
            Float::Approx64 { op, to, from } => approx::run64(op, regs, mask, to, from),
            Float::Test32 { op, to, from } => {
                let from = regs.get32(from);
                let found = lanes_where(|lane| test::<8, 23>(op, u64::from(from[lane])));
                regs.set_pred(to, mask, found);
            }
            Float::Test64 { op, to, from } => {
                let from = regs.get64(from);
                let found = lanes_where(|lane| test::<11, 52>(op, from[lane]));
                regs.set_pred(to, mask, found);
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

#[cfg(test)]
mod tests;
