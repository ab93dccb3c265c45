//! The known properties of a value, and how instructions combine values.

use super::Sources;
use simt::alu::Alu;
use simt::alu::compare::Outcome;
use simt::alu::convert::{Convert, Move, Parts};
use simt::alu::{int, logic};

/// The known sources of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) sources: Sources,
    /// Whether the value may come from any source.
    pub(super) unknown: bool,
    /// Whether the value may be a part of an address, or a 32-bit address, from any source.
    pub(super) partial: bool,
}

pub(super) const UNKNOWN: Value = Value { sources: 0, unknown: true, partial: false };
pub(super) const PARTIAL: Value = Value { sources: 0, unknown: false, partial: true };

impl Value {
    /// Joins two values: the result may be either of them.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            sources: self.sources | other.sources,
            unknown: self.unknown | other.unknown,
            partial: self.partial | other.partial,
        }
    }

    /// Returns a value of `bytes` bytes that was read from memory.
    pub(super) fn read(bytes: u32) -> Self {
        if bytes >= 8 { UNKNOWN } else { PARTIAL }
    }
}

/// How an instruction combines its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combination {
    /// The result is one of the operands.
    Choice,
    /// At most one operand is an address, and the other operands are distances.
    Sum,
    Difference,
    /// The instruction may join parts of an address to a whole address.
    Join,
    /// A truth value.
    Number,
}

/// Returns how an instruction on registers combines its operands.
pub(super) fn combination(alu: &Alu) -> Combination {
    use int::Op as I;
    use logic::Op as L;
    match alu {
        Alu::Int(op) => match op.op {
            I::Sub32 | I::Sub64 => Combination::Difference,
            I::MinU32 | I::MinS32 | I::MinU64 | I::MinS64 | I::MaxU32 | I::MaxS32 | I::MaxU64 | I::MaxS64 => {
                Combination::Choice
            }
            I::Bfi64 => Combination::Join,
            _ => Combination::Sum,
        },
        Alu::Logic(op) => match op.op {
            L::Or64 | L::Xor64 => Combination::Join,
            _ => Combination::Sum,
        },
        Alu::Convert(Convert::Move(Move::Pack { parts: Parts::B16x4 | Parts::B32x2, .. })) => Combination::Join,
        Alu::Convert(_) => Combination::Choice,
        Alu::Compare(compare) => match compare.outcome {
            Outcome::Select32 | Outcome::Select64 => Combination::Choice,
            _ => Combination::Number,
        },
        Alu::Float(_) | Alu::Video(_) => Combination::Sum,
    }
}
