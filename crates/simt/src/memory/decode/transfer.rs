//! `ld`, `st`, `atom`, `red`, `cp.async`.

use super::{Modifiers, address, destination, element, elements, operands, unsupported, value};
use crate::code::Reg;
use crate::lower::{Context, Refusal};
use crate::memory::Memory;
use crate::memory::async_copy::AsyncCopy;
use crate::memory::atomic::{Atomic, allowed, change};
use crate::memory::load_store::{Load, Store, To};
use crate::memory::reach::Region;
use ptx::ast::{Instruction, Number, Operand};

/// `ld{.qualifiers}{.space}{.vec}.type d, [a]{, policy}`
pub(super) fn load(
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
    let to: Box<[_]> = elements(modifiers.vector, to, cx)?
        .iter()
        .map(|to| destination(to, width, cx))
        .collect::<Result<_, _>>()?;
    Ok(Memory::Load(Load {
        address: address(modifiers.space, from, cx)?,
        width,
        signed,
        strong: modifiers.strong,
        acquire: modifiers.acquire,
        bytes: width.bytes() * to.len() as u32,
        to,
    }))
}

/// `st{.qualifiers}{.space}{.vec}.type [a], b{, policy}`
pub(super) fn store(
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
    let from: Box<[_]> = elements(modifiers.vector, from, cx)?
        .iter()
        .map(|from| value(from, ty, width, cx))
        .collect::<Result<_, _>>()?;
    Ok(Memory::Store(Store {
        address,
        width,
        strong: modifiers.strong,
        release: modifiers.release,
        bytes: width.bytes() * from.len() as u32,
        from,
    }))
}

/// `atom{.sem}{.scope}{.space}.op{.noftz}{.vec}.type d, [a], b{, c}{, policy}`; `red` without `d`.
pub(super) fn atomic(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    let modifiers = Modifiers::of(&words[1..]);
    let (name, ty) = match modifiers.rest[..] {
        [name, ty] | [name, "noftz", ty] => (name, ty),
        _ => return Err(unsupported(inst, cx)),
    };
    let vector = modifiers.vector;
    let (change, width) =
        change(name, ty, vector.is_some()).ok_or_else(|| unsupported(inst, cx))?;
    let returns = words[0] == "atom";
    let (to, at, operand, new) = match (modifiers.operands(inst, cx)?, returns, name) {
        ([to, at, operand, new], true, "cas") => (Some(to), at, operand, Some(new)),
        ([to, at, operand], true, name) if name != "cas" => (Some(to), at, operand, None),
        ([at, operand], false, name) if !matches!(name, "cas" | "exch") => {
            (None, at, operand, None)
        }
        _ => return Err(operands(inst, cx)),
    };
    let old = to;
    let to = match to {
        None => Box::default(),
        Some(to) if cx.is_sink(to) => vec![To::Nowhere; vector.unwrap_or(1)].into(),
        Some(to) => elements(vector, to, cx)?
            .iter()
            .map(|to| destination(to, width, cx))
            .collect::<Result<_, _>>()?,
    };
    let address = address(modifiers.space, at, cx)?;
    if !allowed(address.region) {
        return Err(cx.invalid("atomics are done in global and in shared memory"));
    }
    let counts = address.region == Region::Shared && only_counts((name, ty), old, operand, cx);
    Ok(Memory::Atomic(Box::new(Atomic {
        counts,
        address,
        width,
        change,
        to,
        operand: elements(vector, operand, cx)?
            .iter()
            .map(|operand| value(operand, ty, width, cx))
            .collect::<Result<_, _>>()?,
        new: new.map(|new| value(new, ty, width, cx)).transpose()?,
    })))
}

/// Whether an atomic on shared memory is one that [`counts`](Atomic::counts). `to` takes the old value.
fn only_counts(
    operation: (&str, &str),
    to: Option<&Operand<'_>>,
    operand: &Operand<'_>,
    cx: &mut Context<'_, '_>,
) -> bool {
    let adds_one = match (operation, operand) {
        (("add", "u32"), Operand::Number(Number::Integer(one))) => *one as u32 == 1,
        (("inc", "u32"), Operand::Number(Number::Integer(most))) => *most as u32 == u32::MAX,
        _ => false,
    };
    let mut is_read = |to| !cx.is_sink(to) && !cx.is_mentioned_once(to);
    adds_one && !to.is_some_and(&mut is_read) && cx.is_for(80)
}

/// `cp.async.ca|cg.shared.global [dst], [src], bytes{, src-size | ignore-src}{, policy}`,
/// `cp.async.commit_group`, `cp.async.wait_group n`, `cp.async.wait_all`
pub(super) fn async_copy(
    inst: &Instruction<'_>,
    words: &[&str],
    cx: &mut Context<'_, '_>,
) -> Result<Memory, Refusal> {
    match (words, &inst.operands[..]) {
        ([_, "async", "commit_group" | "wait_all"], []) => return Ok(Memory::Nothing),
        ([_, "async", "wait_group"], [count]) => {
            cx.number(count)?;
            return Ok(Memory::Nothing);
        }
        (
            [
                _,
                "async",
                "ca" | "cg",
                "shared" | "shared::cta",
                "global",
                ..,
            ],
            _,
        ) => {}
        _ => return Err(unsupported(inst, cx)),
    }
    let modifiers = Modifiers::of(&words[5..]);
    if !modifiers.rest.is_empty() {
        return Err(unsupported(inst, cx));
    }
    let (to, from, bytes, rest) = match modifiers.operands(inst, cx)? {
        [to, from, bytes] => (to, from, bytes, None),
        [to, from, bytes, rest] => (to, from, bytes, Some(rest)),
        _ => return Err(operands(inst, cx)),
    };
    let bytes = match (words[2], cx.number(bytes)?) {
        ("ca", bytes @ (4 | 8 | 16)) | ("cg", bytes @ 16) => bytes as u32,
        (way, bytes) => {
            return Err(cx.invalid(format!("cp.async.{way} does not copy {bytes} bytes")));
        }
    };
    let (mut read, mut ignore) = (None, None);
    match rest {
        Some(Operand::Not(_)) => ignore = rest.map(|rest| cx.src_pred(rest)).transpose()?,
        Some(Operand::Name(name)) if matches!(cx.register(name), Some((Reg::Pred(_), _))) => {
            ignore = rest.map(|rest| cx.src_pred(rest)).transpose()?;
        }
        Some(rest) => read = Some(cx.src32(rest, "u32")?),
        None => {}
    }
    Ok(Memory::AsyncCopy(Box::new(AsyncCopy {
        to: address(Some("shared"), to, cx)?,
        from: address(Some("global"), from, cx)?,
        bytes,
        read,
        ignore,
    })))
}
