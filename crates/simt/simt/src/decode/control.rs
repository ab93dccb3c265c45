//! Barriers and thread exits (PTX ISA §9.7.12, §9.7.13).

use super::{Decoded, Decoder, lookup};
use crate::code::{Barrier, BarrierReduce, FrameInit, Op, ReduceOp, Reg, Stack};

/// The maximum alignment of `alloca`.
const MAX_ALIGN: u32 = 1 << 16;

const REDUCTIONS: [(&str, ReduceOp); 3] = [("popc", ReduceOp::Popc), ("and", ReduceOp::And), ("or", ReduceOp::Or)];

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

    /// `alloca.type d, bytes{, align}`, `stacksave.type d`, `stackrestore.type a` (PTX ISA §9.7.16).
    pub(super) fn stack(&mut self, ty: &str) -> Decoded<Stack> {
        let bits = if ty == "u64" { 64 } else { 32 };
        let top = self.initialized(FrameInit::FrameEnd);
        self.func.stack_top = Some(top);
        let ([first], more) = self.first()?;
        if self.words[0] == "stackrestore" {
            return Ok(Stack::Restore { from: self.src_of(first, ty, bits)?, top });
        }
        let to = self.dst_of(first, bits)?;
        let [bytes, align @ ..] = more else {
            return Ok(Stack::Save { to, top });
        };
        let bytes = self.src_of(bytes, ty, bits)?;
        let align = align.first().map_or(Ok(8), |align| self.number(align))?;
        let align =
            u32::try_from(align).ok().filter(|align| align.is_power_of_two() && (8..=MAX_ALIGN).contains(align));
        let align =
            align.ok_or_else(|| self.invalid(format!("an alignment must be a power of two from 8 to {MAX_ALIGN}")))?;
        Ok(Stack::Alloca { to, bytes, align, top })
    }

    /// `bar{.cta}.sync a{, b}`, `.arrive a, b`, `.red.op d, a{, b}, p` (PTX ISA §9.7.13.1).
    pub(super) fn barrier(&mut self) -> Decoded<Op> {
        if self.words[1] == "cluster" {
            let waits = self.words[2] == "wait";
            let [relaxed, aligned] = ["relaxed", "aligned"].map(|word| self.words.contains(&word));
            return Ok(Op::ClusterBarrier { waits, relaxed, aligned });
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
                let reduce = BarrierReduce { op, value, negated, to };
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
