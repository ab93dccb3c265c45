//! Hints:
//!
//! 1. Thread (x, y) loads `a` at (row, first + x) and `b` at (first + y, column), both into place `y * 16 + x`.
//! 2. After a barrier, it multiplies `tile_a[y * 16 + i]` and `tile_b[i * 16 + x]` for `i` from 0 to 15.
//! 3. Before the next turn fills the tiles again, a second barrier.
//!
//! A thread without an element of the result still loads its part of the tiles: others need it. It only does not write.

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
            let own = (y * 16 + x) as usize;
            *tile_a.add(own) = get(a, row, first + x, n);
            *tile_b.add(own) = get(b, first + y, column, n);
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
        // SAFETY: in bounds; each thread has an element of its own.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}
