//! A larger tile of `c` in the registers of each thread.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::register_tiles::{
    COL_GROUP, DEPTH, Float4, ROW_GROUP, a_stride, load_fragment, multiply_add, pair_len, tile_of_block, write_sums,
};

/// The number of rows of `c` that a block computes.
const ROWS: u32 = 128;

/// The number of columns of `c` that a block computes.
const COLS: u32 = 256;

/// A block of 256 threads computes 128 × 256 elements of `c`, and each thread computes 8 × 16 of these elements in
/// registers.
///
/// In `matmul_register_tile`, a thread reads 16 words of shared memory for 64 multiplications, with four wide reads.
/// With 8 × 16 elements of `c`, a thread reads 24 words for 128 multiplications, with six wide reads, and uses each
/// word 5.3 times on average instead of 4. The tile is divided first among warps, one 64 × 64 square per warp, and then
/// among the lanes of a warp. So a warp's wide read takes the minimum number of wavefronts.
///
/// The cost is registers: with 128 sums per thread, a multiprocessor has enough registers for only one block of 256
/// threads. Only the block's eight warps can hide latencies. Nothing here hides the latency of the loads from global
/// memory. The next rungs hide it.
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_register_tile,
    lesson = "8 x 16 elements per thread, and a square tile per warp: six 16-byte reads for 128 multiplications",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLS), 1, 1]
)]
pub unsafe fn matmul_large_register_tile<const BLOCK: u32>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    const A_STRIDE: u32 = a_stride(ROWS);
    #[address_space(shared)]
    static mut PAIR: MaybeUninit<[Float4; (pair_len(ROWS, COLS) / 4) as usize]> = MaybeUninit::uninit();
    let tile_a = (&raw mut PAIR).cast::<f32>();
    let tile_b = tile_a.wrapping_add((DEPTH * A_STRIDE) as usize);
    let (tile_row, tile_col) = tile_of_block(m, n, ROWS, COLS);

    // The block has 2 × 4 warps of 8 × 4 lanes. A thread's rows and columns form groups of four. Its first group begins
    // here, and its other groups follow the groups of the other lanes.
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let thread_row = warp % 2 * 64 + lane % 8 * 4;
    let thread_col = warp / 2 * 64 + lane / 8 * 4;
    // A warp loads 8 columns of 4 rows of `a`: one sector of each row, written to words in different banks.
    let (a_row, a_col) = (tid / 8, tid % 8);

    let mut sums = [[0.0; 16]; 8];
    for first in (0..k).step_by(DEPTH as usize) {
        for step in 0..ROWS * DEPTH / BLOCK {
            let (a_row, a_col) = (a_row + step / 2 * 32, a_col + step % 2 * 8);
            let (row, col) = (tile_row + a_row, first + a_col);
            let word = (a_col * A_STRIDE + a_row) as usize;
            // SAFETY: only elements inside `a` are read, and each thread writes its words of the tile.
            unsafe { *tile_a.add(word) = if row < m && col < k { *a.add((row * k + col) as usize) } else { 0.0 } };
        }
        for b_row in 0..DEPTH {
            let (row, col) = (first + b_row, tile_col + tid);
            let word = (b_row * COLS + tid) as usize;
            // SAFETY: only elements inside `b` are read, and each thread writes its words of the tile.
            unsafe { *tile_b.add(word) = if row < k && col < n { *b.add((row * n + col) as usize) } else { 0.0 } };
        }
        thread::sync_threads();
        for i in 0..DEPTH {
            // SAFETY: the groups of four are in the tiles, at multiples of 16 bytes, and were written before the
            // barrier.
            let (x, y) = unsafe {
                let x: [f32; 8] = load_fragment(tile_a.add((i * A_STRIDE + thread_row) as usize), ROW_GROUP);
                let y: [f32; 16] = load_fragment(tile_b.add((i * COLS + thread_col) as usize), COL_GROUP);
                (x, y)
            };
            multiply_add(&x, &y, &mut sums);
        }
        // The next step overwrites the tiles, so all threads must first finish reading them.
        thread::sync_threads();
    }
    // SAFETY: `c` has m * n elements, and each element has one writer. The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), (tile_row + thread_row, tile_col + thread_col)) };
}
