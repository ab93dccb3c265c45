//! Hints:
//!
//! 1. Thread (x, y) loads the elements at row `y` and column `x` of both tiles. Which elements of `a` and `b` are
//!    these?
//! 2. The products need a row of the first tile and a column of the second. Two barriers per pair separate the loads
//!    from the reads.
//! 3. `get(a, row, first + x, n)` and `get(b, first + y, column, n)` go to `y * 16 + x`; then `tile_a[y * 16 + i]`
//!    times `tile_b[i * 16 + x]`.
//!
//! A thread without an element of the result still loads elements of the tiles, because other threads need them. Only
//! the store at the end has a bounds check.

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
            let place = (y * 16 + x) as usize;
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
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
