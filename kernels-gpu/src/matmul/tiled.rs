//! Tiles in shared memory: one thread loads an element that many threads of the block read.

use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

/// The block's threads together load a tile of `a` and a tile of `b` into shared memory, multiply the tiles, and
/// continue with the next pair.
///
/// Each element is read from global memory once per block instead of once per thread. With 32 × 32 tiles, only 1/32 of
/// the reads remain. Elements outside a matrix are loaded as 0, which adds nothing to a sum. (Chapter 5, and figure
/// 6.10.)
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_naive,
    lesson = "tiles in shared memory: an element is read once per block instead of once per thread",
    blocks = [(16, 16), (32, 32)],
    default_block = (32, 32),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0])
)]
pub unsafe fn matmul_tiled<const BLOCK_X: u32, const BLOCK_Y: u32>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    const { assert!(BLOCK_X == BLOCK_Y, "the tiles are square") };
    const SIDE: u32 = BLOCK_X;
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[f32; (SIDE * SIDE) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[f32; (SIDE * SIDE) as usize]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let block_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let (row, col) = (block_row * SIDE + thread_row, thread::block_idx_x() * SIDE + thread_col);

    let mut sum = 0.0;
    for first in (0..k).step_by(SIDE as usize) {
        let (a_col, a_word) = (first + thread_col, thread_row * SIDE + thread_col);
        let (b_row, b_word) = (first + thread_row, thread_row * SIDE + thread_col);
        // SAFETY: only elements inside the matrices are read, and each thread writes one word of each tile.
        unsafe {
            *tile_a.add(a_word as usize) = if row < m && a_col < k { *a.add((row * k + a_col) as usize) } else { 0.0 };
            *tile_b.add(b_word as usize) = if b_row < k && col < n { *b.add((b_row * n + col) as usize) } else { 0.0 };
        }
        thread::sync_threads();
        // Two loops, because LLVM completely unrolls a loop of 16 steps, but not a loop of 32 steps.
        for start in (0..SIDE).step_by(16) {
            for i in start..start + 16 {
                let (a_word, b_word) = (thread_row * SIDE + i, i * SIDE + thread_col);
                // SAFETY: both words are in the tiles, and were written before the barrier.
                let (x, y) = unsafe { (*tile_a.add(a_word as usize), *tile_b.add(b_word as usize)) };
                sum = GpuFloat::mul_add(x, y, sum);
            }
        }
        // The next step overwrites the tiles, so all threads must first finish reading them.
        thread::sync_threads();
    }
    if row < m && col < n {
        // SAFETY: row < m and col < n. No other thread writes this element.
        unsafe { *c.add((row * n + col) as usize) = sum };
    }
}
