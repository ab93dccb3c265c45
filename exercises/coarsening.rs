//! Coarsening: one block does the work of four.
//!
//! Blocks cannot share the data that they have loaded: four neighboring blocks in a row of `c` load the same tiles of
//! `a`. If one block computes the four tiles of `c`, it can use each tile of `a` four times.
//!
//! This kernel computes four tiles of `c` per block, but one tile after another, so it loads each tile of `a` four
//! times. Change the kernel so that it loads each tile of `a` once. The goal counts the load requests of all warps.

use core::mem::MaybeUninit;
use cuda_std::{GpuFloat, address_space, prelude::*};

/// Returns an element of a square matrix, or 0 outside the matrix.
///
/// # Safety
/// `matrix` points to `n * n` elements.
unsafe fn get(matrix: *const f32, row: u32, column: u32, n: u32) -> f32 {
    // SAFETY: the condition checks that the index is in bounds.
    if row < n && column < n { unsafe { *matrix.add((row * n + column) as usize) } } else { 0.0 }
}

/// # Safety
/// The requirements of `matmul_tile` apply, except that a block computes 64 columns of `c`.
#[kernel]
pub unsafe fn coarsening(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, row) = (thread::block_idx_x() * 64 + x, thread::block_idx_y() * 16 + y);
    let place = (y * 16 + x) as usize;
    // TODO: load each tile of `a` once.
    for k in 0..4 {
        let column = left + 16 * k;
        let mut sum = 0.0;
        let mut first = 0;
        while first < n {
            // SAFETY: `get` checks its index. Each element of the tiles has one writer and is read between two
            // barriers.
            unsafe {
                *tile_a.add(place) = get(a, row, first + x, n);
                *tile_b.add(place) = get(b, first + y, column, n);
                thread::sync_threads();
                for i in 0..16 {
                    let (p, q) = (*tile_a.add((y * 16 + i) as usize), *tile_b.add((i * 16 + x) as usize));
                    sum = GpuFloat::mul_add(p, q, sum);
                }
                thread::sync_threads();
            }
            first += 16;
        }
        if row < n && column < n {
            // SAFETY: the condition checks that the index is in bounds. Each thread writes separate elements.
            unsafe { *c.add((row * n + column) as usize) = sum };
        }
    }
}
