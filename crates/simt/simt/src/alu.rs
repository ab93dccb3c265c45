//! Instructions that each lane executes by itself, on registers only: the types of decoded operations and
//! their execution.
//!
//! One file a family. A family has a small `Copy` type for its instructions, and `execute`, which runs one
//! on all lanes of a warp. `execute` is `#[inline(always)]` and made of loops over 32 lanes without
//! branches, so that the compiler turns them into vector code of whichever instruction set (`host_simd.rs`)
//! they are compiled for.

pub mod compare;
pub mod convert;
pub mod float;
pub mod int;
pub(crate) mod lanes;
pub mod logic;
pub mod modifiers;
pub mod video;

pub use lanes::OperandKind;

use crate::regs::{Pred, R64, Reg};

/// One instruction of any family.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are the families")]
pub enum Alu {
    Int(int::Int),
    Logic(logic::Logic),
    Float(float::Float),
    Convert(convert::Convert),
    Compare(compare::Compare),
    Video(video::Video),
}

/// How the bits of an instruction's result depend on those of its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// Each bit depends on the bits at its place.
    Bitwise,
    /// Each bit depends on the bits of the operands that are at most as high.
    Upwards,
    /// Each bit is a bit of the first operand, or a copy of its sign; the other operands decide which.
    MovesOne,
    /// Each bit is a bit of the first two operands; the other operands decide which.
    MovesTwo,
    /// Each bit depends on all bits of all operands.
    All,
}

/// What an instruction chooses from: the first register where its test holds, or else the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The registers, one of which is copied.
    pub values: [Reg; 2],
    /// The test, if it is a predicate, and whether that is negated; otherwise it compares numbers.
    pub test: Option<(Pred, bool)>,
}

impl Alu {
    /// What `selp` and `slct` choose from.
    pub fn choice(&self) -> Option<Choice> {
        match self {
            Alu::Compare(op) => op.choice(),
            _ => None,
        }
    }
}

/// `mov.b64`
pub(crate) fn copy64(to: R64, from: R64) -> Alu {
    Alu::Convert(convert::Convert::Move(convert::Move::B64 { to, from }))
}
