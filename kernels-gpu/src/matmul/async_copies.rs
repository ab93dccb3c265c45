//! Asynchronous copies: the next tiles are copied while the current tiles are multiplied.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::{shared, thread};
use rung::rung;

use super::register_tiles::{
    COL_GROUP, DEPTH, Float4, ROW_GROUP, STAGES, a_stride, load_fragment, multiply_add, pair_len, tile_of_block,
    write_sums,
};
use crate::tensor_core::Shared;
use crate::tensor_core::cp_async::{self, copy_one};

/// The number of rows of `c` that a block computes.
const ROWS: u32 = 128;

/// The number of columns of `c` that a block computes.
const COLS: u32 = 256;

/// `matmul_large_register_tile` with three stages of asynchronous copies.
///
/// In `matmul_large_register_tile`, a block waits for global memory once for each pair of tiles. A multiprocessor with
/// only one block does nothing else during this wait. Here shared memory has three stages, each with a pair of tiles. A
/// copy from global to shared memory bypasses the registers ([`cp_async`]): a thread starts the copy and continues.
/// While a block multiplies one stage, the copies to the next two stages are in flight. One barrier for each pair of
/// tiles is enough: after the barrier, all threads' copies of the pair have arrived, and no thread still reads the
/// stage that is overwritten next.
///
/// Elements are copied one by one, so every shape uses the same code.
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_large_register_tile,
    lesson = "three stages of asynchronous copies: tiles arrive while others are multiplied",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLS), 1, 1],
    dynamic_shared = STAGES * pair_len(ROWS, COLS) * 4
)]
pub unsafe fn matmul_async_copies(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    const A_STRIDE: u32 = a_stride(ROWS);
    let stages = shared::dynamic_shared_mem::<Float4>().cast::<f32>();
    let (tile_row, tile_col) = tile_of_block(m, n, ROWS, COLS);
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let thread_row = warp % 2 * 64 + lane % 8 * 4;
    let thread_col = warp / 2 * 64 + lane / 8 * 4;

    // The elements that this thread copies: every 16th row of one column of `a`, and one column of `b`. For a row or
    // column outside a matrix, the thread copies the last row or column instead. The products of these duplicates are
    // not written to `c`.
    let (a_row, a_col) = (tid / DEPTH, tid % DEPTH);
    let a_offsets: [u32; 8] = array::from_fn(|i| (tile_row + a_row + i as u32 * 16).min(m - 1) * k + a_col);
    let b_col = (tile_col + tid).min(n - 1);
    let a_words = Shared::of(stages).byte_add((a_col * A_STRIDE + a_row) * 4);
    let b_words = Shared::of(stages).byte_add((DEPTH * A_STRIDE + tid) * 4);
    let start_copies = |pair: u32| {
        let (first, stage) = (pair * DEPTH, pair % STAGES * pair_len(ROWS, COLS) * 4);
        if first < k {
            let (a, b) = (a.wrapping_add(first as usize), b.wrapping_add((first * n) as usize));
            for (i, &offset) in (0..).zip(&a_offsets) {
                let to = a_words.byte_add(stage + i * 16 * 4);
                // SAFETY: the element is in `a` if its column exists. No thread accesses the target word before the
                // copy has arrived.
                unsafe { copy_one(to, a.wrapping_add(offset as usize), first + a_col < k) };
            }
            for row in 0..DEPTH {
                let to = b_words.byte_add(stage + row * COLS * 4);
                // SAFETY: the element is in `b` if its row exists. No thread accesses the target word before the copy
                // has arrived.
                unsafe { copy_one(to, b.wrapping_add((row * n + b_col) as usize), first + row < k) };
            }
        }
    };

    let mut sums = [[0.0; 16]; 8];
    for pair in 0..STAGES - 1 {
        start_copies(pair);
        cp_async::commit();
    }
    for pair in 0..k.div_ceil(DEPTH) {
        // All copy groups except the last have arrived. So this thread's copies of this pair have arrived, and after
        // the barrier, so have the copies of all threads. The barrier also follows the last read of the stage that is
        // overwritten next.
        cp_async::wait::<{ STAGES - 2 }>();
        thread::sync_threads();
        start_copies(pair + STAGES - 1);
        cp_async::commit();
        let tile_a = stages.wrapping_add((pair % STAGES * pair_len(ROWS, COLS)) as usize);
        let tile_b = tile_a.wrapping_add((DEPTH * A_STRIDE) as usize);
        for i in 0..DEPTH {
            // SAFETY: the groups of four are in the tiles, at multiples of 16 bytes, and have arrived.
            let (x, y) = unsafe {
                let x: [f32; 8] = load_fragment(tile_a.add((i * A_STRIDE + thread_row) as usize), ROW_GROUP);
                let y: [f32; 16] = load_fragment(tile_b.add((i * COLS + thread_col) as usize), COL_GROUP);
                (x, y)
            };
            multiply_add(&x, &y, &mut sums);
        }
    }
    // SAFETY: `c` has m * n elements, and each element has one writer. The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), (tile_row + thread_row, tile_col + thread_col)) };
}
