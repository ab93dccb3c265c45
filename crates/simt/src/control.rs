//! Barriers, ends, and what does nothing: instructions that steer a warp (PTX ISA §9.7.12, §9.7.13).

use crate::code::{Barrier, BarrierReduce, Op, ReduceOp, Reg};
use crate::lower::{Context, Refusal};
use ptx::ast::{Instruction, Operand};

/// Decodes an instruction of this family; `None` if the opcode is not its own.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Op>, Refusal> {
    let op = match words[0] {
        "ret" => Op::Return,
        "exit" => Op::Exit,
        "trap" => Op::Trap,
        // Waiting for a debugger that is not there; sleeping, hints to caches and profilers.
        "brkpt" | "nanosleep" | "pmevent" | "setmaxnreg" | "griddepcontrol" | "discard"
        | "applypriority" | "prefetch" | "prefetchu" => Op::Nothing,
        "bar" | "barrier" => return barrier(inst, words, cx),
        "mov" => match &inst.operands[..] {
            [to, Operand::Name(name)] => return clock(to, name, cx),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(op))
}

/// `mov` from a counter that runs (PTX ISA §10.22 ff.).
fn clock(to: &Operand<'_>, name: &str, cx: &mut Context<'_, '_>) -> Result<Option<Op>, Refusal> {
    let high = match name {
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => false,
        "%clock_hi" | "%globaltimer_hi" => true,
        _ => return Ok(None),
    };
    let (to, _) = cx.written(to)?;
    if matches!(to, Reg::Pred(_)) {
        return Err(cx.invalid("a counter does not fit into a predicate"));
    }
    Ok(Some(Op::Clock { to, high }))
}

/// `bar{.cta}.sync a{, b}`, `.arrive a, b`, `.red.op d, a{, b}, p` (PTX ISA §9.7.13.1).
fn barrier(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Op>, Refusal> {
    let modifiers: Vec<&str> = words[1..]
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "cta" | "aligned"))
        .collect();
    if matches!(modifiers.first(), Some(&"warp")) {
        // bar.warp.sync is the warp's.
        return Ok(None);
    }
    let count_of = |operand: Option<&Operand<'_>>, cx: &mut Context<'_, '_>| {
        operand.map(|operand| cx.src32(operand, "u32")).transpose()
    };
    let barrier = match (&modifiers[..], &inst.operands[..]) {
        (["sync"], [id, count @ ..]) if count.len() <= 1 => Barrier {
            id: cx.src32(id, "u32")?,
            count: count_of(count.first(), cx)?,
            waits: true,
            reduce: None,
        },
        (["arrive"], [id, count]) => Barrier {
            id: cx.src32(id, "u32")?,
            count: Some(cx.src32(count, "u32")?),
            waits: false,
            reduce: None,
        },
        (["red", op, "u32" | "pred"], [to, id, count @ .., value]) if count.len() <= 1 => {
            let op = match *op {
                "popc" => ReduceOp::Popc,
                "and" => ReduceOp::And,
                "or" => ReduceOp::Or,
                _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
            };
            let to = match op {
                ReduceOp::Popc => Reg::R32(cx.dst32(to)?),
                _ => Reg::Pred(cx.dst_pred(to)?),
            };
            let (value, negated) = cx.src_pred(value)?;
            Barrier {
                id: cx.src32(id, "u32")?,
                count: count_of(count.first(), cx)?,
                waits: true,
                reduce: Some(BarrierReduce {
                    op,
                    value,
                    negated,
                    to,
                }),
            }
        }
        _ => {
            return Err(
                cx.unsupported(format!("instruction `{}` with these operands", inst.opcode))
            );
        }
    };
    Ok(Some(Op::Barrier(barrier)))
}
