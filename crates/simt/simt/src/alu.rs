//! Instructions that each lane executes independently, on registers only: the decoded operations and their execution.
//!
//! Each family has one file. The file contains a small `Copy` type for the family's instructions, and a method
//! `execute` that runs one instruction on all lanes of a warp. `execute` is `#[inline(always)]` and consists of
//! branch-free loops over 32 lanes. `host_simd.rs` compiles these loops once for each supported instruction set, and
//! the compiler vectorizes them.

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

/// How the bits of an instruction's result depend on the bits of its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    /// Each bit depends on the operands' bits at the same position.
    Bitwise,
    /// Each bit depends on the operands' bits at the same or lower positions.
    Upwards,
    /// Each bit is a bit of the first operand, or a copy of its sign bit; the other operands select the bit.
    MovesOne,
    /// Each bit is a bit of one of the first two operands; the other operands select the bit.
    MovesTwo,
    /// Each bit depends on all bits of all operands.
    All,
}

/// The two registers that an instruction selects from, and its test: the instruction selects the first register if the
/// test holds, otherwise the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The two registers; the instruction copies one of them.
    pub values: [Reg; 2],
    /// The tested predicate, and whether it is negated; `None` if the test compares numbers.
    pub test: Option<(Pred, bool)>,
}

impl Alu {
    /// Returns the choice that `selp` or `slct` makes.
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
