//! Barriers, and the ends of threads (PTX ISA §9.7.12, §9.7.13).

use super::{Decoded, Decoder, lookup};
use crate::code::{Barrier, BarrierReduce, Op, ReduceOp, Reg};

const REDUCTIONS: [(&str, ReduceOp); 3] = [
    ("popc", ReduceOp::Popc),
    ("and", ReduceOp::And),
    ("or", ReduceOp::Or),
];

impl Decoder<'_, '_, '_> {
    /// `ret`, `exit`, `trap`
    pub(super) fn end(&mut self) -> Decoded<Op> {
        Ok(match self.words[0] {
            "ret" => Op::Return,
            "exit" => Op::Exit,
            "trap" => Op::Trap,
            _ => return Err(self.unsupported_form()),
        })
    }

    /// `bar{.cta}.sync a{, b}`, `.arrive a, b`, `.red.op d, a{, b}, p` (PTX ISA §9.7.13.1).
    pub(super) fn barrier(&mut self) -> Decoded<Op> {
        if self.words[1] == "cluster" {
            let waits = self.words[2] == "wait";
            return Ok(Op::ClusterBarrier { waits });
        }
        let mut modifiers = self.words[1..].to_vec();
        modifiers.retain(|word| !matches!(*word, "cta" | "aligned"));
        let (id, count, reduce) = match (&modifiers[..], self.operands) {
            (["sync"], [id, count @ ..]) => (id, count.first(), None),
            (["arrive"], [id, count]) => (id, Some(count), None),
            (["red", op, _], [to, id, count @ .., value]) => {
                let op = lookup(&REDUCTIONS, op).ok_or_else(|| self.unsupported_form())?;
                let to = match op {
                    ReduceOp::Popc => Reg::R32(self.dst(to)?),
                    ReduceOp::And | ReduceOp::Or => Reg::Pred(self.dst(to)?),
                };
                let (value, negated) = self.src_pred(value)?;
                let reduce = BarrierReduce {
                    op,
                    value,
                    negated,
                    to,
                };
                (id, count.first(), Some(reduce))
            }
            _ => return Err(self.unsupported_form()),
        };
        Ok(Op::Barrier(Barrier {
            id: self.src(id, "u32")?,
            count: count.map(|count| self.src(count, "u32")).transpose()?,
            waits: modifiers[0] != "arrive",
            aligned: self.words[0] == "bar" || self.words.contains(&"aligned"),
            reduce,
        }))
    }
}
