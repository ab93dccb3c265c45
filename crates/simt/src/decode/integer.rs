//! Integer arithmetic and logic.

use ptx::ast::Operand;

use super::{Decoded, Decoder};
use crate::alu::Alu;
use crate::alu::int::{self, Int, NO_CARRY};
use crate::alu::lanes::{LaneType, OperandKind, RegisterNumbers};
use crate::alu::logic::{self, Logic};
use crate::code::Pred;

/// The types of arithmetic with a carry.
const CARRY_TYPES: [&str; 4] = ["u32", "s32", "u64", "s64"];

/// Arithmetic with a carry: the name without the `c` of those that read it, the half of the product, the
/// sources, and the operation for each of [`CARRY_TYPES`].
const WITH_CARRY: [(&str, &str, usize, [int::Op; 4]); 4] = {
    use int::Op::*;
    [
        (
            "add",
            "",
            2,
            [CarryAdd32, CarryAdd32, CarryAdd64, CarryAdd64],
        ),
        (
            "sub",
            "",
            2,
            [CarrySub32, CarrySub32, CarrySub64, CarrySub64],
        ),
        (
            "mad",
            "lo",
            3,
            [CarryMadLo32, CarryMadLo32, CarryMadLo64, CarryMadLo64],
        ),
        (
            "mad",
            "hi",
            3,
            [CarryMadHiU32, CarryMadHiS32, CarryMadHiU64, CarryMadHiS64],
        ),
    ]
};

/// Logic on predicates: the operation and its sources.
const ON_PREDICATES: [(&str, logic::Op, usize); 4] = [
    ("and.pred", logic::Op::AndPred, 2),
    ("or.pred", logic::Op::OrPred, 2),
    ("xor.pred", logic::Op::XorPred, 2),
    ("not.pred", logic::Op::NotPred, 1),
];

impl Decoder<'_, '_, '_> {
    pub(super) fn integer(&mut self) -> Decoded<Alu> {
        Ok(Alu::Int(match int::Op::named(self.form) {
            Some((op, kinds)) => Int {
                op,
                r: self.registers(kinds)?,
            },
            None => self.with_carry()?,
        }))
    }

    /// `add.cc` to `madc`, which read the carry flag, write it, or both.
    fn with_carry(&mut self) -> Decoded<Int> {
        let (name, writes, ty) = match self.words {
            [name @ .., "cc", ty] => (name, true, *ty),
            [name @ .., ty] => (name, false, *ty),
            [] => return Err(self.unsupported_form()),
        };
        let (name, half) = match name {
            [name] => (*name, ""),
            [name, half] => (*name, *half),
            _ => return Err(self.unsupported_form()),
        };
        let reads = name.ends_with('c');
        let name = name.trim_end_matches('c');
        let row = WITH_CARRY.iter().find(|row| (row.0, row.1) == (name, half));
        let column = CARRY_TYPES.iter().position(|known| *known == ty);
        let (Some((_, _, sources, ops)), Some(column)) = (row, column) else {
            return Err(self.unsupported_form());
        };
        let kind = if column < 2 { u32::KIND } else { u64::KIND };
        let mut r = self.registers(&[kind; 4][..sources + 1])?;
        r[4] = if reads { self.carry().0 } else { NO_CARRY };
        r[5] = if writes { self.carry().0 } else { NO_CARRY };
        if *sources == 2 {
            r[3] = r[2];
        }
        let op = ops[column];
        Ok(Int { op, r })
    }

    pub(super) fn logic(&mut self) -> Decoded<Alu> {
        if let Some((op, kinds)) = logic::Op::named(self.form) {
            let r = self.registers(kinds)?;
            return Ok(Alu::Logic(Logic { op, table: 0, r }));
        }
        let on_predicates = ON_PREDICATES.iter().find(|row| row.0 == self.form);
        Ok(Alu::Logic(match (on_predicates, self.form) {
            (Some((_, op, sources)), _) => self.on_predicates(*op, *sources)?,
            (_, "lop3.b32") => self.lop3(logic::Op::Lop3)?,
            (_, "lop3.or.b32") => self.lop3(logic::Op::Lop3Or)?,
            (_, "lop3.and.b32") => self.lop3(logic::Op::Lop3And)?,
            _ => return Err(self.unsupported_form()),
        }))
    }

    fn on_predicates(&mut self, op: logic::Op, sources: usize) -> Decoded<Logic> {
        let (to, from) = match self.operands {
            [to, from @ ..] if from.len() == sources => (to, from),
            _ => return Err(self.operand_count(sources + 1)),
        };
        let mut r = RegisterNumbers::default();
        let mut table = 0;
        r[0] = self.dst::<Pred>(to)?.0;
        for (at, source) in from.iter().enumerate() {
            let (pred, negated) = self.src_pred(source)?;
            r[at + 1] = pred.0;
            table |= u8::from(negated) << at;
        }
        Ok(Logic { op, table, r })
    }

    /// `lop3.b32 d, a, b, c, table`, or `lop3.or.b32 d|p, a, b, c, table, q`. The registers stand in this
    /// order: d, a, b, c, p, q.
    fn lop3(&mut self, mut op: logic::Op) -> Decoded<Logic> {
        const WORD: OperandKind = u32::KIND;
        let plain = op == logic::Op::Lop3;
        let (to, sources, table, q) = match self.operands {
            [to, sources @ .., table] if plain && sources.len() == 3 => (to, sources, table, None),
            [to, sources @ .., table, q] if !plain && sources.len() == 3 => {
                (to, sources, table, Some(q))
            }
            _ => return Err(self.operand_count(if plain { 5 } else { 6 })),
        };
        let mut r = RegisterNumbers::default();
        match (to, q) {
            (Operand::Pair(to, pred), Some(q)) => {
                r[0] = self.to(WORD, &Operand::Name(to))?;
                r[4] = self.dst::<Pred>(&Operand::Name(pred))?.0;
                let (q, negated) = self.src_pred(q)?;
                r[5] = q.0;
                op = match (op, negated) {
                    (logic::Op::Lop3Or, true) => logic::Op::Lop3OrNot,
                    (logic::Op::Lop3And, true) => logic::Op::Lop3AndNot,
                    (op, _) => op,
                };
            }
            (_, Some(_)) => {
                let opcode = self.opcode;
                return Err(self.invalid(format!(
                    "`{opcode}` writes a register and a predicate: `d|p`"
                )));
            }
            (_, None) => r[0] = self.to(WORD, to)?,
        }
        for (at, source) in sources.iter().enumerate() {
            r[at + 1] = self.from(WORD, source)?;
        }
        // ptxas takes larger numbers, and their low byte.
        let table = self.number(table)? as u8;
        Ok(Logic { op, table, r })
    }
}
