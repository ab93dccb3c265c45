//! `cvta`, `isspacep`, `mapa`, `getctarank`, `createpolicy`.

use super::{operands, unsupported};
use crate::code::Reg;
use crate::lower::{Context, Refusal};
use crate::memory::Memory;
use crate::memory::address::Convert;
use crate::memory::reach::Region;
use ptx::ast::{Instruction, Operand};

/// The space that `cvta` and `isspacep` name.
fn named_space(word: &str, cx: &Context<'_, '_>) -> Option<Region> {
    Some(match word {
        "global" => Region::Global,
        "shared" | "shared::cta" | "shared::cluster" => Region::Shared,
        "local" => Region::Local,
        "const" => Region::Const,
        "param" | "param::entry" if cx.lowering.program.functions.is_empty() => Region::Param,
        "param::entry" => Region::Param,
        // In a function, parameters lie in the frame.
        "param" => Region::Local,
        _ => return None,
    })
}

/// `cvta.space.u64 p, a`, `cvta.to.space.u64 a, p`
pub(super) fn cvta(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let (space, to) = match words {
        [_, "to", space, "u64"] => (space, true),
        [_, space, "u64"] => (space, false),
        _ => return Err(unsupported(inst, cx)),
    };
    let region = named_space(space, cx).ok_or_else(|| unsupported(inst, cx))?;
    let [dst, src] = &inst.operands[..] else {
        return Err(operands(inst, cx));
    };
    let window = region.window();
    Ok(Memory::Convert(Convert::Shift {
        to: cx.dst64(dst)?,
        from: cx.src64(src, "u64")?,
        by: if to { window.wrapping_neg() } else { window },
    }))
}

/// `isspacep.space p, a`
pub(super) fn is_space(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let ([_, space], [to, from]) = (words, &inst.operands[..]) else {
        return Err(unsupported(inst, cx));
    };
    let region = named_space(space, cx).ok_or_else(|| unsupported(inst, cx))?;
    let from = match from {
        Operand::Name(name) if matches!(cx.register(name), Some((Reg::R32(_), _))) => {
            Reg::R32(cx.src32(from, "u32")?)
        }
        _ => Reg::R64(cx.src64(from, "u64")?),
    };
    Ok(Memory::Convert(Convert::IsSpace {
        to: cx.dst_pred(to)?,
        from,
        region,
    }))
}

/// `getctarank{.shared::cluster}.type d, a`
pub(super) fn rank(inst: &Instruction<'_>, cx: &mut Context<'_, '_>) -> Result<Memory, Refusal> {
    let [to, _] = &inst.operands[..] else {
        return Err(operands(inst, cx));
    };
    Ok(Memory::Convert(Convert::Zero {
        to: Reg::R32(cx.dst32(to)?),
    }))
}

/// `createpolicy… d, …`
pub(super) fn policy(inst: &Instruction<'_>, cx: &mut Context<'_, '_>) -> Result<Memory, Refusal> {
    let [to, ..] = &inst.operands[..] else {
        return Err(operands(inst, cx));
    };
    Ok(Memory::Convert(Convert::Zero {
        to: Reg::R64(cx.dst64(to)?),
    }))
}

/// `mapa{.shared::cluster}.u32|u64 d, a, b`
pub(super) fn mapa(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let [to, from, _rank] = &inst.operands[..] else {
        return Err(operands(inst, cx));
    };
    Ok(Memory::Convert(match words {
        [_, .., "u64"] => Convert::Shift {
            to: cx.dst64(to)?,
            from: cx.src64(from, "u64")?,
            by: 0,
        },
        [_, "shared::cluster", "u32"] => Convert::Move {
            to: cx.dst32(to)?,
            from: cx.src32(from, "u32")?,
        },
        _ => return Err(unsupported(inst, cx)),
    }))
}
