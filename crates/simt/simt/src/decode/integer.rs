//! Integer arithmetic and logic.

use ptx::ast::Operand;

use super::{Decoded, Decoder, lookup};
use crate::alu::Alu;
use crate::alu::int::{self, Int, NO_CARRY};
use crate::alu::lanes::{LaneType, OperandKind, RegisterNumbers};
use crate::alu::logic::{self, Logic};
use crate::code::{Pred, Reg};

/// The types of arithmetic with a carry.
const CARRY_TYPES: [&str; 4] = ["u32", "s32", "u64", "s64"];

/// Arithmetic with a carry: the name, the number of sources, and the operation for each of [`CARRY_TYPES`]. The name
/// omits the `c` of instructions that read the carry.
#[rustfmt::skip]
const WITH_CARRY: [(&str, usize, [int::Op; 4]); 4] = {
    use int::Op::*;
    [
        ("add", 2, [CarryAdd32, CarryAdd32, CarryAdd64, CarryAdd64]),
        ("sub", 2, [CarrySub32, CarrySub32, CarrySub64, CarrySub64]),
        ("mad.lo", 3, [CarryMadLo32, CarryMadLo32, CarryMadLo64, CarryMadLo64]),
        ("mad.hi", 3, [CarryMadHiU32, CarryMadHiS32, CarryMadHiU64, CarryMadHiS64]),
    ]
};

/// Logic on predicates.
const ON_PREDICATES: [(&str, logic::Op); 4] = [
    ("and.pred", logic::Op::AndPred),
    ("or.pred", logic::Op::OrPred),
    ("xor.pred", logic::Op::XorPred),
    ("not.pred", logic::Op::NotPred),
];

impl Decoder<'_, '_, '_> {
    pub(super) fn integer(&mut self) -> Decoded<Alu> {
        Ok(Alu::Int(match int::Op::named(self.form) {
            Some((op, kinds)) => Int { op, r: self.registers(kinds)? },
            None => self.with_carry()?,
        }))
    }

    /// `add.cc` to `madc`, which read or write the carry flag, or both.
    fn with_carry(&mut self) -> Decoded<Int> {
        let [name, modifiers @ .., ty] = self.words else {
            return Err(self.unsupported_form());
        };
        let reads = name.ends_with('c');
        let writes = modifiers.last() == Some(&"cc");
        let mut name = vec![name.trim_end_matches('c')];
        name.extend(modifiers.iter().filter(|word| **word != "cc"));
        let name = name.join(".");
        let row = WITH_CARRY.iter().find(|row| row.0 == name);
        let column = CARRY_TYPES.iter().position(|known| known == ty);
        let (Some((_, sources, ops)), Some(column)) = (row, column) else {
            return Err(self.unsupported_form());
        };
        let kind = if column < 2 { u32::KIND } else { u64::KIND };
        let mut r = self.registers(&[kind; 4][..sources + 1])?;
        let carry = self.carry();
        r[4] = if reads { carry.0 } else { NO_CARRY };
        r[5] = if writes { carry.0 } else { NO_CARRY };
        self.found.reads.extend(reads.then_some(Reg::Pred(carry)));
        self.found.writes.extend(writes.then_some(Reg::Pred(carry)));
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
        let op = match lookup(&ON_PREDICATES, self.form) {
            Some(op) => self.on_predicates(op)?,
            None if self.words[0] == "lop3" => self.lop3()?,
            None => return Err(self.unsupported_form()),
        };
        Ok(Alu::Logic(op))
    }

    fn on_predicates(&mut self, op: logic::Op) -> Decoded<Logic> {
        let ([to], from) = self.first()?;
        let mut r = RegisterNumbers::default();
        let mut table = 0;
        r[0] = self.dst::<Pred>(to)?.0;
        for (at, (source, register)) in from.iter().zip(&mut r[1..]).enumerate() {
            let (pred, negated) = self.src_pred(source)?;
            *register = pred.0;
            table |= u8::from(negated) << at;
        }
        Ok(Logic { op, table, r })
    }

    /// `lop3.b32 d, a, b, c, table`, or `lop3.or.b32 d|p, a, b, c, table, q`. The registers are in the order d, a, b,
    /// c, p, q.
    fn lop3(&mut self) -> Decoded<Logic> {
        use logic::Op::{Lop3, Lop3And, Lop3AndNot, Lop3Or, Lop3OrNot};
        const WORD: OperandKind = u32::KIND;
        let mut r = RegisterNumbers::default();
        let (op, sources, table) = match self.operands {
            [Operand::Pair(to, pred), sources @ .., table, q] => {
                r[0] = self.to(WORD, &Operand::Name(to))?;
                r[4] = self.dst::<Pred>(&Operand::Name(pred))?.0;
                let (q, negated) = self.src_pred(q)?;
                r[5] = q.0;
                let op = match (self.words[1], negated) {
                    ("or", false) => Lop3Or,
                    ("or", true) => Lop3OrNot,
                    (_, false) => Lop3And,
                    (_, true) => Lop3AndNot,
                };
                (op, sources, table)
            }
            [to, sources @ .., table] => {
                r[0] = self.to(WORD, to)?;
                (Lop3, sources, table)
            }
            _ => return Err(self.unsupported_form()),
        };
        for (register, source) in r[1..4].iter_mut().zip(sources) {
            *register = self.from(WORD, source)?;
        }
        // ptxas accepts larger numbers and uses their low byte.
        let table = self.number(table)? as u8;
        Ok(Logic { op, table, r })
    }
}
