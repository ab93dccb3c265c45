//! From an AST instruction to a memory instruction.

use super::Memory;
use super::address::Convert;
use super::load_store::{Load, Store, To, Width};
use super::reach::{Address, Region};
use crate::code::Reg;
use crate::lower::{Context, Place, Refusal, type_bytes};
use crate::parse::ast::{Instruction, Operand};

/// Decodes a memory instruction; `None` if the opcode is no such.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Memory>, Refusal> {
    let memory = match words[0] {
        "ld" | "ldu" => load(inst, words, cx)?,
        "st" => store(inst, words, cx)?,
        "membar" | "fence" if inst.operands.is_empty() => Memory::Fence,
        "cvta" => cvta(inst, words, cx)?,
        "isspacep" => is_space(inst, words, cx)?,
        "mapa" => mapa(inst, words, cx)?,
        "getctarank" => match &inst.operands[..] {
            [to, _] => Memory::Convert(Convert::Zero {
                to: Reg::R32(cx.dst32(to)?),
            }),
            _ => return Err(operands(inst, cx)),
        },
        "createpolicy" => match &inst.operands[..] {
            [to, ..] => Memory::Convert(Convert::Zero {
                to: Reg::R64(cx.dst64(to)?),
            }),
            _ => return Err(operands(inst, cx)),
        },
        _ => return Ok(None),
    };
    Ok(Some(memory))
}

pub(super) fn unsupported(inst: &Instruction<'_>, cx: &Context<'_, '_>) -> Refusal {
    cx.unsupported(format!("instruction `{}`", inst.opcode))
}

pub(super) fn operands(inst: &Instruction<'_>, cx: &Context<'_, '_>) -> Refusal {
    cx.unsupported(format!("instruction `{}` with these operands", inst.opcode))
}

/// The modifiers that loads, stores and atomics have in common.
#[derive(Debug, Default)]
pub(super) struct Modifiers<'a> {
    /// The state space; generic where there is none.
    pub(super) space: Option<&'a str>,
    /// `.v2`, `.v4`, `.v8`
    pub(super) vector: Option<usize>,
    pub(super) strong: bool,
    pub(super) acquire: bool,
    pub(super) release: bool,
    /// `.L2::cache_hint`: one more operand, which says nothing to this machine.
    pub(super) hint: bool,
    /// What is none of these, in order: operations.
    pub(super) rest: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn of(words: &[&'a str]) -> Self {
        let mut found = Modifiers::default();
        for word in words {
            match *word {
                "global" | "shared" | "shared::cta" | "shared::cluster" | "local" | "const"
                | "param" | "param::entry" | "param::func"
                    if found.space.is_none() =>
                {
                    found.space = Some(word);
                }
                "v2" => found.vector = Some(2),
                "v4" => found.vector = Some(4),
                "v8" => found.vector = Some(8),
                "volatile" | "relaxed" | "mmio" => found.strong = true,
                "acquire" => (found.strong, found.acquire) = (true, true),
                "release" => (found.strong, found.release) = (true, true),
                "acq_rel" | "sc" => {
                    (found.strong, found.acquire, found.release) = (true, true, true);
                }
                "L2::cache_hint" => found.hint = true,
                // Scopes, and hints to caches.
                "weak" | "cta" | "cluster" | "gpu" | "sys" | "nc" | "ca" | "cg" | "cs" | "lu"
                | "cv" | "wb" | "wt" | "unified" => {}
                hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
                other => found.rest.push(other),
            }
        }
        found
    }

    /// The operands without the cache policy.
    pub(super) fn operands<'i, 'x>(
        &self,
        inst: &'i Instruction<'x>,
        cx: &Context<'_, '_>,
    ) -> Result<&'i [Operand<'x>], Refusal> {
        match (self.hint, &inst.operands[..]) {
            (true, [rest @ .., _policy]) => Ok(rest),
            (true, []) => Err(operands(inst, cx)),
            (false, all) => Ok(all),
        }
    }
}

/// The address in an instruction's brackets.
pub(super) fn address(
    space: Option<&str>,
    operand: &Operand<'_>,
    cx: &mut Context<'_, '_>,
) -> Result<Address, Refusal> {
    let source = cx.address(operand)?;
    // The entry is lowered first.
    let entry = cx.lowering.program.functions.is_empty();
    let region = match (space, source.place) {
        (None, None) => Region::Generic,
        // A variable's name in the brackets of a generic access: its own space.
        (None | Some("global"), Some(Place::Global(_))) => Region::Global,
        (
            None | Some("shared" | "shared::cta" | "shared::cluster"),
            Some(Place::Shared(_) | Place::DynamicShared),
        ) => Region::Shared,
        (None | Some("local"), Some(Place::Frame(_))) => Region::Local,
        (None | Some("const"), Some(Place::Constant(_))) => Region::Const,
        (None | Some("param" | "param::entry"), Some(Place::Param(_))) => Region::Param,
        (Some("param" | "param::func"), Some(Place::Frame(_))) => Region::FrameParam,
        (Some(space), Some(_)) => {
            return Err(cx.invalid(format!(
                "the variable in the brackets is not in the .{space} space"
            )));
        }
        (Some("global"), None) => Region::Global,
        (Some("shared" | "shared::cta" | "shared::cluster"), None) => Region::Shared,
        (Some("local"), None) => Region::Local,
        (Some("const"), None) => Region::Const,
        (Some("param::entry"), None) => Region::Param,
        (Some("param"), None) if entry => Region::Param,
        (Some("param" | "param::func"), None) => Region::FrameParam,
        (Some(space), None) => {
            return Err(cx.unsupported(format!("an access to the .{space} space")));
        }
    };
    if let (Reg::R32(_), Region::Generic | Region::Global) = (source.base, region) {
        return Err(cx.invalid("an address of global or generic memory has 64 bits"));
    }
    let offset = i32::try_from(source.offset)
        .map_err(|_| cx.invalid("an address's offset has 32 bits (PTX ISA §6.4.1)"))?;
    Ok(Address {
        base: source.base,
        offset,
        region,
    })
}

/// The size of an element of this type, and whether a wider register gets its sign.
pub(super) fn element(ty: &str) -> Option<(Width, bool)> {
    let width = match type_bytes(ty)? {
        _ if matches!(ty, "pred" | "e4m3" | "e5m2") => return None,
        1 => Width::B1,
        2 => Width::B2,
        4 => Width::B4,
        8 => Width::B8,
        _ => return None,
    };
    Some((width, ty.starts_with('s')))
}

/// The elements of a vector operand, or the operand itself.
pub(super) fn elements<'i, 'x>(
    vector: Option<usize>,
    operand: &'i Operand<'x>,
    cx: &Context<'_, '_>,
) -> Result<&'i [Operand<'x>], Refusal> {
    match (vector, operand) {
        (Some(count), Operand::Vector(elements)) if elements.len() == count => Ok(elements),
        (Some(count), _) => Err(cx.invalid(format!(
            "{count} elements in braces are expected, for .v{count}"
        ))),
        // One element in braces is written by some.
        (None, Operand::Vector(elements)) if elements.len() == 1 => Ok(elements),
        (None, _) => Ok(std::slice::from_ref(operand)),
    }
}

/// A register that gets a value of this size.
pub(super) fn destination(
    operand: &Operand<'_>,
    width: Width,
    cx: &mut Context<'_, '_>,
) -> Result<To, Refusal> {
    if cx.is_sink(operand) {
        return Ok(To::Nowhere);
    }
    let (reg, bits) = cx.any(operand)?;
    fits(reg, bits, width, cx)?;
    Ok(match reg {
        Reg::R64(reg) => To::R64(reg),
        Reg::R32(reg) => To::R32 { reg, bits },
        Reg::Pred(_) => To::Nowhere,
    })
}

fn fits(reg: Reg, bits: u32, width: Width, cx: &Context<'_, '_>) -> Result<(), Refusal> {
    let needed = width.bytes() * 8;
    if matches!(reg, Reg::Pred(_)) {
        return Err(cx.invalid("a predicate is neither loaded nor stored"));
    }
    if bits < needed {
        return Err(cx.invalid(format!(
            "a register of {bits} bits is too narrow for a value of {needed}"
        )));
    }
    Ok(())
}

/// A register, or one that holds an immediate, of at least this size.
pub(super) fn value(
    operand: &Operand<'_>,
    ty: &str,
    width: Width,
    cx: &mut Context<'_, '_>,
) -> Result<Reg, Refusal> {
    if let Operand::Name(name) = operand
        && let Some((reg, bits)) = cx.register(name)
    {
        fits(reg, bits, width, cx)?;
        return Ok(reg);
    }
    Ok(match width {
        Width::B8 => Reg::R64(cx.src64(operand, ty)?),
        _ => Reg::R32(cx.src32(operand, ty)?),
    })
}

/// `ld{.qualifiers}{.space}{.vec}.type d, [a]{, policy}`
fn load(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let modifiers = Modifiers::of(&words[1..]);
    let [ty] = modifiers.rest[..] else {
        return Err(unsupported(inst, cx));
    };
    let (width, signed) = element(ty).ok_or_else(|| unsupported(inst, cx))?;
    let [to, from] = modifiers.operands(inst, cx)? else {
        return Err(operands(inst, cx));
    };
    let to = elements(modifiers.vector, to, cx)?
        .iter()
        .map(|to| destination(to, width, cx))
        .collect::<Result<_, _>>()?;
    Ok(Memory::Load(Load {
        address: address(modifiers.space, from, cx)?,
        width,
        signed,
        strong: modifiers.strong,
        acquire: modifiers.acquire,
        to,
    }))
}

/// `st{.qualifiers}{.space}{.vec}.type [a], b{, policy}`
fn store(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let modifiers = Modifiers::of(&words[1..]);
    let [ty] = modifiers.rest[..] else {
        return Err(unsupported(inst, cx));
    };
    let (width, _) = element(ty).ok_or_else(|| unsupported(inst, cx))?;
    let [to, from] = modifiers.operands(inst, cx)? else {
        return Err(operands(inst, cx));
    };
    let address = address(modifiers.space, to, cx)?;
    if matches!(address.region, Region::Const | Region::Param) {
        return Err(cx.invalid("constants and a kernel's parameters cannot be written"));
    }
    let from = elements(modifiers.vector, from, cx)?
        .iter()
        .map(|from| value(from, ty, width, cx))
        .collect::<Result<_, _>>()?;
    Ok(Memory::Store(Store {
        address,
        width,
        strong: modifiers.strong,
        release: modifiers.release,
        from,
    }))
}

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
fn cvta(
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
fn is_space(
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

/// `mapa{.shared::cluster}.u32|u64 d, a, b`
fn mapa(
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
