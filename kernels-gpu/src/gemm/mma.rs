//! Tensor cores: a warp multiplies whole fragments, which its lanes load word by word.
//!
//! `mma.sync` takes 16 × 16 elements of `a` and 16 × 8 of `b` from a warp's registers and adds the 2048 products to 16
//! × 8 sums. An SM of compute capability 8.0 does 1024 multiply-adds a cycle that way, one of 9.0 more than that, where
//! its CUDA cores do 64 and 128. Nothing else is worth looking at than how the fragments get into the registers.
//!
//! A block of 8 warps takes 128 × 128 elements of `c`, a warp 64 × 32 of them. For 16 steps along `k` a warp reads 64
//! lines of `a` and 32 of `b` (a *line* is a row of `a` or a column of `b`), 3 KB from shared memory, which gives 128
//! bytes a cycle: 24 cycles for 16 `mma.sync`, 32768 multiply-adds. So the tiles come close to what shared memory can
//! give, and wider parts (`gemm_cp_async`) are the way out. A register holds two neighbours along `k`; a lane loads it
//! as one word: 24 loads for 16 `mma.sync`.
//!
//! Lane `l` reads pair `l % 4` of line `l / 4`: 8 lines, 4 words of each. In rows of 64 bytes, every second line begins
//! in the same bank, and a load takes 4 wavefronts. With 16 bytes of padding, a row has 20 words, and 8 rows begin in
//! banks 0, 20, 8, 28, 16, 4, 24 and 12: the 32 words are in 32 banks.
//!
//! If `b` lies row after row, the two elements of a pair lie in two rows of memory. A thread reads both rows and puts
//! the pairs together, before they go to a tile with a row of pairs for every second element along `k`. There a lane
//! reads word `l / 4` of row `l % 4`, so rows are 8 banks apart: 8 words of padding.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::Product;
use super::operand::{CHUNK, Chunks, DEPTH};
use super::tiles::corner;
use super::warp_tile::{self, WarpTile};
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::{Fragment, MmaElement, SIDE};
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_MMA];

/// Fragments below each other and side by side in a warp's part of the tile, and the tile's sides.
const DOWN: usize = 4;
const ALONG: usize = 2;
const ROWS: u32 = warp_tile::rows(DOWN);
const COLUMNS: u32 = warp_tile::columns(ALONG);
const _: () = assert!(ROWS == COLUMNS, "both factors have tiles of one size");

products! {
    /// A tile of 128 × 128 elements for each block, from fragments that lanes load word by word.
    gemm_mma for [256] threads;
    resident 2;
    shared (PaddedTile::<true>::WORDS + PaddedTile::<true>::WORDS.max(PaddedTile::<false>::WORDS)) * 4;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "tensor cores: a warp multiplies 16 x 16 by 16 x 8 at once, from fragments that lanes load by hand",
    };
    formats [bf16, f16];
    pointers => mma
}

/// # Safety
/// The contract of the ladder's kernels; `shared` is a tile of `a` and one of `b`.
#[inline(always)]
unsafe fn mma<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    let corner = corner::<ROWS, COLUMNS, 8>(thread::block_idx_x(), product.m, product.n);
    let tile_a = PaddedTile::<true>(shared.cast());
    let tile_b = PaddedTile::<COLUMN_MAJOR>(tile_a.0.wrapping_add(PaddedTile::<true>::WORDS as usize));
    let (row, column) = PaddedTile::<true>::place();
    let mut chunks_a = product.chunks_of_a(corner.row, row, column);
    let (row, column) = PaddedTile::<COLUMN_MAJOR>::place();
    let mut chunks_b = product.chunks_of_b::<COLUMN_MAJOR>(corner.column, row, column);
    let mut part = WarpTile::<DOWN, ALONG>::of_this_warp();
    for _ in (0..product.k).step_by(DEPTH as usize) {
        // SAFETY: each word of the tiles is written by one thread; barriers part that from the reading.
        unsafe {
            let read_a = PaddedTile::<true>::read(&chunks_a);
            let read_b = PaddedTile::<COLUMN_MAJOR>::read(&chunks_b);
            thread::sync_threads();
            tile_a.write(read_a);
            tile_b.write(read_b);
            thread::sync_threads();
            for step in 0..DEPTH / SIDE as u32 {
                let a = array::from_fn(|i| tile_a.fragment::<A, _>(part.row + (i * SIDE) as u32, step));
                let b = array::from_fn(|i| tile_b.fragment::<A, _>(part.column + (i * SIDE) as u32, step));
                part.multiply_add(&a, &b);
            }
        }
        chunks_a.advance();
        chunks_b.advance();
    }
    // SAFETY: each element of `c` is one thread's.
    unsafe { part.write(corner, product) };
}

/// A tile of 128 lines in shared memory, as pairs of neighbours along `k`, one a word. With `ALONG_K`, a row has the 16
/// pairs of a line; otherwise it has a pair of each line. Rows are padded.
#[derive(Clone, Copy)]
struct PaddedTile<const ALONG_K: bool>(*mut u32);

impl<const ALONG_K: bool> PaddedTile<ALONG_K> {
    /// Words from one row to the next.
    const PITCH: u32 = if ALONG_K { DEPTH / 2 + 4 } else { ROWS + 8 };
    /// Words of the tile.
    const WORDS: u32 = Self::PITCH * if ALONG_K { ROWS } else { DEPTH / 2 };
    /// Chunks in a row of the tile.
    const ACROSS: u32 = if ALONG_K { DEPTH } else { ROWS } / CHUNK;

    /// The row and the column in memory of this thread's first chunk. It has two.
    #[inline(always)]
    fn place() -> (u32, u32) {
        let thread = thread::thread_idx_x();
        let (row, column) = (thread / Self::ACROSS, thread % Self::ACROSS * CHUNK);
        if ALONG_K {
            // Eight lanes write 128 bytes in a wavefront. Those of two rows are in different banks if the rows are 4
            // apart.
            (row / 8 * 8 + row % 2 * 4 + row / 2 % 4, column)
        } else {
            (row * 2, column)
        }
    }

    /// Reads this thread's two chunks of the next tile: of lines that are 64 apart, or of two neighbouring rows.
    ///
    /// # Safety
    /// The matrix is valid for reads.
    #[inline(always)]
    unsafe fn read(chunks: &Chunks<ALONG_K>) -> [[u32; 4]; 2] {
        // SAFETY: as the caller promises.
        unsafe { [chunks.get(0), chunks.get(if ALONG_K { ROWS / 2 } else { 1 })] }
    }

    /// Writes what [`read`](Self::read) read.
    ///
    /// # Safety
    /// The tile is shared memory, which no thread reads before a barrier.
    #[inline(always)]
    unsafe fn write(self, [first, second]: [[u32; 4]; 2]) {
        let (row, column) = Self::place();
        // SAFETY: in the tile, and this thread's own.
        unsafe {
            if ALONG_K {
                let to = self.0.wrapping_add((row * Self::PITCH + column / 2) as usize);
                wide::store(to, first);
                wide::store(to.wrapping_add((ROWS / 2 * Self::PITCH) as usize), second);
            } else {
                let pairs = |half: usize| {
                    let [(a, b), (c, d)] = [0, 1].map(|i| (first[half * 2 + i], second[half * 2 + i]));
                    [a & 0xffff | b << 16, a >> 16 | b & 0xffff_0000, c & 0xffff | d << 16, c >> 16 | d & 0xffff_0000]
                };
                let to = self.0.wrapping_add((row / 2 * Self::PITCH + column) as usize);
                // Of eight lanes, four write their first half first and four their second, so that all are in different
                // banks.
                let turn = column as usize / 8 / 4 % 2;
                let (near, far) = (pairs(0), pairs(1));
                wide::store(to.wrapping_add(turn * 4), if turn == 0 { near } else { far });
                wide::store(to.wrapping_add(4 - turn * 4), if turn == 0 { far } else { near });
            }
        }
    }

    /// The 16 lines from `line` on, in step `step` of 16 along `k`.
    ///
    /// # Safety
    /// All of the tile has been written.
    #[inline(always)]
    unsafe fn fragment<E: MmaElement, const OF_B: bool>(self, line: u32, step: u32) -> Fragment<E, OF_B> {
        Fragment::from_pairs(|l, pair| {
            let (line, pair) = (line + l, step * SIDE as u32 / 2 + pair);
            let at = if ALONG_K { line * Self::PITCH + pair } else { pair * Self::PITCH + line };
            // SAFETY: in the tile.
            unsafe { *self.0.wrapping_add(at as usize) }
        })
    }
}
