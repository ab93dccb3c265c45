//! A tile of `c` in the registers of each thread.

use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

use super::register_tiles::Float4;

/// The number of rows and of columns of `c` that a block computes.
const TILE: u32 = 128;

/// The number of columns of `a` in shared memory, which is also the number of rows of `b` there.
const DEPTH: u32 = 8;

/// The number of words from one column of `a` to the next in the transposed tile of `a`. With 4 words of padding, a
/// warp's writes are in different banks.
const A_STRIDE: u32 = TILE + 4;

/// A block of 16 × 16 threads computes 128 × 128 elements of `c`, and each thread computes 8 × 8 of these elements in
/// registers.
///
/// In the tiled rungs, a multiplication needs two reads of shared memory. In the time of 128 multiplications, a
/// multiprocessor reads only 32 words of shared memory. A thread with 8 × 8 elements of `c` reads 8 words of `a` and 8
/// words of `b` for 64 multiplications. This is an eighth of the reads of each matrix. The tile of `a` is transposed in
/// shared memory. So the elements of a thread's rows of `a` are neighbors, like the elements of its columns of `b`, and
/// one instruction reads four elements.
///
/// Prediction: 64 multiplications and 4 wide reads are 68 instructions, and `matmul_tiled` takes 192 for the same work.
/// So the kernel would be nearly three times as fast if the loads from global memory, which nothing hides here, were
/// free. Measured on an H100 80GB HBM3: 3.59 ms for 4096³, 38.3 TFLOP/s, 4.3 times the speed of `matmul_tiled`. The
/// prediction underestimated the cost of the two barriers per 32 steps and of the single-word reads in `matmul_tiled`.
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_tiled,
    lesson = "8 x 8 elements per thread, in registers: 16 reads of shared memory for 64 multiplications",
    blocks = [(16, 16)],
    grid = |launch| launch.tiles(TILE, TILE)
)]
pub unsafe fn matmul_register_tile<const BLOCK_X: u32, const BLOCK_Y: u32>(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    const { assert!(8 * BLOCK_X == TILE && 8 * BLOCK_Y == TILE, "each thread has 8 × 8 elements") };
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[Float4; (DEPTH * A_STRIDE / 4) as usize]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[Float4; (DEPTH * TILE / 4) as usize]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let tile_row = (thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y()) * TILE;
    let tile_col = thread::block_idx_x() * TILE;

    // The elements that this thread loads: every 32nd row of one column of `a`, and every second row of one column of
    // `b`.
    let tid = thread_row * BLOCK_X + thread_col;
    let (a_row, a_col) = (tid / DEPTH, tid % DEPTH);
    let (b_row, b_col) = (tid / TILE, tid % TILE);
    // The rows and columns of `c` that this thread computes are two groups of four, half a tile apart, so the reads of
    // a warp are free of bank conflicts.
    let row_of = |i: usize| i as u32 / 4 * (TILE / 2) + thread_row * 4 + i as u32 % 4;
    let col_of = |j: usize| j as u32 / 4 * (TILE / 2) + thread_col * 4 + j as u32 % 4;

    let mut sums = [[0.0; 8]; 8];
    for first in (0..k).step_by(DEPTH as usize) {
        for step in 0..4 {
            let (a_row, b_row) = (a_row + step * 32, b_row + step * 2);
            let (row, col) = (tile_row + a_row, first + a_col);
            let word = (a_col * A_STRIDE + a_row) as usize;
            // SAFETY: only elements inside `a` are read, and each thread writes its words of the tile.
            unsafe { *tile_a.add(word) = if row < m && col < k { *a.add((row * k + col) as usize) } else { 0.0 } };
            let (row, col) = (first + b_row, tile_col + b_col);
            let word = (b_row * TILE + b_col) as usize;
            // SAFETY: only elements inside `b` are read, and each thread writes its words of the tile.
            unsafe { *tile_b.add(word) = if row < k && col < n { *b.add((row * n + col) as usize) } else { 0.0 } };
        }
        thread::sync_threads();
        for i in 0..DEPTH {
            let a_words = tile_a.wrapping_add((i * A_STRIDE) as usize);
            let b_words = tile_b.wrapping_add((i * TILE) as usize);
            // SAFETY: the groups of four are in the tiles, at multiples of 16 bytes, and were written before the
            // barrier.
            let (x, y) = unsafe {
                let x = [0, 4].map(|group| *a_words.add(row_of(group) as usize).cast::<Float4>());
                (x, [0, 4].map(|group| *b_words.add(col_of(group) as usize).cast::<Float4>()))
            };
            // The indices select registers, because they are constants once the loops are unrolled.
            for row in 0..8 {
                for col in 0..8 {
                    sums[row][col] = GpuFloat::mul_add(x[row / 4].0[row % 4], y[col / 4].0[col % 4], sums[row][col]);
                }
            }
        }
        // The next step overwrites the tiles, so all threads must first finish reading them.
        thread::sync_threads();
    }
    for (i, sums) in sums.iter().enumerate() {
        for (j, &sum) in sums.iter().enumerate() {
            let (row, col) = (tile_row + row_of(i), tile_col + col_of(j));
            if row < m && col < n {
                // SAFETY: row < m and col < n. No other thread writes this element.
                unsafe { *c.add((row * n + col) as usize) = sum };
            }
        }
    }
}
