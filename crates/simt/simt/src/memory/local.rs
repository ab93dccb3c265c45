//! Local memory, which is separate for each thread and grows with the depth of calls.

use super::storage::{Lanes, Storage};
use super::words::Word;
use crate::regs::{HALF, LANES, Lanes32};
use crate::vectors::Pattern;

/// The local memory of a warp's 32 threads. Word `w` of lane `l` is at index `w * 32 + l`, as in the hardware's layout,
/// so that the memory grows at its end.
#[derive(Debug, Default)]
pub struct LocalMemory {
    words: Vec<u32>,
}

impl LocalMemory {
    /// Returns the size of each thread's local memory in bytes.
    pub(crate) fn len(&self) -> u32 {
        (self.words.len() / LANES * 4) as u32
    }

    /// Grows the memory of each thread to at least `bytes` bytes, a multiple of 4; new words are zero. Returns `false`
    /// and changes nothing if the host has no memory for the new words.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: u32) -> bool {
        let words = bytes as usize / 4 * LANES;
        let more = words.saturating_sub(self.words.len());
        if self.words.try_reserve(more).is_err() {
            return false;
        }
        self.words.resize(self.words.len() + more, 0);
        true
    }

    /// Returns all words of all threads.
    pub(crate) fn all(&self) -> &[u32] {
        &self.words
    }

    /// Returns the word of a lane that contains byte `at`, which must be in bounds.
    #[inline(always)]
    pub(crate) fn word(&self, lane: usize, at: u32) -> u32 {
        self.words[at as usize / 4 * LANES + lane]
    }

    /// Writes the word of a lane that contains byte `at`, which must be in bounds.
    #[inline(always)]
    pub(crate) fn set_word(&mut self, lane: usize, at: u32, value: u32) {
        self.words[at as usize / 4 * LANES + lane] = value;
    }

    /// Returns, for all lanes, the word that contains byte `at`, which must be in bounds.
    #[inline(always)]
    pub(crate) fn words(&self, at: u32) -> &Lanes32 {
        let words = &self.words[at as usize / 4 * LANES..];
        words.first_chunk().expect("each word has all lanes")
    }

    /// Returns, for all lanes, the word that contains byte `at`, for writing.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self, at: u32) -> &mut Lanes32 {
        let words = &mut self.words[at as usize / 4 * LANES..];
        words.first_chunk_mut().expect("each word has all lanes")
    }

    /// Returns a byte of a lane.
    pub(crate) fn byte(&self, lane: usize, at: u32) -> u8 {
        self.get(lane, at.into())
    }

    /// Writes a byte of a lane.
    pub(crate) fn set_byte(&mut self, lane: usize, at: u32, value: u8) {
        self.set(lane, at.into(), value);
    }
}

impl Storage for LocalMemory {
    #[inline(always)]
    fn get<W: Word>(&self, lane: usize, at: u64) -> W {
        let word = |at: u64| u64::from(self.word(lane, at as u32));
        if W::BYTES == 8 { W::narrow(word(at) | word(at + 4) << 32) } else { W::narrow(word(at) >> (at % 4 * 8)) }
    }

    #[inline(always)]
    fn same<W: Word>(&self, first: usize, at: u64, values: &mut [W; HALF]) {
        if W::BYTES == 4 {
            // The lanes' words are contiguous.
            let words = &self.words(at as u32)[first..][..HALF];
            values.copy_from_slice(bytemuck::cast_slice(words));
        } else {
            for (lane, value) in values.iter_mut().enumerate() {
                *value = self.get(first + lane, at);
            }
        }
    }

    #[inline(always)]
    fn set<W: Word>(&mut self, lane: usize, at: u64, value: W) {
        let (value, at) = (value.widen(), at as u32);
        match W::BYTES {
            8 => {
                self.set_word(lane, at, value as u32);
                self.set_word(lane, at + 4, (value >> 32) as u32);
            }
            4 => self.set_word(lane, at, value as u32),
            bytes => {
                let shift = at % 4 * 8;
                let hole = !(((1 << (bytes * 8)) - 1) << shift);
                let word = self.word(lane, at) & hole | (value as u32) << shift;
                self.set_word(lane, at, word);
            }
        }
    }

    #[inline(always)]
    fn write<W: Word>(&mut self, lanes: &Lanes<'_>, offset: u64, _step: u64, values: &[W; LANES]) {
        let at = lanes.at;
        if lanes.patterns == Some([Pattern::Same; 2]) && at[0] == at[HALF] && W::BYTES == 4 {
            let words = self.words_mut((at[0] + offset) as u32);
            words.copy_from_slice(bytemuck::cast_slice(values));
        } else {
            lanes.each(|lane| self.set(lane, at[lane] + offset, values[lane]));
        }
    }
}
