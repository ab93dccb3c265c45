//! Tiles: read each element once a block instead of once a thread.
//!
//! The 16 x 16 threads of a block need 16 rows of `a` and 16 columns of `b`, and each element of them 16 times. So they go
//! through both in pairs of tiles of 16 x 16: load a tile of each into shared memory, every thread one element of each; wait;
//! add up 16 products from shared memory; wait; go on to the next pair.
//!
//! What lies outside of a matrix is loaded as 0; `get` does that. The loop over the pairs is there. Fill it.

use core::mem::MaybeUninit;
use cuda_std::GpuFloat;
use cuda_std::{address_space, prelude::*};

/// An element of a square matrix, or 0 outside of it.
///
/// # Safety
/// `matrix` points to `n * n` elements.
unsafe fn get(matrix: *const f32, row: u32, column: u32, n: u32) -> f32 {
    // SAFETY: in bounds.
    if row < n && column < n { unsafe { *matrix.add((row * n + column) as usize) } } else { 0.0 }
}

/// # Safety
/// As for `matmul_naive`, with blocks of 16 x 16 threads.
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
        // SAFETY: in bounds; each element of the tiles has one writer and is read between two barriers.
        unsafe {
            // TODO: load a pair of tiles, and multiply from there.
            for i in first..n.min(first + 16) {
                sum += get(a, row, i, n) * get(b, i, column, n);
            }
        }
        first += 16;
    }
    if row < n && column < n {
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
