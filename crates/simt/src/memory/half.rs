//! 16-bit floating-point numbers in atomics: as `add`, `min` and `max` have them.

use crate::alu::float::half::{Half as Op, one};
use crate::alu::modifiers::Modifiers;

/// A 16-bit format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Half {
    F16,
    Bf16,
}

impl Half {
    fn run(self, op: Op, a: u16, b: u16) -> u16 {
        let mode = match self {
            Half::F16 => Modifiers::NONE,
            Half::Bf16 => Modifiers::BRAIN,
        };
        one(op, mode, u32::from(a), u32::from(b), 0) as u16
    }

    pub(super) fn add(self, a: u16, b: u16) -> u16 {
        self.run(Op::Add, a, b)
    }

    /// The lesser; the other one where one is NaN.
    pub(super) fn min(self, a: u16, b: u16) -> u16 {
        self.run(Op::Min, a, b)
    }

    /// The greater; the other one where one is NaN.
    pub(super) fn max(self, a: u16, b: u16) -> u16 {
        self.run(Op::Max, a, b)
    }
}

#[cfg(test)]
mod tests;
