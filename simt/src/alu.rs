//! Instructions that each lane executes by itself, on registers only.
//!
//! One file a family. A family has a small `Copy` type for its instructions, `decode`, which makes one
//! from an AST instruction or says that the opcode is not its own, and `execute`, which runs one on all
//! lanes of a warp. `execute` is `#[inline(always)]` and made of loops over 32 lanes without branches, so
//! that the compiler turns them into vector code of whichever instruction set they are compiled for.

pub mod compare;
pub mod convert;
pub mod float;
pub mod int;
mod lanes;
pub mod logic;

use crate::code::{Inst, Op};
use crate::lower::{Context, Refusal};
use crate::parse::ast::Instruction;
use crate::regs::Regs;

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

/// Runs instructions from `code` on, up to the first that is not of this kind, and says how many.
pub(crate) type Run = fn(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize;

/// The executing functions, compiled for one instruction set. Each family is a function of its own: all
/// in one would take the compiler minutes.
macro_rules! version {
    ($name:ident $(, #[$features:meta])?) => {
        mod $name {
            use super::{Alu, Inst, Op, Regs, compare, convert, float, int, logic};

            version!(@family int(int::Int) $(, #[$features])?);
            version!(@family logic(logic::Logic) $(, #[$features])?);
            version!(@family float(float::Float) $(, #[$features])?);
            version!(@family convert(convert::Convert) $(, #[$features])?);
            version!(@family compare(compare::Compare) $(, #[$features])?);

            $(#[$features])?
            pub(super) fn run(code: &[Inst], regs: &mut Regs<'_>, mask: u32) -> usize {
                for (count, inst) in code.iter().enumerate() {
                    let Op::Alu(alu) = &inst.op else { return count };
                    let mask = regs.guarded(inst.guard, mask);
                    if mask == 0 {
                        continue;
                    }
                    match alu {
                        Alu::Int(op) => int(op, regs, mask),
                        Alu::Logic(op) => logic(op, regs, mask),
                        Alu::Float(op) => float(op, regs, mask),
                        Alu::Convert(op) => convert(op, regs, mask),
                        Alu::Compare(op) => compare(op, regs, mask),
                    }
                }
                code.len()
            }
        }
    };
    (@family $family:ident($op:ty) $(, #[$features:meta])?) => {
        $(#[$features])?
        #[inline(never)]
        fn $family(op: &$op, regs: &mut Regs<'_>, mask: u32) {
            op.execute(regs, mask);
        }
    };
}

version!(baseline);
#[cfg(target_arch = "x86_64")]
version!(avx2, #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]);

/// The best version for this CPU.
pub(crate) fn run() -> Run {
    #[cfg(target_arch = "x86_64")]
    {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        if has {
            return |code, regs, mask| {
                // SAFETY: the CPU has what the function is compiled for.
                unsafe { avx2::run(code, regs, mask) }
            };
        }
    }
    baseline::run
}
