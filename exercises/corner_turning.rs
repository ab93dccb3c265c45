//! Corner turning: a matrix in column-major order.
//!
//! Here `b` is in *column-major* order: `b[i][column]` is at index `column * n + i`. The tiled kernel computes `column`
//! from `x` when it loads its tile of `b`. Neighboring threads then read words that are `n` words apart, and a request
//! needs many sectors.
//!
//! Any thread may load any element of a tile, as long as the tile is complete in the end. Change which thread loads
//! which element of the tile of `b`, so that neighboring threads read neighboring words. The multiplication stays the
//! same.

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
/// The requirements of `matmul_tile` apply, except that `b` is in column-major order.
#[kernel]
pub unsafe fn corner_turning(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 16, thread::block_idx_y() * 16);
    let (column, row) = (left + x, top + y);
    let mut sum = 0.0;
    let mut first = 0;
    while first < n {
        // SAFETY: `get` checks its index. Each element of the tiles has one writer and is read between two barriers.
        unsafe {
            *tile_a.add((y * 16 + x) as usize) = get(a, row, first + x, n);
            // TODO: neighboring threads must read neighboring words. The third argument of `get` counts words in
            // memory.
            *tile_b.add((y * 16 + x) as usize) = get(b, left + x, first + y, n);
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
