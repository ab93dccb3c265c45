//! Inboxes, through which ranks exchange elements without flags, fences or barriers between ranks.
//!
//! Each rank has an inbox, with one row of slots per sender. The sender stores four elements to a slot with one access.
//! The receiver polls the slot until it is full, and then empties the slot.
//!
//! # Every word is a flag
//! An empty slot holds four zeros. An element is sent as the complement of its bits, and no word that is sent is zero.
//! So a nonzero word has arrived from the sender. PTX treats an access to four words as four accesses, in any order
//! (PTX ISA, "Vector Data-types"). That order does not matter here, because the receiver checks every word.
//!
//! Only the NaN `0xffffffff` has the complement zero. [`Inboxes::send`] replaces that NaN with `0xfffffffe`, which is
//! also a NaN. TensorRT-LLM's all-reduces reserve -0.0 instead, and replace it with 0.0.
//!
//! # Reuse of slots
//! An inbox has two halves, and the launches alternate between them. Rank `a` fills slots of rank `b` that `b` emptied
//! two launches earlier. In the previous launch, `a` received elements from `b`. So `b` had started the previous
//! launch, and had ended the launch that emptied the slots. The end of a kernel orders the accesses, because it acts as
//! a fence between the accesses of two launches.

use core::array;
use core::ops::Add;

use cuda_std::{gpu_only, thread};

use super::sum::{Float4, WIDTH};
use super::{MAX_BLOCKS, MAX_RANKS, Table};

/// The maximum number of elements.
pub const MAX_ELEMENTS: u32 = 1 << 22;

/// Four words that one access stores or loads.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Slot([u32; WIDTH as usize]);

impl Slot {
    const EMPTY: Self = Self([0; WIDTH as usize]);

    fn full(Float4(elements): Float4) -> Self {
        Self(elements.map(|element| (!element.to_bits()).max(1)))
    }

    fn elements(self) -> Float4 {
        Float4(self.0.map(|word| f32::from_bits(!word)))
    }
}

/// The number of slots before the rows. These slots hold the number of the last launch of each block.
const HEADER: u32 = MAX_BLOCKS / WIDTH;

/// Returns the number of slots in a row. A row has one slot for each vector or two slots for each vector of a rank's
/// chunk, whichever is more, and one slot for the remaining elements.
const fn row(ranks: u32, n: u32) -> u32 {
    let (all, chunks) = (n / WIDTH, 2 * (n / WIDTH).div_ceil(ranks));
    1 + if all > chunks { all } else { chunks }
}

/// Returns the number of bytes in a rank's inbox, or 0 for arrays of more than [`MAX_ELEMENTS`] elements.
#[must_use]
pub const fn inbox_bytes(ranks: u32, n: u64) -> u64 {
    let slots = if n > MAX_ELEMENTS as u64 { 0 } else { HEADER + 2 * ranks * row(ranks, n as u32) };
    slots as u64 * size_of::<Slot>() as u64
}

/// The inboxes of all ranks in one launch, as seen by one rank.
pub struct Inboxes<'a> {
    table: &'a Table<Slot>,
    rank: u32,
    ranks: u32,
    /// The number of the launch, starting at 1.
    launch: u32,
    /// The number of slots in a row.
    row: u32,
}

impl<'a> Inboxes<'a> {
    /// Opens the inboxes for a launch.
    ///
    /// # Safety
    /// Each entry of the table points to [`inbox_bytes`] bytes. These bytes were zeros before the first launch, and
    /// only launches that call `open` and [`close`](Self::close) have changed them since.
    #[inline(always)]
    pub unsafe fn open(table: &'a Table<Slot>, rank: u32, ranks: u32, n: u32) -> Self {
        // SAFETY: the inbox starts with a word for each block, and this block's x is below MAX_BLOCKS.
        let last = unsafe { *table.of(rank).cast::<u32>().add(thread::block_idx_x() as usize) };
        Self { table, rank, ranks, launch: last.wrapping_add(1), row: row(ranks, n) }
    }

    /// Returns the rank that is `step` positions after this rank in the ring of all ranks. Each rank sends to the next
    /// rank first, so that the ranks do not all use the same link at the same time.
    #[inline(always)]
    pub fn peer(&self, step: u32) -> u32 {
        let peer = self.rank + step;
        if peer < self.ranks { peer } else { peer - self.ranks }
    }

    /// Returns whether a rank exists and is not this rank.
    #[inline(always)]
    pub fn is_other(&self, rank: usize) -> bool {
        (rank as u32) < self.ranks && rank as u32 != self.rank
    }

    /// Sends elements to slot `index` of this rank's row in a peer's inbox.
    ///
    /// # Safety
    /// The slot exists in the row, and no thread has sent to this slot in this launch.
    #[inline(always)]
    pub unsafe fn send(&self, peer: u32, index: u32, elements: Float4) {
        // SAFETY: the slot exists, and its accesses are atomic.
        unsafe { store(self.slot(peer, self.rank, index), Slot::full(elements)) };
    }

    /// Waits until slot `index` of every other rank's row is full, and empties these slots. Returns an array indexed by
    /// rank, with `local` for this rank and zeros for ranks that do not exist.
    ///
    /// # Safety
    /// The slot exists in all rows. Each other rank sends to it in this launch, and no other thread receives from it.
    #[inline(always)]
    pub unsafe fn receive(&self, index: u32, local: Float4) -> [Float4; MAX_RANKS] {
        let slot = |from: usize| self.slot(self.rank, from as u32, index);
        let mut slots: [Slot; MAX_RANKS];
        // The loads of all slots are in flight at the same time.
        while {
            slots = array::from_fn(|from| {
                // SAFETY: the slot exists, and its accesses are atomic.
                if self.is_other(from) { unsafe { load(slot(from)) } } else { Slot::full(Float4::default()) }
            });
            !slots.iter().all(|Slot([a, b, c, d])| *a != 0 && *b != 0 && *c != 0 && *d != 0)
        } {}
        array::from_fn(|from| {
            if self.is_other(from) {
                // SAFETY: the slot exists, its accesses are atomic, and its sender does not use it until the launch
                // after next.
                unsafe { store(slot(from), Slot::EMPTY) };
            }
            if from as u32 == self.rank { local } else { slots[from].elements() }
        })
    }

    /// Adds the one to three elements after the last vector in the same way that `allreduce_packets` adds vectors. One
    /// thread of each rank does all of this work.
    ///
    /// # Safety
    /// All threads of the row of blocks call the function. The arrays have `n` elements, and no other thread stores the
    /// elements after the last vector.
    #[inline(always)]
    pub unsafe fn sum_rest(&self, input: *const f32, output: *mut f32, n: u32) {
        let (rest, index) = (n % WIDTH, self.row - 1);
        if rest == 0 || thread::block_idx_x() > 0 || thread::thread_idx_x() > 0 {
            return;
        }
        let index_of = |k: usize| (n - rest) as usize + k;
        // SAFETY: the indices are below n. The last slot of a row is reserved for these elements.
        unsafe {
            let local = Float4(array::from_fn(|k| if k < rest as usize { *input.add(index_of(k)) } else { 0.0 }));
            for step in 1..self.ranks {
                self.send(self.peer(step), index, local);
            }
            let Float4(sums) = add(self.receive(index, local));
            for (k, sum) in sums.into_iter().enumerate() {
                if k < rest as usize {
                    *output.add(index_of(k)) = sum;
                }
            }
        }
    }

    /// Stores the launch's number for every block of a row, including blocks that exist only in later launches.
    ///
    /// A launch without elements is not counted, because no rank waits in it.
    ///
    /// # Safety
    /// All threads of the block call the function, and `n` is the number of elements.
    #[inline(always)]
    pub unsafe fn close(self, n: u32) {
        thread::sync_threads();
        let word = thread::block_idx_x() + thread::thread_idx_x() * thread::grid_dim_x();
        if n > 0 && word < MAX_BLOCKS {
            // SAFETY: different blocks and threads write different words. Only block `word` reads the word. Block
            // `word` is either this block, which reads before the barrier, or a block that does not run in this launch.
            unsafe { *self.table.of(self.rank).cast::<u32>().add(word as usize) = self.launch };
        }
    }

    /// Returns the address of a slot in this launch's half of the inbox.
    #[inline(always)]
    fn slot(&self, to: u32, from: u32, index: u32) -> *mut Slot {
        let row = self.launch % 2 * self.ranks + from;
        self.table.of(to).wrapping_add((HEADER + row * self.row + index) as usize)
    }
}

/// Returns the index of this thread's first vector, and the distance to its next vector. Vector `v` consists of four
/// elements, starting at element `4 v`.
///
/// The first warps of all blocks come before the second warps, so that even a few vectors are spread over all
/// multiprocessors.
#[inline(always)]
pub fn vectors<const BLOCK: u32>() -> [u32; 2] {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    [(tid / 32 * blocks + thread::block_idx_x()) * 32 + tid % 32, blocks * BLOCK]
}

/// Returns the sum of a vector over all ranks. The vectors are added in rank order, so all ranks compute the same bits.
#[inline(always)]
pub fn add(parts: [Float4; MAX_RANKS]) -> Float4 {
    parts.into_iter().fold(Float4::default(), Add::add)
}

/// Loads a slot with one relaxed access in system scope.
///
/// # Safety
/// The slot exists, and all accesses to the slot are atomic.
#[gpu_only]
#[inline(always)]
unsafe fn load(slot: *const Slot) -> Slot {
    let (a, b, c, d);
    // SAFETY: the slot exists and is aligned to 16 bytes.
    unsafe {
        core::arch::asm!(
            "ld.relaxed.sys.global.v4.b32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) slot,
            options(nostack, preserves_flags)
        );
    }
    Slot([a, b, c, d])
}

/// Stores a slot with one relaxed access in system scope.
///
/// # Safety
/// The slot exists, and all accesses to the slot are atomic.
#[gpu_only]
#[inline(always)]
unsafe fn store(slot: *mut Slot, Slot([a, b, c, d]): Slot) {
    // SAFETY: the slot exists and is aligned to 16 bytes.
    unsafe {
        core::arch::asm!(
            "st.relaxed.sys.global.v4.b32 [{}], {{{}, {}, {}, {}}};",
            in(reg64) slot, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_arrive_with_their_bits_and_never_as_zero() {
        let sent = |bits: u32| Slot::full(Float4([f32::from_bits(bits); WIDTH as usize]));
        for bits in [0, 1, 1 << 31, f32::INFINITY.to_bits(), f32::NAN.to_bits(), u32::MAX - 1] {
            assert_eq!(sent(bits).elements().0.map(f32::to_bits), [bits; WIDTH as usize]);
            assert!(sent(bits).0.iter().all(|word| *word != 0));
        }
        assert!(sent(u32::MAX).elements().0.iter().all(|element| element.is_nan()));
        assert!(sent(u32::MAX).0.iter().all(|word| *word != 0));
    }

    #[test]
    fn an_inbox_has_two_halves_with_a_row_for_each_rank() {
        assert_eq!(inbox_bytes(3, 0), 512 + 2 * 3 * 16);
        // One vector and three more elements. The chunk of each rank has space for one vector.
        assert_eq!(inbox_bytes(3, 7), 512 + 2 * 3 * (2 + 1) * 16);
        assert_eq!(inbox_bytes(4, 1 << 20), 512 + 2 * 4 * ((1 << 18) + 1) * 16);
        assert_eq!(inbox_bytes(4, (1 << 22) + 1), 0);
    }
}
