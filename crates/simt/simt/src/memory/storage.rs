//! The memories of the state spaces, as accessed by loads, stores and atomics after their addresses have been checked.

use std::sync::atomic::AtomicU64;

use super::GlobalMemory;
use super::mbarrier::not_an_object;
use super::words::Word;
use crate::regs::{ALL, HALF, LANES, Lanes64, lanes as lanes_of};
use crate::vectors::{Pattern, Vectors};

/// The lanes of an access and their addresses.
pub(crate) struct Lanes<'a> {
    /// Addresses in the space; arbitrary for inactive lanes.
    pub(super) at: &'a Lanes64,
    /// The active lanes.
    pub(super) mask: u32,
    /// The patterns of the two halves, if all lanes are active and both halves have a pattern.
    pub(super) patterns: Option<[Pattern; 2]>,
}

impl<'a> Lanes<'a> {
    /// Creates the lanes of an access of `bytes` bytes per lane.
    #[inline(always)]
    pub(crate) fn new(vectors: impl Vectors, at: &'a Lanes64, mask: u32, bytes: u32) -> Self {
        Self { at, mask, patterns: if mask == ALL { vectors.patterns(at, bytes) } else { None } }
    }

    /// Calls `f` for each active lane in order.
    #[inline(always)]
    pub(super) fn each(&self, f: impl FnMut(usize)) {
        each(self.mask, f);
    }
}

/// Calls `f` for each lane of a mask in order.
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

/// A memory in which the lanes' addresses have been checked.
pub(crate) trait Storage {
    /// Whether `atom.add.f32` flushes subnormal numbers to zero in this memory (PTX ISA §9.7.13.5, "Notes").
    const FLUSHES: bool = false;

    /// Reads a value for one lane.
    fn get<W: Word>(&self, lane: usize, at: u64) -> W;

    /// Writes a value for one lane.
    fn set<W: Word>(&mut self, lane: usize, at: u64, value: W);

    /// Replaces a value with the result of `new`, and returns the old value.
    #[inline(always)]
    fn update<W: Word>(&mut self, lane: usize, at: u64, mut new: impl FnMut(W) -> W) -> W {
        let old = self.get(lane, at);
        self.set(lane, at, new(old));
        old
    }

    /// Reads 1, 2, 4 or 8 bytes for one lane.
    fn get_bytes(&self, lane: usize, at: u64, bytes: u32) -> u64 {
        match bytes {
            1 => self.get::<u8>(lane, at).into(),
            2 => self.get::<u16>(lane, at).into(),
            4 => self.get::<u32>(lane, at).into(),
            _ => self.get(lane, at),
        }
    }

    /// Writes the lowest 1, 2, 4 or 8 bytes for one lane.
    fn set_bytes(&mut self, lane: usize, at: u64, bytes: u32, value: u64) {
        match bytes {
            1 => self.set(lane, at, value as u8),
            2 => self.set(lane, at, value as u16),
            4 => self.set(lane, at, value as u32),
            _ => self.set(lane, at, value),
        }
    }

    /// Reads consecutive values for the lanes from `first` on.
    #[inline(always)]
    fn row<W: Word>(&self, first: usize, at: u64, values: &mut [W; HALF]) {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = self.get(first + lane, at + lane as u64 * W::BYTES);
        }
    }

    /// Writes consecutive values for the lanes from `first` on.
    #[inline(always)]
    fn set_row<W: Word>(&mut self, first: usize, at: u64, values: &[W; HALF]) {
        for (lane, value) in values.iter().enumerate() {
            self.set(first + lane, at + lane as u64 * W::BYTES, *value);
        }
    }

    /// Reads the value at one address for the lanes from `first` on.
    #[inline(always)]
    fn same<W: Word>(&self, first: usize, at: u64, values: &mut [W; HALF]) {
        *values = [self.get(first, at); HALF];
    }

    /// Reads a value for each active lane at `offset` from the lane's address, and leaves the values of inactive lanes
    /// unchanged. `step` is the total number of bytes that a lane accesses.
    #[inline(always)]
    fn read<W: Word>(&self, lanes: &Lanes<'_>, offset: u64, step: u64, values: &mut [W; LANES]) {
        let at = lanes.at;
        if let Some(patterns) = lanes.patterns
            && (step == W::BYTES || patterns == [Pattern::Same; 2])
            && let [low, high] = values.as_chunks_mut().0
        {
            self.half(patterns[0], 0, at[0] + offset, low);
            self.half(patterns[1], HALF, at[HALF] + offset, high);
        } else if lanes.mask == ALL {
            // This is not a closure, because the compiler does not inline some closures into a large function.
            for lane in 0..LANES {
                values[lane] = self.get(lane, at[lane] + offset);
            }
        } else {
            for lane in lanes_of(lanes.mask) {
                values[lane] = self.get(lane, at[lane] + offset);
            }
        }
    }

    /// Reads a value for each lane from `first` on; `at` is the address of lane `first`.
    #[inline(always)]
    fn half<W: Word>(&self, pattern: Pattern, first: usize, at: u64, values: &mut [W; HALF]) {
        match pattern {
            Pattern::Row => self.row(first, at, values),
            Pattern::Same => self.same(first, at, values),
        }
    }

    /// Writes the values of all active lanes in order.
    #[inline(always)]
    fn write<W: Word>(&mut self, lanes: &Lanes<'_>, offset: u64, step: u64, values: &[W; LANES]) {
        let at = lanes.at;
        if lanes.patterns == Some([Pattern::Row; 2])
            && step == W::BYTES
            && let [low, high] = values.as_chunks().0
        {
            self.set_row(0, at[0] + offset, low);
            self.set_row(HALF, at[HALF] + offset, high);
        } else if lanes.mask == ALL {
            for lane in 0..LANES {
                self.set(lane, at[lane] + offset, values[lane]);
            }
        } else {
            for lane in lanes_of(lanes.mask) {
                self.set(lane, at[lane] + offset, values[lane]);
            }
        }
    }

    /// Returns whether two adjacent words of a lane may be accessed as one word of twice the size.
    fn pairs(&self) -> bool {
        true
    }
}

/// An allocation of device memory.
pub(super) struct OneAllocation<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) base: u64,
    /// Whether each value is accessed individually. Volatile, relaxed, acquire and release accesses require this.
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
    fn row<W: Word>(&self, _first: usize, at: u64, values: &mut [W; HALF]) {
        W::load_row(self.words, at - self.base, values);
    }

    #[inline(always)]
    fn set_row<W: Word>(&mut self, _first: usize, at: u64, values: &[W; HALF]) {
        W::store_row(values, self.words, at - self.base);
    }

    fn pairs(&self) -> bool {
        !self.strong
    }
}

/// All of device memory, for lanes that address more than one allocation.
pub(crate) struct AnyAllocation<'a>(pub(crate) &'a GlobalMemory);

impl AnyAllocation<'_> {
    fn locate(&self, at: u64) -> OneAllocation<'_> {
        let found = self.0.find(at).expect("the check found it");
        OneAllocation { words: &found.words, base: found.base, strong: true }
    }
}

impl Storage for AnyAllocation<'_> {
    const FLUSHES: bool = true;

    fn get<W: Word>(&self, lane: usize, at: u64) -> W {
        self.locate(at).get(lane, at)
    }

    fn set<W: Word>(&mut self, lane: usize, at: u64, value: W) {
        self.locate(at).set(lane, at, value);
    }

    fn update<W: Word>(&mut self, lane: usize, at: u64, new: impl FnMut(W) -> W) -> W {
        self.locate(at).update(lane, at, new)
    }

    fn pairs(&self) -> bool {
        false
    }
}

/// A block's shared memory.
#[derive(Debug, Default)]
pub struct SharedMemory {
    /// The contents in 8-byte words, so that every access is aligned.
    words: Vec<u64>,
    bytes: u64,
}

impl SharedMemory {
    /// Creates shared memory of `bytes` zero bytes.
    pub fn new(bytes: u64) -> Self {
        Self { words: vec![0; bytes.div_ceil(8) as usize], bytes }
    }

    /// Returns the contents.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.of::<u8>()[..self.bytes as usize]
    }

    /// Returns the size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Sets all bytes to zero.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Fills the first `bytes` bytes with random words that are not valid mbarriers, and sets the rest to zero.
    pub(crate) fn poison(&mut self, bytes: u64, random: &mut fastrand::Rng) {
        let (filled, rest) = self.words.split_at_mut(bytes.div_ceil(8) as usize);
        filled.fill_with(|| not_an_object(random.u64(..)));
        rest.fill(0);
    }

    /// Reads bytes from offset `at` on, if all of them are in bounds.
    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) {
        let rest = self.of::<u8>().get(at as usize..);
        if let Some(from) = rest.and_then(|rest| rest.get(..bytes.len())) {
            bytes.copy_from_slice(from);
        }
    }

    /// Returns the byte at offset `at`, if the offset is in bounds.
    pub(crate) fn byte(&self, at: u64) -> Option<u8> {
        (at < self.bytes).then(|| self.get(0, at))
    }

    /// Returns the contents mutably, rounded up to whole words.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words)
    }

    #[inline(always)]
    fn of<W: Word>(&self) -> &[W] {
        bytemuck::cast_slice(&self.words)
    }

    #[inline(always)]
    fn of_mut<W: Word>(&mut self) -> &mut [W] {
        bytemuck::cast_slice_mut(&mut self.words)
    }
}

impl Storage for SharedMemory {
    #[inline(always)]
    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        self.of::<W>()[(at / W::BYTES) as usize]
    }

    #[inline(always)]
    fn set<W: Word>(&mut self, _lane: usize, at: u64, value: W) {
        self.of_mut::<W>()[(at / W::BYTES) as usize] = value;
    }

    #[inline(always)]
    fn row<W: Word>(&self, _first: usize, at: u64, values: &mut [W; HALF]) {
        values.copy_from_slice(&self.of::<W>()[(at / W::BYTES) as usize..][..HALF]);
    }

    #[inline(always)]
    fn set_row<W: Word>(&mut self, _first: usize, at: u64, values: &[W; HALF]) {
        self.of_mut::<W>()[(at / W::BYTES) as usize..][..HALF].copy_from_slice(values);
    }
}

/// Constant memory, or a kernel's parameters.
pub(super) struct ReadOnly<'a>(pub(super) &'a [u8]);

impl Storage for ReadOnly<'_> {
    #[inline(always)]
    fn get<W: Word>(&self, _lane: usize, at: u64) -> W {
        W::from_bytes(&self.0[at as usize..][..W::BYTES as usize])
    }

    /// Does nothing: the check has already rejected the write.
    fn set<W: Word>(&mut self, _lane: usize, _at: u64, _value: W) {}
}
