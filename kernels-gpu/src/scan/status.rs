//! The words in which blocks publish the sums of their tiles.
//!
//! # Tickets
//! A block waits for the tiles before its tile. Waiting is safe only if the blocks of these tiles are already running.
//! CUDA does not guarantee the order in which blocks start, so a block's index must not determine its tile. Instead,
//! the block takes the next number from an atomic counter (`take_ticket`). The blocks with smaller numbers are then
//! already running, and the block of the smallest unfinished tile waits for no other block.
//!
//! # One word per tile
//! A word holds a sum in its low 32 bits and the state in its high 32 bits. One store writes both, so relaxed ordering
//! is enough: the reader of a word reads nothing else that the word's writer wrote. A float is stored as its bits.
//!
//! # Two words for 64-bit elements
//! A 64-bit sum takes two words. Each word holds half of the sum, and the same state. A reader accepts the sum only if
//! both words have the same state. Within a launch, a tile has only one sum in each state, so words with equal states
//! hold halves of the same sum.
//!
//! # Epochs
//! Each launch has a number, its epoch, which is part of each state. Words left by earlier launches have different
//! epochs, so no launch has to clear them. After 2^30 launches, the numbers repeat.
//!
//! Merrill and Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back*, NVIDIA technical report
//! NVR-2016-002.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_device, atomic_fetch_add_u64_device, atomic_load_64_device, atomic_store_32_device,
    atomic_store_64_device,
};
use cuda_std::{thread, warp};

use super::shuffle::sum_warp;
use crate::operation::{Element, Operation};

/// The number of words before the words of the first tile. The first word holds the next ticket, and the second word
/// the epoch and the number of finished blocks.
pub const HEAD: usize = 2;

/// The state of a tile: what its block has published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing yet.
    Empty = 0,
    /// The sum of the tile's elements.
    Sum = 1,
    /// The sum of the elements of this tile and of all tiles before it.
    Prefix = 2,
}

/// The words of a launch.
#[derive(Clone, Copy)]
pub struct Status {
    words: *mut u64,
    epoch: u32,
}

impl Status {
    /// Returns the status words of a launch, with its epoch.
    ///
    /// # Safety
    /// `words` points to `HEAD` words, followed by one word per tile, or two words per tile for 64-bit elements. All
    /// words are zero before the first launch, and unchanged between launches. One launch at a time uses them.
    #[inline(always)]
    pub(super) unsafe fn open(words: *mut u64) -> Self {
        // SAFETY: all threads access the word with atomics. The epoch changes only when the last block has finished.
        Self { words, epoch: (unsafe { atomic_load_64_device(words.add(1), Relaxed) } >> 32) as u32 }
    }

    /// Takes the next tile for this block. One thread of the block calls the method.
    ///
    /// # Safety
    /// Each block calls the method once.
    #[inline(always)]
    pub(super) unsafe fn take_ticket(self) -> u32 {
        // SAFETY: all threads access the word with atomics.
        unsafe { atomic_fetch_add_u32_device(self.words.cast(), Relaxed, 1) }
    }

    /// Counts this block as finished. The last block prepares the words for the next launch. One thread of the block
    /// calls the method.
    ///
    /// # Safety
    /// Each block calls the method once, at its end.
    #[inline(always)]
    pub(super) unsafe fn finish(self) {
        // SAFETY: all threads access these words with atomics. After the last block has arrived, no block takes a
        // ticket.
        unsafe {
            let finished = atomic_fetch_add_u64_device(self.words.add(1), Relaxed, 1) as u32;
            if finished == thread::grid_dim_x() - 1 {
                atomic_store_32_device(self.words.cast(), Relaxed, 0);
                atomic_store_64_device(self.words.add(1), Relaxed, u64::from(self.epoch.wrapping_add(1)) << 32);
            }
        }
    }

    /// Returns the address of a tile's first word.
    #[inline(always)]
    fn word<T>(self, tile: u32) -> *mut u64 {
        self.words.wrapping_add(HEAD + tile as usize * size_of::<T>().div_ceil(4))
    }

    /// Writes the words of a tile.
    ///
    /// # Safety
    /// The tile has enough words for a `T`.
    #[inline(always)]
    pub(super) unsafe fn publish<T: Element>(self, tile: u32, state: State, sum: T) {
        let (word, bits) = (self.word::<T>(tile), sum.to_word());
        let high = u64::from(self.epoch << 2 | state as u32) << 32;
        // SAFETY: the tile has enough words for a `T`.
        unsafe {
            atomic_store_64_device(word, Relaxed, high | bits & u64::from(u32::MAX));
            if size_of::<T>() == 8 {
                atomic_store_64_device(word.add(1), Relaxed, high | bits >> 32);
            }
        }
    }

    /// Reads the words of a tile.
    ///
    /// # Safety
    /// The tile has enough words for a `T`.
    #[inline(always)]
    pub(super) unsafe fn read<T: Element>(self, tile: u32) -> (State, T) {
        let word = self.word::<T>(tile);
        // SAFETY: the tile has enough words for a `T`.
        let low = unsafe { atomic_load_64_device(word, Relaxed) };
        let (high, mut bits) = ((low >> 32) as u32, low & u64::from(u32::MAX));
        let mut state = match high.wrapping_sub(self.epoch << 2) {
            1 => State::Sum,
            2 => State::Prefix,
            _ => State::Empty,
        };
        if size_of::<T>() == 8 {
            // SAFETY: the tile has enough words for a `T`.
            let other = unsafe { atomic_load_64_device(word.add(1), Relaxed) };
            bits |= other << 32;
            if (other >> 32) as u32 != high {
                state = State::Empty;
            }
        }
        (state, T::from_word(bits))
    }

    /// Publishes the sum of a tile and returns the sum of all earlier tiles. One thread of the block looks back, one
    /// tile at a time, until it finds a prefix.
    ///
    /// # Safety
    /// The tile has a word, and the blocks of all earlier tiles have started.
    #[inline(always)]
    pub(super) unsafe fn look_back(self, tile: u32, sum: i32) -> i32 {
        let mut before = 0_i32;
        if tile > 0 {
            // SAFETY: `status` has a word for this tile.
            unsafe { self.publish(tile, State::Sum, sum) };
        }
        let mut other = tile;
        while other > 0 {
            // SAFETY: `other` is at most `tile`, so there is a word for the earlier tile.
            let (state, value) = unsafe { self.read(other - 1) };
            match state {
                State::Empty => continue,
                State::Sum => other -= 1,
                State::Prefix => other = 0,
            }
            before = before.wrapping_add(value);
        }
        // SAFETY: `status` has a word for this tile.
        unsafe { self.publish(tile, State::Prefix, before.wrapping_add(sum)) };
        before
    }

    /// Looks back like `look_back`, but a whole warp reads 32 tiles at a time. All lanes must call the method together,
    /// and all receive the result.
    ///
    /// # Safety
    /// See [`look_back`](Self::look_back).
    #[inline(always)]
    pub(super) unsafe fn look_back_warp<T: Element, O: Operation<T>>(self, tile: u32, sum: T) -> T {
        let lane = thread::thread_idx_x() % 32;
        if tile > 0 && lane == 0 {
            // SAFETY: `status` has a word for this tile.
            unsafe { self.publish(tile, State::Sum, sum) };
        }
        let mut before = O::IDENTITY;
        let mut other = tile;
        while other > 0 {
            // Lane 0 reads the nearest tile. The sum before the first tile is the identity.
            let (state, value) = match lane < other {
                // SAFETY: `other` is at most `tile`, so there is a word for the earlier tile.
                true => unsafe { self.read(other - 1 - lane) },
                false => (State::Prefix, O::IDENTITY),
            };
            // SAFETY: the mask names all 32 lanes, and all of them vote.
            let [empty, prefix] =
                [State::Empty, State::Prefix].map(|kind| unsafe { warp::warp_vote_ballot(u32::MAX, state == kind) });
            // The lanes up to the nearest prefix, or all lanes if no lane has a prefix.
            let summed_lanes = prefix ^ prefix.wrapping_sub(1);
            if empty & summed_lanes != 0 {
                continue;
            }
            let value = if summed_lanes >> lane & 1 == 1 { value } else { O::IDENTITY };
            before = O::combine(sum_warp::<T, O>(value), before);
            other = if prefix == 0 { other - 32 } else { 0 };
        }
        if lane == 0 {
            // SAFETY: `status` has a word for this tile.
            unsafe { self.publish(tile, State::Prefix, O::combine(before, sum)) };
        }
        before
    }
}
