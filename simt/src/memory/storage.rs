//! The memories behind the state spaces, as a load, a store or an atomic sees them once its addresses
//! have been checked.

use std::sync::atomic::AtomicU64;

use super::words::Word;
use super::{GlobalMemory, LocalMemory};
use crate::regs::{ALL, LANES, Lanes64};

/// The lanes of an access and their addresses.
pub(super) struct Lanes<'a> {
    /// Addresses in the space; of lanes that do not take part, anything.
    pub(super) at: &'a Lanes64,
    /// The lanes that take part.
    pub(super) mask: u32,
}

impl Lanes<'_> {
    /// Calls `f` for each lane that takes part, in their order.
    #[inline(always)]
    pub(super) fn each(&self, f: impl FnMut(usize)) {
        each(self.mask, f);
    }
}

/// Calls `f` for each lane of a mask, in their order.
#[inline(always)]
pub(super) fn each(mask: u32, mut f: impl FnMut(usize)) {
    if mask == ALL {
        for lane in 0..LANES {
            f(lane);
        }
    } else {
        let mut left = mask;
        while left != 0 {
            f(left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// A memory in which the lanes' addresses are known to be good.
pub(super) trait Storage {
    /// Whether `atom.add.f32` makes zero of subnormal numbers here (PTX ISA §9.7.13.5, "Notes").
    const FLUSHES: bool = false;

    /// Reads for one lane.
    fn get<W: Word>(&self, lane: usize, at: u64) -> W;

    /// Writes for one lane.
    fn set<W: Word>(&mut self, lane: usize, at: u64, value: W);

    /// Replaces a value by what `new` makes of it, and returns what it was.
    #[inline(always)]
    fn update<W: Word>(&mut self, lane: usize, at: u64, mut new: impl FnMut(W) -> W) -> W {
        let old = self.get(lane, at);
        self.set(lane, at, new(old));
        old
    }

    /// Reads for all lanes, `offset` bytes behind their addresses.
    #[inline(always)]
    fn read<W: Word>(&self, lanes: &Lanes<'_>, offset: u64) -> [W; LANES] {
        let mut values = [W::default(); LANES];
        lanes.each(|lane| values[lane] = self.get(lane, lanes.at[lane] + offset));
        values
    }

    /// Writes for all lanes, in their order.
    #[inline(always)]
    fn write<W: Word>(&mut self, lanes: &Lanes<'_>, offset: u64, values: &[W; LANES]) {
        lanes.each(|lane| self.set(lane, lanes.at[lane] + offset, values[lane]));
    }

    /// Whether two neighbouring words of a lane may be accessed as one of twice the size.
    fn pairs(&self) -> bool {
        true
    }
}

/// One allocation of device memory.
pub(super) struct OneAllocation<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) base: u64,
    /// Each value is accessed by itself: what is asked of volatile, relaxed, acquire and release.
    pub(super) strong: bool,
}

impl Storage for OneAllocation<'_> {
    const FLUSHES: bool = true;

    #[inline(always)]
    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        W::load(self.words, at - self.base)
    }

    #[inline(always)]
    fn set<W: Word>(&mut self, _lane: usize, at: u64, value: W) {
        value.store(self.words, at - self.base);
    }

    #[inline(always)]
    fn update<W: Word>(&mut self, _lane: usize, at: u64, new: impl FnMut(W) -> W) -> W {
        W::update(self.words, at - self.base, new)
    }

    #[inline(always)]
    fn read<W: Word>(&self, lanes: &Lanes<'_>, offset: u64) -> [W; LANES] {
        let from = self.base.wrapping_sub(offset);
        let mut values = [W::default(); LANES];
        lanes.each(|lane| values[lane] = W::load(self.words, lanes.at[lane].wrapping_sub(from)));
        values
    }

    #[inline(always)]
    fn write<W: Word>(&mut self, lanes: &Lanes<'_>, offset: u64, values: &[W; LANES]) {
        let from = self.base.wrapping_sub(offset);
        lanes.each(|lane| values[lane].store(self.words, lanes.at[lane].wrapping_sub(from)));
    }

    fn pairs(&self) -> bool {
        !self.strong
    }
}

/// All of device memory, where lanes address more than one allocation.
pub(super) struct AnyAllocation<'a>(pub(super) &'a GlobalMemory);

impl AnyAllocation<'_> {
    fn locate(&self, at: u64) -> (&[AtomicU64], u64) {
        let found = self.0.find(at).expect("the check found it");
        (&found.words, at - found.base)
    }
}

impl Storage for AnyAllocation<'_> {
    const FLUSHES: bool = true;

    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        let (words, at) = self.locate(at);
        W::load(words, at)
    }

    fn set<W: Word>(&mut self, _lane: usize, at: u64, value: W) {
        let (words, at) = self.locate(at);
        value.store(words, at);
    }

    fn update<W: Word>(&mut self, _lane: usize, at: u64, new: impl FnMut(W) -> W) -> W {
        let (words, at) = self.locate(at);
        W::update(words, at, new)
    }

    fn pairs(&self) -> bool {
        false
    }
}

/// Shared memory.
pub(super) struct Shared<'a>(pub(super) &'a mut [u8]);

impl Storage for Shared<'_> {
    #[inline(always)]
    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        W::from_bytes(&self.0[at as usize..][..W::BYTES as usize])
    }

    #[inline(always)]
    fn set<W: Word>(&mut self, _lane: usize, at: u64, value: W) {
        value.to_bytes(&mut self.0[at as usize..][..W::BYTES as usize]);
    }
}

/// Constants, and a kernel's parameters.
pub(super) struct ReadOnly<'a>(pub(super) &'a [u8]);

impl Storage for ReadOnly<'_> {
    #[inline(always)]
    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        W::from_bytes(&self.0[at as usize..][..W::BYTES as usize])
    }

    /// Does nothing: the check has refused it.
    fn set<W: Word>(&mut self, _lane: usize, _at: u64, _value: W) {}
}

/// The threads' local memory.
pub(super) struct Local<'a>(pub(super) &'a mut LocalMemory);

impl Storage for Local<'_> {
    #[inline(always)]
    fn get<W: Word>(&self, lane: usize, at: u64) -> W {
        let word = |at: u64| u64::from(self.0.word(lane, at as u32));
        if W::BYTES == 8 {
            W::narrow(word(at) | word(at + 4) << 32)
        } else {
            W::narrow(word(at) >> (at % 4 * 8))
        }
    }

    #[inline(always)]
    fn set<W: Word>(&mut self, lane: usize, at: u64, value: W) {
        let (value, at) = (value.widen(), at as u32);
        match W::BYTES {
            8 => {
                self.0.set_word(lane, at, value as u32);
                self.0.set_word(lane, at + 4, (value >> 32) as u32);
            }
            4 => self.0.set_word(lane, at, value as u32),
            bytes => {
                let shift = at % 4 * 8;
                let hole = !(((1 << (bytes * 8)) - 1) << shift);
                let word = self.0.word(lane, at) & hole | (value as u32) << shift;
                self.0.set_word(lane, at, word);
            }
        }
    }
}
