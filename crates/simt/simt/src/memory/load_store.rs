//! `ld`, `ldu` and `st` (PTX ISA §9.7.9.8 to §9.7.9.11).

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use super::access::{AccessOutcome, MemoryOp, Shape, run};
use super::address::{Address, Region};
use super::storage::{Lanes, Storage, each};
use super::words::Word;
use super::{Accessed, Env};
use crate::observe::{AccessKind, Order, StoredValues};
use crate::regs::{ALL, LANES, Lanes64, R32, R64, Reg, Regs};
use crate::vectors::{Pattern, Portable, Vectors};

/// The size of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the sizes in bytes")]
pub enum Width {
    B1 = 1,
    B2 = 2,
    B4 = 4,
    B8 = 8,
}

impl Width {
    /// The size in bytes.
    pub fn bytes(self) -> u32 {
        self as u32
    }
}

/// The destination register of a value that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// `_`: the value is discarded.
    Nowhere,
    /// A register of 32 bits or fewer.
    R32 {
        /// The register.
        reg: R32,
        /// The number of bits of the register.
        bits: u32,
    },
    /// A register of 64 bits.
    R64(R64),
}

/// `ld`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The address.
    pub address: Address,
    /// The size of an element.
    pub width: Width,
    /// Whether the value is sign-extended into a wider register.
    pub signed: bool,
    /// `.weak`, `.volatile`, `.relaxed`, `.acquire` or `.mmio`, and the scope.
    pub order: Order,
    /// The number of bytes that each lane accesses, for all elements.
    pub bytes: u32,
    /// The destination registers, one for each element.
    pub to: Box<[Destination]>,
}

/// `st`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The address.
    pub address: Address,
    /// The size of an element.
    pub width: Width,
    /// `.weak`, `.volatile`, `.relaxed`, `.release` or `.mmio`, and the scope.
    pub order: Order,
    /// The number of bytes that each lane accesses, for all elements.
    pub bytes: u32,
    /// The source registers, one for each element.
    pub from: Box<[Reg]>,
}

impl Load {
    /// Runs the instruction, unless its addresses are in several spaces.
    #[inline(always)]
    pub(crate) fn execute(
        &self,
        vectors: impl Vectors,
        env: &mut Env<'_, '_>,
        mask: u32,
        at: &mut Lanes64,
    ) -> Accessed<AccessOutcome> {
        if self.address.fixed && mask == ALL && self.read_once(env, at).is_some() {
            return Ok(AccessOutcome::Done(self.address.region, Some([Pattern::Same; 2])));
        }
        run(vectors, self, env, mask, at)
    }

    /// Loads one value for all lanes, as a kernel does for its parameters. Returns `None` if the instruction does not
    /// load one value for all lanes, or if the access would fault.
    #[inline(always)]
    fn read_once(&self, env: &mut Env<'_, '_>, at: &mut Lanes64) -> Option<()> {
        let memory = match self.address.region {
            Region::Param => env.params,
            Region::Const => env.constants,
            _ => return None,
        };
        let [to] = self.to[..] else { return None };
        let first = self.address.lane(&env.regs, 0);
        let from = memory.get(usize::try_from(first).ok()?..)?;
        match (to, self.width) {
            (Destination::R32 { reg, .. }, Width::B4) if first.is_multiple_of(4) => {
                let value = u32::from_le_bytes(*from.first_chunk()?);
                env.regs.r32[reg.0 as usize] = [value; LANES];
            }
            (Destination::R64(reg), Width::B8) if first.is_multiple_of(8) => {
                let value = u64::from_le_bytes(*from.first_chunk()?);
                env.regs.r64[reg.0 as usize] = [value; LANES];
            }
            _ => return None,
        }
        *at = [first; LANES];
        Some(())
    }

    #[inline(always)]
    fn read<W: Word, S: Storage>(&self, regs: &mut Regs<'_>, memory: &S, lanes: &Lanes<'_>) {
        if let [to] = self.to[..] {
            self.read_one::<W, S>(regs, memory, lanes, to, 0, W::BYTES);
        } else {
            for (index, to) in self.to.iter().enumerate() {
                let offset = index as u64 * W::BYTES;
                self.read_one::<W, S>(regs, memory, lanes, *to, offset, u64::from(self.bytes));
            }
        }
    }

    /// Reads one element at `offset` from the address. `step` is the total number of bytes that a lane accesses.
    #[inline(always)]
    fn read_one<W: Word, S: Storage>(
        &self,
        regs: &mut Regs<'_>,
        memory: &S,
        lanes: &Lanes<'_>,
        to: Destination,
        offset: u64,
        step: u64,
    ) {
        match to {
            Destination::Nowhere => {}
            // This code reads directly into the register, because the CPU stalls if it reads a vector whose elements
            // were just written individually.
            Destination::R32 { reg, .. } if W::BYTES == 4 => {
                let to = bytemuck::cast_mut(&mut regs.r32[reg.0 as usize]);
                memory.read::<W>(lanes, offset, step, to);
            }
            Destination::R64(reg) if W::BYTES == 8 => {
                let to = bytemuck::cast_mut(&mut regs.r64[reg.0 as usize]);
                memory.read::<W>(lanes, offset, step, to);
            }
            _ => {
                let mut values = [W::default(); LANES];
                memory.read(lanes, offset, step, &mut values);
                put(regs, to, lanes.mask, &values, self.signed);
            }
        }
    }

    /// Reads two 4-byte elements at a time.
    #[inline(always)]
    fn read_pairs<S: Storage>(&self, regs: &mut Regs<'_>, memory: &S, lanes: &Lanes<'_>) {
        for (index, pair) in self.to.chunks_exact(2).enumerate() {
            let mut values = [0u64; LANES];
            memory.read(lanes, index as u64 * 8, u64::from(self.bytes), &mut values);
            let (mut low, mut high) = ([0u32; LANES], [0u32; LANES]);
            for lane in 0..LANES {
                low[lane] = values[lane] as u32;
                high[lane] = (values[lane] >> 32) as u32;
            }
            put(regs, pair[0], lanes.mask, &low, self.signed);
            put(regs, pair[1], lanes.mask, &high, self.signed);
        }
    }
}

impl MemoryOp for Load {
    #[inline(always)]
    fn address(&self) -> &Address {
        &self.address
    }

    #[inline(always)]
    fn shape(&self) -> Shape {
        Shape { bytes: self.bytes, kind: AccessKind::Load, write: false, strong: self.order.is_strong() }
    }

    #[inline(always)]
    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        match self.width {
            Width::B1 => self.read::<u8, S>(regs, memory, lanes),
            Width::B2 => self.read::<u16, S>(regs, memory, lanes),
            Width::B4 if self.to.len().is_multiple_of(2) && memory.pairs() => {
                self.read_pairs(regs, memory, lanes);
            }
            Width::B4 => self.read::<u32, S>(regs, memory, lanes),
            Width::B8 => self.read::<u64, S>(regs, memory, lanes),
        }
        if self.order.acquires() {
            fence(Ordering::Acquire);
        }
    }
}

/// Writes loaded values into a register, extended to the register's width.
#[inline(never)]
pub(super) fn put<W: Word>(regs: &mut Regs<'_>, to: Destination, mask: u32, values: &[W; LANES], signed: bool) {
    match to {
        Destination::Nowhere => {}
        Destination::R32 { reg, bits } => {
            let to = &mut regs.r32[reg.0 as usize];
            if signed && bits > W::BYTES as u32 * 8 {
                let keep = u32::MAX >> (32 - bits);
                each(mask, |lane| {
                    to[lane] = values[lane].widen_signed() as u32 & keep;
                });
            } else {
                each(mask, |lane| to[lane] = values[lane].widen() as u32);
            }
        }
        Destination::R64(reg) => {
            let to = &mut regs.r64[reg.0 as usize];
            if signed {
                each(mask, |lane| to[lane] = values[lane].widen_signed());
            } else {
                each(mask, |lane| to[lane] = values[lane].widen());
            }
        }
    }
}

/// Returns a register's values, truncated.
#[inline(never)]
pub(super) fn take<W: Word>(regs: &Regs<'_>, from: Reg) -> [W; LANES] {
    let mut values = [W::default(); LANES];
    match from {
        Reg::R32(reg) => {
            let from = regs.get32(reg);
            for lane in 0..LANES {
                values[lane] = W::narrow(u64::from(from[lane]));
            }
        }
        Reg::R64(reg) => {
            let from = regs.get64(reg);
            for lane in 0..LANES {
                values[lane] = W::narrow(from[lane]);
            }
        }
        Reg::Pred(_) => unreachable!("decoding takes no predicate for a value"),
    }
    values
}

impl Store {
    /// Runs the instruction, unless its addresses are in several spaces.
    #[inline(always)]
    pub(crate) fn execute(
        &self,
        vectors: impl Vectors,
        env: &mut Env<'_, '_>,
        mask: u32,
        at: &mut Lanes64,
    ) -> Accessed<AccessOutcome> {
        run(vectors, self, env, mask, at)
    }

    #[inline(always)]
    fn write<W: Word, S: Storage>(&self, regs: &Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        if let [from] = self.from[..] {
            write_one::<W, S>(regs, memory, lanes, from, 0, W::BYTES);
        } else {
            for (index, from) in self.from.iter().enumerate() {
                let offset = index as u64 * W::BYTES;
                write_one::<W, S>(regs, memory, lanes, *from, offset, u64::from(self.bytes));
            }
        }
    }

    /// Writes two 4-byte elements at a time.
    #[inline(always)]
    fn write_pairs<S: Storage>(&self, regs: &Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        for (index, pair) in self.from.chunks_exact(2).enumerate() {
            let low = take::<u32>(regs, pair[0]);
            let high = take::<u32>(regs, pair[1]);
            let mut values = [0u64; LANES];
            for lane in 0..LANES {
                values[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            }
            memory.write(lanes, index as u64 * 8, u64::from(self.bytes), &values);
        }
    }
}

/// Writes one element at `offset` from the address. `step` is the total number of bytes that a lane accesses.
#[inline(always)]
fn write_one<W: Word, S: Storage>(
    regs: &Regs<'_>,
    memory: &mut S,
    lanes: &Lanes<'_>,
    from: Reg,
    offset: u64,
    step: u64,
) {
    match from {
        Reg::R32(reg) if W::BYTES == 4 => {
            let values = bytemuck::cast_ref(regs.get32(reg));
            memory.write::<W>(lanes, offset, step, values);
        }
        Reg::R64(reg) if W::BYTES == 8 => {
            let values = bytemuck::cast_ref(regs.get64(reg));
            memory.write::<W>(lanes, offset, step, values);
        }
        _ => memory.write(lanes, offset, step, &take::<W>(regs, from)),
    }
}

/// A comparison of the values of an upcoming store with the contents of memory.
struct Comparison<'a> {
    store: &'a Store,
    stored: Cell<StoredValues>,
}

impl Comparison<'_> {
    fn compare<W: Word, S: Storage>(&self, regs: &Regs<'_>, memory: &S, lanes: &Lanes<'_>) {
        let StoredValues { mut unchanged, mut alike } = self.stored.get();
        for (index, from) in self.store.from.iter().enumerate() {
            let values = take::<W>(regs, *from);
            let first = values[lanes.mask.trailing_zeros() as usize % LANES].widen();
            lanes.each(|lane| {
                let value = values[lane].widen();
                alike &= value == first;
                let there = memory.get::<W>(lane, lanes.at[lane] + index as u64 * W::BYTES);
                unchanged &= !(u32::from(value != there.widen()) << lane);
            });
        }
        self.stored.set(StoredValues { unchanged, alike });
    }
}

impl MemoryOp for Comparison<'_> {
    fn address(&self) -> &Address {
        &self.store.address
    }

    fn shape(&self) -> Shape {
        Shape { kind: AccessKind::Load, write: false, ..self.store.shape() }
    }

    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        self.stored.set(StoredValues { unchanged: lanes.mask, alike: true });
        match self.store.width {
            Width::B1 => self.compare::<u8, S>(regs, memory, lanes),
            Width::B2 => self.compare::<u16, S>(regs, memory, lanes),
            Width::B4 => self.compare::<u32, S>(regs, memory, lanes),
            Width::B8 => self.compare::<u64, S>(regs, memory, lanes),
        }
    }
}

impl Store {
    /// Compares the values to be stored with the contents of memory and with each other. Returns the default if the
    /// lanes' addresses are in several spaces.
    #[inline(never)]
    pub(crate) fn compare(&self, env: &mut Env<'_, '_>, mask: u32, at: &mut Lanes64) -> StoredValues {
        let comparison = Comparison { store: self, stored: Cell::default() };
        // The store itself reports a fault.
        let _ = run(Portable, &comparison, env, mask, at);
        comparison.stored.get()
    }
}

impl MemoryOp for Store {
    #[inline(always)]
    fn address(&self) -> &Address {
        &self.address
    }

    #[inline(always)]
    fn shape(&self) -> Shape {
        Shape { bytes: self.bytes, kind: AccessKind::Store, write: true, strong: self.order.is_strong() }
    }

    #[inline(always)]
    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        if self.order.releases() {
            fence(Ordering::Release);
        }
        match self.width {
            Width::B1 => self.write::<u8, S>(regs, memory, lanes),
            Width::B2 => self.write::<u16, S>(regs, memory, lanes),
            Width::B4 if self.from.len().is_multiple_of(2) && memory.pairs() => {
                self.write_pairs(regs, memory, lanes);
            }
            Width::B4 => self.write::<u32, S>(regs, memory, lanes),
            Width::B8 => self.write::<u64, S>(regs, memory, lanes),
        }
    }
}
