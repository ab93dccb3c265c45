//! Device memory: separate allocations with guard zones between them.
//!
//! Kernels of different blocks run on different host threads and may race, as on a GPU, so every word is
//! an atomic, accessed relaxed: on the host that costs what an ordinary access does.

use std::sync::atomic::AtomicU64;

/// The first address that is given out.
const FIRST: u64 = 0x0000_0002_0000_0000;
/// At least so many bytes between two allocations belong to none.
const GUARD: u64 = 1 << 16;
/// Allocations begin at multiples of this, as CUDA's do.
const ALIGN: u64 = 256;

/// One allocation.
#[derive(Debug)]
pub struct Allocation {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its content, eight bytes a word; the last word may reach past `bytes`.
    pub words: Box<[AtomicU64]>,
}

/// All allocations, in the order of their addresses.
#[derive(Debug, Default)]
pub struct GlobalMemory {
    allocations: Vec<Allocation>,
    next: u64,
}

impl GlobalMemory {
    /// Allocates zeroed memory and returns its address. Zero bytes have an address too, at which nothing
    /// can be accessed.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        let base = self.next.max(FIRST);
        self.next = (base + bytes + GUARD).next_multiple_of(ALIGN);
        let words = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        self.allocations.push(Allocation { base, bytes, words });
        base
    }

    /// Frees an allocation; its addresses are not given out again.
    pub fn free(&mut self, base: u64) {
        self.allocations
            .retain(|allocation| allocation.base != base);
    }

    /// The allocation that an address lies in.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        let allocation = &self.allocations[after.checked_sub(1)?];
        (address - allocation.base < allocation.bytes).then_some(allocation)
    }

    /// The allocation that an address lies in, to be written from the host.
    pub fn find_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        let after = self
            .allocations
            .partition_point(|allocation| allocation.base <= address);
        let allocation = &mut self.allocations[after.checked_sub(1)?];
        (address - allocation.base < allocation.bytes).then_some(allocation)
    }

    /// The allocation that ends nearest below an address, or begins nearest above it: what a faulting
    /// access was probably meant for.
    pub fn nearest(&self, address: u64) -> Option<&Allocation> {
        let distance = |allocation: &Allocation| {
            if address < allocation.base {
                allocation.base - address
            } else {
                address.saturating_sub(allocation.base + allocation.bytes)
            }
        };
        self.allocations
            .iter()
            .min_by_key(|allocation| distance(allocation))
    }
}

impl Allocation {
    /// Copies bytes out, from `at` on.
    ///
    /// # Panics
    /// If they do not lie within the allocation.
    pub fn read(&self, at: u64, bytes: &mut [u8]) {
        assert!(
            at + bytes.len() as u64 <= self.bytes,
            "a read within the allocation"
        );
        for (index, byte) in bytes.iter_mut().enumerate() {
            let at = at + index as u64;
            let word = self.words[(at / 8) as usize].load(std::sync::atomic::Ordering::Relaxed);
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
    }

    /// Copies bytes in, from `at` on. Nothing else may write the allocation meanwhile.
    ///
    /// # Panics
    /// If they do not lie within the allocation.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        assert!(
            at + bytes.len() as u64 <= self.bytes,
            "a write within the allocation"
        );
        for (index, byte) in bytes.iter().enumerate() {
            let at = at + index as u64;
            let word = self.words[(at / 8) as usize].get_mut();
            let mut value = word.to_le_bytes();
            value[(at % 8) as usize] = *byte;
            *word = u64::from_le_bytes(value);
        }
    }
}
