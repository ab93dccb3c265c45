//! Which bytes of device memory nobody has written since they were allocated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::GlobalMemory;

/// Bytes that are taken together: of each such part there is a bit for each byte only if some are written.
const PART: u64 = 4096;
const WORDS: usize = PART as usize / 64;

/// The bytes that nobody has written, of the allocations that have such bytes.
#[derive(Debug, Clone, Default)]
pub struct Unwritten {
    /// By their addresses.
    allocations: BTreeMap<u64, Parts>,
}

#[derive(Debug, Clone)]
struct Parts {
    bytes: u64,
    /// None as long as nothing is written.
    parts: Vec<Part>,
    /// How many of them are not written as a whole.
    left: usize,
}

#[derive(Debug, Clone)]
enum Part {
    Unwritten,
    Written,
    /// A bit for each byte that is written.
    Mixed(Box<[u64; WORDS]>),
}

impl Parts {
    /// Which of up to 64 bytes from `at` on, inside of it, are not written.
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

/// The bits of a part of so many bytes, none of which is written; those behind its end count as written.
fn beyond(bytes: u64) -> [u64; WORDS] {
    std::array::from_fn(|word| match bytes.saturating_sub(word as u64 * 64) {
        0 => u64::MAX,
        left @ 1..64 => u64::MAX << left,
        _ => 0,
    })
}

impl Unwritten {
    /// Whether all memory is written.
    pub fn is_empty(&self) -> bool {
        self.allocations.is_empty()
    }

    /// Nobody has written this allocation.
    pub fn insert(&mut self, base: u64, bytes: u64) {
        self.allocations.insert(base, Parts { bytes, parts: Vec::new(), left: 0 });
    }

    /// All of an allocation counts as written.
    pub fn remove(&mut self, base: u64) {
        self.allocations.remove(&base);
    }

    /// All memory counts as written.
    pub fn clear(&mut self) {
        self.allocations.clear();
    }

    /// Whether some of the bytes from an address on are not written. `false` for bytes of more than one allocation.
    pub fn has_any(&self, address: u64, bytes: u64) -> bool {
        let found = self.allocations.range(..=address).next_back();
        let Some((at, own)) = found.map(|(base, own)| (address - base, own)).filter(|(at, own)| *at < own.bytes) else {
            return false;
        };
        let bytes = bytes.min(own.bytes - at);
        (0..bytes.div_ceil(64)).any(|word| own.find(at + word * 64, (bytes - word * 64).min(64)) != 0)
    }

    /// Calls `tell` for the bytes at each of these addresses: which of up to 64 are not written, the first one in the lowest
    /// bit.
    pub fn find(&self, addresses: impl Iterator<Item = u64>, bytes: u32, mut tell: impl FnMut(u64)) {
        let mut last: Option<(u64, &Parts)> = None;
        for address in addresses {
            let is_last = last.filter(|(base, own)| address.wrapping_sub(*base) < own.bytes);
            let found = is_last.or_else(|| {
                let (base, own) = self.allocations.range(..=address).next_back()?;
                (address - base < own.bytes).then_some((*base, own))
            });
            let Some((base, own)) = found else {
                tell(0);
                continue;
            };
            last = found;
            tell(own.find(address - base, u64::from(bytes.min(64))));
        }
    }

    /// Up to 64 bytes from an address on were written, but those of `undefined` hold nothing that anybody has written.
    pub fn write_some(&mut self, address: u64, bytes: u32, undefined: u64) {
        if undefined == 0 {
            return self.write(address, bytes.into());
        }
        let is_defined = |byte: &u32| undefined >> byte & 1 == 0;
        (0..bytes.min(64)).filter(is_defined).for_each(|byte| self.write(address + u64::from(byte), 1));
    }

    /// Bytes from an address on were written.
    pub fn write(&mut self, address: u64, bytes: u64) {
        let Some((base, own)) = self.allocations.range_mut(..=address).next_back() else { return };
        let begin = address - base;
        let end = begin.saturating_add(bytes).min(own.bytes);
        if begin == 0 && end == own.bytes {
            self.allocations.remove(&address);
            return;
        }
        if begin >= end {
            return;
        }
        if own.parts.is_empty() {
            own.parts.extend((0..own.bytes.div_ceil(PART)).map(|_| Part::Unwritten));
            own.left = own.parts.len();
        }
        let mut at = begin;
        while at < end {
            let part = at / PART;
            let (from, to) = (at % PART, (end - part * PART).min(PART));
            at = (part + 1) * PART;
            let size = (own.bytes - part * PART).min(PART);
            let place = &mut own.parts[part as usize];
            if let Part::Unwritten = place {
                *place = match from == 0 && to == size {
                    true => {
                        own.left -= 1;
                        Part::Written
                    }
                    false => Part::Mixed(Box::new(beyond(size))),
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
                own.left -= 1;
            }
        }
        if own.left == 0 {
            let base = *base;
            self.allocations.remove(&base);
        }
    }
}

impl GlobalMemory {
    /// What nobody has written.
    pub fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What nobody has written, for a launch that changes it.
    pub fn share_unwritten(&self) -> Arc<Mutex<Unwritten>> {
        self.unwritten.clone()
    }

    /// Marks the allocation that begins at `base` as unwritten, which the sanitizer `init` reads. Its bytes are zero all the
    /// same.
    pub fn set_unwritten(&mut self, base: u64) {
        if let Some(bytes) = self.at(base).map(|own| own.bytes) {
            self.unwritten().insert(base, bytes);
        }
    }

    /// All of it counts as written: a kernel may have written anything.
    pub fn set_written(&self) {
        self.unwritten().clear();
    }
}
