//! Instructions that each lane executes by itself, on registers only.
//!
//! One file a family. A family has a small `Copy` type for its instructions, `decode`, which makes one
//! from an AST instruction or says that the opcode is not its own, and `execute`, which runs one on all
//! lanes of a warp. `execute` is `#[inline(always)]` and made of loops over 32 lanes without branches, so
//! that the compiler turns them into vector code of whichever instruction set (`isa.rs`) they are
//! compiled for.

pub mod compare;
pub mod convert;
pub mod float;
pub mod int;
mod lanes;
pub mod logic;

use crate::code::{Op, R64};
use crate::lower::{Context, Refusal};
use ptx::ast::Instruction;

/// One instruction of any family.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the variants are the families")]
pub enum Alu {
    Int(int::Int),
    Logic(logic::Logic),
    Float(float::Float),
    Convert(convert::Convert),
    Compare(compare::Compare),
}

/// `mov.b64`
pub(crate) fn copy64(to: R64, from: R64) -> Alu {
    Alu::Convert(convert::Convert::Move(convert::Move::B64 { to, from }))
}

/// Decodes an instruction of any of the families; `None` if it belongs to none.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Op>, Refusal> {
    if let Some(op) = int::decode(inst, words, cx)? {
        return Ok(Some(Op::Alu(Alu::Int(op))));
    }
    if let Some(op) = logic::decode(inst, words, cx)? {
        return Ok(Some(Op::Alu(Alu::Logic(op))));
    }
    if let Some(op) = float::decode(inst, words, cx)? {
        return Ok(Some(Op::Alu(Alu::Float(op))));
    }
    if let Some(op) = convert::decode(inst, words, cx)? {
        return Ok(Some(Op::Alu(Alu::Convert(op))));
    }
    if let Some(op) = compare::decode(inst, words, cx)? {
        return Ok(Some(Op::Alu(Alu::Compare(op))));
    }
    Ok(None)
}
