//! Loads, stores, atomics, asynchronous copies and fences.

use ptx::ast::{Number, Operand};

use super::{Decoded, Decoder, lookup};
use crate::alu::float::Half;
use crate::alu::modifiers::Modifiers;
use crate::code::{Pred, Reg};
use crate::memory::async_copy::AsyncCopy;
use crate::memory::atomic::{Atomic, AtomicOp, Whole};
use crate::memory::load_store::{Destination, Load, Store, Width};
use crate::memory::{Group, Memory, Region};
use crate::observe::{AsyncGroup, Scope};
use ptx::opcode::type_bytes;

const BITS: &[&str] = &["b32", "b64"];

/// Operations of `atom` and `red` on numbers of 16 bits.
const HALVES: [(&str, Half); 3] = [("add", Half::Add), ("min", Half::Min), ("max", Half::Max)];

/// The others: the name, the types, and the operation (PTX ISA §9.7.13.5, "Syntax").
const ATOMICS: [(&str, &[&str], AtomicOp); 14] = [
    ("and", BITS, AtomicOp::And),
    ("or", BITS, AtomicOp::Or),
    ("xor", BITS, AtomicOp::Xor),
    ("exch", BITS, AtomicOp::Exchange),
    ("cas", &["b16", "b32", "b64"], AtomicOp::CompareExchange),
    ("add", &["u32", "s32", "u64"], AtomicOp::Add),
    ("add", &["f32"], AtomicOp::AddF32),
    ("add", &["f64"], AtomicOp::AddF64),
    ("inc", &["u32"], AtomicOp::Increment),
    ("dec", &["u32"], AtomicOp::Decrement),
    ("min", &["u32", "u64"], AtomicOp::MinUnsigned),
    ("max", &["u32", "u64"], AtomicOp::MaxUnsigned),
    ("min", &["s32", "s64"], AtomicOp::MinSigned),
    ("max", &["s32", "s64"], AtomicOp::MaxSigned),
];

/// Scopes of fences but the largest, `.sys`.
const SCOPES: [(&str, Scope); 4] =
    [("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("gl", Scope::Gpu)];

/// The operation of this name on values of this type. Vectors (`.v2` and so on) have the operations on
/// floating-point numbers only, and `min` and `max` of halves are of vectors only.
fn atomic_op(name: &str, ty: &str, vector: bool) -> Option<AtomicOp> {
    let op = match ty {
        "f16" | "f16x2" => AtomicOp::Half(lookup(&HALVES, name)?, Modifiers::NONE),
        "bf16" | "bf16x2" => AtomicOp::Half(lookup(&HALVES, name)?, Modifiers::BRAIN),
        _ => ATOMICS.iter().find(|row| row.0 == name && row.1.contains(&ty))?.2,
    };
    let exists = match op {
        AtomicOp::AddF32 | AtomicOp::Half(Half::Add, _) => true,
        AtomicOp::Half(..) => vector,
        _ => !vector,
    };
    exists.then_some(op)
}

/// The operation of this name on values of this type, and their size, as asynchronous reductions have it.
pub(super) fn reduction_of(name: &str, ty: &str) -> Option<(AtomicOp, Width)> {
    let ty = if ty == "s64" && name == "add" { "u64" } else { ty };
    let op = atomic_op(name, ty, type_bytes(ty) == Some(2))?;
    Some((op, width_of(ty)?))
}

/// The modifiers that loads, stores, atomics and copies have in common.
#[derive(Debug, Default)]
struct AccessModifiers<'a> {
    /// The state space; `None` for generic addresses.
    space: Option<&'a str>,
    /// `.v2`, `.v4`, `.v8`
    vector: Option<usize>,
    strong: bool,
    acquire: bool,
    release: bool,
    /// `.L2::cache_hint`: one more operand, which this machine ignores.
    hint: bool,
    /// Other modifiers in their order: operations and the type.
    rest: Vec<&'a str>,
}

impl<'a> AccessModifiers<'a> {
    fn of(words: &[&'a str]) -> Self {
        let mut found = AccessModifiers::default();
        for word in words {
            match *word {
                "global" | "shared" | "shared::cta" | "shared::cluster" | "local" | "const" | "param"
                | "param::entry" | "param::func" => found.space = Some(word),
                "v2" => found.vector = Some(2),
                "v4" => found.vector = Some(4),
                "v8" => found.vector = Some(8),
                "b128" => {
                    found.vector = Some(2);
                    found.rest.push("b64");
                }
                "volatile" | "relaxed" | "mmio" => found.strong = true,
                "acquire" => (found.strong, found.acquire) = (true, true),
                "release" => (found.strong, found.release) = (true, true),
                "acq_rel" | "sc" => {
                    (found.strong, found.acquire, found.release) = (true, true, true);
                }
                "L2::cache_hint" => found.hint = true,
                // Scopes, and hints to caches.
                "weak" | "cta" | "cluster" | "gpu" | "sys" | "nc" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt"
                | "unified" => {}
                hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
                other => found.rest.push(other),
            }
        }
        found
    }

    /// The last modifier, and the size of a value of that type, if all of `rest` is a type.
    fn element(&self) -> Option<(&'a str, Width)> {
        let [ty] = self.rest[..] else { return None };
        Some((ty, width_of(ty)?))
    }
}

/// The size of a value of this type.
pub(super) fn width_of(ty: &str) -> Option<Width> {
    let bytes = type_bytes(ty)?;
    [Width::B1, Width::B2, Width::B4, Width::B8].into_iter().find(|width| width.bytes() == bytes)
}

impl<'d> Decoder<'d, '_, '_> {
    pub(super) fn memory(&mut self) -> Decoded<Memory> {
        match self.words[0] {
            "ld" | "ldu" => self.load(),
            "st" | "red" if self.words[1] == "async" => self.store_async(),
            "st" => self.store(),
            "atom" | "red" => self.atomic(),
            "cp" if self.words[2] == "mbarrier" => self.copies_arrive(),
            "cp" => self.async_copy(),
            "membar" | "fence" => Ok(Memory::Fence(self.known(&SCOPES).unwrap_or(Scope::Sys))),
            _ => Err(self.unsupported_form()),
        }
    }

    /// The operands without the cache policy.
    fn without_policy(&self, modifiers: &AccessModifiers<'_>) -> &'d [Operand<'d>] {
        match (modifiers.hint, self.operands) {
            (true, [rest @ .., _policy]) => rest,
            (_, all) => all,
        }
    }

    /// The modifiers of a load or store, the type with its size, and the two operands.
    fn access(&self) -> Decoded<(AccessModifiers<'d>, &'d str, Width, &'d [Operand<'d>; 2])> {
        let modifiers = AccessModifiers::of(&self.words[1..]);
        let operands = self.without_policy(&modifiers).try_into().ok();
        let found = modifiers.element().zip(operands);
        let ((ty, width), operands) = found.ok_or_else(|| self.unsupported_form())?;
        Ok((modifiers, ty, width, operands))
    }

    /// `ld{.qualifiers}{.space}{.vec}.type d, [a]{, policy}`
    fn load(&mut self) -> Decoded<Memory> {
        let (modifiers, ty, width, [to, from]) = self.access()?;
        let to = self.destinations(modifiers.vector, to)?;
        if modifiers.strong && self.has("b128") {
            return self.whole(Whole::Load, modifiers.space, from, to, Box::default());
        }
        Ok(Memory::Load(Load {
            address: self.address_in(modifiers.space, from)?,
            width,
            signed: ty.starts_with('s'),
            strong: modifiers.strong,
            acquire: modifiers.acquire,
            bytes: width.bytes() * to.len() as u32,
            to,
        }))
    }

    /// `st{.qualifiers}{.space}{.vec}.type [a], b{, policy}`
    fn store(&mut self) -> Decoded<Memory> {
        let (modifiers, ty, width, [to, from]) = self.access()?;
        let address = self.address_in(modifiers.space, to)?;
        if matches!(address.region, Region::Const | Region::Param) {
            return Err(self.invalid("constants and a kernel's parameters cannot be written"));
        }
        let from = self.values(modifiers.vector, from, ty, width)?;
        if modifiers.strong && self.has("b128") {
            return self.whole(Whole::Store, modifiers.space, to, Box::default(), from);
        }
        Ok(Memory::Store(Store {
            address,
            width,
            strong: modifiers.strong,
            release: modifiers.release,
            bytes: width.bytes() * from.len() as u32,
            from,
        }))
    }

    /// An access to 16 bytes as one value.
    fn whole(
        &mut self,
        op: Whole,
        space: Option<&str>,
        at: &Operand<'_>,
        to: Box<[Destination]>,
        operand: Box<[Reg]>,
    ) -> Decoded<Memory> {
        Ok(Memory::Atomic(Box::new(Atomic {
            address: self.address_in(space, at)?,
            width: Width::B8,
            op: AtomicOp::Whole(op),
            to,
            operand,
            only_counts: false,
            new: None,
        })))
    }

    /// `atom{.sem}{.scope}{.space}.op{.noftz}{.vec}.type d, [a], b{, c}{, policy}`; `red` without `d`.
    fn atomic(&mut self) -> Decoded<Memory> {
        let modifiers = AccessModifiers::of(&self.words[1..]);
        let ([name, ty] | [name, "noftz", ty]) = modifiers.rest[..] else {
            return Err(self.unsupported_form());
        };
        let vector = modifiers.vector;
        if self.has("b128") {
            let [to, at, operand, new @ ..] = self.without_policy(&modifiers) else {
                return Err(self.unsupported_form());
            };
            let op = match new.first().map(|new| self.values(vector, new, ty, Width::B8)).transpose()?.as_deref() {
                Some(&[low, high]) => Whole::CompareExchange { new: [low, high] },
                Some(_) => return Err(self.unsupported_form()),
                None => Whole::Exchange,
            };
            let to = self.destinations(vector, to)?;
            let operand = self.values(vector, operand, ty, Width::B8)?;
            return self.whole(op, modifiers.space, at, to, operand);
        }
        let op = atomic_op(name, ty, vector.is_some()).zip(width_of(ty));
        let (op, width) = op.ok_or_else(|| self.unsupported_form())?;
        let (to, at, operand, new) = match self.without_policy(&modifiers) {
            [to, at, operand, new] => (Some(to), at, operand, Some(new)),
            [to, at, operand] => (Some(to), at, operand, None),
            [at, operand] if name != "exch" => (None, at, operand, None),
            _ => return Err(self.unsupported_form()),
        };
        let address = self.address_in(modifiers.space, at)?;
        if !matches!(address.region, Region::Generic | Region::Global | Region::Shared) {
            return Err(self.invalid("atomics are done in global and in shared memory"));
        }
        let adds_one = match (name, ty, operand) {
            ("add", "u32", Operand::Number(Number::Integer(one))) => *one as u32 == 1,
            ("inc", "u32", Operand::Number(Number::Integer(most))) => *most as u32 == u32::MAX,
            _ => false,
        };
        let only_counts = adds_one
            && address.region == Region::Shared
            && !to.is_some_and(|to| !self.is_sink(to) && self.is_read(to))
            && self.is_for(80);
        Ok(Memory::Atomic(Box::new(Atomic {
            only_counts,
            address,
            width,
            op,
            to: to.map_or(Ok(Box::default()), |to| self.destinations(vector, to))?,
            operand: self.values(vector, operand, ty, width)?,
            new: new.map(|new| self.value(new, ty, width)).transpose()?,
        })))
    }

    /// `cp.async.ca|cg.shared.global [dst], [src], bytes{, src-size | ignore-src}{, policy}`,
    /// `cp.async.commit_group`, `cp.async.wait_group n`, `cp.async.wait_all`
    fn async_copy(&mut self) -> Decoded<Memory> {
        let group = |op| Ok(Memory::AsyncGroup(Group::Copies, op));
        let hints = match self.words {
            [_, _, "ca" | "cg", _, _, hints @ ..] => hints,
            [_, _, "commit_group", ..] => return group(AsyncGroup::Commit),
            [_, _, "wait_all", ..] => return group(AsyncGroup::WaitAll),
            _ => {
                let count = self.operands.first().ok_or_else(|| self.unsupported_form())?;
                return group(AsyncGroup::Wait(self.number(count)?));
            }
        };
        let operands = self.without_policy(&AccessModifiers::of(hints));
        let [to, from, bytes, rest @ ..] = operands else {
            return Err(self.unsupported_form());
        };
        let bytes = match (self.words[2], self.number(bytes)?) {
            ("ca", bytes @ (4 | 8 | 16)) | ("cg", bytes @ 16) => bytes as u32,
            (way, bytes) => {
                return Err(self.invalid(format!("cp.async.{way} does not copy {bytes} bytes")));
            }
        };
        let is_predicate = |operand: &Operand<'_>| match operand {
            Operand::Not(_) => true,
            Operand::Name(name) => matches!(self.register(name), Some((Reg::Pred(_), _))),
            _ => false,
        };
        let (ignore, read): (Option<(Pred, bool)>, _) = match rest.first() {
            Some(rest) if is_predicate(rest) => (Some(self.src_pred(rest)?), None),
            Some(rest) => (None, Some(self.src(rest, "u32")?)),
            None => (None, None),
        };
        Ok(Memory::AsyncCopy(Box::new(AsyncCopy {
            to: self.address_in(Some("shared"), to)?,
            from: self.address_in(Some("global"), from)?,
            bytes,
            read,
            ignore,
        })))
    }

    /// The registers that `st.async` and `red.async` store, and the bytes of each.
    pub(super) fn async_values(&mut self, operand: &Operand<'_>) -> Decoded<(u32, Box<[Reg]>)> {
        let modifiers = AccessModifiers::of(&self.words[1..]);
        let ty = self.last();
        let width = width_of(ty).ok_or_else(|| self.unsupported_form())?;
        Ok((width.bytes(), self.values(modifiers.vector, operand, ty, width)?))
    }

    /// The elements of a vector operand, or the operand itself.
    fn elements<'i, 'x>(&self, vector: Option<usize>, operand: &'i Operand<'x>) -> Decoded<&'i [Operand<'x>]> {
        match (vector, operand) {
            (Some(count), Operand::Vector(elements)) if elements.len() == count => Ok(elements),
            (Some(count), _) => Err(self.invalid(format!("{count} elements in braces are expected, for .v{count}"))),
            // One element in braces is written by some.
            (None, Operand::Vector(elements)) if elements.len() == 1 => Ok(elements),
            (None, _) => Ok(std::slice::from_ref(operand)),
        }
    }

    /// The registers that get values.
    pub(super) fn destinations(&mut self, vector: Option<usize>, operand: &Operand<'_>) -> Decoded<Box<[Destination]>> {
        if self.is_sink(operand) {
            return Ok(vec![Destination::Nowhere; vector.unwrap_or(1)].into());
        }
        let elements = self.elements(vector, operand)?.iter();
        let destination = |operand| {
            if self.is_sink(operand) {
                return Ok(Destination::Nowhere);
            }
            let (reg, bits) = self.written(operand)?;
            Ok(match reg {
                Reg::R64(reg) => Destination::R64(reg),
                Reg::R32(reg) => Destination::R32 { reg, bits },
                Reg::Pred(_) => Destination::Nowhere,
            })
        };
        elements.map(destination).collect()
    }

    /// The registers that hold values of this size.
    pub(super) fn values(
        &mut self,
        vector: Option<usize>,
        operand: &Operand<'_>,
        ty: &str,
        width: Width,
    ) -> Decoded<Box<[Reg]>> {
        let elements = self.elements(vector, operand)?.iter();
        elements.map(|operand| self.value(operand, ty, width)).collect()
    }

    /// A register, or one that holds an immediate, of at least this size.
    pub(super) fn value(&mut self, operand: &Operand<'_>, ty: &str, width: Width) -> Decoded<Reg> {
        match operand {
            Operand::Name(_) | Operand::Element(..) => Ok(self.any(operand)?.0),
            _ => self.src_of(operand, ty, width.bytes() * 8),
        }
    }
}
