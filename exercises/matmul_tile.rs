//! Tiles: read each element once per block instead of once per thread.
//!
//! The 16 x 16 threads of a block need 16 rows of `a` and 16 columns of `b`, and they use each element 16 times. The
//! block processes these rows and columns in pairs of 16 x 16 tiles. For each pair, every thread loads one element of
//! each tile into shared memory. When both tiles are complete, each thread adds 16 products to its sum, reading the
//! factors from shared memory. Then the block continues with the next pair.
//!
//! `get` returns 0 for an element outside its matrix. The loop over the pairs already exists. Complete its body.
//!
//! `ladder why matmul_tiled --figures=tiles` draws which warp of a block loads which element, for 32 x 32 tiles.

use core::mem::MaybeUninit;
use cuda_std::GpuFloat;
use cuda_std::{address_space, prelude::*};

/// Returns an element of a square matrix, or 0 outside the matrix.
///
/// # Safety
/// `matrix` points to `n * n` elements.
unsafe fn get(matrix: *const f32, row: u32, column: u32, n: u32) -> f32 {
    // SAFETY: the condition checks that the index is in bounds.
    if row < n && column < n { unsafe { *matrix.add((row * n + column) as usize) } } else { 0.0 }
}

/// # Safety
/// The requirements of `matmul_naive` apply, and blocks have 16 x 16 threads.
#[kernel]
pub unsafe fn matmul_tile(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (column, row) = (thread::block_idx_x() * 16 + x, thread::block_idx_y() * 16 + y);
    let mut sum = 0.0;
    let mut first = 0;
    while first < n {
        // SAFETY: `get` checks its index. Each element of the tiles has one writer and is read between two barriers.
        unsafe {
            // TODO: load a pair of tiles, and multiply elements of the tiles.
            for i in first..n.min(first + 16) {
                sum += get(a, row, i, n) * get(b, i, column, n);
            }
        }
        first += 16;
    }
    if row < n && column < n {
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
