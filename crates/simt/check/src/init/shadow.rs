//! The written bytes of shared and local memory.

/// The written bytes of a block's shared memory, one bit per byte.
#[derive(Debug, Default)]
pub(super) struct SharedShadow {
    written: Vec<u64>,
    /// The address at which the system's memory starts. This memory counts as written.
    end: u64,
}

/// Returns a mask with one bit for each accessed byte, at most 64.
pub(super) fn ones(bytes: u32) -> u64 {
    u64::MAX >> (64 - bytes.clamp(1, 64))
}

impl SharedShadow {
    /// Starts with `bytes` unwritten bytes of shared memory.
    pub(super) fn begin(&mut self, bytes: u64) {
        self.written.clear();
        self.end = bytes;
    }

    /// Returns which of up to 64 bytes at an address are unwritten, with the first byte in the lowest bit.
    #[inline]
    pub(super) fn unwritten(&self, at: u64, bytes: u32) -> u64 {
        if at >= self.end {
            return 0;
        }
        let (word, shift) = ((at / 64) as usize, at % 64);
        let low = self.written.get(word).copied().unwrap_or(0);
        let mut written = low >> shift;
        if shift + u64::from(bytes) > 64 {
            written |= self.written.get(word + 1).copied().unwrap_or(0) << (64 - shift);
        }
        !written & ones(bytes)
    }

    /// Returns whether all bytes at an address are written.
    pub(super) fn has_all(&self, at: u64, bytes: u64) -> bool {
        (0..bytes.div_ceil(64)).all(|word| self.unwritten(at + word * 64, (bytes - word * 64).min(64) as u32) == 0)
    }

    /// Marks all bytes at an address as written.
    pub(super) fn write_all(&mut self, at: u64, bytes: u64) {
        (0..bytes.div_ceil(64)).for_each(|word| self.write(at + word * 64, (bytes - word * 64).min(64) as u32, 0));
    }

    /// Marks up to 64 bytes as written, except for the bytes in `undefined`.
    #[inline]
    pub(super) fn write(&mut self, at: u64, bytes: u32, undefined: u64) {
        let (word, shift) = ((at / 64) as usize, at % 64);
        if self.written.len() < word + 2 {
            self.written.resize((word + 2).next_power_of_two(), 0);
        }
        let (all, defined) = (ones(bytes), ones(bytes) & !undefined);
        self.written[word] = self.written[word] & !(all << shift) | defined << shift;
        if shift + u64::from(bytes) > 64 {
            let next = &mut self.written[word + 1];
            *next = *next & !(all >> (64 - shift)) | defined >> (64 - shift);
        }
    }
}

/// The unwritten bytes of the frames in a warp's local memory: for each byte, the lanes that have not written it.
#[derive(Debug, Default)]
pub(super) struct LocalShadow {
    unwritten: Vec<u32>,
}

impl LocalShadow {
    /// Starts with a kernel frame of `bytes` unwritten bytes.
    pub(super) fn begin(&mut self, bytes: u32) {
        self.unwritten.clear();
        self.unwritten.resize(bytes as usize, u32::MAX);
    }

    /// Starts a frame of `bytes` unwritten bytes for the lanes of `mask`.
    pub(super) fn begin_frame(&mut self, mask: u32, at: u32, bytes: u32) {
        let (at, end) = (at as usize, (at + bytes) as usize);
        if self.unwritten.len() < end {
            self.unwritten.resize(end, 0);
        }
        self.unwritten[at..end].iter_mut().for_each(|lanes| *lanes |= mask);
    }

    /// Records that the lanes of `mask` have written bytes or no longer use them.
    pub(super) fn define(&mut self, mask: u32, at: u32, bytes: u32) {
        self.unwritten.iter_mut().skip(at as usize).take(bytes as usize).for_each(|lanes| *lanes &= !mask);
    }

    /// Records that the lanes of `mask` copy bytes to another place.
    pub(super) fn copy(&mut self, mask: u32, from: u32, to: u32, bytes: u32) {
        for byte in 0..bytes {
            let index_of = |at: u32| (at + byte) as usize;
            let unwritten = self.unwritten.get(index_of(from)).copied().unwrap_or(0);
            if let Some(to) = self.unwritten.get_mut(index_of(to)) {
                *to = *to & !mask | unwritten & mask;
            }
        }
    }

    /// Returns whether lanes of `mask` have unwritten bytes at an address.
    pub(super) fn has_any(&self, mask: u32, at: u64, bytes: u32) -> bool {
        let rest = self.unwritten.get(at as usize..).unwrap_or_default();
        rest.iter().take(bytes as usize).any(|lanes| lanes & mask != 0)
    }

    /// Returns which bytes at an address are unwritten in a lane, with the first byte in the lowest bit.
    #[inline]
    pub(super) fn unwritten(&self, lane: usize, at: u64, bytes: u32) -> u64 {
        let mut unwritten = 0;
        for byte in 0..bytes.min(64) {
            let lanes = self.unwritten.get((at + u64::from(byte)) as usize).copied().unwrap_or(0);
            unwritten |= u64::from(lanes >> lane & 1) << byte;
        }
        unwritten
    }

    /// Marks bytes of a lane as written, except for the bytes in `undefined`.
    #[inline]
    pub(super) fn write(&mut self, lane: usize, at: u64, bytes: u32, undefined: u64) {
        for byte in 0..bytes.min(64) {
            if let Some(unwritten) = self.unwritten.get_mut((at + u64::from(byte)) as usize) {
                let bit = 1 << lane;
                *unwritten = if undefined >> byte & 1 == 0 { *unwritten & !bit } else { *unwritten | bit };
            }
        }
    }
}
