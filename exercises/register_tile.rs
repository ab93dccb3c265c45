//! Register tile: fewer reads of shared memory for each product.
//!
//! In the tiled kernel, each product needs two reads of shared memory. A thread that computes a 2 x 2 square of
//! elements of `c` needs 2 elements of `a` and 2 of `b` for 4 products, which is one read per product. A 4 x 4 square
//! needs half a read per product.
//!
//! Here a block of 16 x 16 threads computes a 32 x 32 tile. Thread (x, y) computes the elements in rows `y` and `y +
//! 16` and in columns `x` and `x + 16`. The kernel already loads the tiles of `a` and `b`. Write the multiplication:
//! for each `i`, read each element that the thread needs *once*, and add the 4 products to `sums`.

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
/// The requirements of `matmul_naive` apply, except that blocks of 16 x 16 threads compute 32 x 32 tiles of `c`.
#[kernel]
pub unsafe fn register_tile(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; 1024]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; 1024]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    let mut sums = [[0.0; 2]; 2];
    let mut first = 0;
    while first < n {
        // SAFETY: `get` checks its index. Each element of the tiles has one writer and is read between two barriers.
        unsafe {
            for (down, along) in [(0, 0), (0, 16), (16, 0), (16, 16)] {
                let (row, column) = (y + down, x + along);
                *tile_a.add((row * 32 + column) as usize) = get(a, top + row, first + column, n);
                *tile_b.add((row * 32 + column) as usize) = get(b, first + row, left + column, n);
            }
            thread::sync_threads();
            for i in 0..32 {
                // TODO: compute 4 products from 4 reads.
                let p = *tile_a.add((y * 32 + i) as usize);
                let q = *tile_b.add((i * 32 + x) as usize);
                sums[0][0] = GpuFloat::mul_add(p, q, sums[0][0]);
            }
            thread::sync_threads();
        }
        first += 32;
    }
    for r in 0..2 {
        for s in 0..2 {
            let (row, column) = (top + y + 16 * r as u32, left + x + 16 * s as u32);
            if row < n && column < n {
                // SAFETY: the condition checks that the index is in bounds. Each thread writes separate elements.
                unsafe { *c.add((row * n + column) as usize) = sums[r][s] };
            }
        }
    }
}
