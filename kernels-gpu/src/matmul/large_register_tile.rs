//! A larger tile of `c` in each thread's registers.
//!
//! In `matmul_register_tile` a thread reads 16 words of shared memory for 64 multiplications, as four wide reads. With
//! 8 × 16 elements of `c` it reads 24 words for 128 multiplications: six wide reads, and each word is used 5.3 times
//! instead of 4. The tile is divided over warps first, a square of 64 × 64 each, and then over a warp's lanes, so that
//! the lanes of one wide read find their words in as few wavefronts as there can be.
//!
//! The price is registers: 128 sums leave room for one block of 256 threads on an SM, and its eight warps are all there
//! is to hide a latency with. Nothing hides that of the loads from global memory here: the next rungs do.

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::Matrix;
use super::block_tile::{DEPTH, Part, Product, ThreadTile, TileSizes};
use crate::wide::Wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_LARGE_REGISTER_TILE];

/// 2 × 4 warps, and 8 × 16 elements a thread: 128 rows and 256 columns.
pub(super) type LargeTile = ThreadTile<2, 4, 8, 16>;

/// A rung whose blocks take a [`LargeTile`]: what this one and the next ones have in common.
pub(super) const LARGE: Rung = Rung {
    geometry: Geometry::NumberedTiles {
        rows: LargeTile::ROWS as u32,
        columns: LargeTile::COLUMNS as u32,
        most_slices: 1,
    },
    default_block: [LargeTile::THREADS as u32, 1, 1],
    ..Rung::USUAL
};

entries! {
    /// A block of 256 threads takes 128 × 256 elements of `c`, each thread 8 × 16 of them in registers.
    ///
    /// # Safety
    /// As [`matmul`](super) says, where a block takes 128 × 256 elements of `c`, and the grid's x counts those tiles.
    matmul_large_register_tile(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for BLOCK in [256];
    shared pair: [Wide<f32, 4>; LargeTile::PAIR / 4];
    rung LARGE {
        lesson: "8 x 16 elements a thread, and a square for each warp: six wide reads for 128 multiplications",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == LargeTile::THREADS) };
        large_register_tile(pair.cast(), &Product { a, b, c, m, n, k });
    }
}

/// # Safety
/// The contract of [`matmul_large_register_tile_256`]; `pair` is shared memory for a pair of tiles.
#[inline(always)]
unsafe fn large_register_tile(pair: *mut f32, product: &Product) {
    let part = Part::of_this_block::<LargeTile>(product);
    let tile = LargeTile::of_this_thread();
    let mut sums = [[0.0; 16]; 8];
    for first in (part.from..part.to).step_by(DEPTH) {
        // SAFETY: every element of the tiles is written by one thread; barriers part that from the reading.
        unsafe {
            load(pair, product, &part, first);
            thread::sync_threads();
            for step in 0..DEPTH {
                tile.fragments(pair, step).multiply_add(&mut sums);
            }
        }
        thread::sync_threads();
    }
    // SAFETY: each element of `c` is one thread's.
    unsafe { tile.write(product, &part, &sums) };
}

/// Loads this thread's share of the pair of tiles from column `first` of `a`, and row `first` of `b`, on. What lies
/// outside of a matrix is 0.
///
/// # Safety
/// The matrices are valid for reads; `pair` is shared memory for a pair of tiles that no thread reads meanwhile.
#[inline(always)]
unsafe fn load(pair: *mut f32, product: &Product, part: &Part, first: u32) {
    let a = Matrix { data: product.a, rows: product.m, columns: product.k };
    let b = Matrix { data: product.b, rows: product.k, columns: product.n };
    let thread = thread::thread_idx_x() as usize;
    // A warp takes 8 columns of 4 rows of `a`: a sector of each row, and words of the turned tile in different banks.
    const ACROSS: usize = 8;
    let (row, column) = (thread / ACROSS, thread % ACROSS);
    for step in 0..LargeTile::ROWS * DEPTH / LargeTile::THREADS {
        let column = column + step % (DEPTH / ACROSS) * ACROSS;
        let row = row + step / (DEPTH / ACROSS) * (LargeTile::THREADS / ACROSS);
        // SAFETY: in the tile of `a`, which lies turned.
        unsafe {
            *pair.add(column * LargeTile::PITCH + row) = a.get(part.top + row as u32, first + column as u32);
        }
    }
    let tile_b = pair.wrapping_add(DEPTH * LargeTile::PITCH);
    for row in 0..DEPTH {
        // SAFETY: in the tile of `b`.
        unsafe {
            *tile_b.add(row * LargeTile::COLUMNS + thread) = b.get(first + row as u32, part.left + thread as u32);
        }
    }
}
