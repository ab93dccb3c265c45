//! `setp`, `set`, `selp`, `slct` (PTX ISA §9.7.6, §9.7.7).
//!
//! An instruction has two parts: a test and an outcome. The test compares two sources and returns a mask of lanes (two
//! masks for pairs of halves). The outcome determines how the mask is used.

mod relation;

use super::Choice;
use super::lanes::{RegisterNumbers, each, ones32, ones64};
use crate::regs::{ALL, Pred, R32, R64, Reg, Regs};
pub use relation::{Relation, Test};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compare {
    /// The test of the sources.
    pub test: Test,
    /// Whether the test's result is inverted.
    pub inverted: bool,
    /// How the result is used.
    pub outcome: Outcome,
    /// How the test's result is combined with a predicate.
    pub combine: Combine,
    /// Whether the predicate of `combine` is negated.
    pub negated: bool,
    /// The registers. Registers 2 and 3 are the sources; [`Outcome`] defines the remaining registers.
    pub r: RegisterNumbers,
}

/// How the mask is used. Register 4 is the predicate that the mask is combined with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// `setp p`: writes predicate 0.
    One,
    /// `setp p|q`: writes the result to predicate 0 and the negated result to predicate 1. Both results are combined
    /// with register 4.
    Both,
    /// `setp p|q` of pairs of halves: predicate 1 receives the result for the upper halves.
    Halves,
    /// `set`: writes a number that represents true. The number is stored in place of register 1.
    Value,
    /// `set` of pairs of halves: writes a number that represents true for each half.
    Values,
    /// `selp`, `slct`: selects register 1 if the test holds, otherwise register 4.
    Select32,
    /// `selp`, `slct` on 64-bit registers.
    Select64,
}

/// `.and`, `.or`, `.xor` with a predicate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are PTX modifiers")]
pub enum Combine {
    No,
    And,
    Or,
    Xor,
}

impl Compare {
    /// Returns the operands of an unsigned less-than comparison, if this instruction is such a comparison and writes
    /// `pred`.
    pub fn operands_of(&self, pred: Pred) -> Option<[Reg; 2]> {
        let [to, _, a, b, ..] = self.r;
        let plain = self.outcome == Outcome::One && self.combine == Combine::No && to == pred.0;
        match self.test {
            Test::LtU32 if plain => Some([Reg::R32(R32(a)), Reg::R32(R32(b))]),
            Test::LtU64 if plain => Some([Reg::R64(R64(a)), Reg::R64(R64(b))]),
            _ => None,
        }
    }

    /// Returns the choice that `selp` or `slct` makes.
    pub fn choice(&self) -> Option<Choice> {
        let register: fn(u32) -> Reg = match self.outcome {
            Outcome::Select32 => |number| Reg::R32(R32(number)),
            Outcome::Select64 => |number| Reg::R64(R64(number)),
            _ => return None,
        };
        let test = (self.test == Test::Pred).then_some((Pred(self.r[2]), self.inverted));
        Some(Choice { values: [register(self.r[1]), register(self.r[4])], test })
    }

    /// Runs the instruction on the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        let r = &self.r;
        let invert = if self.inverted { ALL } else { 0 };
        let [found, upper] = self.test.masks(r, regs);
        let (found, upper) = (found ^ invert, upper ^ invert);
        let other = |regs: &Regs<'_>| regs.pred(Pred(r[4])) ^ if self.negated { ALL } else { 0 };
        let combined = |found: u32, regs: &Regs<'_>| match self.combine {
            Combine::No => found,
            Combine::And => found & other(regs),
            Combine::Or => found | other(regs),
            Combine::Xor => found ^ other(regs),
        };
        match self.outcome {
            Outcome::One => {
                let found = combined(found, regs);
                regs.set_pred(Pred(r[0]), mask, found);
            }
            Outcome::Both | Outcome::Halves => {
                let other = match self.outcome {
                    Outcome::Halves => upper,
                    _ => !found,
                };
                let (found, other) = (combined(found, regs), combined(other, regs));
                regs.set_pred(Pred(r[0]), mask, found);
                regs.set_pred(Pred(r[1]), mask, other);
            }
            Outcome::Value => {
                let found = combined(found, regs);
                let values = each(|lane| ones32(found, lane) & r[1]);
                regs.set32(R32(r[0]), mask, &values);
            }
            Outcome::Values => {
                let (low, high) = (combined(found, regs), combined(upper, regs));
                let values = each(|lane| r[1] & (ones32(low, lane) & 0xffff | ones32(high, lane) << 16));
                regs.set32(R32(r[0]), mask, &values);
            }
            Outcome::Select32 => {
                let (yes, no) = (regs.get32(R32(r[1])), regs.get32(R32(r[4])));
                let values = each(|lane| no[lane] ^ (yes[lane] ^ no[lane]) & ones32(found, lane));
                regs.set32(R32(r[0]), mask, &values);
            }
            Outcome::Select64 => {
                let (yes, no) = (regs.get64(R64(r[1])), regs.get64(R64(r[4])));
                let values = each(|lane| no[lane] ^ (yes[lane] ^ no[lane]) & ones64(found, lane));
                regs.set64(R64(r[0]), mask, &values);
            }
        }
    }
}
