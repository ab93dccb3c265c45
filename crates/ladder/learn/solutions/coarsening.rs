//! Hints:
//!
//! 1. Two loops are nested: over the 4 tiles of `c`, and over the pairs of input tiles. Which order needs each tile of
//!    `a` once?
//! 2. If the loop over the pairs is the outer loop, a thread accumulates four sums at the same time, so it needs an
//!    array. When may the kernel fill `tile_b` again, and when `tile_a`?
//! 3. `let mut sums = [0.0; 4];` before the outer loop; `for (k, sum) in sums.iter_mut().enumerate() { … }` is the
//!    inner loop.
//!
//! The array is in registers, because every index is a constant after the compiler has unrolled the loop.

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
    let mut sums = [0.0; 4];
    let mut first = 0;
    while first < n {
        // SAFETY: `get` checks its index. Each element of the tiles has one writer and is read between two barriers.
        unsafe {
            *tile_a.add(place) = get(a, row, first + x, n);
            for (k, sum) in sums.iter_mut().enumerate() {
                *tile_b.add(place) = get(b, first + y, left + 16 * k as u32, n);
                thread::sync_threads();
                for i in 0..16 {
                    let (p, q) = (*tile_a.add((y * 16 + i) as usize), *tile_b.add((i * 16 + x) as usize));
                    *sum = GpuFloat::mul_add(p, q, *sum);
                }
                thread::sync_threads();
            }
        }
        first += 16;
    }
    for (k, &sum) in sums.iter().enumerate() {
        let column = left + 16 * k as u32;
        if row < n && column < n {
            // SAFETY: the condition checks that the index is in bounds. Each thread writes separate elements.
            unsafe { *c.add((row * n + column) as usize) = sum };
        }
    }
}
