//! Device memory: separate allocations with guard zones between them.
//!
//! Different blocks run on different host threads and may race, as on a GPU. Every word is therefore an atomic that is
//! accessed with relaxed ordering, which costs the same as an ordinary access on the host.

mod error;
mod physical;
mod unwritten;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use error::MemoryError;
pub use physical::PhysicalMemory;
pub use unwritten::Unwritten;

use super::texture::Objects;
use super::words::Word as _;
use super::{PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES};

/// The first address of device memory.
const FIRST: u64 = 0x0000_0002_0000_0000;
/// The number of memory users that have distinct address ranges.
const USERS: u64 = 32;
/// The size of a user's address range. The size is a multiple of 2^30 and of 3, 5, 7 and 11, because caches and DRAM
/// are divided by such factors. Effects that depend on the address are therefore the same for every user.
const USER_BYTES: u64 = (1 << 30) * 3 * 5 * 7 * 11;
/// The end of the addresses for allocations, which is where the windows of the other spaces start.
const END: u64 = SHARED_WINDOW;
/// The first address after the windows of the other spaces.
const WINDOWS_END: u64 = PARAM_WINDOW + WINDOW_BYTES;
/// The size of the guard zone: the minimum distance in bytes between two allocations.
const GUARD: u64 = 1 << 16;
/// The maximum number of freed allocations whose addresses are recorded.
const MOST_FREED: usize = 1 << 12;
/// The alignment of allocations in bytes, as in CUDA.
const ALIGN: u64 = 256;

/// An allocation.
#[derive(Debug)]
pub struct Allocation {
    /// The first address.
    pub base: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The contents in 8-byte words; the last word may extend past `bytes`.
    pub words: Words,
}

/// The words of an allocation: separately allocated memory, host memory passed to [`GlobalMemory::map`], or a part of
/// [`PhysicalMemory`].
#[derive(Debug)]
pub struct Words {
    words: NonNull<[AtomicU64]>,
    owner: Owner,
}

/// The owner of words, which frees them.
#[derive(Debug)]
enum Owner {
    /// The `Words` value owns the words, which are part of a heap allocation with this address and layout.
    Words(NonNull<u8>, Layout),
    /// The host program owns the words.
    Program,
    /// The physical memory owns the words, and frees them when the last reference to it is dropped.
    Physical { _memory: PhysicalMemory },
}

// SAFETY: the words are atomics, which any thread may access, and any thread may free them.
unsafe impl Send for Words {}
// SAFETY: the words are atomics, which several threads may access at the same time.
unsafe impl Sync for Words {}

impl Words {
    /// Allocates `bytes` zeroed bytes, rounded up to words, at a multiple of `align`. Returns `None` when the host has
    /// no memory left.
    fn zeroed(bytes: u64, align: usize) -> Option<Self> {
        let words = usize::try_from(bytes.div_ceil(8)).ok()?;
        // `alloc_zeroed` uses the operating system's zeroed pages, and pages that are never touched cost nothing. For
        // larger alignments, Rust's allocator would write the zeros itself, so this function aligns the address
        // instead.
        let layout = Layout::array::<AtomicU64>(words.max(1).checked_add(align / 8)?).ok()?;
        // SAFETY: the layout has a size of at least one word.
        let allocated = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the allocation is `align` bytes larger than the words, so it contains all words after the alignment.
        let start = unsafe { allocated.add(allocated.align_offset(align)) };
        let owner = Owner::Words(allocated, layout);
        Some(Self { words: NonNull::slice_from_raw_parts(start.cast(), words), owner })
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `drop` is the only place that frees allocated words. The caller of `GlobalMemory::map` has promised
        // that mapped memory stays valid until it is unmapped.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if let Owner::Words(allocated, layout) = self.owner {
            // SAFETY: `zeroed` allocated this address with this layout, and `self` is the only owner of the words.
            unsafe { dealloc(allocated.as_ptr(), layout) };
        }
    }
}

/// All allocations, sorted by address.
#[derive(Debug)]
pub struct GlobalMemory {
    allocations: Vec<Allocation>,
    /// The first address of an allocation.
    first: u64,
    next: u64,
    used: u64,
    limit: u64,
    /// The address ranges of the most recently freed allocations.
    freed: VecDeque<Range<u64>>,
    /// The record of the bytes that no thread has written. The sanitizer `init` reads and updates this record during a
    /// launch.
    unwritten: Arc<Mutex<Unwritten>>,
    /// The textures and surfaces of this memory.
    pub(super) objects: Objects,
}

impl Default for GlobalMemory {
    /// Creates device memory that is limited only by the host's memory.
    fn default() -> Self {
        Self::with_limit(u64::MAX)
    }
}

impl GlobalMemory {
    /// Creates device memory in which at most `limit` bytes can be allocated at a time.
    pub fn with_limit(limit: u64) -> Self {
        Self {
            allocations: Vec::new(),
            first: FIRST,
            next: FIRST,
            used: 0,
            limit,
            freed: VecDeque::new(),
            unwritten: Arc::default(),
            objects: Objects::default(),
        }
    }

    /// Selects the address range of a user if nothing is allocated. Returns whether the range was selected. The address
    /// ranges of users 0 to 31 are distinct, so an address of one user is invalid for all other users.
    pub fn select_user(&mut self, user: u64) -> bool {
        let is_empty = self.allocations.is_empty();
        if is_empty {
            self.first = FIRST + (user % USERS) * USER_BYTES;
            self.next = self.first;
            self.freed.clear();
        }
        is_empty
    }

    /// Allocates zeroed memory and returns its address, a multiple of 256. An allocation of zero bytes has an address
    /// too, but no accessible memory.
    ///
    /// # Errors
    /// Returns [`MemoryError::Limit`] when the simulator's limit would be exceeded, [`MemoryError::Addresses`] when no
    /// addresses are left, and [`MemoryError::Host`] when the host has no more memory.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.allocate_aligned(bytes, ALIGN)
    }

    /// Allocates zeroed memory at a multiple of 256 and of `align`, which is a power of two.
    ///
    /// # Errors
    /// Returns [`MemoryError::Limit`] when the simulator's limit would be exceeded, [`MemoryError::Addresses`] when no
    /// addresses are left, and [`MemoryError::Host`] when the host has no more memory.
    pub fn allocate_aligned(&mut self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let used = self.used_with(bytes)?;
        let base = self.addresses(bytes, align)?;
        let words = Words::zeroed(bytes, size_of::<AtomicU64>()).ok_or(MemoryError::Host { bytes })?;
        self.next = base + bytes + GUARD;
        self.used = used;
        self.insert(Allocation { base, bytes, words });
        Ok(base)
    }

    /// Returns the number of bytes in use after an allocation of `bytes` bytes.
    fn used_with(&self, bytes: u64) -> Result<u64, MemoryError> {
        let used = self.used.checked_add(bytes).filter(|used| *used <= self.limit);
        used.ok_or(MemoryError::Limit { bytes, used: self.used, limit: self.limit })
    }

    /// Returns the first address of a range of `bytes` unused addresses.
    fn addresses(&self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let base = self.next.checked_next_multiple_of(align.max(ALIGN)).unwrap_or(END);
        let left = END.saturating_sub(base);
        match left > 0 && bytes <= left {
            true => Ok(base),
            false => Err(MemoryError::Addresses { bytes, left }),
        }
    }

    /// Allocates zeroed memory that the host program and kernels access at the same address, a multiple of 4096: CUDA's
    /// page-locked and managed memory. This memory does not count as device memory in use.
    ///
    /// # Errors
    /// Returns [`MemoryError::Host`] when the host has no more memory.
    pub fn allocate_host_visible(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let failed = MemoryError::Host { bytes };
        let words = Words::zeroed(bytes, 4096).ok_or(failed.clone())?;
        // The host program converts this address to a pointer, so the pointer's provenance is exposed.
        let base = words.words.expose_provenance().get() as u64;
        if self.is_taken(base, bytes) {
            return Err(failed);
        }
        self.insert(Allocation { base, bytes, words });
        Ok(base)
    }

    /// Returns whether a range of host addresses overlaps addresses that kernels already use.
    fn is_taken(&self, base: u64, bytes: u64) -> bool {
        let end = base.saturating_add(bytes);
        let device = self.first..self.next.max(self.first + GUARD);
        let windows = SHARED_WINDOW..WINDOWS_END;
        self.overlaps(base, end) || [device, windows].iter().any(|taken| base < taken.end && taken.start < end)
    }

    /// Returns whether an allocation overlaps the range from `base` to `end`.
    fn overlaps(&self, base: u64, end: u64) -> bool {
        let after = self.allocations.partition_point(|allocation| allocation.base < end);
        after.checked_sub(1).is_some_and(|at| {
            let allocation = &self.allocations[at];
            base < allocation.base + allocation.bytes
        })
    }

    /// Inserts an allocation so that the list stays sorted by address. Successive device allocations have ascending
    /// addresses.
    fn insert(&mut self, allocation: Allocation) {
        let at = self.allocations.partition_point(|existing| existing.base < allocation.base);
        self.allocations.insert(at, allocation);
    }

    /// Maps memory of the host program into the address space of kernels at the same addresses: page-locked or managed
    /// host memory. Returns the address of `memory` rounded down to a multiple of 8; pass this address to
    /// [`GlobalMemory::free`] to unmap the memory. Returns `None` when a part of the memory is already mapped or
    /// overlaps the device's addresses.
    ///
    /// # Safety
    /// The caller must ensure that the memory, extended to whole 8-byte words on both sides, can be read and written
    /// until it is unmapped. While a kernel runs, the program must access the memory only as CUDA allows for such
    /// memory.
    pub unsafe fn map(&mut self, memory: NonNull<u8>, bytes: u64) -> Option<u64> {
        let base = memory.expose_provenance().get() as u64 & !7;
        let bytes = memory.addr().get() as u64 - base + bytes;
        if bytes == 0 || self.is_taken(base, bytes) {
            return None;
        }
        let start = memory.as_ptr().map_addr(|address| address & !7).cast::<AtomicU64>();
        let words = NonNull::new(std::ptr::slice_from_raw_parts_mut(start, bytes.div_ceil(8) as usize))?;
        self.insert(Allocation { base, bytes, words: Words { words, owner: Owner::Program } });
        Some(base)
    }

    /// Returns the allocation that contains the `bytes` bytes from an address on, and the offset of the first byte in
    /// the allocation.
    pub fn span(&self, address: u64, bytes: u64) -> Option<(&Allocation, u64)> {
        let found = self.find(address)?;
        let at = address - found.base;
        (bytes <= found.bytes - at).then_some((found, at))
    }

    /// Like [`GlobalMemory::span`], returns an allocation and an offset, but for a write from the host: marks the bytes
    /// as written.
    pub fn span_mut(&mut self, address: u64, bytes: u64) -> Option<(&mut Allocation, u64)> {
        let (base, at) = self.span(address, bytes).map(|(allocation, at)| (allocation.base, at))?;
        self.unwritten().write(address, bytes);
        let index = self.index(base)?;
        Some((&mut self.allocations[index], at))
    }

    /// Returns all allocations, sorted by address.
    pub(crate) fn all(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Returns the number of bytes of device memory in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Frees the allocation that starts at an address. The addresses of the allocation are not reused. Returns whether
    /// there was such an allocation.
    pub fn free(&mut self, base: u64) -> bool {
        let index = self.index(base);
        if let Some(index) = index {
            self.unwritten().remove(base);
            let freed = self.allocations.remove(index);
            if matches!(freed.words.owner, Owner::Words(..)) && !freed.is_host_visible() {
                self.used -= freed.bytes;
            }
            if self.freed.len() == MOST_FREED {
                self.freed.pop_front();
            }
            self.freed.push_back(freed.base..freed.base + freed.bytes);
        }
        index.is_some()
    }

    /// Returns the freed allocation that contained an address, if it is among the most recently freed allocations.
    pub(crate) fn freed(&self, address: u64) -> Option<Range<u64>> {
        let mut freed = self.freed.iter().rev();
        freed.find(|range| range.contains(&address)).filter(|_| self.find(address).is_none()).cloned()
    }

    /// Returns the allocation that starts at an address.
    pub fn at(&self, base: u64) -> Option<&Allocation> {
        Some(&self.allocations[self.index(base)?])
    }

    /// Returns the allocation that starts at an address so that the host can write it. Marks the whole allocation as
    /// written.
    pub fn at_mut(&mut self, base: u64) -> Option<&mut Allocation> {
        let index = self.index(base)?;
        self.unwritten().remove(base);
        Some(&mut self.allocations[index])
    }

    fn index(&self, base: u64) -> Option<usize> {
        self.allocations.binary_search_by_key(&base, |allocation| allocation.base).ok()
    }

    /// Returns the allocation that contains an address.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let allocation = &self.allocations[after.checked_sub(1)?];
        (address - allocation.base < allocation.bytes).then_some(allocation)
    }

    /// Reads `bytes.len()` bytes at an address, if they are within one allocation.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) {
        let found = self.find(address);
        let len = bytes.len() as u64;
        if let Some(allocation) = found.filter(|found| address - found.base + len <= found.bytes) {
            allocation.read(address - allocation.base, bytes);
        }
    }

    /// Returns the allocation nearest to an address; a faulting access was probably meant for this allocation.
    pub fn nearest(&self, address: u64) -> Option<&Allocation> {
        let distance = |allocation: &Allocation| {
            if address < allocation.base {
                allocation.base - address
            } else {
                address.saturating_sub(allocation.base + allocation.bytes)
            }
        };
        self.allocations.iter().min_by_key(|allocation| distance(allocation))
    }
}

impl Allocation {
    /// Returns whether the host program accesses the memory at the same address.
    pub fn is_host_visible(&self) -> bool {
        self.words.words.addr().get() as u64 == self.base
    }

    /// Reads bytes, starting at offset `at`.
    ///
    /// # Panics
    /// Panics if the bytes are not within the allocation.
    pub fn read(&self, at: u64, bytes: &mut [u8]) {
        assert!(at + bytes.len() as u64 <= self.bytes, "a read within the allocation");
        let word = |at: u64| self.words[(at / 8) as usize].load(Ordering::Relaxed).to_le_bytes();
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

    /// Writes bytes, starting at offset `at`. No other thread may write the allocation at the same time.
    ///
    /// # Panics
    /// Panics if the bytes are not within the allocation.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        assert!(at + bytes.len() as u64 <= self.bytes, "a write within the allocation");
        let (head, rest) = bytes.split_at(head_of(at, bytes.len()));
        let (whole, tail) = rest.as_chunks::<8>();
        let middle = at + head.len() as u64;
        for (word, bytes) in self.words[(middle / 8) as usize..].iter().zip(whole) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        for (part, at) in [(head, at), (tail, middle + whole.len() as u64 * 8)] {
            part.iter().zip(at..).for_each(|(byte, at)| byte.store(&self.words, at));
        }
    }

    /// Fills `bytes` bytes, starting at offset `at`: the byte at offset `i` becomes `word[i % 8]`. No other thread may
    /// write the allocation at the same time.
    ///
    /// # Panics
    /// Panics if the bytes are not within the allocation.
    pub fn fill(&mut self, at: u64, bytes: u64, word: [u8; 8]) {
        assert!(bytes <= self.bytes && at <= self.bytes - bytes, "a write within the allocation");
        let end = at + bytes;
        let first = at.next_multiple_of(8).min(end);
        let last = first.max(end / 8 * 8);
        for whole in &self.words[(first / 8) as usize..(last / 8) as usize] {
            whole.store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        (at..first).chain(last..end).for_each(|at| word[(at % 8) as usize].store(&self.words, at));
    }
}

/// Returns how many of the `len` bytes from `at` on precede the first word boundary.
fn head_of(at: u64, len: usize) -> usize {
    ((8 - at % 8) % 8).min(len as u64) as usize
}
