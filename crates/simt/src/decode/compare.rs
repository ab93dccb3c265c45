//! Comparisons and selections.

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::alu::Alu;
use crate::alu::compare::{Combine, Compare, Outcome, Relation, Test};
use crate::alu::lanes::{OperandKind, RegisterNumbers};
use crate::code::{FrameInit, Pred, R32};

/// Tests of integers: the type, the test for equality, and that for an order, which bits do not have.
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

/// Makes a test of floating-point numbers for a relation.
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

/// The same with `.ftz`.
const FLUSHING_TESTS: [(&str, FloatTest); 3] = [
    ("f32", Test::F32Ftz),
    ("f16", Test::F16Ftz),
    ("f16x2", Test::F16x2Ftz),
];

/// The relations that integers are tested for.
#[derive(Clone, Copy, PartialEq)]
enum IntegerRelation {
    Equal,
    Less,
    /// Less, of unsigned types only.
    Lower,
}

/// Operators on integers: the relation, and whether its result is inverted and its operands are swapped.
const INTEGER_OPERATORS: [(&str, (IntegerRelation, bool, bool)); 10] = [
    ("eq", (IntegerRelation::Equal, false, false)),
    ("ne", (IntegerRelation::Equal, true, false)),
    ("lt", (IntegerRelation::Less, false, false)),
    ("gt", (IntegerRelation::Less, false, true)),
    ("le", (IntegerRelation::Less, true, true)),
    ("ge", (IntegerRelation::Less, true, false)),
    ("lo", (IntegerRelation::Lower, false, false)),
    ("hi", (IntegerRelation::Lower, false, true)),
    ("ls", (IntegerRelation::Lower, true, true)),
    ("hs", (IntegerRelation::Lower, true, false)),
];

/// Operators on floating-point numbers: the relation, and whether its result is inverted and its operands
/// are swapped. An operator that ends in `u` also holds where a number is NaN: `ltu` is the
/// opposite of `ge`, and so on.
const FLOAT_OPERATORS: [(&str, (Relation, bool, bool)); 14] = [
    ("eq", (Relation::Equal, false, false)),
    ("ne", (Relation::Unequal, false, false)),
    ("lt", (Relation::Less, false, false)),
    ("gt", (Relation::Less, false, true)),
    ("le", (Relation::LessOrEqual, false, false)),
    ("ge", (Relation::LessOrEqual, false, true)),
    ("equ", (Relation::Unequal, true, false)),
    ("neu", (Relation::Equal, true, false)),
    ("ltu", (Relation::LessOrEqual, true, true)),
    ("gtu", (Relation::LessOrEqual, true, false)),
    ("leu", (Relation::Less, true, true)),
    ("geu", (Relation::Less, true, false)),
    ("num", (Relation::Ordered, false, false)),
    ("nan", (Relation::Ordered, true, false)),
];

/// How `.and`, `.or` and `.xor` combine the test with a predicate, and with a negated one.
const COMBINATIONS: [(&str, [Combine; 2]); 3] = [
    ("and", [Combine::And, Combine::AndNot]),
    ("or", [Combine::Or, Combine::OrNot]),
    ("xor", [Combine::Xor, Combine::XorNot]),
];

/// The comparison that the opcode of `setp` or `set` names.
struct Comparison {
    test: Test,
    inverted: bool,
    swapped: bool,
    combine: Option<[Combine; 2]>,
    /// Whether it is of pairs of halves.
    pairs: bool,
    kind: OperandKind,
}

impl Comparison {
    fn of(operator: &str, modifiers: &[&str], ty: &str) -> Option<Self> {
        let (combine, ftz) = match modifiers {
            [] => (None, false),
            ["ftz"] => (None, true),
            [combine] => (Some(lookup(&COMBINATIONS, combine)?), false),
            [combine, "ftz"] => (Some(lookup(&COMBINATIONS, combine)?), true),
            _ => return None,
        };
        let integer = INTEGER_TESTS.iter().find(|row| row.0 == ty && !ftz);
        let (test, inverted, swapped) = match integer {
            Some((_, equal, less)) => {
                let (relation, inverted, swapped) = lookup(&INTEGER_OPERATORS, operator)?;
                let test = match relation {
                    IntegerRelation::Equal => *equal,
                    IntegerRelation::Lower if !ty.starts_with('u') => return None,
                    IntegerRelation::Less | IntegerRelation::Lower => (*less)?,
                };
                (test, inverted, swapped)
            }
            None => {
                let test = match ftz {
                    true => lookup(&FLUSHING_TESTS, ty)?,
                    false => lookup(&FLOAT_TESTS, ty)?,
                };
                let (relation, inverted, swapped) = lookup(&FLOAT_OPERATORS, operator)?;
                (test(relation), inverted, swapped)
            }
        };
        Some(Self {
            test,
            inverted,
            swapped,
            combine,
            pairs: ty.ends_with("x2"),
            kind: kind(ty)?,
        })
    }
}

/// How an operand of this type stands in a register.
fn kind(ty: &str) -> Option<OperandKind> {
    let (ty, wide) = match ty {
        "b16" | "u16" | "s16" => ("b16", false),
        "b32" | "u32" | "s32" => ("b32", false),
        "b64" | "u64" | "s64" => ("b64", true),
        "f32" => ("f32", false),
        "f64" => ("f64", true),
        "f16" => ("f16", false),
        "bf16" => ("bf16", false),
        "f16x2" => ("f16x2", false),
        "bf16x2" => ("bf16x2", false),
        _ => return None,
    };
    Some(OperandKind { ty, wide })
}

/// The value that `set` writes for true; `None` if `set` has no form for this pair of types.
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
                match Comparison::of(operator, modifiers, ty) {
                    Some(comparison) => self.setp(&comparison)?,
                    None => return Err(self.unsupported_form()),
                }
            }
            ["set", operator, modifiers @ .., to, ty] => {
                let flushes = *to == "bf16" && modifiers.contains(&"ftz");
                match (Comparison::of(operator, modifiers, ty), truth(to, ty)) {
                    (Some(comparison), Some(yes)) if !flushes => self.set(&comparison, yes)?,
                    _ => return Err(self.unsupported_form()),
                }
            }
            ["selp", ty] => match data(ty) {
                Some(kind) => self.selp(kind)?,
                None => return Err(self.unsupported_form()),
            },
            ["slct", modifiers @ .., condition @ ("s32" | "f32")] => {
                let (ty, ftz) = match modifiers {
                    [ty] => (ty, false),
                    ["ftz", ty] | [ty, "ftz"] if *condition == "f32" => (ty, true),
                    _ => return Err(self.unsupported_form()),
                };
                match data(ty) {
                    Some(kind) => self.slct(kind, condition, ftz)?,
                    None => return Err(self.unsupported_form()),
                }
            }
            _ => return Err(self.unsupported_form()),
        };
        Ok(Alu::Compare(op))
    }

    /// The comparison of an instruction with its sources: `d, a, b` or `d, a, b, predicate`.
    fn comparison(&mut self, comparison: &Comparison, outcome: Outcome) -> Decoded<Compare> {
        let mut r = RegisterNumbers::default();
        let (a, b, combine) = match (self.operands, comparison.combine) {
            ([_, a, b], None) => (a, b, Combine::No),
            ([_, a, b, other], Some([plain, negating])) => {
                let (Pred(other), negated) = self.src_pred(other)?;
                r[4] = other;
                (a, b, if negated { negating } else { plain })
            }
            (_, combine) => return Err(self.operand_count(3 + usize::from(combine.is_some()))),
        };
        let (a, b) = if comparison.swapped { (b, a) } else { (a, b) };
        r[2] = self.from(comparison.kind, a)?;
        r[3] = self.from(comparison.kind, b)?;
        Ok(Compare {
            test: comparison.test,
            inverted: comparison.inverted,
            outcome,
            combine,
            r,
        })
    }

    fn setp(&mut self, comparison: &Comparison) -> Decoded<Compare> {
        let to = self.operands.first();
        let outcome = match to {
            Some(Operand::Pair(..)) if comparison.pairs => Outcome::Halves,
            Some(Operand::Pair(..)) => Outcome::Both,
            _ => Outcome::One,
        };
        let mut compare = self.comparison(comparison, outcome)?;
        match to {
            Some(Operand::Pair(p, q)) => {
                compare.r[0] = self.dst::<Pred>(&Operand::Name(p))?.0;
                compare.r[1] = self.dst::<Pred>(&Operand::Name(q))?.0;
            }
            Some(p) => compare.r[0] = self.dst::<Pred>(p)?.0,
            None => return Err(self.operand_count(3)),
        }
        Ok(compare)
    }

    fn set(&mut self, comparison: &Comparison, yes: u32) -> Decoded<Compare> {
        let outcome = match comparison.pairs {
            true => Outcome::Values,
            false => Outcome::Value,
        };
        let mut compare = self.comparison(comparison, outcome)?;
        let [to, ..] = self.operands else {
            return Err(self.operand_count(3));
        };
        compare.r[0] = self.dst::<R32>(to)?.0;
        compare.r[1] = yes;
        Ok(compare)
    }

    /// `selp d, a, b, p`: a where p is true.
    fn selp(&mut self, kind: OperandKind) -> Decoded<Compare> {
        let [.., pred] = self.exactly::<4>()?;
        let (Pred(pred), inverted) = self.src_pred(pred)?;
        self.select(kind, (Test::Pred, inverted), [pred, 0])
    }

    /// `slct d, a, b, c`: a where c is at least zero; b if it is NaN.
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

    fn select(
        &mut self,
        kind: OperandKind,
        (test, inverted): (Test, bool),
        [a, b]: [u32; 2],
    ) -> Decoded<Compare> {
        let [to, yes, no, _] = self.exactly()?;
        let outcome = match kind.wide {
            true => Outcome::Select64,
            false => Outcome::Select32,
        };
        let (to, yes) = (self.to(kind, to)?, self.from(kind, yes)?);
        let r = [to, yes, a, b, self.from(kind, no)?, 0];
        Ok(Compare {
            test,
            inverted,
            outcome,
            combine: Combine::No,
            r,
        })
    }
}
