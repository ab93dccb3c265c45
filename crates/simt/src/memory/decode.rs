//! From an AST instruction to a memory instruction.

mod convert;
mod transfer;

use super::Memory;
use super::load_store::{To, Width};
use super::reach::{Address, Region};
use crate::code::Reg;
use crate::lower::{Context, Place, Refusal, type_bytes};
use ptx::ast::{Instruction, Operand};

/// Decodes a memory instruction; `None` if the opcode is no such.
pub(crate) fn decode(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Option<Memory>, Refusal> {
    let memory = match words[0] {
        "ld" | "ldu" => transfer::load(inst, words, cx)?,
        "st" => transfer::store(inst, words, cx)?,
        "atom" | "red" => transfer::atomic(inst, words, cx)?,
        "cp" => transfer::async_copy(inst, words, cx)?,
        "membar" | "fence" if inst.operands.is_empty() => Memory::Fence,
        "cvta" => convert::cvta(inst, words, cx)?,
        "isspacep" => convert::is_space(inst, words, cx)?,
        "mapa" => convert::mapa(inst, words, cx)?,
        "getctarank" => convert::rank(inst, cx)?,
        "createpolicy" => convert::policy(inst, cx)?,
        _ => return Ok(None),
    };
    Ok(Some(memory))
}

fn unsupported(inst: &Instruction<'_>, cx: &Context<'_, '_>) -> Refusal {
    cx.unsupported(format!("instruction `{}`", inst.opcode))
}

fn operands(inst: &Instruction<'_>, cx: &Context<'_, '_>) -> Refusal {
    cx.unsupported(format!("instruction `{}` with these operands", inst.opcode))
}

/// The modifiers that loads, stores and atomics have in common.
#[derive(Debug, Default)]
struct Modifiers<'a> {
    /// The state space; generic where there is none.
    space: Option<&'a str>,
    /// `.v2`, `.v4`, `.v8`
    vector: Option<usize>,
    strong: bool,
    acquire: bool,
    release: bool,
    /// `.L2::cache_hint`: one more operand, which says nothing to this machine.
    hint: bool,
    /// What is none of these, in order: operations.
    rest: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    fn of(words: &[&'a str]) -> Self {
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
    fn operands<'i, 'x>(
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
fn address(
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
        fixed: source.place.is_some(),
    })
}

/// The size of an element of this type, and whether a wider register gets its sign.
fn element(ty: &str) -> Option<(Width, bool)> {
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
fn elements<'i, 'x>(
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
fn destination(
    operand: &Operand<'_>,
    width: Width,
    cx: &mut Context<'_, '_>,
) -> Result<To, Refusal> {
    if cx.is_sink(operand) {
        return Ok(To::Nowhere);
    }
    let (reg, bits) = cx.written(operand)?;
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
fn value(
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
