//! Memory without an address, and addresses without memory: what CUDA's virtual memory management hands out.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Allocation, FIRST, GUARD, GlobalMemory, MemoryError, Owner, Words};

/// Memory without an address: [`GlobalMemory::map_physical`] gives parts of it addresses, as often as it is asked to.
#[derive(Debug, Clone)]
pub struct PhysicalMemory(Arc<Words>);

impl PhysicalMemory {
    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.0.len() as u64 * 8
    }
}

impl GlobalMemory {
    /// Keeps addresses for [`GlobalMemory::map_physical`], from a multiple of 256 and of `align` on, which is a power of
    /// two. They are not given out again.
    ///
    /// # Errors
    /// [`MemoryError::Addresses`] when not so many are left.
    pub fn reserve(&mut self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let base = self.addresses(bytes, align)?;
        self.next = base + bytes + GUARD;
        Ok(base)
    }

    /// Allocates zeroed memory without an address.
    ///
    /// # Errors
    /// [`MemoryError::Limit`] when the machine's limit would be exceeded, [`MemoryError::Host`] when the host gives no
    /// more memory.
    pub fn physical(&mut self, bytes: u64) -> Result<PhysicalMemory, MemoryError> {
        let bytes = bytes.checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let used = self.used_with(bytes)?;
        let words = Words::zeroed(bytes, size_of::<AtomicU64>()).ok_or(MemoryError::Host { bytes })?;
        self.used = used;
        Ok(PhysicalMemory(Arc::new(words)))
    }

    /// Gives `bytes` of physical memory from `offset` on, both multiples of eight, addresses that were reserved.
    /// [`GlobalMemory::free`] takes them away again. Says whether the memory has so many and the addresses are free.
    pub fn map_physical(&mut self, base: u64, bytes: u64, physical: &PhysicalMemory, offset: u64) -> bool {
        let behind = physical.bytes().saturating_sub(offset);
        let end = base.saturating_add(bytes);
        if !(base | bytes | offset).is_multiple_of(8)
            || !(1..=behind).contains(&bytes)
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

    /// Takes note that physical memory is not needed any more. It is given back with the last one that knows of it.
    pub fn release(&mut self, physical: &PhysicalMemory) {
        self.used -= physical.bytes();
    }

    /// Whether the device has an address, now or earlier, that the host's program therefore cannot have.
    pub fn is_own_address(&self, address: u64) -> bool {
        (FIRST..self.next).contains(&address)
    }

    /// The bytes that belong together with an address: those of the allocation that it lies in or is the end of, and of
    /// allocations that follow each other without a gap, as parts of one range of virtual addresses do.
    pub fn object(&self, address: u64) -> Option<Range<u64>> {
        let found = self.find(address).map_or_else(
            || {
                let before = self.allocations.partition_point(|own| own.base + own.bytes < address);
                let own = self.allocations.get(before)?;
                (own.base + own.bytes == address).then_some(before)
            },
            |own| self.index(own.base),
        )?;
        let end = |own: &Allocation| own.base + own.bytes;
        let adjoin = |pair: &[Allocation]| end(&pair[0]) == pair[1].base;
        let before = self.allocations[..=found].windows(2).rev().take_while(|pair| adjoin(pair)).count();
        let behind = self.allocations[found..].windows(2).take_while(|pair| adjoin(pair)).count();
        Some(self.allocations[found - before].base..end(&self.allocations[found + behind]))
    }
}
