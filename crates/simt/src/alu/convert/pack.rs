//! `cvt.pack` (PTX ISA §9.7.9.22).

use super::Convert;
use crate::code::R32;
use crate::lower::{Context, Refusal};
use crate::regs::{LANES, Regs};
use ptx::ast::Instruction;

/// `cvt.pack.sat.convertType.s32{.b32} d, a, b{, c}`
pub(super) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Convert, Refusal> {
    let (bits, signed, third) = match words[2..] {
        ["sat", "u16", "s32"] => (16, false, false),
        ["sat", "s16", "s32"] => (16, true, false),
        ["sat", "u8", "s32", "b32"] => (8, false, true),
        ["sat", "s8", "s32", "b32"] => (8, true, true),
        ["sat", "u4", "s32", "b32"] => (4, false, true),
        ["sat", "s4", "s32", "b32"] => (4, true, true),
        ["sat", "u2", "s32", "b32"] => (2, false, true),
        ["sat", "s2", "s32", "b32"] => (2, true, true),
        _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    };
    let operands = &inst.operands;
    if operands.len() != 3 + usize::from(third) {
        return Err(cx.invalid(format!(
            "`{}` takes {} operands",
            inst.opcode,
            if third { "four" } else { "three" }
        )));
    }
    for operand in operands {
        super::check_width(operand, 32, cx)?;
    }
    let to = cx.dst32(&operands[0])?;
    let upper = cx.src32(&operands[1], "s32")?;
    let lower = cx.src32(&operands[2], "s32")?;
    let rest = match operands.get(3) {
        Some(operand) => cx.src32(operand, "b32")?,
        None => upper,
    };
    Ok(Convert::Pack {
        to,
        upper,
        lower,
        rest,
        bits,
        signed,
    })
}

/// `from` is what goes above, below, and on top of both.
#[inline(never)]
pub(super) fn run(to: R32, from: [R32; 3], bits: u8, signed: bool, regs: &mut Regs<'_>, mask: u32) {
    let [upper, lower, rest] = from;
    let (upper, lower, rest) = (regs.get32(upper), regs.get32(lower), regs.get32(rest));
    let sign = u32::from(signed);
    let least = -(sign as i32) << (bits - 1);
    let most = (1 << (u32::from(bits) - sign)) - 1;
    let field = (1u32 << bits) - 1;
    let mut values = [0; LANES];
    for lane in 0..LANES {
        let part = |value: u32| (value as i32).clamp(least, most) as u32 & field;
        let pair = part(upper[lane]) << bits | part(lower[lane]);
        // Two of 16 bits leave no room.
        let above = u64::from(rest[lane]) << (2 * bits);
        values[lane] = pair | above as u32;
    }
    regs.set32(to, mask, &values);
}
