//! The heap of `malloc` and `free` in kernels. Its blocks persist from launch to launch.

use std::collections::BTreeMap;

/// The alignment of addresses and sizes, in bytes.
const ALIGN: u64 = 16;

/// The free and the allocated blocks of the heap's memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    /// The addresses of the free blocks, and their sizes in bytes.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
    /// The address of the heap's memory, once the memory is allocated.
    pub(super) base: Option<u64>,
}

impl Heap {
    /// Creates a heap in `bytes` bytes of device memory.
    pub(super) fn new(base: u64, bytes: u64) -> Self {
        Self { free: [(base, bytes)].into(), used: BTreeMap::new(), base: Some(base) }
    }

    /// Allocates `bytes` bytes and returns their address, or 0 if no free block is large enough.
    pub(super) fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(ALIGN) else {
            return 0;
        };
        let mut free = self.free.iter();
        let Some((&at, &size)) = free.find(|(_, size)| **size >= bytes) else {
            return 0;
        };
        self.free.remove(&at);
        if size > bytes {
            self.free.insert(at + bytes, size - bytes);
        }
        self.used.insert(at, bytes);
        at
    }

    /// Returns the address and the size of the allocated block that contains an address.
    pub(super) fn block(&self, address: u64) -> Option<(u64, u64)> {
        let (at, bytes) = self.used.range(..=address).next_back()?;
        (address - at < *bytes).then_some((*at, *bytes))
    }

    /// Returns the number of allocated blocks and their total size in bytes.
    pub(super) fn in_use(&self) -> (usize, u64) {
        (self.used.len(), self.used.values().sum())
    }

    /// Frees the block at an address; 0 is ignored. Returns `false` if no allocated block starts there.
    pub(super) fn free(&mut self, at: u64) -> bool {
        if at == 0 {
            return true;
        }
        let Some(mut bytes) = self.used.remove(&at) else {
            return false;
        };
        if let Some(following_bytes) = self.free.remove(&(at + bytes)) {
            bytes += following_bytes;
        }
        match self.free.range_mut(..at).next_back() {
            Some((before, size)) if before + *size == at => *size += bytes,
            _ => drop(self.free.insert(at, bytes)),
        }
        true
    }
}
