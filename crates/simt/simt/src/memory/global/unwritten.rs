//! The bytes of device memory that no thread has written since their allocation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::GlobalMemory;

/// The size of a part in bytes. A part stores a bit for each byte only if some but not all of its bytes are written.
const PART: u64 = 4096;
const WORDS: usize = PART as usize / 64;

/// The bytes that no thread has written, for each allocation that contains such bytes.
#[derive(Debug, Clone, Default)]
pub struct Unwritten {
    /// The allocations by address.
    allocations: BTreeMap<u64, Parts>,
}

#[derive(Debug, Clone)]
struct Parts {
    bytes: u64,
    /// The parts of the allocation; empty as long as no byte is written.
    parts: Vec<Part>,
    /// The number of parts that are not yet completely written.
    left: usize,
}

#[derive(Debug, Clone)]
enum Part {
    Unwritten,
    Written,
    /// A bit for each byte, set if the byte is written.
    Mixed(Box<[u64; WORDS]>),
}

impl Parts {
    /// Returns the mask of the unwritten bytes, for up to 64 bytes from offset `at` on.
    fn find(&self, at: u64, bytes: u64) -> u64 {
        let bytes = bytes.min(self.bytes - at);
        let mut unwritten = 0;
        let mut done = 0;
        while done < bytes {
            let (part, within) = ((at + done) / PART, (at + done) % PART);
            let count = (64 - within % 64).min(bytes - done);
            let word = match self.parts.get(part as usize) {
                None | Some(Part::Unwritten) => u64::MAX,
                Some(Part::Written) => 0,
                Some(Part::Mixed(words)) => !words[(within / 64) as usize] >> (within % 64),
            };
            unwritten |= (word & (u64::MAX >> (64 - count))) << done;
            done += count;
        }
        unwritten
    }
}

/// Returns the bits of a part whose first `bytes` bytes are unwritten. The bits past these bytes are set, as for
/// written bytes.
fn past_end(bytes: u64) -> [u64; WORDS] {
    std::array::from_fn(|word| match bytes.saturating_sub(word as u64 * 64) {
        0 => u64::MAX,
        left @ 1..64 => u64::MAX << left,
        _ => 0,
    })
}

impl Unwritten {
    /// Returns whether all memory is written.
    pub fn is_empty(&self) -> bool {
        self.allocations.is_empty()
    }

    /// Marks an allocation as unwritten.
    pub fn insert(&mut self, base: u64, bytes: u64) {
        self.allocations.insert(base, Parts { bytes, parts: Vec::new(), left: 0 });
    }

    /// Marks an allocation as written.
    pub fn remove(&mut self, base: u64) {
        self.allocations.remove(&base);
    }

    /// Marks all memory as written.
    pub fn clear(&mut self) {
        self.allocations.clear();
    }

    /// Returns whether any of the bytes from an address on is unwritten. Bytes outside the allocation that contains the
    /// address are ignored.
    pub fn has_any(&self, address: u64, bytes: u64) -> bool {
        let found = self.allocations.range(..=address).next_back();
        let Some((at, allocation)) = found
            .map(|(base, allocation)| (address - base, allocation))
            .filter(|(at, allocation)| *at < allocation.bytes)
        else {
            return false;
        };
        let bytes = bytes.min(allocation.bytes - at);
        (0..bytes.div_ceil(64)).any(|word| allocation.find(at + word * 64, (bytes - word * 64).min(64)) != 0)
    }

    /// Calls `tell` once for each address, with a mask of the unwritten bytes among the `bytes` bytes (at most 64) from
    /// the address on. The lowest bit stands for the first byte.
    pub fn find(&self, addresses: impl Iterator<Item = u64>, bytes: u32, mut tell: impl FnMut(u64)) {
        let mut last: Option<(u64, &Parts)> = None;
        for address in addresses {
            let is_last = last.filter(|(base, allocation)| address.wrapping_sub(*base) < allocation.bytes);
            let found = is_last.or_else(|| {
                let (base, allocation) = self.allocations.range(..=address).next_back()?;
                (address - base < allocation.bytes).then_some((*base, allocation))
            });
            let Some((base, allocation)) = found else {
                tell(0);
                continue;
            };
            last = found;
            tell(allocation.find(address - base, u64::from(bytes.min(64))));
        }
    }

    /// Marks up to 64 bytes from an address on as written, except for the bytes in the mask `undefined`, whose value is
    /// undefined.
    pub fn write_some(&mut self, address: u64, bytes: u32, undefined: u64) {
        if undefined == 0 {
            return self.write(address, bytes.into());
        }
        let is_defined = |byte: &u32| undefined >> byte & 1 == 0;
        (0..bytes.min(64)).filter(is_defined).for_each(|byte| self.write(address + u64::from(byte), 1));
    }

    /// Marks bytes from an address on as written.
    pub fn write(&mut self, address: u64, bytes: u64) {
        let Some((base, allocation)) = self.allocations.range_mut(..=address).next_back() else { return };
        let begin = address - base;
        let end = begin.saturating_add(bytes).min(allocation.bytes);
        if begin == 0 && end == allocation.bytes {
            self.allocations.remove(&address);
            return;
        }
        if begin >= end {
            return;
        }
        if allocation.parts.is_empty() {
            allocation.parts.extend((0..allocation.bytes.div_ceil(PART)).map(|_| Part::Unwritten));
            allocation.left = allocation.parts.len();
        }
        let mut at = begin;
        while at < end {
            let part = at / PART;
            let (from, to) = (at % PART, (end - part * PART).min(PART));
            at = (part + 1) * PART;
            let size = (allocation.bytes - part * PART).min(PART);
            let place = &mut allocation.parts[part as usize];
            if let Part::Unwritten = place {
                *place = match from == 0 && to == size {
                    true => {
                        allocation.left -= 1;
                        Part::Written
                    }
                    false => Part::Mixed(Box::new(past_end(size))),
                };
            }
            let Part::Mixed(words) = place else { continue };
            let mut byte = from;
            let mut is_full = false;
            while byte < to {
                let bits = (64 - byte % 64).min(to - byte);
                let word = &mut words[(byte / 64) as usize];
                *word |= (u64::MAX >> (64 - bits)) << (byte % 64);
                is_full |= *word == u64::MAX;
                byte += bits;
            }
            if is_full && words.iter().all(|word| *word == u64::MAX) {
                *place = Part::Written;
                allocation.left -= 1;
            }
        }
        if allocation.left == 0 {
            let base = *base;
            self.allocations.remove(&base);
        }
    }
}

impl GlobalMemory {
    /// Returns the bytes that no thread has written.
    pub fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes that no thread has written, for a launch that updates them.
    pub fn share_unwritten(&self) -> Arc<Mutex<Unwritten>> {
        self.unwritten.clone()
    }

    /// Marks the allocation that starts at `base` as unwritten, for the sanitizer `init`. Its bytes are still zero.
    pub fn set_unwritten(&mut self, base: u64) {
        if let Some(bytes) = self.at(base).map(|allocation| allocation.bytes) {
            self.unwritten().insert(base, bytes);
        }
    }

    /// Marks all memory as written, because a kernel may have written any of it.
    pub fn set_written(&self) {
        self.unwritten().clear();
    }
}
