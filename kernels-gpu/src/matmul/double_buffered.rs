//! Two sets of fragments: the fragments of the next step are read while the current fragments are multiplied.
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

/// `matmul_async_copies` with two sets of fragments.
///
/// In `matmul_async_copies`, each step begins with six wide reads of shared memory, and the first multiplication waits
/// for these reads. The wait takes about 30 cycles for each 128 multiplications of a warp. During the wait, a scheduler
/// has only one other warp to issue from. Here a thread holds the fragments of two steps in registers. The thread reads
/// the fragments of step i + 1 before it multiplies the fragments of step i. It also reads ahead across the barrier
/// between two pairs of tiles: the last step of a pair reads the first fragments of the next pair.
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_async_copies,
    lesson = "two sets of fragments in registers: shared memory is read a step ahead of the multiplications",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLS), 1, 1],
    dynamic_shared = STAGES * pair_len(ROWS, COLS) * 4
)]
pub unsafe fn matmul_double_buffered(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
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

    // Returns the elements that this thread multiplies in step `step` of a pair: 8 elements of a column of `a`, and 16
    // of a row of `b`.
    let load_fragments = |pair: u32, step: u32| -> ([f32; 8], [f32; 16]) {
        let tile_a = stages.wrapping_add((pair % STAGES * pair_len(ROWS, COLS)) as usize);
        let tile_b = tile_a.wrapping_add((DEPTH * A_STRIDE) as usize);
        // SAFETY: the groups of four are in the tiles, at multiples of 16 bytes, and have arrived.
        unsafe {
            let x = load_fragment(tile_a.add((step * A_STRIDE + thread_row) as usize), ROW_GROUP);
            (x, load_fragment(tile_b.add((step * COLS + thread_col) as usize), COL_GROUP))
        }
    };

    let mut sums = [[0.0; 16]; 8];
    for pair in 0..STAGES - 1 {
        start_copies(pair);
        cp_async::commit();
    }
    cp_async::wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let (mut x, mut y) = load_fragments(0, 0);
    for pair in 0..k.div_ceil(DEPTH) {
        start_copies(pair + STAGES - 1);
        cp_async::commit();
        // The change: the thread reads the fragments of the next step before it multiplies the fragments of this step.
        for step in 1..DEPTH {
            let (next_x, next_y) = load_fragments(pair, step);
            multiply_add(&x, &y, &mut sums);
            (x, y) = (next_x, next_y);
        }
        // The next pair has arrived, as in `matmul_async_copies`. After the last pair, the fragments are never
        // multiplied.
        cp_async::wait::<{ STAGES - 2 }>();
        thread::sync_threads();
        let (next_x, next_y) = load_fragments(pair + 1, 0);
        multiply_add(&x, &y, &mut sums);
        (x, y) = (next_x, next_y);
    }
    // SAFETY: `c` has m * n elements, and each element has one writer. The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), (tile_row + thread_row, tile_col + thread_col)) };
}
