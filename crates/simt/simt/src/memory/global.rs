//! Device memory: separate allocations with guard zones between them.
//!
//! Kernels of different blocks run on different host threads and may race, as on a GPU, so every word is
//! an atomic, accessed relaxed: on the host that costs what an ordinary access does.

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

/// The first address that is given out.
const FIRST: u64 = 0x0000_0002_0000_0000;
/// The number of users of memory that have different addresses.
const USERS: u64 = 32;
/// The number of addresses of a user. Caches and DRAM are divided by powers of two and by multiples of 3, 5, 7 and 11, so what
/// depends on an address is the same for every user.
const USER_BYTES: u64 = (1 << 30) * 3 * 5 * 7 * 11;
/// No allocation reaches beyond this address, because the windows of the other spaces follow.
const END: u64 = SHARED_WINDOW;
/// The first address behind the windows of the other spaces.
const WINDOWS_END: u64 = PARAM_WINDOW + WINDOW_BYTES;
/// The size of the guard zone: at least so many bytes between two allocations belong to neither.
const GUARD: u64 = 1 << 16;
/// How many allocations that were freed are remembered.
const MOST_FREED: usize = 1 << 12;
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
    pub words: Words,
}

/// The words of an allocation: its own, memory of the host's program that [`GlobalMemory::map`] was given, or a part of
/// [`PhysicalMemory`].
#[derive(Debug)]
pub struct Words {
    words: NonNull<[AtomicU64]>,
    owner: Owner,
}

/// Who frees words.
#[derive(Debug)]
enum Owner {
    /// Whoever drops them; they are part of what was allocated so, at this address.
    Words(NonNull<u8>, Layout),
    /// The host's program.
    Program,
    /// Whoever drops the last part of this memory.
    Physical { _memory: PhysicalMemory },
}

// SAFETY: the words are atomics, which any thread may access, and freeing them does not depend on the thread that does it.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// So many zeroed bytes, rounded up to words, at a multiple of `align`; `None` when the host has no memory left.
    fn zeroed(bytes: u64, align: usize) -> Option<Self> {
        let words = usize::try_from(bytes.div_ceil(8)).ok()?;
        // The allocator's own zeroed pages: pages that are never touched cost nothing. Rust's allocator writes the zeros of
        // larger alignments itself, so the alignment is made here.
        let layout = Layout::array::<AtomicU64>(words.max(1).checked_add(align / 8)?).ok()?;
        // SAFETY: the layout is that of at least one word.
        let allocated = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the layout has `align` bytes more than the words.
        let start = unsafe { allocated.add(allocated.align_offset(align)) };
        let owner = Owner::Words(allocated, layout);
        Some(Self { words: NonNull::slice_from_raw_parts(start.cast(), words), owner })
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: only `drop` frees own words; who mapped others promised that they stay.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if let Owner::Words(allocated, layout) = self.owner {
            // SAFETY: `zeroed` has allocated them so, and nobody uses them any more.
            unsafe { dealloc(allocated.as_ptr(), layout) };
        }
    }
}

/// All allocations, in the order of their addresses.
#[derive(Debug)]
pub struct GlobalMemory {
    allocations: Vec<Allocation>,
    /// The first address that is given out.
    first: u64,
    next: u64,
    used: u64,
    limit: u64,
    /// The addresses of allocations that were freed, the last ones.
    freed: VecDeque<Range<u64>>,
    /// What nobody has written, which a check of a launch looks at and changes.
    unwritten: Arc<Mutex<Unwritten>>,
    /// The textures and surfaces over it.
    pub(super) objects: Objects,
}

impl Default for GlobalMemory {
    /// Device memory that only the host's memory limits.
    fn default() -> Self {
        Self::with_limit(u64::MAX)
    }
}

impl GlobalMemory {
    /// Device memory of which at most `limit` bytes can be allocated at a time.
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

    /// Gives out addresses from the first one on that belongs to this user, and says whether nothing is allocated, without
    /// which nothing changes. The addresses of users 0 to 31 differ, so an address of one means nothing to another.
    pub fn begin_for(&mut self, user: u64) -> bool {
        let is_empty = self.allocations.is_empty();
        if is_empty {
            self.first = FIRST + (user % USERS) * USER_BYTES;
            self.next = self.first;
            self.freed.clear();
        }
        is_empty
    }

    /// Allocates zeroed memory and returns its address, a multiple of 256. Zero bytes have an address too,
    /// at which nothing can be accessed.
    ///
    /// # Errors
    /// [`MemoryError::Limit`] when the machine's limit would be exceeded, [`MemoryError::Addresses`] when no
    /// addresses are left, [`MemoryError::Host`] when the host gives no more memory.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.allocate_aligned(bytes, ALIGN)
    }

    /// Allocates zeroed memory at a multiple of 256 and of `align`, which is a power of two.
    ///
    /// # Errors
    /// [`MemoryError::Limit`] when the machine's limit would be exceeded, [`MemoryError::Addresses`] when no
    /// addresses are left, [`MemoryError::Host`] when the host gives no more memory.
    pub fn allocate_aligned(&mut self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let used = self.used_with(bytes)?;
        let base = self.addresses(bytes, align)?;
        let words = Words::zeroed(bytes, size_of::<AtomicU64>()).ok_or(MemoryError::Host { bytes })?;
        self.next = base + bytes + GUARD;
        self.used = used;
        self.insert(Allocation { base, bytes, words });
        Ok(base)
    }

    /// How many bytes are in use with so many more.
    fn used_with(&self, bytes: u64) -> Result<u64, MemoryError> {
        let used = self.used.checked_add(bytes).filter(|used| *used <= self.limit);
        used.ok_or(MemoryError::Limit { bytes, used: self.used, limit: self.limit })
    }

    /// The first of so many addresses that are not in use.
    fn addresses(&self, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let base = self.next.checked_next_multiple_of(align.max(ALIGN)).unwrap_or(END);
        let left = END.saturating_sub(base);
        match left > 0 && bytes <= left {
            true => Ok(base),
            false => Err(MemoryError::Addresses { bytes, left }),
        }
    }

    /// Allocates zeroed memory that the host's program accesses at the same address as kernels do, a multiple of 4096:
    /// CUDA's page-locked and managed memory. It does not count as the device's own.
    ///
    /// # Errors
    /// [`MemoryError::Host`] when the host gives no more memory.
    pub fn allocate_for_both(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let failed = MemoryError::Host { bytes };
        let words = Words::zeroed(bytes, 4096).ok_or(failed.clone())?;
        // The program makes a pointer of this address, so the pointer's provenance is exposed.
        let base = words.words.expose_provenance().get() as u64;
        if self.is_taken(base, bytes) {
            return Err(failed);
        }
        self.insert(Allocation { base, bytes, words });
        Ok(base)
    }

    /// Whether host memory cannot be told from what kernels have at these addresses.
    fn is_taken(&self, base: u64, bytes: u64) -> bool {
        let end = base.saturating_add(bytes);
        let device = self.first..self.next.max(self.first + GUARD);
        let windows = SHARED_WINDOW..WINDOWS_END;
        self.overlaps(base, end) || [device, windows].iter().any(|taken| base < taken.end && taken.start < end)
    }

    /// Whether there is an allocation between two addresses.
    fn overlaps(&self, base: u64, end: u64) -> bool {
        let after = self.allocations.partition_point(|own| own.base < end);
        after.checked_sub(1).is_some_and(|at| {
            let own = &self.allocations[at];
            base < own.base + own.bytes
        })
    }

    /// Keeps allocations in the order of their addresses. Those of the device come one behind the other.
    fn insert(&mut self, allocation: Allocation) {
        let at = self.allocations.partition_point(|own| own.base < allocation.base);
        self.allocations.insert(at, allocation);
    }

    /// Lets kernels access memory of the host's program, at the addresses that the program has for it: host memory that
    /// is page-locked or managed. Returns the first address, `memory` rounded down to a multiple of eight, by which
    /// [`GlobalMemory::free`] unmaps it; `None` when a part of it is mapped already or lies at addresses of the device's
    /// own.
    ///
    /// # Safety
    /// The memory, extended to whole words of eight bytes on both sides, can be read and written until it is unmapped.
    /// While a kernel runs, the program accesses it only as CUDA lets it access such memory.
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

    /// The allocation in which this many bytes from an address on lie, and the offset of the first of them.
    pub fn span(&self, address: u64, bytes: u64) -> Option<(&Allocation, u64)> {
        let found = self.find(address)?;
        let at = address - found.base;
        (bytes <= found.bytes - at).then_some((found, at))
    }

    /// The same for writes of these bytes from the host, which count as written then.
    pub fn span_mut(&mut self, address: u64, bytes: u64) -> Option<(&mut Allocation, u64)> {
        let (base, at) = self.span(address, bytes).map(|(own, at)| (own.base, at))?;
        self.unwritten().write(address, bytes);
        let index = self.index(base)?;
        Some((&mut self.allocations[index], at))
    }

    /// All allocations, in the order of their addresses.
    pub(crate) fn all(&self) -> &[Allocation] {
        &self.allocations
    }

    /// How many bytes of the device's own memory are in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Frees the allocation that begins at an address, and says whether there was one. Its addresses are
    /// not given out again.
    pub fn free(&mut self, base: u64) -> bool {
        let index = self.index(base);
        if let Some(index) = index {
            self.unwritten().remove(base);
            let freed = self.allocations.remove(index);
            if matches!(freed.words.owner, Owner::Words(..)) && !freed.is_for_both() {
                self.used -= freed.bytes;
            }
            if self.freed.len() == MOST_FREED {
                self.freed.pop_front();
            }
            self.freed.push_back(freed.base..freed.base + freed.bytes);
        }
        index.is_some()
    }

    /// The allocation that an address has belonged to and that was freed, if it is among the last that were.
    pub(crate) fn freed(&self, address: u64) -> Option<Range<u64>> {
        let mut freed = self.freed.iter().rev();
        freed.find(|own| own.contains(&address)).filter(|_| self.find(address).is_none()).cloned()
    }

    /// The allocation that begins at an address.
    pub fn at(&self, base: u64) -> Option<&Allocation> {
        Some(&self.allocations[self.index(base)?])
    }

    /// The allocation that begins at an address, for writes from the host. All of it counts as written then.
    pub fn at_mut(&mut self, base: u64) -> Option<&mut Allocation> {
        let index = self.index(base)?;
        self.unwritten().remove(base);
        Some(&mut self.allocations[index])
    }

    fn index(&self, base: u64) -> Option<usize> {
        self.allocations.binary_search_by_key(&base, |allocation| allocation.base).ok()
    }

    /// The allocation that an address lies in.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let allocation = &self.allocations[after.checked_sub(1)?];
        (address - allocation.base < allocation.bytes).then_some(allocation)
    }

    /// Copies bytes out, if so many are allocated behind an address.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) {
        let found = self.find(address);
        let len = bytes.len() as u64;
        if let Some(own) = found.filter(|own| address - own.base + len <= own.bytes) {
            own.read(address - own.base, bytes);
        }
    }

    /// The allocation that ends nearest below an address, or begins nearest above it: the one that a faulting access
    /// was probably meant for.
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
    /// Whether the host's program accesses it at the same address.
    pub fn is_for_both(&self) -> bool {
        self.words.words.addr().get() as u64 == self.base
    }

    /// Copies bytes out, from `at` on.
    ///
    /// # Panics
    /// If they do not lie within the allocation.
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

    /// Copies bytes in, from `at` on. Nothing else may write the allocation meanwhile.
    ///
    /// # Panics
    /// If they do not lie within the allocation.
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

    /// Fills so many bytes from `at` on: the byte at offset `i` becomes that of `word` at `i % 8`. Nothing else may write the
    /// allocation meanwhile.
    ///
    /// # Panics
    /// If they do not lie within the allocation.
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

/// How many of `len` bytes lie before the first word that begins at or behind `at`.
fn head_of(at: u64, len: usize) -> usize {
    ((8 - at % 8) % 8).min(len as u64) as usize
}
