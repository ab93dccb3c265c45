//! The heap of `malloc` and `free` in kernels, which keeps its blocks from launch to launch.

use std::collections::BTreeMap;

/// Bytes that addresses and sizes are multiples of.
const ALIGN: u64 = 16;

/// Which parts of the heap's memory are free, and which are given out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    /// Free parts: where each begins, and its bytes.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
    /// Where its memory begins, once it has some.
    pub(super) base: Option<u64>,
}

impl Heap {
    /// A heap in so many bytes of device memory.
    pub(super) fn new(base: u64, bytes: u64) -> Self {
        Self { free: [(base, bytes)].into(), used: BTreeMap::new(), base: Some(base) }
    }

    /// The address of so many bytes; 0 if there are none.
    pub(super) fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(ALIGN) else {
            return 0;
        };
        let mut free = self.free.iter();
        let Some((&at, &room)) = free.find(|(_, room)| **room >= bytes) else {
            return 0;
        };
        self.free.remove(&at);
        if room > bytes {
            self.free.insert(at + bytes, room - bytes);
        }
        self.used.insert(at, bytes);
        at
    }

    /// The block that an address lies in, which was given out: where it begins, and its bytes.
    pub(super) fn block(&self, address: u64) -> Option<(u64, u64)> {
        let (at, bytes) = self.used.range(..=address).next_back()?;
        (address - at < *bytes).then_some((*at, *bytes))
    }

    /// How many blocks are given out, and their bytes.
    pub(super) fn in_use(&self) -> (usize, u64) {
        (self.used.len(), self.used.values().sum())
    }

    /// Frees what begins at an address, or nothing at 0; `false` if nothing was given out there.
    pub(super) fn free(&mut self, at: u64) -> bool {
        if at == 0 {
            return true;
        }
        let Some(mut bytes) = self.used.remove(&at) else {
            return false;
        };
        if let Some(behind) = self.free.remove(&(at + bytes)) {
            bytes += behind;
        }
        match self.free.range_mut(..at).next_back() {
            Some((before, room)) if before + *room == at => *room += bytes,
            _ => drop(self.free.insert(at, bytes)),
        }
        true
    }
}
