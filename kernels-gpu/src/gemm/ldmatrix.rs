//! Fragments by `ldmatrix`, from tiles whose chunks are swizzled.
//!
//! In `gemm_mma` a warp loads a fragment of 512 bytes with four instructions, and if `b` lies row after row, threads
//! put its pairs together. `ldmatrix` fetches the whole fragment: each lane names one row of 16 bytes, 8 elements, and
//! the hardware gives each lane its four words. 6 instructions instead of 24 feed 16 `mma.sync`. For `b` row after row,
//! `.trans` transposes each 8 × 8 on the way, so a tile is a piece of memory as it lies, whatever the layout.
//!
//! `ldmatrix` takes a wavefront for every 8 rows of 16 bytes if they lie in different banks. Think of shared memory as
//! a wall of bricks: 128 bytes a course, 8 bricks of 16 bytes, and a wavefront takes one brick of each of the 8
//! columns. A tile with 32 elements of each line lays two lines a course, so 8 lines, one brick of each below the
//! other, are in two columns only: 4 wavefronts.
//!
//! - *Padding* leaves a brick out behind each line. A line is 5 bricks then, and 8 lines begin in columns 0, 5, 2, 7,
//!   4, 1, 6, 3: no conflicts, for a quarter more memory, which would be a whole stage of four in `gemm_cp_async`.
//! - *Swizzling* leaves nothing out. In course `i`, brick `j` lies where `j ^ i % 4` would lie (`j ^ i % 8` where a row
//!   is a whole course or more). The four courses of 8 lines have their bricks in four different columns of each half:
//!   no conflicts, and no byte more. And stepping on along `k` or across lines is one exclusive or with a constant.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::Product;
use super::operand::{CHUNK, DEPTH, Places, THREADS};
use super::tiles::corner;
use super::warp_tile::{self, WarpTile};
use crate::copy_async::Shared;
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::{Fragment, MmaElement, SIDE};
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_LDMATRIX];

/// Fragments below each other and side by side in a warp's part of the tile, and the tile's sides.
const DOWN: usize = 4;
const ALONG: usize = 2;
const ROWS: u32 = warp_tile::rows(DOWN);
const COLUMNS: u32 = warp_tile::columns(ALONG);

products! {
    /// A tile of 128 × 128 elements for each block, from fragments that `ldmatrix` loads from swizzled tiles.
    gemm_ldmatrix for [256] threads;
    resident 2;
    shared SwizzledTile::<true, ROWS>::BYTES + SwizzledTile::<true, COLUMNS>::BYTES;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "ldmatrix: a fragment in one instruction, transposed if need be, without bank conflicts by a swizzle",
    };
    formats [bf16, f16];
    pointers => ldmatrix
}

/// # Safety
/// The contract of the ladder's kernels; `shared` is a tile of `a` and one of `b`.
#[inline(always)]
unsafe fn ldmatrix<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    let corner = corner::<ROWS, COLUMNS, 8>(thread::block_idx_x(), product.m, product.n);
    let tile_a = SwizzledTile::<true, ROWS> { shared, at: 0 };
    let tile_b = SwizzledTile::<COLUMN_MAJOR, COLUMNS> { shared, at: SwizzledTile::<true, ROWS>::BYTES };
    let (row, column) = SwizzledTile::<true, ROWS>::place();
    let mut chunks_a = product.chunks_of_a(corner.row, row, column);
    let (row, column) = SwizzledTile::<COLUMN_MAJOR, COLUMNS>::place();
    let mut chunks_b = product.chunks_of_b::<COLUMN_MAJOR>(corner.column, row, column);
    let mut part = WarpTile::<DOWN, ALONG>::of_this_warp();
    for _ in (0..product.k).step_by(DEPTH as usize) {
        // SAFETY: each chunk of the tiles is written by one thread; barriers part that from the reading.
        unsafe {
            let read_a = [0, 1].map(|i| chunks_a.get(i * SwizzledTile::<true, ROWS>::APART));
            let read_b = [0, 1].map(|i| chunks_b.get(i * SwizzledTile::<COLUMN_MAJOR, COLUMNS>::APART));
            thread::sync_threads();
            tile_a.write(read_a);
            tile_b.write(read_b);
            thread::sync_threads();
            for step in 0..DEPTH / SIDE as u32 {
                let a = tile_a.fragments::<A, _, _>(part.row, step);
                let b = tile_b.fragments::<A, _, _>(part.column, step);
                part.multiply_add(&a, &b);
            }
        }
        chunks_a.advance();
        chunks_b.advance();
    }
    // SAFETY: each element of `c` is one thread's.
    unsafe { part.write(corner, product) };
}

/// A tile of `LINES` lines, `at` bytes behind the beginning of the block's shared memory, as it lies in global memory
/// but for the swizzle. With `ALONG_K`, a row of memory is a line.
#[derive(Clone, Copy)]
pub(super) struct SwizzledTile<const ALONG_K: bool, const LINES: u32> {
    pub(super) shared: *mut u8,
    pub(super) at: u32,
}

impl<const ALONG_K: bool, const LINES: u32> SwizzledTile<ALONG_K, LINES> {
    /// Bytes of the tile.
    pub(super) const BYTES: u32 = LINES * DEPTH * 2;
    /// Rows from one of a thread's chunks to the next, and the bytes between them in the tile: those of all threads'
    /// chunks.
    pub(super) const APART: u32 = THREADS / Self::ACROSS;
    const BYTES_APART: u32 = THREADS * 16;
    /// A thread's chunks.
    pub(super) const CHUNKS: u32 = Self::BYTES / Self::BYTES_APART;
    /// Chunks in a row.
    const ACROSS: u32 = if ALONG_K { DEPTH } else { LINES } / CHUNK;
    /// Chunks that change their places with each other: of a row, and in 128 bytes.
    const SWIZZLED: u32 = if Self::ACROSS < 8 { Self::ACROSS } else { 8 };

    /// Where a chunk lies in the tile.
    #[inline(always)]
    fn offset(row: u32, chunk: u32) -> u32 {
        let course = row * Self::SWIZZLED / 8;
        (row * Self::ACROSS + (chunk ^ (course % Self::SWIZZLED))) * 16
    }

    /// The row and the column in memory of this thread's first chunk.
    #[inline(always)]
    pub(super) fn place() -> (u32, u32) {
        (thread::thread_idx_x() / Self::ACROSS, thread::thread_idx_x() % Self::ACROSS * CHUNK)
    }

    /// Where this thread's chunks go, and what is behind their rows: from `tails` on, 16 bytes for each row of memory.
    #[inline(always)]
    pub(super) fn places(self, tails: *mut u8) -> Places {
        let (row, column) = Self::place();
        Places {
            to: self.first_chunk(),
            bytes: Self::BYTES_APART,
            count: Self::CHUNKS,
            is_last: column == (Self::ACROSS - 1) * CHUNK,
            tails: tails.wrapping_add((row * 16) as usize).cast(),
            tails_apart: Self::APART * 16,
        }
    }

    /// Where this thread's first chunk goes.
    #[inline(always)]
    fn first_chunk(self) -> *mut u32 {
        const { assert!(Self::APART.is_multiple_of(8), "all of a thread's chunks are swizzled alike") };
        let (row, column) = Self::place();
        self.shared.wrapping_add((self.at + Self::offset(row, column / CHUNK)) as usize).cast()
    }

    /// Writes this thread's chunks of a tile in which it has two.
    ///
    /// # Safety
    /// The tile is shared memory, which no thread reads before a barrier.
    #[inline(always)]
    unsafe fn write(self, chunks: [[u32; 4]; 2]) {
        const { assert!(Self::CHUNKS == 2) };
        let [first, second] = chunks;
        // SAFETY: in the tile, and this thread's own.
        unsafe {
            wide::store(self.first_chunk(), first);
            wide::store(self.first_chunk().wrapping_byte_add(Self::BYTES_APART as usize), second);
        }
    }

    /// The 16 · `N` lines from `line` on, a multiple of 16, in step `step` of 16 along `k`.
    ///
    /// # Safety
    /// All lanes of the warp call it together, and all of the tile has been written.
    #[inline(always)]
    pub(super) unsafe fn fragments<E: MmaElement, const OF_B: bool, const N: usize>(
        self,
        line: u32,
        step: u32,
    ) -> [Fragment<E, OF_B>; N] {
        let (row, eight) = Fragment::<E, OF_B>::row_and_eight::<ALONG_K>();
        let first = Self::offset(row, eight);
        let (side, tile) = (SIDE as u32, Shared::of(self.shared).byte_add(self.at));
        array::from_fn(|i| {
            let line = line + i as u32 * side;
            let (along, down) = if ALONG_K { (step * side, line) } else { (line, step * side) };
            // A chunk further along is one bit of its number, and rows further down are swizzled alike.
            let offset = (first ^ (along / CHUNK * 16)) + down * Self::ACROSS * 16;
            // SAFETY: as the caller promises; in the tile.
            unsafe { Fragment::load::<ALONG_K>(tile.byte_add(offset)) }
        })
    }
}
