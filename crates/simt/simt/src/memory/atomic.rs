//! `atom` and `red` (PTX ISA §9.7.13.5, §9.7.13.6).
//!
//! On global memory, each lane's operation is a single atomic step for all host threads. Operations on shared memory
//! need no atomicity, because only one host thread accesses a block's shared memory. The lanes of a warp execute one
//! after the other, the lowest first. All operations have `.acq_rel` ordering, which is at least as strong as each
//! instruction requires; scopes are ignored.

use std::sync::Mutex;

use super::access::{MemoryOp, Shape};
use super::address::Address;
use super::load_store::{Destination, Width, put, take};
use super::storage::{Lanes, Storage};
use super::words::Word;
use crate::alu::float::half::one;
use crate::alu::float::{Half, canonical32, flush32, nan64};
use crate::alu::modifiers::Modifiers;
use crate::observe::{AccessKind, Order};
use crate::regs::{LANES, Reg, Regs};

/// The operation of an atomic on the value in memory. If the operation depends on the type of the operands, a suffix
/// names the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the operations")]
pub enum AtomicOp {
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    Add,
    /// 0 if the old value is greater than or equal to the operand, otherwise the old value plus 1.
    Increment,
    /// The operand if the old value is 0 or greater than the operand, otherwise the old value minus 1.
    Decrement,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    AddF32,
    AddF64,
    /// `add`, `min` or `max` of one or two 16-bit numbers.
    Half(Half, Modifiers),
    /// A 16-byte operation, for which the host has no atomic instruction.
    WideOp(WideOp),
}

/// A 16-byte operation. The operations of all host threads are serialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the operations")]
pub enum WideOp {
    Load,
    Store,
    Exchange,
    CompareExchange { new: [Reg; 2] },
}

/// `atom`, `red`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atomic {
    /// The address.
    pub address: Address,
    /// The size of an element.
    pub width: Width,
    /// The operation.
    pub op: AtomicOp,
    /// The memory ordering and its scope.
    pub order: Order,
    /// The destination registers of the old values, one for each element; empty for `red`.
    pub to: Box<[Destination]>,
    /// The operands, one for each element.
    pub operand: Box<[Reg]>,
    /// Whether the instruction only counts: it adds 1 to a word of shared memory, and no instruction reads the old
    /// value.
    ///
    /// For compute capability 8.0 and newer, `ptxas` compiles the instruction to `ATOMS.POPC.INC` (observed with
    /// version 13.5, up to sm_120). `ATOMS.POPC.INC` counts the lanes that add to a word and adds their number at once.
    pub only_counts: bool,
    /// The value that `cas` writes; `operand` is the value that it compares with.
    pub new: Option<Reg>,
}

impl Atomic {
    /// Returns the number of bytes that each lane accesses.
    pub fn bytes(&self) -> u32 {
        self.width.bytes() * self.operand.len().max(self.to.len()) as u32
    }

    /// Returns the kind of the accesses.
    pub fn kind(&self) -> AccessKind {
        match self.op {
            AtomicOp::WideOp(WideOp::Load) => AccessKind::Load,
            AtomicOp::WideOp(WideOp::Store) => AccessKind::Store,
            _ if self.to.is_empty() => AccessKind::Reduction,
            _ => AccessKind::Atomic,
        }
    }

    /// In each lane, applies `change` to the old value, the operand, and the new value of `cas`.
    #[inline(always)]
    fn each<W: Word, S: Storage>(
        &self,
        regs: &mut Regs<'_>,
        memory: &mut S,
        lanes: &Lanes<'_>,
        change: impl Fn(W, W, W) -> W,
    ) {
        let new = self.new.map_or([W::default(); LANES], |new| take(regs, new));
        for (index, operand) in self.operand.iter().enumerate() {
            let operand = take::<W>(regs, *operand);
            let offset = index as u64 * W::BYTES;
            let mut old = [W::default(); LANES];
            lanes.each(|lane| {
                old[lane] = memory.update(lane, lanes.at[lane] + offset, |old| change(old, operand[lane], new[lane]));
            });
            if let Some(to) = self.to.get(index) {
                put(regs, *to, lanes.mask, &old, false);
            }
        }
    }

    /// Executes the operations that are defined for integers of any size.
    #[inline(always)]
    fn integers<W: Word, S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        // Computes the new value from the old value and the operand, both zero-extended to 64 bits.
        macro_rules! each {
            (|$a:ident, $b:ident| $new:expr) => {
                self.each(regs, memory, lanes, |old: W, operand: W, _| {
                    let ($a, $b) = (old.widen(), operand.widen());
                    W::narrow($new)
                })
            };
        }
        // Computes the new value from sign-extended values.
        macro_rules! each_signed {
            ($choose:ident) => {
                self.each(regs, memory, lanes, |old: W, operand: W, _| {
                    let old = old.widen_signed().cast_signed();
                    let operand = operand.widen_signed().cast_signed();
                    W::narrow(old.$choose(operand).cast_unsigned())
                })
            };
        }
        match self.op {
            AtomicOp::And => each!(|a, b| a & b),
            AtomicOp::Or => each!(|a, b| a | b),
            AtomicOp::Xor => each!(|a, b| a ^ b),
            AtomicOp::Exchange => self.each(regs, memory, lanes, |_: W, b, _| b),
            AtomicOp::CompareExchange => {
                self.each(regs, memory, lanes, |a: W, b, c| if a == b { c } else { a });
            }
            AtomicOp::Add => each!(|a, b| a.wrapping_add(b)),
            AtomicOp::Increment => each!(|a, b| if a >= b { 0 } else { a + 1 }),
            AtomicOp::Decrement => each!(|a, b| if a == 0 || a > b { b } else { a - 1 }),
            AtomicOp::MinUnsigned => each!(|a, b| a.min(b)),
            AtomicOp::MaxUnsigned => each!(|a, b| a.max(b)),
            AtomicOp::MinSigned => each_signed!(min),
            AtomicOp::MaxSigned => each_signed!(max),
            AtomicOp::AddF32 | AtomicOp::AddF64 | AtomicOp::Half(..) | AtomicOp::WideOp(_) => {
                unreachable!("decoding gives these the width of their type")
            }
        }
    }

    /// Executes an operation on two words under a lock that all such operations take.
    fn whole<S: Storage>(&self, op: WideOp, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let given = |index: usize| {
            let operand = self.operand.get(index);
            operand.map_or([0; LANES], |reg| take::<u64>(regs, *reg))
        };
        let given = [given(0), given(1)];
        let new = match op {
            WideOp::CompareExchange { new } => new.map(|reg| take::<u64>(regs, reg)),
            _ => given,
        };
        let mut old = [[0u64; LANES]; 2];
        // A poisoned lock is accepted, because a thread that panicked while it held the lock cannot have left
        // inconsistent state that matters.
        let one = ONE_AT_A_TIME.lock();
        lanes.each(|lane| {
            let at = lanes.at[lane];
            let places = [at, at + u64::BYTES];
            let found = places.map(|at| memory.get::<u64>(lane, at));
            (old[0][lane], old[1][lane]) = (found[0], found[1]);
            let writes = match op {
                WideOp::Load => false,
                WideOp::Store | WideOp::Exchange => true,
                WideOp::CompareExchange { .. } => found == [given[0][lane], given[1][lane]],
            };
            if writes {
                memory.set(lane, places[0], new[0][lane]);
                memory.set(lane, places[1], new[1][lane]);
            }
        });
        drop(one);
        for (to, old) in self.to.iter().zip(&old) {
            put(regs, *to, lanes.mask, old, false);
        }
    }

    /// Applies `change` to one or two 16-bit numbers.
    #[inline(always)]
    fn halves<S: Storage>(
        &self,
        regs: &mut Regs<'_>,
        memory: &mut S,
        lanes: &Lanes<'_>,
        change: impl Fn(u16, u16) -> u16,
    ) {
        if self.width == Width::B2 {
            self.each(regs, memory, lanes, |a: u16, b, _| change(a, b));
        } else {
            self.each(regs, memory, lanes, |a: u32, b, _| {
                let low = change(a as u16, b as u16);
                let high = change((a >> 16) as u16, (b >> 16) as u16);
                u32::from(low) | u32::from(high) << 16
            });
        }
    }
}

impl MemoryOp for Atomic {
    #[inline(always)]
    fn address(&self) -> &Address {
        &self.address
    }

    #[inline(always)]
    fn shape(&self) -> Shape {
        Shape { bytes: self.bytes(), kind: self.kind(), write: self.op != AtomicOp::WideOp(WideOp::Load), strong: true }
    }

    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        match (self.op, self.width) {
            (AtomicOp::AddF32, _) if S::FLUSHES => {
                self.each(regs, memory, lanes, |a: u32, b, _| flush32(add32(flush32(a), flush32(b))));
            }
            (AtomicOp::AddF32, _) => self.each(regs, memory, lanes, |a: u32, b, _| add32(a, b)),
            (AtomicOp::WideOp(op), _) => self.whole(op, regs, memory, lanes),
            (AtomicOp::AddF64, _) => self.each(regs, memory, lanes, |a: u64, b, _| add64(a, b)),
            (AtomicOp::Half(op, modifiers), _) => {
                self.halves(regs, memory, lanes, |a, b| one(op, modifiers, u32::from(a), u32::from(b), 0) as u16);
            }
            (_, Width::B2) => self.integers::<u16, S>(regs, memory, lanes),
            (_, Width::B4) => self.integers::<u32, S>(regs, memory, lanes),
            (_, Width::B8) => self.integers::<u64, S>(regs, memory, lanes),
            (_, Width::B1) => unreachable!("no atomic has a type of one byte"),
        }
    }
}

/// Adds with rounding to nearest; a NaN result is the canonical NaN.
fn add32(a: u32, b: u32) -> u32 {
    canonical32(f32::from_bits(a) + f32::from_bits(b))
}

/// Adds with rounding to nearest. If an operand is a NaN, the result is the first such operand as a quiet NaN, as in
/// `add.f64`.
fn add64(a: u64, b: u64) -> u64 {
    let (a, b) = (f64::from_bits(a), f64::from_bits(b));
    nan64(a + b, a, b, 0.0)
}
