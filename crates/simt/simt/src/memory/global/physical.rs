//! Physical memory without an address, and reserved addresses without memory, for CUDA's virtual memory management.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Allocation, FIRST, GUARD, GlobalMemory, MemoryError, Owner, Words};

/// Memory without an address. [`GlobalMemory::map_physical`] maps parts of it to addresses, any number of times.
#[derive(Debug, Clone)]
pub struct PhysicalMemory(Arc<Words>);

impl PhysicalMemory {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.len() as u64 * 8
    }
}

impl GlobalMemory {
    /// Reserves addresses for [`GlobalMemory::map_physical`], starting at a multiple of 256 and of `align`, which is a
    /// power of two. The addresses are not reused.
    ///
    /// # Errors
    /// Returns [`MemoryError::Addresses`] when fewer than `bytes` addresses are left.
    pub fn reserve(&mut self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let base = self.addresses(bytes, align)?;
        self.next = base + bytes + GUARD;
        Ok(base)
    }

    /// Allocates zeroed memory without an address.
    ///
    /// # Errors
    /// Returns [`MemoryError::Limit`] when the simulator's limit would be exceeded, and [`MemoryError::Host`] when the
    /// host has no more memory.
    pub fn physical(&mut self, bytes: u64) -> Result<PhysicalMemory, MemoryError> {
        let bytes = bytes.checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let used = self.used_with(bytes)?;
        let words = Words::zeroed(bytes, size_of::<AtomicU64>()).ok_or(MemoryError::Host { bytes })?;
        self.used = used;
        Ok(PhysicalMemory(Arc::new(words)))
    }

    /// Maps `bytes` bytes of physical memory, starting at `offset`, to reserved addresses. `base`, `bytes` and `offset`
    /// must be multiples of 8. [`GlobalMemory::free`] unmaps the memory. Returns whether the memory is large enough and
    /// the addresses are free.
    pub fn map_physical(&mut self, base: u64, bytes: u64, physical: &PhysicalMemory, offset: u64) -> bool {
        let remaining = physical.bytes().saturating_sub(offset);
        let end = base.saturating_add(bytes);
        if !(base | bytes | offset).is_multiple_of(8)
            || !(1..=remaining).contains(&bytes)
            || !(FIRST..=self.next).contains(&end)
            || self.overlaps(base, end)
        {
            return false;
        }
        let words = &physical.0[(offset / 8) as usize..][..(bytes / 8) as usize];
        let words = Words { words: words.into(), owner: Owner::Physical { _memory: physical.clone() } };
        self.insert(Allocation { base, bytes, words });
        true
    }

    /// Stops counting physical memory as in use. The memory is freed when the last reference to it is dropped.
    pub fn release(&mut self, physical: &PhysicalMemory) {
        self.used -= physical.bytes();
    }

    /// Returns whether an address belongs or has belonged to the device, so that the host program cannot use it.
    pub fn is_device_address(&self, address: u64) -> bool {
        (FIRST..self.next).contains(&address)
    }

    /// Returns the address range that an address belongs to. The range consists of the allocation that contains the
    /// address or ends at the address, and of all allocations that adjoin it without a gap. Parts of one range of
    /// virtual addresses adjoin in this way.
    pub fn object(&self, address: u64) -> Option<Range<u64>> {
        let found = self.find(address).map_or_else(
            || {
                let before =
                    self.allocations.partition_point(|allocation| allocation.base + allocation.bytes < address);
                let allocation = self.allocations.get(before)?;
                (allocation.base + allocation.bytes == address).then_some(before)
            },
            |allocation| self.index(allocation.base),
        )?;
        let end = |allocation: &Allocation| allocation.base + allocation.bytes;
        let adjoin = |pair: &[Allocation]| end(&pair[0]) == pair[1].base;
        let before = self.allocations[..=found].windows(2).rev().take_while(|pair| adjoin(pair)).count();
        let after = self.allocations[found..].windows(2).take_while(|pair| adjoin(pair)).count();
        Some(self.allocations[found - before].base..end(&self.allocations[found + after]))
    }
}
