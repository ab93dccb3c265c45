//! Hints:
//!
//! 1. Neighboring threads differ in `x`. In which direction are neighboring words of `b`: along a row or along a
//!    column?
//! 2. Thread (x, y) can load the element at row `x` and column `y` of the tile. Both the address in `b` and the
//!    position in the tile change.
//! 3. `*tile_b.add((x * 16 + y) as usize) = get(b, left + y, first + x, n);`
//!
//! The threads of a warp now write a column of the tile, which has bank conflicts. A pitch or a swizzle removes them,
//! as in the transpose.

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
            *tile_b.add((x * 16 + y) as usize) = get(b, left + y, first + x, n);
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
