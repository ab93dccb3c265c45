//! Which bytes of shared and of local memory somebody has written.

/// The bytes of a block's shared memory that were written: a bit for each.
#[derive(Debug, Default)]
pub(super) struct SharedShadow {
    written: Vec<u64>,
    /// Where the memory begins that is the system's, which counts as written.
    end: u64,
}

/// As many ones as bytes are accessed, which are 64 at most.
pub(super) fn ones(bytes: u32) -> u64 {
    u64::MAX >> (64 - bytes.clamp(1, 64))
}

impl SharedShadow {
    /// Shared memory of so many bytes, of which none is written.
    pub(super) fn begin(&mut self, bytes: u64) {
        self.written.clear();
        self.end = bytes;
    }

    /// Which of up to 64 bytes from an address on were not written, the first one in the lowest bit.
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

    /// Whether all of the bytes from an address on were written.
    pub(super) fn has_all(&self, at: u64, bytes: u64) -> bool {
        (0..bytes.div_ceil(64)).all(|word| self.unwritten(at + word * 64, (bytes - word * 64).min(64) as u32) == 0)
    }

    /// All of the bytes from an address on were written.
    pub(super) fn write_all(&mut self, at: u64, bytes: u64) {
        (0..bytes.div_ceil(64)).for_each(|word| self.write(at + word * 64, (bytes - word * 64).min(64) as u32, 0));
    }

    /// Up to 64 bytes were written, but those of `undefined` hold nothing that anybody has written.
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

/// The bytes of the frames in a warp's local memory that were not written: for each the lanes that have not.
#[derive(Debug, Default)]
pub(super) struct LocalShadow {
    unwritten: Vec<u32>,
}

impl LocalShadow {
    /// A kernel's frame of so many bytes, none of which is written.
    pub(super) fn begin(&mut self, bytes: u32) {
        self.unwritten.clear();
        self.unwritten.resize(bytes as usize, u32::MAX);
    }

    /// A frame of so many bytes begins for the lanes of `mask`, which have written none of them.
    pub(super) fn begin_frame(&mut self, mask: u32, at: u32, bytes: u32) {
        let (at, end) = (at as usize, (at + bytes) as usize);
        if self.unwritten.len() < end {
            self.unwritten.resize(end, 0);
        }
        self.unwritten[at..end].iter_mut().for_each(|own| *own |= mask);
    }

    /// The lanes of `mask` have written bytes, or do not use them any more.
    pub(super) fn define(&mut self, mask: u32, at: u32, bytes: u32) {
        self.unwritten.iter_mut().skip(at as usize).take(bytes as usize).for_each(|own| *own &= !mask);
    }

    /// The lanes of `mask` copy bytes to another place.
    pub(super) fn copy(&mut self, mask: u32, from: u32, to: u32, bytes: u32) {
        for byte in 0..bytes {
            let of = |at: u32| (at + byte) as usize;
            let unwritten = self.unwritten.get(of(from)).copied().unwrap_or(0);
            if let Some(to) = self.unwritten.get_mut(of(to)) {
                *to = *to & !mask | unwritten & mask;
            }
        }
    }

    /// Whether lanes of `mask` have not written some of the bytes from an address on.
    pub(super) fn has_any(&self, mask: u32, at: u64, bytes: u32) -> bool {
        let behind = self.unwritten.get(at as usize..).unwrap_or_default();
        behind.iter().take(bytes as usize).any(|own| own & mask != 0)
    }

    /// Which of the bytes from an address on a lane has not written, the first one in the lowest bit.
    #[inline]
    pub(super) fn unwritten(&self, lane: usize, at: u64, bytes: u32) -> u64 {
        let mut unwritten = 0;
        for byte in 0..bytes.min(64) {
            let lanes = self.unwritten.get((at + u64::from(byte)) as usize).copied().unwrap_or(0);
            unwritten |= u64::from(lanes >> lane & 1) << byte;
        }
        unwritten
    }

    /// A lane has written bytes, but those of `undefined` hold nothing that anybody has written.
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
