//! Device memory: separate allocations with guard zones between them.
//!
//! Kernels of different blocks run on different host threads and may race, as on a GPU, so every word is
//! an atomic, accessed relaxed: on the host that costs what an ordinary access does.

use std::sync::atomic::{AtomicU64, Ordering};

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
        // From the allocator's own zeroed pages: what is never touched costs nothing.
        let words = bytemuck::zeroed_slice_box(bytes.div_ceil(8) as usize);
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
        let word = |at: u64| {
            self.words[(at / 8) as usize]
                .load(Ordering::Relaxed)
                .to_le_bytes()
        };
        let (head, rest) = bytes.split_at_mut(head_of(at, bytes.len()));
        if !head.is_empty() {
            let len = head.len();
            head.copy_from_slice(&word(at)[(at % 8) as usize..][..len]);
        }
        let at = at + head.len() as u64;
        let (whole, tail) = rest.as_chunks_mut::<8>();
        let words = &self.words[(at / 8) as usize..];
        for (bytes, word) in whole.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        if !tail.is_empty() {
            let len = tail.len();
            tail.copy_from_slice(&word(at + whole.len() as u64 * 8)[..len]);
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
        let (head, rest) = bytes.split_at(head_of(at, bytes.len()));
        self.patch(at, head);
        let at = at + head.len() as u64;
        let (whole, tail) = rest.as_chunks::<8>();
        let words = &mut self.words[(at / 8) as usize..];
        for (word, bytes) in words.iter_mut().zip(whole) {
            *word.get_mut() = u64::from_le_bytes(*bytes);
        }
        self.patch(at + whole.len() as u64 * 8, tail);
    }

    /// Writes bytes within one word.
    fn patch(&mut self, at: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let word = self.words[(at / 8) as usize].get_mut();
        let mut value = word.to_le_bytes();
        value[(at % 8) as usize..][..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(value);
    }
}

/// How many of `len` bytes lie before the first word that begins at or behind `at`.
fn head_of(at: u64, len: usize) -> usize {
    ((8 - at % 8) % 8).min(len as u64) as usize
}
