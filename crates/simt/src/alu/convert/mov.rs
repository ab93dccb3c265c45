//! `mov` (PTX ISA §9.7.9.3), and `mov` that takes a register apart or puts one together (§9.7.9.4).

use super::{check_width, each};
use crate::code::{Pred, R32, R64, Reg};
use crate::lower::{Context, Refusal};
use crate::regs::{ALL, LANES, Regs};
use ptx::ast::{Instruction, Operand};

/// One `mov`. Parts are in the order of their bits, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "all have a source and a destination")]
pub enum Move {
    /// 32 bits.
    B32 { to: R32, from: R32 },
    /// The lower 16 bits, where the source may have more.
    B16 { to: R32, from: R32 },
    /// 64 bits.
    B64 { to: R64, from: R64 },
    /// 32 bits, zero-extended to 64.
    Wide { to: R64, from: R32 },
    /// A predicate or its contrary.
    Pred { to: Pred, from: Pred, negated: bool },
    /// Two times 8 bits to 16.
    Pack8x2 { to: R32, from: [R32; 2] },
    /// Four times 8 bits to 32.
    Pack8x4 { to: R32, from: [R32; 4] },
    /// Two times 16 bits to 32.
    Pack16x2 { to: R32, from: [R32; 2] },
    /// Four times 16 bits to 64.
    Pack16x4 { to: R64, from: [R32; 4] },
    /// Two times 32 bits to 64.
    Pack32x2 { to: R64, from: [R32; 2] },
    /// 16 bits to two times 8.
    Unpack8x2 { to: [R32; 2], from: R32 },
    /// 32 bits to four times 8.
    Unpack8x4 { to: [R32; 4], from: R32 },
    /// 32 bits to two times 16.
    Unpack16x2 { to: [R32; 2], from: R32 },
    /// 64 bits to four times 16.
    Unpack16x4 { to: [R32; 4], from: R64 },
    /// 64 bits to two times 32.
    Unpack32x2 { to: [R32; 2], from: R64 },
}

/// Decodes a `mov`.
pub(super) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let [_, ty] = words else {
        return Err(cx.unsupported(format!("instruction `{}`", inst.opcode)));
    };
    let bits = match *ty {
        "pred" => 1,
        "b16" | "u16" | "s16" => 16,
        "b32" | "u32" | "s32" | "f32" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        _ => return Err(cx.unsupported(format!("instruction `{}`", inst.opcode))),
    };
    let [to, from] = &inst.operands[..] else {
        return Err(cx.invalid("`mov` takes two operands"));
    };
    match (to, from) {
        (Operand::Vector(_), Operand::Vector(_)) => {
            Err(cx.invalid("`mov` takes one operand in braces at most"))
        }
        (Operand::Vector(parts), _) | (_, Operand::Vector(parts)) if !ty.starts_with('b') => {
            Err(cx.invalid(format!(
                "`mov` with {} parts in braces has a type .b16, .b32 or .b64, not .{ty}",
                parts.len()
            )))
        }
        (Operand::Vector(parts), from) => unpack(parts, from, ty, bits, cx),
        (to, Operand::Vector(parts)) => pack(to, parts, ty, bits, cx),
        (to, from) => whole(to, from, ty, bits, cx),
    }
}

fn whole(
    to: &Operand<'_>,
    from: &Operand<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    if bits == 1 {
        let to = cx.dst_pred(to)?;
        let (from, negated) = cx.src_pred(from)?;
        return Ok(Move::Pred { to, from, negated });
    }
    if let Operand::Name(name) | Operand::NameOffset(name, _) = from
        && cx.register(name).is_none()
        && cx.variable(name).is_none()
        && cx.lowering.module.functions.iter().any(|f| f.name == *name)
    {
        return Err(cx.unsupported(format!("the address of function `{name}`")));
    }
    check_width(to, bits, cx)?;
    let special = is_special(from, cx);
    if !special {
        check_width(from, bits, cx)?;
    }
    Ok(match bits {
        16 if special => Move::B16 {
            to: cx.dst32(to)?,
            from: cx.src32(from, ty)?,
        },
        16 | 32 => Move::B32 {
            to: cx.dst32(to)?,
            from: cx.src32(from, ty)?,
        },
        _ if special => {
            let to = cx.dst64(to)?;
            match cx.any(from)?.0 {
                Reg::R32(from) => Move::Wide { to, from },
                Reg::R64(from) => Move::B64 { to, from },
                Reg::Pred(_) => return Err(cx.invalid("a predicate is not a number")),
            }
        }
        _ => Move::B64 {
            to: cx.dst64(to)?,
            from: cx.src64(from, ty)?,
        },
    })
}

/// Whether an operand is a special register: these have a width of their own.
fn is_special(operand: &Operand<'_>, cx: &mut Context<'_, '_>) -> bool {
    match operand {
        Operand::Name(name) => {
            name.starts_with('%') && cx.register(name).is_none() && cx.any(operand).is_ok()
        }
        _ => false,
    }
}

/// The type of a part: how many bits, as an immediate among them is written.
fn part_type(
    bits: u32,
    parts: usize,
    ty: &str,
    cx: &Context<'_, '_>,
) -> Result<&'static str, Refusal> {
    match (bits, parts) {
        (16, 2) | (32, 4) => Ok("b8"),
        (32, 2) | (64, 4) => Ok("b16"),
        (64, 2) => Ok("b32"),
        _ => Err(cx.invalid(format!("`mov.{ty}` does not have {parts} parts"))),
    }
}

fn pack(
    to: &Operand<'_>,
    parts: &[Operand<'_>],
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let part = part_type(bits, parts.len(), ty, cx)?;
    check_width(to, bits, cx)?;
    let mut from = [R32(0); 4];
    for (register, operand) in from.iter_mut().zip(parts) {
        *register = cx.src32(operand, part)?;
    }
    let pair = [from[0], from[1]];
    Ok(match (part, parts.len()) {
        ("b8", 2) => Move::Pack8x2 {
            to: cx.dst32(to)?,
            from: pair,
        },
        ("b8", _) => Move::Pack8x4 {
            to: cx.dst32(to)?,
            from,
        },
        ("b16", 2) => Move::Pack16x2 {
            to: cx.dst32(to)?,
            from: pair,
        },
        ("b16", _) => Move::Pack16x4 {
            to: cx.dst64(to)?,
            from,
        },
        _ => Move::Pack32x2 {
            to: cx.dst64(to)?,
            from: pair,
        },
    })
}

fn unpack(
    parts: &[Operand<'_>],
    from: &Operand<'_>,
    ty: &str,
    bits: u32,
    cx: &mut Context<'_, '_>,
) -> Result<Move, Refusal> {
    let part = part_type(bits, parts.len(), ty, cx)?;
    check_width(from, bits, cx)?;
    let mut to = [R32(0); 4];
    for (register, operand) in to.iter_mut().zip(parts) {
        // A part of 8 bits may stand in a register of 16, zero-extended; none fits into a narrower one.
        if let Operand::Name(name) = operand
            && let Some((_, found)) = cx.register(name)
            && found < bits / parts.len() as u32
        {
            return Err(cx.invalid(format!("`{name}` is too narrow for a part of .{part}")));
        }
        *register = cx.dst32(operand)?;
    }
    let pair = [to[0], to[1]];
    Ok(match (part, parts.len()) {
        ("b8", 2) => Move::Unpack8x2 {
            to: pair,
            from: cx.src32(from, ty)?,
        },
        ("b8", _) => Move::Unpack8x4 {
            to,
            from: cx.src32(from, ty)?,
        },
        ("b16", 2) => Move::Unpack16x2 {
            to: pair,
            from: cx.src32(from, ty)?,
        },
        ("b16", _) => Move::Unpack16x4 {
            to,
            from: cx.src64(from, ty)?,
        },
        _ => Move::Unpack32x2 {
            to: pair,
            from: cx.src64(from, ty)?,
        },
    })
}

impl Move {
    /// Runs it on the lanes of `mask`.
    #[inline(always)]
    pub(super) fn execute(&self, regs: &mut Regs<'_>, mask: u32) {
        match *self {
            Move::B32 { to, from } => {
                let values = *regs.get32(from);
                regs.set32(to, mask, &values);
            }
            Move::B16 { to, from } => {
                let values = each(regs.get32(from), |value| value & 0xffff);
                regs.set32(to, mask, &values);
            }
            Move::B64 { to, from } => {
                let values = *regs.get64(from);
                regs.set64(to, mask, &values);
            }
            Move::Wide { to, from } => {
                let values = each(regs.get32(from), u64::from);
                regs.set64(to, mask, &values);
            }
            Move::Pred { to, from, negated } => {
                let values = regs.pred(from) ^ if negated { ALL } else { 0 };
                regs.set_pred(to, mask, values);
            }
            Move::Pack8x2 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack8x4 { to, from } => pack32(regs, mask, to, from, 8),
            Move::Pack16x2 { to, from } => pack32(regs, mask, to, from, 16),
            Move::Pack16x4 { to, from } => pack64(regs, mask, to, from, 16),
            Move::Pack32x2 { to, from } => pack64(regs, mask, to, from, 32),
            Move::Unpack8x2 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack8x4 { to, from } => unpack32(regs, mask, to, from, 8),
            Move::Unpack16x2 { to, from } => unpack32(regs, mask, to, from, 16),
            Move::Unpack16x4 { to, from } => unpack64(regs, mask, to, from, 16),
            Move::Unpack32x2 { to, from } => unpack64(regs, mask, to, from, 32),
        }
    }
}

#[inline(always)]
fn pack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R32, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (part[lane] & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set32(to, mask, &values);
}

#[inline(always)]
fn pack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: R64, from: [R32; N], bits: u32) {
    let mut values = [0; LANES];
    for (i, part) in from.into_iter().enumerate() {
        let part = regs.get32(part);
        for lane in 0..LANES {
            values[lane] |= (u64::from(part[lane]) & ((1 << bits) - 1)) << (bits * i as u32);
        }
    }
    regs.set64(to, mask, &values);
}

#[inline(always)]
fn unpack32<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R32, bits: u32) {
    let whole = *regs.get32(from);
    for (i, part) in to.into_iter().enumerate() {
        let values = each(&whole, |value| {
            value >> (bits * i as u32) & ((1 << bits) - 1)
        });
        regs.set32(part, mask, &values);
    }
}

#[inline(always)]
fn unpack64<const N: usize>(regs: &mut Regs<'_>, mask: u32, to: [R32; N], from: R64, bits: u32) {
    let whole = *regs.get64(from);
    for (i, part) in to.into_iter().enumerate() {
        let values = each(&whole, |value| {
            (value >> (bits * i as u32) & ((1 << bits) - 1)) as u32
        });
        regs.set32(part, mask, &values);
    }
}

#[cfg(test)]
mod tests;
