//! Wide loads whose lanes are neighbors.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread, warp};
use rung::rung;

use super::shuffle::{scan_warp, sum_of_warps_before, sum_warp};

/// Four neighboring elements, aligned as an access of 16 bytes needs them (PTX ISA §5.4.2, "Vectors").
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(super) struct Int4([i32; 4]);

/// Accesses of 16 bytes of a thread.
pub(super) const VECTORS: usize = 4;
/// Elements of a thread.
pub(super) const ITEMS: u32 = VECTORS as u32 * 4;

/// A thread has four vectors of four elements. The lanes of a warp have neighboring vectors, so every load and store is
/// whole sectors in order.
///
/// Against `scan_coarsened`: a warp scans four rows of 128 elements one after another, with five shuffles each, and carries
/// the sum from row to row. That takes four times as many shuffles, and no sector is loaded twice.
///
/// # Safety
/// As [`scan`](super) says; `input` and `output` are multiples of 16.
#[rung(
    after = scan_coarsened,
    lesson = "16-byte accesses, neighboring lanes next to each other: whole sectors, and one warp scan per row",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn scan_vector<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let tile = thread::block_idx_x();

    // SAFETY: the block's slice of the input starts at a multiple of 16 bytes, and no thread writes the input.
    let (sums, warp_sum) = unsafe { Tile::load::<BLOCK>(input, tile, n) }.scan();
    // SAFETY: the whole block calls it, with a word for each warp.
    let before = unsafe { sum_of_warps_before::<BLOCK>(warp_sums, warp_sum) };
    // SAFETY: as for the input, and no other thread writes these elements.
    unsafe { sums.store::<BLOCK>(output, tile, n, before) };
}

/// A thread's elements of a tile, which is `BLOCK * ITEMS` elements. A warp has a part of the tile in one piece: `VECTORS`
/// rows of 32 vectors, a vector for each lane.
pub(super) struct Tile([Int4; VECTORS]);

impl Tile {
    /// The index of this thread's first vector in a tile. The next ones follow at a distance of 32 vectors.
    #[inline(always)]
    fn first<const BLOCK: u32>(tile: u32) -> u32 {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        tile * (BLOCK * VECTORS as u32) + warp * (32 * VECTORS as u32) + lane
    }

    /// Loads this thread's elements, with zeros for those from `n` on.
    ///
    /// # Safety
    /// `input` has `n` elements, is a multiple of 16, and is not written by any thread.
    #[inline(always)]
    pub(super) unsafe fn load<const BLOCK: u32>(input: *const i32, tile: u32, n: u32) -> Self {
        let first = Self::first::<BLOCK>(tile);
        if (tile + 1) * (BLOCK * ITEMS) <= n {
            let vectors = input.cast::<Int4>().wrapping_add(first as usize);
            // SAFETY: the whole tile is below n, and tiles start at multiples of 16 bytes.
            return Self(array::from_fn(|row| unsafe { *vectors.add(row * 32) }));
        }
        let element = |row: usize, k: usize| {
            let i = (first + row as u32 * 32) * 4 + k as u32;
            // SAFETY: i < n where the input is read.
            if i < n { unsafe { *input.add(i as usize) } } else { 0 }
        };
        Self(array::from_fn(|row| Int4(array::from_fn(|k| element(row, k)))))
    }

    /// Loads this thread's elements of a whole tile from shared memory.
    ///
    /// # Safety
    /// `tile` is shared memory with the elements of a tile, a multiple of 16, and no thread writes it.
    #[inline(always)]
    pub(super) unsafe fn load_shared<const BLOCK: u32>(tile: *const i32) -> Self {
        let vectors = tile.cast::<Int4>().wrapping_add(Self::first::<BLOCK>(0) as usize);
        // SAFETY: the rows of this lane are in the tile.
        Self(array::from_fn(|row| unsafe { *vectors.add(row * 32) }))
    }

    /// Scans the elements of this warp. Returns them, and their sum to all lanes. All 32 lanes must call it together.
    #[inline(always)]
    pub(super) fn scan(self) -> (Self, i32) {
        let mut carry = 0_i32;
        let rows = self.0.map(|Int4([a, b, c, d])| {
            let b = b.wrapping_add(a);
            let c = c.wrapping_add(b);
            let d = d.wrapping_add(c);
            let sum = scan_warp(d);
            let before = carry.wrapping_add(sum.wrapping_sub(d));
            // SAFETY: all 32 lanes take part, as the mask says.
            carry = carry.wrapping_add(unsafe { warp::warp_shuffle_idx(u32::MAX, sum, 31, 32) }.0);
            Int4([a, b, c, d].map(|element| element.wrapping_add(before)))
        });
        (Self(rows), carry)
    }

    /// Sums the elements of this warp. Returns the sum to all lanes. All 32 lanes must call it together.
    #[inline(always)]
    pub(super) fn sum(self) -> i32 {
        let own = self.0.into_iter().flat_map(|Int4(row)| row).fold(0, i32::wrapping_add);
        sum_warp(own)
    }

    /// Stores the elements below `n`, each plus `before`.
    ///
    /// # Safety
    /// `output` has `n` elements and is a multiple of 16. No other thread accesses this thread's elements of the tile.
    #[inline(always)]
    pub(super) unsafe fn store<const BLOCK: u32>(&self, output: *mut i32, tile: u32, n: u32, before: i32) {
        let first = Self::first::<BLOCK>(tile);
        let is_whole = (tile + 1) * (BLOCK * ITEMS) <= n;
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for row in 0..VECTORS {
            let vector = first + row as u32 * 32;
            let Int4(elements) = self.0[row];
            let sums = elements.map(|element| element.wrapping_add(before));
            if is_whole {
                // SAFETY: the whole tile is below n, and tiles start at multiples of 16 bytes.
                unsafe { *output.cast::<Int4>().add(vector as usize) = Int4(sums) };
                continue;
            }
            for k in 0..4 {
                let i = vector * 4 + k as u32;
                if i < n {
                    // SAFETY: i < n, and no other thread writes this element.
                    unsafe { *output.add(i as usize) = sums[k] };
                }
            }
        }
    }
}
