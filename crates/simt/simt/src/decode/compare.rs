//! Comparisons and selections.

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::alu::Alu;
use crate::alu::compare::{Combine, Compare, Outcome, Relation, Test};
use crate::alu::lanes::{OperandKind, RegisterNumbers};
use crate::code::{FrameInit, Pred, R32};

/// Tests of integers: the type, the equality test, and the order test. Untyped bits (`.b16` and so on) do not have an
/// order test.
const INTEGER_TESTS: [(&str, Test, Option<Test>); 9] = [
    ("b16", Test::Eq16, None),
    ("u16", Test::Eq16, Some(Test::LtU16)),
    ("s16", Test::Eq16, Some(Test::LtS16)),
    ("b32", Test::Eq32, None),
    ("u32", Test::Eq32, Some(Test::LtU32)),
    ("s32", Test::Eq32, Some(Test::LtS32)),
    ("b64", Test::Eq64, None),
    ("u64", Test::Eq64, Some(Test::LtU64)),
    ("s64", Test::Eq64, Some(Test::LtS64)),
];

/// Returns the floating-point test of a relation.
type FloatTest = fn(Relation) -> Test;

/// Tests of floating-point numbers by type.
const FLOAT_TESTS: [(&str, FloatTest); 6] = [
    ("f32", Test::F32),
    ("f64", Test::F64),
    ("f16", Test::F16),
    ("bf16", Test::Bf16),
    ("f16x2", Test::F16x2),
    ("bf16x2", Test::Bf16x2),
];

/// Tests of floating-point numbers with `.ftz`, by type.
const FLUSHING_TESTS: [(&str, FloatTest); 3] =
    [("f32", Test::F32Ftz), ("f16", Test::F16Ftz), ("f16x2", Test::F16x2Ftz)];

/// Operators on integers: whether the operator tests equality, whether its result is inverted, and whether its operands
/// are swapped.
const INTEGER_OPERATORS: [(&str, (bool, bool, bool)); 6] = [
    ("eq", (true, false, false)),
    ("ne", (true, true, false)),
    ("lt", (false, false, false)),
    ("gt", (false, false, true)),
    ("le", (false, true, true)),
    ("ge", (false, true, false)),
];

/// Aliases of operators, for unsigned types only.
const UNSIGNED_OPERATORS: [(&str, &str); 4] = [("lo", "lt"), ("hi", "gt"), ("ls", "le"), ("hs", "ge")];

/// Operators on floating-point numbers: the relation, whether its result is inverted, and whether its operands are
/// swapped.
const FLOAT_OPERATORS: [(&str, (Relation, bool, bool)); 8] = [
    ("eq", (Relation::Equal, false, false)),
    ("ne", (Relation::Unequal, false, false)),
    ("lt", (Relation::Less, false, false)),
    ("gt", (Relation::Less, false, true)),
    ("le", (Relation::LessOrEqual, false, false)),
    ("ge", (Relation::LessOrEqual, false, true)),
    ("num", (Relation::Ordered, false, false)),
    ("nan", (Relation::Ordered, true, false)),
];

/// Operators that are also true if an operand is NaN, and the operators that they negate.
const UNORDERED_OPERATORS: [(&str, &str); 6] =
    [("equ", "ne"), ("neu", "eq"), ("ltu", "ge"), ("gtu", "le"), ("leu", "gt"), ("geu", "lt")];

/// How the test is combined with a predicate.
const COMBINATIONS: [(&str, Combine); 3] = [("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)];

/// The comparison specified by the opcode of `setp` or `set`.
struct Comparison {
    test: Test,
    inverted: bool,
    swapped: bool,
    combine: Combine,
    /// Whether the operands are pairs of halves.
    pairs: bool,
    kind: OperandKind,
}

impl Comparison {
    fn of(operator: &str, modifiers: &[&str], ty: &str) -> Option<Self> {
        let combine = modifiers.iter().find_map(|word| lookup(&COMBINATIONS, word)).unwrap_or(Combine::No);
        let ftz = modifiers.contains(&"ftz");
        let integer = INTEGER_TESTS.iter().find(|row| row.0 == ty && !ftz);
        let (test, inverted, swapped) = match integer {
            Some((_, equal, less)) => {
                let operator = match lookup(&UNSIGNED_OPERATORS, operator) {
                    Some(_) if !ty.starts_with('u') => return None,
                    other => other.unwrap_or(operator),
                };
                let (equality, inverted, swapped) = lookup(&INTEGER_OPERATORS, operator)?;
                let test = if equality { *equal } else { (*less)? };
                (test, inverted, swapped)
            }
            None => {
                let test = match ftz {
                    true => lookup(&FLUSHING_TESTS, ty)?,
                    false => lookup(&FLOAT_TESTS, ty)?,
                };
                let opposite = lookup(&UNORDERED_OPERATORS, operator);
                let (relation, inverted, swapped) = lookup(&FLOAT_OPERATORS, opposite.unwrap_or(operator))?;
                (test(relation), inverted != opposite.is_some(), swapped)
            }
        };
        Some(Self { test, inverted, swapped, combine, pairs: ty.ends_with("x2"), kind: kind(ty)? })
    }
}

/// Returns how an operand of this type is stored in a register; integers are stored as bits.
fn kind(ty: &str) -> Option<OperandKind> {
    const TYPES: [&str; 9] = ["b16", "b32", "b64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"];
    let bits = ty.replace(['u', 's'], "b");
    let ty = *TYPES.iter().find(|ty| **ty == bits)?;
    Some(OperandKind { ty, wide: ty.ends_with("64") })
}

/// Returns the value that `set` writes for true; `None` if `set` has no form for this pair of types.
fn truth(to: &str, from: &str) -> Option<u32> {
    let half = matches!(from, "f16" | "bf16");
    Some(match (to, from) {
        ("f16x2", "f16x2") => 0x3c00_3c00,
        ("bf16x2", "bf16x2") => 0x3f80_3f80,
        ("u32" | "s32", _) => u32::MAX,
        (_, "f16x2" | "bf16x2") => return None,
        ("u16" | "s16", _) if half => 0xffff,
        ("f32", _) if !half => 1f32.to_bits(),
        ("f16", _) if from != "bf16" => 0x3c00,
        ("bf16", _) => 0x3f80,
        _ => return None,
    })
}

impl Decoder<'_, '_, '_> {
    pub(super) fn compare(&mut self) -> Decoded<Alu> {
        let data = |ty: &str| kind(ty).filter(|kind| !kind.ty.contains("16") || kind.ty == "b16");
        let op = match self.words {
            ["setp", operator, modifiers @ .., ty] => {
                Comparison::of(operator, modifiers, ty).map(|comparison| self.comparison(&comparison, None))
            }
            ["set", operator, modifiers @ .., to, ty] => Comparison::of(operator, modifiers, ty)
                .zip(truth(to, ty))
                .filter(|_| *to != "bf16" || !modifiers.contains(&"ftz"))
                .map(|(comparison, yes)| self.comparison(&comparison, Some(yes))),
            ["selp", ty] => data(ty).map(|kind| self.selp(kind)),
            ["slct", ty, condition] => data(ty).map(|kind| self.slct(kind, condition, false)),
            ["slct", "ftz", ty, condition @ "f32"] => data(ty).map(|kind| self.slct(kind, condition, true)),
            _ => None,
        };
        op.unwrap_or_else(|| Err(self.unsupported_form())).map(Alu::Compare)
    }

    /// `setp d, a, b`, `setp d, a, b, predicate`, or `set`, which writes `yes` for true.
    fn comparison(&mut self, comparison: &Comparison, yes: Option<u32>) -> Decoded<Compare> {
        let mut r = RegisterNumbers::default();
        let ([to, a, b], other) = self.first()?;
        let combine = comparison.combine;
        let negated = match other {
            [other] if combine != Combine::No => {
                let (Pred(other), negated) = self.src_pred(other)?;
                r[4] = other;
                negated
            }
            [] if combine == Combine::No => false,
            _ => return Err(self.unsupported_form()),
        };
        let (a, b) = if comparison.swapped { (b, a) } else { (a, b) };
        r[2] = self.from(comparison.kind, a)?;
        r[3] = self.from(comparison.kind, b)?;
        let pairs = comparison.pairs;
        let outcome = match (to, yes) {
            (to, Some(yes)) => {
                (r[0], r[1]) = (self.dst::<R32>(to)?.0, yes);
                if pairs { Outcome::Values } else { Outcome::Value }
            }
            (Operand::Pair(p, q), None) => {
                r[0] = self.dst::<Pred>(&Operand::Name(p))?.0;
                r[1] = self.dst::<Pred>(&Operand::Name(q))?.0;
                if pairs { Outcome::Halves } else { Outcome::Both }
            }
            (p, None) => {
                r[0] = self.dst::<Pred>(p)?.0;
                Outcome::One
            }
        };
        Ok(Compare { test: comparison.test, inverted: comparison.inverted, outcome, combine, negated, r })
    }

    /// `selp d, a, b, p`: `a` if `p` is true, otherwise `b`.
    fn selp(&mut self, kind: OperandKind) -> Decoded<Compare> {
        let [.., pred] = self.exactly::<4>()?;
        let (Pred(pred), inverted) = self.src_pred(pred)?;
        self.select(kind, (Test::Pred, inverted), [pred, 0])
    }

    /// `slct d, a, b, c`: `a` if `c` is at least zero; `b` if `c` is less or NaN.
    fn slct(&mut self, kind: OperandKind, condition: &str, ftz: bool) -> Decoded<Compare> {
        let [.., value] = self.exactly::<4>()?;
        let value = self.src::<R32>(value, condition)?.0;
        let zero = self.initialized::<R32>(FrameInit::Number(0)).0;
        let relation = Relation::LessOrEqual;
        let (test, sources) = match (condition, ftz) {
            ("f32", true) => ((Test::F32Ftz(relation), false), [zero, value]),
            ("f32", false) => ((Test::F32(relation), false), [zero, value]),
            _ => ((Test::LtS32, true), [value, zero]),
        };
        self.select(kind, test, sources)
    }

    fn select(&mut self, kind: OperandKind, (test, inverted): (Test, bool), [a, b]: [u32; 2]) -> Decoded<Compare> {
        let [to, yes, no, _] = self.exactly()?;
        let outcome = match kind.wide {
            true => Outcome::Select64,
            false => Outcome::Select32,
        };
        let (to, yes) = (self.to(kind, to)?, self.from(kind, yes)?);
        let r = [to, yes, a, b, self.from(kind, no)?, 0];
        Ok(Compare { test, inverted, outcome, combine: Combine::No, negated: false, r })
    }
}
