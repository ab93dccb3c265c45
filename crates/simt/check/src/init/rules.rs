//! The rules by which the bits of an instruction's result depend on the bits of its operands.

use super::taints::History;
use simt::alu::compare::{Combine, Compare, Outcome, Test};
use simt::alu::convert::{Convert, Move, Parts, Type};
use simt::alu::int::{Int, Op as I};
use simt::alu::logic::{Logic, Op as L};
use simt::alu::modifiers::Modifiers;
use simt::alu::{Alu, Dependence, OperandKind};
use simt::regs::{Pred, R32, R64, Reg};

/// How an instruction's result depends on its operands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    /// Each bit depends on the operand bits at the same position, by a boolean function.
    Bitwise(Vec<Reg>),
    /// Each bit is one of the bits of `data`, selected by `control`.
    Moves { data: Vec<Reg>, control: Vec<Reg> },
    /// The result is one of two values, selected by `control`.
    Choice { values: [Reg; 2], control: Vec<Reg> },
    /// Each bit depends on the operand bits at the same or lower positions.
    Upwards(Vec<Reg>),
    /// A comparison of `bits` bits, whose result may be combined with a predicate.
    Compare { operands: Vec<Reg>, bits: u32, equality: bool, combine: Combine, with: Option<(Pred, bool)> },
    /// The result does not depend on the operands.
    Constant,
    /// Each bit depends on all bits of all operands.
    All,
}

/// Returns the history of an instruction's result. `history` is the latest history of its operands.
///
/// Compilers pack the fields of a struct with `or`, `prmt` and `bfi` after shifting them by whole bytes. A shift
/// without packing counts as a multiplication. `distance` returns the shift distance in bits if it is the same in all
/// lanes.
pub(super) fn changed(history: History, alu: &Alu, distance: impl Fn(R32) -> Option<u32>) -> History {
    let (packs, copies) = (history.min(History::Copied), history);
    match (alu, history) {
        (_, History::Computed) => History::Computed,
        (Alu::Convert(Convert::Move(Move::Pack { .. })), _) => packs,
        (Alu::Convert(Convert::Move(_) | Convert::Widen { .. } | Convert::Shorten { .. }), _) => copies,
        (Alu::Compare(op), _) if matches!(op.outcome, Outcome::Select32 | Outcome::Select64) => copies,
        (Alu::Logic(op), _) => match op.op {
            L::Or32 | L::Or64 | L::Prmt => packs,
            L::Shl32 | L::Shl64 if distance(R32(op.r[2])).is_some_and(|bits| bits.is_multiple_of(8)) => {
                history.max(History::Shifted)
            }
            _ => History::Computed,
        },
        (Alu::Int(op), _) if matches!(op.op, I::Bfi32 | I::Bfi64) => packs,
        _ => History::Computed,
    }
}

fn narrow(number: u32) -> Reg {
    Reg::R32(R32(number))
}

fn wide(number: u32) -> Reg {
    Reg::R64(R64(number))
}

/// Returns the rule for an instruction that computes on registers.
pub(super) fn rule(alu: &Alu) -> Rule {
    match alu {
        Alu::Int(op) => integer(op),
        Alu::Logic(op) => logic(op),
        Alu::Convert(op) => convert(op),
        Alu::Compare(op) => compare(op),
        Alu::Float(_) | Alu::Video(_) => Rule::All,
    }
}

fn integer(op: &Int) -> Rule {
    let is_same = op.r[1] == op.r[2];
    match op.op {
        I::Sub16 | I::Sub32 | I::Sub64 if is_same => Rule::Constant,
        _ => op.op.dependence().map_or(Rule::All, |row| of_row(row, &op.r)),
    }
}

fn logic(op: &Logic) -> Rule {
    let r = &op.r;
    match op.op {
        L::Lop3 => Rule::Bitwise(vec![narrow(r[1]), narrow(r[2]), narrow(r[3])]),
        L::AndPred | L::OrPred | L::XorPred => Rule::Bitwise(vec![Reg::Pred(Pred(r[1])), Reg::Pred(Pred(r[2]))]),
        L::NotPred => Rule::Bitwise(vec![Reg::Pred(Pred(r[1]))]),
        _ => op.op.dependence().map_or(Rule::All, |row| of_row(row, r)),
    }
}

/// Returns the rule for a row of a table of `simt`, applied to the registers `r`.
fn of_row((dependence, kinds): (Dependence, &[OperandKind]), r: &[u32; 6]) -> Rule {
    let mut operands: Vec<Reg> = kinds
        .iter()
        .zip(r)
        .skip(1)
        .map(|(kind, number)| if kind.wide { wide(*number) } else { narrow(*number) })
        .collect();
    match dependence {
        Dependence::Bitwise => Rule::Bitwise(operands),
        Dependence::Upwards => Rule::Upwards(operands),
        Dependence::MovesOne => Rule::Moves { control: operands.split_off(1), data: operands },
        Dependence::MovesTwo => Rule::Moves { control: operands.split_off(2), data: operands },
        Dependence::All => Rule::All,
    }
}

fn convert(op: &Convert) -> Rule {
    let moves = |data: Vec<Reg>| Rule::Moves { data, control: Vec::new() };
    match *op {
        Convert::Move(Move::Pred { from, .. }) => Rule::Bitwise(vec![Reg::Pred(from)]),
        Convert::Move(Move::B64 { from, .. }) => moves(vec![Reg::R64(from)]),
        Convert::Move(Move::Two64 { from, .. }) => moves(from.map(Reg::R64).into()),
        Convert::Move(Move::Pack { parts, from, .. }) => {
            let count = match parts {
                Parts::B8x2 | Parts::B16x2 | Parts::B32x2 => 2,
                Parts::B8x4 | Parts::B16x4 => 4,
            };
            moves(from[..count].iter().map(|number| Reg::R32(*number)).collect())
        }
        Convert::Move(Move::Unpack { parts, from, .. }) => match parts {
            Parts::B8x2 | Parts::B8x4 | Parts::B16x2 => moves(vec![narrow(from)]),
            Parts::B16x4 | Parts::B32x2 => moves(vec![wide(from)]),
        },
        Convert::Move(Move::B32 { from, .. } | Move::B16 { from, .. } | Move::Wide { from, .. })
        | Convert::Resize { from, .. }
        | Convert::Widen { from, .. } => moves(vec![Reg::R32(from)]),
        Convert::Shorten { from, .. } => moves(vec![Reg::R64(from)]),
        Convert::Any { from, wide: [_, is_wide], spec, .. } => {
            match (spec.from, spec.to, spec.modifiers == Modifiers::NONE) {
                (Type::Int(..), Type::Int(..), true) => moves(vec![if is_wide { wide(from) } else { narrow(from) }]),
                _ => Rule::All,
            }
        }
        _ => Rule::All,
    }
}

/// Returns the registers that a test compares, and the number of bits that it compares.
fn tested(test: Test, r: &[u32; 6]) -> (Vec<Reg>, u32) {
    let both = |make: fn(u32) -> Reg| vec![make(r[2]), make(r[3])];
    match test {
        Test::Pred => (vec![Reg::Pred(Pred(r[2]))], 1),
        Test::Eq16 | Test::LtU16 | Test::LtS16 | Test::F16(_) | Test::F16Ftz(_) | Test::Bf16(_) => (both(narrow), 16),
        Test::Eq64 | Test::LtU64 | Test::LtS64 | Test::F64(_) => (both(wide), 64),
        _ => (both(narrow), 32),
    }
}

fn compare(op: &Compare) -> Rule {
    let r = &op.r;
    let (operands, bits) = tested(op.test, r);
    let choice = |make: fn(u32) -> Reg| Rule::Choice { values: [make(r[1]), make(r[4])], control: operands.clone() };
    match op.outcome {
        Outcome::One | Outcome::Both => Rule::Compare {
            equality: matches!(op.test, Test::Eq16 | Test::Eq32 | Test::Eq64),
            operands,
            bits,
            combine: op.combine,
            with: (op.combine != Combine::No).then_some((Pred(r[4]), op.negated)),
        },
        Outcome::Select32 => choice(narrow),
        Outcome::Select64 => choice(wide),
        Outcome::Halves | Outcome::Value | Outcome::Values => Rule::All,
    }
}
