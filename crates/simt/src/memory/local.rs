//! Local memory: each thread has its own, and it grows with the depth of calls.

use crate::regs::{LANES, Lanes32};

/// The local memory of a warp's 32 threads, word by word: word `w` of lane `l` is at `w * 32 + l`, as
/// hardware lays it out, so that it grows at the end.
#[derive(Debug, Default)]
pub struct LocalMemory {
    words: Vec<u32>,
}

impl LocalMemory {
    /// Bytes that each thread has.
    pub fn len(&self) -> u32 {
        (self.words.len() / LANES * 4) as u32
    }

    /// Whether the threads have no local memory.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Gives each thread `bytes`, a multiple of 4, at least; what is new is zero. Returns `false`, with nothing
    /// changed, if the host has no memory for it.
    #[must_use]
    pub fn grow(&mut self, bytes: u32) -> bool {
        let words = bytes as usize / 4 * LANES;
        let more = words.saturating_sub(self.words.len());
        if self.words.try_reserve(more).is_err() {
            return false;
        }
        self.words.resize(self.words.len() + more, 0);
        true
    }

    /// All words of all threads.
    pub(crate) fn all(&self) -> &[u32] {
        &self.words
    }

    /// The word with byte `at` of a lane, which is in bounds.
    #[inline(always)]
    pub fn word(&self, lane: usize, at: u32) -> u32 {
        self.words[at as usize / 4 * LANES + lane]
    }

    /// Writes the word with byte `at` of a lane, which is in bounds.
    #[inline(always)]
    pub fn set_word(&mut self, lane: usize, at: u32, value: u32) {
        self.words[at as usize / 4 * LANES + lane] = value;
    }

    /// The words with byte `at` of all lanes, which is in bounds.
    #[inline(always)]
    pub fn words(&self, at: u32) -> &Lanes32 {
        let words = &self.words[at as usize / 4 * LANES..];
        words.first_chunk().expect("each word has all lanes")
    }

    /// The words with byte `at` of all lanes, for writing.
    #[inline(always)]
    pub fn words_mut(&mut self, at: u32) -> &mut Lanes32 {
        let words = &mut self.words[at as usize / 4 * LANES..];
        words.first_chunk_mut().expect("each word has all lanes")
    }

    /// One byte of a lane.
    pub fn byte(&self, lane: usize, at: u32) -> u8 {
        (self.word(lane, at) >> (at % 4 * 8)) as u8
    }

    /// Writes one byte of a lane.
    pub fn set_byte(&mut self, lane: usize, at: u32, value: u8) {
        let shift = at % 4 * 8;
        let word = self.word(lane, at) & !(0xff << shift) | u32::from(value) << shift;
        self.set_word(lane, at, word);
    }
}
