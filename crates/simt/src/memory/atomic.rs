//! `atom` and `red` (PTX ISA §9.7.13.5, §9.7.13.6).
//!
//! On global memory each lane's operation is one atomic step for all host threads; shared memory is
//! accessed by one host thread only. The lanes of a warp come one after the other, the lowest first. All
//! operations are ordered as `.acq_rel`, which is more than any of them asks for; scopes say nothing.

use super::access::{Address, MemoryOp, Shape};
use super::half::Half;
use super::load_store::{Destination, Width, put, take};
use super::storage::{Lanes, Storage};
use super::words::Word;
use crate::observe::AccessKind;
use crate::regs::{LANES, Reg, Regs};

/// What an atomic does with the value in memory. The suffixes are the types that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the operations")]
pub enum AtomicOp {
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    Add,
    /// 0 where the old value is at or above the operand.
    Increment,
    /// The operand where the old value is 0 or above it.
    Decrement,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    AddF32,
    AddF64,
    AddHalf(Half),
    MinHalf(Half),
    MaxHalf(Half),
}

/// `atom`, `red`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atomic {
    /// Where.
    pub address: Address,
    /// The size of an element.
    pub width: Width,
    /// What is done.
    pub op: AtomicOp,
    /// Where the old values go, one for each element; none for `red`.
    pub to: Box<[Destination]>,
    /// The operand, one for each element.
    pub operand: Box<[Reg]>,
    /// Whether it only counts: an addition of 1 to a word of shared memory, whose old value no instruction
    /// reads.
    ///
    /// For compute capability 8.0 and newer `ptxas` makes `ATOMS.POPC.INC` of it (seen with 13.5, up to
    /// sm_120), which counts the lanes that add to a word and adds their number at once.
    pub only_counts: bool,
    /// The value that `cas` writes; its operand is what it compares with.
    pub new: Option<Reg>,
}

impl Atomic {
    /// Each lane's `change` of the old value, the operand and `cas`'s new value.
    #[inline(always)]
    fn each<W: Word, S: Storage>(
        &self,
        regs: &mut Regs<'_>,
        memory: &mut S,
        lanes: &Lanes<'_>,
        change: impl Fn(W, W, W) -> W,
    ) {
        let new = self
            .new
            .map_or([W::default(); LANES], |new| take(regs, new));
        for (index, operand) in self.operand.iter().enumerate() {
            let operand = take::<W>(regs, *operand);
            let offset = index as u64 * W::BYTES;
            let mut old = [W::default(); LANES];
            lanes.each(|lane| {
                old[lane] = memory.update(lane, lanes.at[lane] + offset, |old| {
                    change(old, operand[lane], new[lane])
                });
            });
            if let Some(to) = self.to.get(index) {
                put(regs, *to, lanes.mask, &old, false);
            }
        }
    }

    /// What is defined for integers of any size.
    #[inline(always)]
    fn integers<W: Word, S: Storage>(
        &self,
        regs: &mut Regs<'_>,
        memory: &mut S,
        lanes: &Lanes<'_>,
    ) {
        let n = W::narrow;
        match self.op {
            AtomicOp::And => self.each(regs, memory, lanes, |a: W, b, _| n(a.widen() & b.widen())),
            AtomicOp::Or => self.each(regs, memory, lanes, |a: W, b, _| n(a.widen() | b.widen())),
            AtomicOp::Xor => self.each(regs, memory, lanes, |a: W, b, _| n(a.widen() ^ b.widen())),
            AtomicOp::Exchange => self.each(regs, memory, lanes, |_: W, b, _| b),
            AtomicOp::CompareExchange => {
                self.each(regs, memory, lanes, |a: W, b, c| if a == b { c } else { a });
            }
            AtomicOp::Add => self.each(regs, memory, lanes, |a: W, b, _| {
                n(a.widen().wrapping_add(b.widen()))
            }),
            AtomicOp::Increment => self.each(regs, memory, lanes, |a: W, b, _| {
                n(if a.widen() >= b.widen() {
                    0
                } else {
                    a.widen() + 1
                })
            }),
            AtomicOp::Decrement => self.each(regs, memory, lanes, |a: W, b, _| {
                n(if a.widen() == 0 || a.widen() > b.widen() {
                    b.widen()
                } else {
                    a.widen() - 1
                })
            }),
            AtomicOp::MinUnsigned => {
                self.each(regs, memory, lanes, |a: W, b, _| {
                    n(a.widen().min(b.widen()))
                });
            }
            AtomicOp::MaxUnsigned => {
                self.each(regs, memory, lanes, |a: W, b, _| {
                    n(a.widen().max(b.widen()))
                });
            }
            AtomicOp::MinSigned => self.each(regs, memory, lanes, |a: W, b, _| {
                let (a, b) = (a.widen_signed(), b.widen_signed());
                n(a.cast_signed().min(b.cast_signed()).cast_unsigned())
            }),
            AtomicOp::MaxSigned => self.each(regs, memory, lanes, |a: W, b, _| {
                let (a, b) = (a.widen_signed(), b.widen_signed());
                n(a.cast_signed().max(b.cast_signed()).cast_unsigned())
            }),
            AtomicOp::AddF32
            | AtomicOp::AddF64
            | AtomicOp::AddHalf(_)
            | AtomicOp::MinHalf(_)
            | AtomicOp::MaxHalf(_) => {
                unreachable!("decoding gives these the width of their type")
            }
        }
    }

    /// One or two numbers of 16 bits.
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
        Shape {
            bytes: self.width.bytes() * self.operand.len() as u32,
            kind: if self.to.is_empty() {
                AccessKind::Reduction
            } else {
                AccessKind::Atomic
            },
            write: true,
            strong: true,
        }
    }

    fn perform<S: Storage>(&self, regs: &mut Regs<'_>, memory: &mut S, lanes: &Lanes<'_>) {
        match (self.op, self.width) {
            (AtomicOp::AddF32, _) if S::FLUSHES => {
                self.each(regs, memory, lanes, |a: u32, b, _| {
                    flush(add32(flush(a), flush(b)))
                });
            }
            (AtomicOp::AddF32, _) => self.each(regs, memory, lanes, |a: u32, b, _| add32(a, b)),
            (AtomicOp::AddF64, _) => self.each(regs, memory, lanes, |a: u64, b, _| add64(a, b)),
            (AtomicOp::AddHalf(half), _) => {
                self.halves(regs, memory, lanes, |a, b| half.add(a, b));
            }
            (AtomicOp::MinHalf(half), _) => {
                self.halves(regs, memory, lanes, |a, b| half.min(a, b));
            }
            (AtomicOp::MaxHalf(half), _) => {
                self.halves(regs, memory, lanes, |a, b| half.max(a, b));
            }
            (_, Width::B2) => self.integers::<u16, S>(regs, memory, lanes),
            (_, Width::B4) => self.integers::<u32, S>(regs, memory, lanes),
            (_, Width::B8) => self.integers::<u64, S>(regs, memory, lanes),
            (_, Width::B1) => unreachable!("no atomic has a type of one byte"),
        }
    }
}

/// Of global memory: subnormal operands and results become zero.
fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// To nearest; the canonical NaN where there is no number.
fn add32(a: u32, b: u32) -> u32 {
    let sum = f32::from_bits(a) + f32::from_bits(b);
    if sum.is_nan() {
        0x7fff_ffff
    } else {
        sum.to_bits()
    }
}

/// To nearest; the first NaN of the two, made quiet, where one is, as `add.f64` does.
fn add64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let sum = x + y;
    if x.is_nan() {
        a | 1 << 51
    } else if y.is_nan() {
        b | 1 << 51
    } else if sum.is_nan() {
        0xfff8_0000_0000_0000
    } else {
        sum.to_bits()
    }
}
