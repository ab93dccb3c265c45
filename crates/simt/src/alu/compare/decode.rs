//! From an AST instruction to a [`Compare`].

use super::test::{Relation, Test};
use super::{Combine, Compare, Then};
use crate::alu::lanes::{self, Kind, Numbers};
use crate::code::Pred;
use crate::lower::{Context, Refusal};
use ptx::ast::{Instruction, Operand};

/// Decodes an instruction of this family; `None` if the opcode is not its own, or no form of it.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Compare>, Refusal> {
    match words {
        ["setp", operator, modifiers @ .., ty] => {
            let Some(comparison) = Comparison::of(operator, modifiers, ty) else {
                return Ok(None);
            };
            setp(inst, comparison, cx).map(Some)
        }
        ["set", operator, modifiers @ .., to, ty] => {
            let comparison = Comparison::of(operator, modifiers, ty);
            let (Some(comparison), Some(yes)) = (comparison, truth(to, ty)) else {
                return Ok(None);
            };
            set(inst, comparison, yes, cx).map(Some)
        }
        ["selp", ty] => match data(ty) {
            Some(kind) => selp(inst, kind, cx).map(Some),
            None => Ok(None),
        },
        ["slct", ty, "s32"] => match data(ty) {
            Some(kind) => slct(inst, kind, None, cx).map(Some),
            None => Ok(None),
        },
        ["slct", ty, "f32"] => match data(ty) {
            Some(kind) => slct(inst, kind, Some(false), cx).map(Some),
            None => Ok(None),
        },
        ["slct", "ftz", ty, "f32"] | ["slct", ty, "ftz", "f32"] => match data(ty) {
            Some(kind) => slct(inst, kind, Some(true), cx).map(Some),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// What the opcode of `setp` or `set` says about the comparison.
struct Comparison {
    test: Test,
    inverted: bool,
    swapped: bool,
    /// `.and`, `.or`, `.xor`.
    combine: Combine,
    kind: Kind,
}

impl Comparison {
    fn of(operator: &str, modifiers: &[&str], ty: &str) -> Option<Self> {
        let (combine, ftz) = match modifiers {
            [] => (Combine::No, false),
            ["ftz"] => (Combine::No, true),
            [combine] => (boolean(combine)?, false),
            [combine, "ftz"] => (boolean(combine)?, true),
            _ => return None,
        };
        let float = |test: fn(Relation) -> Test| {
            let (relation, inverted, swapped) = floats(operator)?;
            Some((test(relation), inverted, swapped))
        };
        let (test, inverted, swapped) = match (ty, ftz) {
            ("b16" | "u16" | "s16", false) => {
                integers(operator, ty, Test::Eq16, Test::LtU16, Test::LtS16)
            }
            ("b32" | "u32" | "s32", false) => {
                integers(operator, ty, Test::Eq32, Test::LtU32, Test::LtS32)
            }
            ("b64" | "u64" | "s64", false) => {
                integers(operator, ty, Test::Eq64, Test::LtU64, Test::LtS64)
            }
            ("f32", false) => float(Test::F32),
            ("f32", true) => float(Test::F32Ftz),
            ("f64", false) => float(Test::F64),
            ("f16", false) => float(Test::F16),
            ("f16", true) => float(Test::F16Ftz),
            ("bf16", false) => float(Test::Bf16),
            ("f16x2", false) => float(Test::F16x2),
            ("f16x2", true) => float(Test::F16x2Ftz),
            ("bf16x2", false) => float(Test::Bf16x2),
            _ => None,
        }?;
        Some(Self {
            test,
            inverted,
            swapped,
            combine,
            kind: kind(ty)?,
        })
    }

    /// Whether it is of pairs of halves.
    fn pairs(&self) -> bool {
        matches!(
            self.test,
            Test::F16x2(_) | Test::F16x2Ftz(_) | Test::Bf16x2(_)
        )
    }

    /// Reads the sources and the predicate that they are combined with, if there is one.
    fn sources(
        &mut self,
        inst: &Instruction<'_>,
        r: &mut Numbers,
        cx: &mut Context<'_, '_>,
    ) -> Result<(), Refusal> {
        let (a, b) = match &inst.operands[..] {
            [_, a, b] if self.combine == Combine::No => (a, b),
            [_, a, b, other] if self.combine != Combine::No => {
                let (Pred(other), negated) = cx.src_pred(other)?;
                r[4] = other;
                self.combine = match (self.combine, negated) {
                    (Combine::And, true) => Combine::AndNot,
                    (Combine::Or, true) => Combine::OrNot,
                    (Combine::Xor, true) => Combine::XorNot,
                    (combine, _) => combine,
                };
                (a, b)
            }
            _ => {
                let wanted = if self.combine == Combine::No { 3 } else { 4 };
                return Err(lanes::count(inst, wanted, cx));
            }
        };
        let (a, b) = if self.swapped { (b, a) } else { (a, b) };
        r[2] = self.kind.from(a, cx)?;
        r[3] = self.kind.from(b, cx)?;
        Ok(())
    }
}

fn boolean(word: &str) -> Option<Combine> {
    Some(match word {
        "and" => Combine::And,
        "or" => Combine::Or,
        "xor" => Combine::Xor,
        _ => return None,
    })
}

/// The test for integers, whether its result is inverted, and whether its operands are swapped.
fn integers(
    operator: &str,
    ty: &str,
    equal: Test,
    less_unsigned: Test,
    less_signed: Test,
) -> Option<(Test, bool, bool)> {
    let less = match ty.as_bytes().first()? {
        b'u' => Some(less_unsigned),
        b's' => Some(less_signed),
        // Bits have no order.
        _ => None,
    };
    let unsigned = less.filter(|less| *less == less_unsigned);
    Some(match operator {
        "eq" => (equal, false, false),
        "ne" => (equal, true, false),
        "lt" => (less?, false, false),
        "gt" => (less?, false, true),
        "le" => (less?, true, true),
        "ge" => (less?, true, false),
        "lo" => (unsigned?, false, false),
        "hi" => (unsigned?, false, true),
        "ls" => (unsigned?, true, true),
        "hs" => (unsigned?, true, false),
        _ => return None,
    })
}

/// The same for floating-point numbers. An operator that ends in `u` holds if one is NaN: it is the
/// opposite of the one that says the contrary.
fn floats(operator: &str) -> Option<(Relation, bool, bool)> {
    Some(match operator {
        "eq" => (Relation::Equal, false, false),
        "ne" => (Relation::Unequal, false, false),
        "lt" => (Relation::Less, false, false),
        "gt" => (Relation::Less, false, true),
        "le" => (Relation::LessOrEqual, false, false),
        "ge" => (Relation::LessOrEqual, false, true),
        "equ" => (Relation::Unequal, true, false),
        "neu" => (Relation::Equal, true, false),
        "ltu" => (Relation::LessOrEqual, true, true),
        "gtu" => (Relation::LessOrEqual, true, false),
        "leu" => (Relation::Less, true, true),
        "geu" => (Relation::Less, true, false),
        "num" => (Relation::Ordered, false, false),
        "nan" => (Relation::Ordered, true, false),
        _ => return None,
    })
}

/// What a source of a comparison is.
fn kind(ty: &str) -> Option<Kind> {
    Some(match ty {
        "f16" => narrow("f16"),
        "bf16" => narrow("bf16"),
        "f16x2" => narrow("f16x2"),
        "bf16x2" => narrow("bf16x2"),
        _ => return data(ty),
    })
}

/// What a source of a selection is.
fn data(ty: &str) -> Option<Kind> {
    Some(match ty {
        "b16" | "u16" | "s16" => narrow("b16"),
        "b32" | "u32" | "s32" => narrow("b32"),
        "f32" => narrow("f32"),
        "b64" | "u64" | "s64" => wide("b64"),
        "f64" => wide("f64"),
        _ => return None,
    })
}

fn narrow(ty: &'static str) -> Kind {
    Kind { ty, wide: false }
}

fn wide(ty: &'static str) -> Kind {
    Kind { ty, wide: true }
}

fn setp(
    inst: &Instruction<'_>,
    mut comparison: Comparison,
    cx: &mut Context<'_, '_>,
) -> Result<Compare, Refusal> {
    let mut r = Numbers::default();
    comparison.sources(inst, &mut r, cx)?;
    let then = match inst.operands.first() {
        Some(Operand::Pair(p, q)) => {
            r[0] = cx.dst_pred(&Operand::Name(p))?.0;
            r[1] = cx.dst_pred(&Operand::Name(q))?.0;
            match comparison.pairs() {
                true => Then::Halves,
                false => Then::Both,
            }
        }
        Some(p) => {
            r[0] = cx.dst_pred(p)?.0;
            Then::One
        }
        None => return Err(lanes::count(inst, 3, cx)),
    };
    Ok(Compare {
        test: comparison.test,
        inverted: comparison.inverted,
        then,
        combine: comparison.combine,
        r,
    })
}

/// What `set` writes where the comparison holds, if there is one to such a type of such a type.
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

fn set(
    inst: &Instruction<'_>,
    mut comparison: Comparison,
    yes: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Compare, Refusal> {
    let mut r = Numbers::default();
    comparison.sources(inst, &mut r, cx)?;
    let to = inst
        .operands
        .first()
        .ok_or_else(|| lanes::count(inst, 3, cx))?;
    r[0] = cx.dst32(to)?.0;
    r[1] = yes;
    Ok(Compare {
        test: comparison.test,
        inverted: comparison.inverted,
        then: match comparison.pairs() {
            true => Then::Values,
            false => Then::Value,
        },
        combine: comparison.combine,
        r,
    })
}

/// `selp d, a, b, p`: a where p is true.
fn selp(inst: &Instruction<'_>, kind: Kind, cx: &mut Context<'_, '_>) -> Result<Compare, Refusal> {
    let [to, yes, no, pred] = &inst.operands[..] else {
        return Err(lanes::count(inst, 4, cx));
    };
    let (Pred(pred), inverted) = cx.src_pred(pred)?;
    select(kind, [to, yes, no], (Test::Pred, inverted), [pred, 0], cx)
}

/// `slct d, a, b, c`: a where c is at least zero; b if it is NaN. `ftz` is there if c is an `f32`.
fn slct(
    inst: &Instruction<'_>,
    kind: Kind,
    ftz: Option<bool>,
    cx: &mut Context<'_, '_>,
) -> Result<Compare, Refusal> {
    let [to, yes, no, value] = &inst.operands[..] else {
        return Err(lanes::count(inst, 4, cx));
    };
    let value = cx
        .src32(value, if ftz.is_some() { "f32" } else { "s32" })?
        .0;
    let zero = cx.constant32(0).0;
    let (test, sources) = match ftz {
        None => ((Test::LtS32, true), [value, zero]),
        Some(false) => ((Test::F32(Relation::LessOrEqual), false), [zero, value]),
        Some(true) => ((Test::F32Ftz(Relation::LessOrEqual), false), [zero, value]),
    };
    select(kind, [to, yes, no], test, sources, cx)
}

fn select(
    kind: Kind,
    [to, yes, no]: [&Operand<'_>; 3],
    (test, inverted): (Test, bool),
    [a, b]: [u32; 2],
    cx: &mut Context<'_, '_>,
) -> Result<Compare, Refusal> {
    let then = match kind.wide {
        true => Then::Select64,
        false => Then::Select32,
    };
    let r = [
        kind.to(to, cx)?,
        kind.from(yes, cx)?,
        a,
        b,
        kind.from(no, cx)?,
        0,
    ];
    Ok(Compare {
        test,
        inverted,
        then,
        combine: Combine::No,
        r,
    })
}
