//! Loads, stores, atomics, asynchronous copies and fences.

use ptx::ast::{Number, Operand};

use super::{Decoded, Decoder, lookup};
use crate::alu::float::Half;
use crate::alu::modifiers::Modifiers;
use crate::code::{Pred, Reg};
use crate::memory::async_copy::AsyncCopy;
use crate::memory::atomic::{Atomic, AtomicOp, WideOp};
use crate::memory::load_store::{Destination, Load, Store, Width};
use crate::memory::{Group, Memory, Region};
use crate::observe::{AsyncGroup, FenceKind, Order, Scope, Semantics};
use ptx::opcode::type_bytes;

const BITS: &[&str] = &["b32", "b64"];

/// Operations of `atom` and `red` on 16-bit numbers.
const HALVES: [(&str, Half); 3] = [("add", Half::Add), ("min", Half::Min), ("max", Half::Max)];

/// The operations on other types: the name, the types, and the operation (PTX ISA §9.7.13.5, "Syntax").
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

/// The names of scopes. `membar` names the GPU scope `.gl`.
const SCOPES: [(&str, Scope); 5] =
    [("cta", Scope::Cta), ("cluster", Scope::Cluster), ("gpu", Scope::Gpu), ("gl", Scope::Gpu), ("sys", Scope::Sys)];

/// Returns the operation with this name on values of this type. Vectors (`.v2` and so on) support only operations on
/// floating-point numbers. Only vectors support `min` and `max` of halves.
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

/// Returns the operation with this name on values of this type, and the size of the values, for asynchronous
/// reductions.
pub(super) fn reduction_of(name: &str, ty: &str) -> Option<(AtomicOp, Width)> {
    let ty = if ty == "s64" && name == "add" { "u64" } else { ty };
    let op = atomic_op(name, ty, type_bytes(ty) == Some(2))?;
    Some((op, width_of(ty)?))
}

/// The modifiers that order an access relative to other accesses.
const SEMANTICS: [(&str, Semantics); 6] = [
    ("volatile", Semantics::Volatile),
    ("relaxed", Semantics::Relaxed),
    ("mmio", Semantics::Relaxed),
    ("acquire", Semantics::Acquire),
    ("release", Semantics::Release),
    ("acq_rel", Semantics::AcqRel),
];

/// The names of [`ATOMICS`].
const OPERATIONS: [&str; 10] = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];

/// Returns the size of a value of this type.
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
            "membar" | "fence" => Ok(Memory::Fence(self.known(&SCOPES).unwrap_or(Scope::Sys), self.fence_kind())),
            _ => Err(self.unsupported_form()),
        }
    }

    /// Returns the operands without the cache policy (`.L2::cache_hint`), which the simulator ignores.
    fn without_policy(&self) -> &'d [Operand<'d>] {
        let policies = usize::from(self.has("L2::cache_hint"));
        &self.operands[..self.operands.len() - policies.min(self.operands.len())]
    }

    /// Returns the number of elements in braces that the opcode requires.
    fn vector(&self) -> Option<usize> {
        self.known(&[("v2", 2), ("v4", 4), ("v8", 8), ("b128", 2)])
    }

    /// Rejects an access size that the opcode does not allow. Only global memory supports 32-byte accesses, and only
    /// 32-byte accesses can specify an eviction priority in the L2 cache.
    fn check_size(&self) -> Decoded<()> {
        let elements = self.known(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
        let bytes = elements * type_bytes(self.last()).unwrap_or(1);
        let names = |name: &str| self.words.iter().any(|word| word.split("::").next() == Some(name));
        let most = match elements {
            4 | 8 if self.words[0] != "ldu" && !["shared", "local", "const", "param"].into_iter().any(names) => 32,
            _ => 16,
        };
        if bytes > most {
            return Err(self.invalid(format!("`{}` accesses {bytes} bytes, but the maximum is {most}", self.opcode)));
        }
        match self.words.iter().find(|word| word.starts_with("L2::evict")) {
            Some(word) if bytes < 32 => {
                Err(self.invalid(format!("`.{word}` is only for .v8 of 32 bits and .v4 of 64 bits")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the type of an element, and its size.
    pub(super) fn element(&self) -> Decoded<(&'d str, Width)> {
        let ty = if self.last() == "b128" { "b64" } else { self.last() };
        Ok((ty, width_of(ty).ok_or_else(|| self.unsupported_form())?))
    }

    /// Returns the operation of an atomic or a reduction, if the opcode names one.
    pub(super) fn operation(&self) -> Option<&'d str> {
        self.words.iter().copied().find(|word| OPERATIONS.contains(word))
    }

    fn fence_kind(&self) -> FenceKind {
        let names = |name: &str| self.words.iter().any(|word| word.split("::").next() == Some(name));
        match self.words[0] {
            _ if names("proxy") && names("async") => FenceKind::ProxyAsync,
            _ if names("proxy") => FenceKind::Proxy,
            _ if names("mbarrier_init") => FenceKind::MbarrierInit,
            "membar" => FenceKind::Sc,
            _ if names("sc") => FenceKind::Sc,
            _ => FenceKind::AcqRel,
        }
    }

    /// Returns the memory order of the opcode. `semantics` and `scope` apply if the opcode does not name them.
    fn order(&self, semantics: Semantics, scope: Scope) -> Order {
        let semantics = self.known(&SEMANTICS).unwrap_or(semantics);
        let scope = match semantics {
            Semantics::Volatile => Scope::Sys,
            _ => self.known(&SCOPES).unwrap_or(scope),
        };
        Order { semantics, scope }
    }

    /// Returns the type of a load or store with its size, its memory order, and the two operands.
    fn access(&self) -> Decoded<(&'d str, Width, Order, &'d [Operand<'d>; 2])> {
        let (ty, width) = self.element()?;
        self.check_size()?;
        let operands = self.without_policy().try_into().map_err(|_| self.unsupported_form())?;
        Ok((ty, width, self.order(Semantics::Weak, Scope::Sys), operands))
    }

    /// `ld{.qualifiers}{.space}{.vec}.type d, [a]{, policy}`
    fn load(&mut self) -> Decoded<Memory> {
        let (ty, width, order, [to, from]) = self.access()?;
        let to = self.destinations(to)?;
        if order.is_strong() && self.has("b128") {
            return self.whole(WideOp::Load, from, to, Box::default());
        }
        Ok(Memory::Load(Load {
            address: self.space_address(from)?,
            width,
            signed: ty.starts_with('s'),
            order,
            bytes: width.bytes() * to.len() as u32,
            to,
        }))
    }

    /// `st{.qualifiers}{.space}{.vec}.type [a], b{, policy}`
    fn store(&mut self) -> Decoded<Memory> {
        let (ty, width, order, [to, from]) = self.access()?;
        let address = self.space_address(to)?;
        if matches!(address.region, Region::Const | Region::Param) {
            return Err(self.invalid("constants and a kernel's parameters cannot be written"));
        }
        let from = self.values(from, ty)?;
        if order.is_strong() && self.has("b128") {
            return self.whole(WideOp::Store, to, Box::default(), from);
        }
        Ok(Memory::Store(Store { address, width, order, bytes: width.bytes() * from.len() as u32, from }))
    }

    /// Decodes a 16-byte access to a single value.
    fn whole(&mut self, op: WideOp, at: &Operand<'_>, to: Box<[Destination]>, operand: Box<[Reg]>) -> Decoded<Memory> {
        Ok(Memory::Atomic(Box::new(Atomic {
            address: self.space_address(at)?,
            width: Width::B8,
            op: AtomicOp::WideOp(op),
            order: self.order(Semantics::Relaxed, Scope::Gpu),
            to,
            operand,
            only_counts: false,
            new: None,
        })))
    }

    /// `atom{.sem}{.scope}{.space}.op{.noftz}{.vec}.type d, [a], b{, c}{, policy}`; `red` without `d`.
    fn atomic(&mut self) -> Decoded<Memory> {
        let (ty, width) = self.element()?;
        let name = self.operation().unwrap_or_default();
        if self.has("b128") {
            let [to, at, operand, new @ ..] = self.without_policy() else {
                return Err(self.unsupported_form());
            };
            let op = match new.first().map(|new| self.values(new, ty)).transpose()?.as_deref() {
                Some(&[low, high]) => WideOp::CompareExchange { new: [low, high] },
                Some(_) => return Err(self.unsupported_form()),
                None => WideOp::Exchange,
            };
            let to = self.destinations(to)?;
            let operand = self.values(operand, ty)?;
            return self.whole(op, at, to, operand);
        }
        let op = atomic_op(name, ty, self.vector().is_some()).ok_or_else(|| self.unsupported_form())?;
        let (to, at, operand, new) = match self.without_policy() {
            [to, at, operand, new] => (Some(to), at, operand, Some(new)),
            [to, at, operand] => (Some(to), at, operand, None),
            [at, operand] if name != "exch" => (None, at, operand, None),
            _ => return Err(self.unsupported_form()),
        };
        let address = self.space_address(at)?;
        if !matches!(address.region, Region::Generic | Region::Global | Region::Shared) {
            return Err(self.invalid("atomics need global or shared memory"));
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
            order: self.order(Semantics::Relaxed, Scope::Gpu),
            to: to.map_or(Ok(Box::default()), |to| self.destinations(to))?,
            operand: self.values(operand, ty)?,
            new: new.map(|new| self.value(new, ty)).transpose()?,
        })))
    }

    /// `cp.async.ca|cg.shared.global [dst], [src], bytes{, src-size | ignore-src}{, policy}`,
    /// `cp.async.commit_group`, `cp.async.wait_group n`, `cp.async.wait_all`
    fn async_copy(&mut self) -> Decoded<Memory> {
        let group = |op| Ok(Memory::AsyncGroup(Group::Copies, op, false));
        match self.words {
            [_, _, "ca" | "cg", ..] => {}
            [_, _, "commit_group", ..] => return group(AsyncGroup::Commit),
            [_, _, "wait_all", ..] => return group(AsyncGroup::WaitAll),
            _ => {
                let count = self.operands.first().ok_or_else(|| self.unsupported_form())?;
                return group(AsyncGroup::Wait(self.number(count)?));
            }
        }
        let [to, from, bytes, rest @ ..] = self.without_policy() else {
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

    /// Returns the elements of a vector operand, or the operand itself.
    fn elements<'i, 'x>(&self, operand: &'i Operand<'x>) -> Decoded<&'i [Operand<'x>]> {
        match (self.vector(), operand) {
            (Some(count), Operand::Vector(elements)) if elements.len() == count => Ok(elements),
            (Some(count), _) => Err(self.invalid(format!("{count} elements in braces are expected for .v{count}"))),
            // A single element may also be written in braces.
            (None, Operand::Vector(elements)) if elements.len() == 1 => Ok(elements),
            (None, _) => Ok(std::slice::from_ref(operand)),
        }
    }

    /// Returns the destination registers.
    pub(super) fn destinations(&mut self, operand: &Operand<'_>) -> Decoded<Box<[Destination]>> {
        if self.is_sink(operand) {
            return Ok(vec![Destination::Nowhere; self.vector().unwrap_or(1)].into());
        }
        let elements = self.elements(operand)?.iter();
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

    /// Returns the source registers, for values of this type.
    pub(super) fn values(&mut self, operand: &Operand<'_>, ty: &str) -> Decoded<Box<[Reg]>> {
        let elements = self.elements(operand)?.iter();
        elements.map(|operand| self.value(operand, ty)).collect()
    }

    /// Returns a source register, or a register that holds an immediate, with at least the size of `ty`.
    pub(super) fn value(&mut self, operand: &Operand<'_>, ty: &str) -> Decoded<Reg> {
        match operand {
            Operand::Name(_) | Operand::Element(..) => Ok(self.any(operand)?.0),
            _ => self.src_of(operand, ty, type_bytes(ty).unwrap_or(4) * 8),
        }
    }
}
