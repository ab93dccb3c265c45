//! Pacing: the reads and copies are spread evenly over the multiplications.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::{GpuFloat, shared, thread, warp};
use rung::rung;

use super::register_tiles::{
    COL_GROUP, DEPTH, Float4, ROW_GROUP, STAGES, a_stride, copy_four_of_row, pair_len, tile_of_block, write_sums,
};
use crate::tensor_core::Shared;
use crate::tensor_core::cp_async::{self, copy_one};

/// The number of rows of `c` that a block computes.
const ROWS: u32 = 128;

/// The number of columns of `c` that a block computes.
const COLS: u32 = 256;

/// `matmul_vector_copies`, with every read and every copy at a fixed position between the multiplications.
///
/// `matmul_vector_copies` reads a step ahead, but the driver's compiler gathers these reads, and the copies of the next
/// tiles, at the top of the loop. There the reads and copies queue for the multiprocessor's only memory pipe while the
/// multipliers starve. Here each read and each copy is placed between two columns of multiplications. A warp barrier in
/// each step keeps the compiler from gathering the reads and copies again. The barrier costs one of 134 issue slots.
/// The loop has 2048 multiplications in 2190 instructions.
///
/// Prediction: 94 of 100 instructions are multiplications, so the kernel reaches at most 94 % of the multipliers' peak.
/// In cuBLAS's kernel for these sizes (256 × 128 × 8, three stages, eight warps), 89 of 100 instructions are
/// multiplications. Measured on an H100 80GB HBM3, whose multipliers' peak is 66.9 TFLOP/s: 52.0 for 4096³ (cuBLAS
/// 50.7), 52.8 for 8192³ (51.6), and 49.7 for 2048³ (50.0). The 128 tiles of 2048³ are one round of 132
/// multiprocessors. The kernel reaches 79 % of the peak, not 94 %: Nsight Compute classifies a fifth of the kernel's
/// stalls as dispatch stalls, twice the share of cuBLAS. The intermediate steps, measured in TFLOP/s at 4096³: 46.8
/// with both fragments read a step ahead, 47.9 with a warp barrier in each step, 49.1 with tiles of 128 × 256, 51.2
/// with the copies spread over the steps, and 52.4 without a separate loop for the edges (with different, 24-bit data).
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_vector_copies,
    lesson = "each read and copy has a fixed place between the multiplications, so the multiplications do not wait",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLS), 1, 1],
    dynamic_shared = STAGES * pair_len(ROWS, COLS) * 4
)]
pub unsafe fn matmul_pipelined(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    const A_STRIDE: u32 = a_stride(ROWS);
    // The number of threads that copy a row of a tile of `b`, four columns each.
    const QUADS: u32 = COLS / 4;
    const PAIR_LEN: u32 = pair_len(ROWS, COLS);
    let stages = shared::dynamic_shared_mem::<Float4>().cast::<f32>();
    let (tile_row, tile_col) = tile_of_block(m, n, ROWS, COLS);
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let thread_row = warp % 2 * 64 + lane % 8 * 4;
    let thread_col = warp / 2 * 64 + lane / 8 * 4;

    // The elements that this thread copies: every 16th row of one column of `a`, and four columns of every fourth row
    // of `b`. For a row or column outside a matrix, the thread copies the last row or column instead. The products of
    // these duplicates are not written to `c`.
    let (a_row, a_col) = (tid / DEPTH, tid % DEPTH);
    let (b_row, quad) = (tid / QUADS, tid % QUADS);
    let b_col = tile_col + quad * 4;
    let a_offsets: [u32; 8] = array::from_fn(|i| (tile_row + a_row + i as u32 * 16).min(m - 1) * k + a_col);
    let a_words = Shared::of(stages).byte_add((a_col * A_STRIDE + a_row) * 4);
    let b_words = Shared::of(stages).byte_add((DEPTH * A_STRIDE + b_row * COLS + quad * 4) * 4);
    // Starts one of the 12 copies of a pair to the stage that begins at word `stage`: 8 of `a`, then 4 of `b`. A
    // complete pair needs no check of the depth.
    let start_copy = |pair: u32, stage: u32, copy: u32, is_whole: bool| {
        let first = pair * DEPTH;
        if copy < 8 {
            let to = a_words.byte_add(stage * 4 + copy * 16 * 4);
            let from = a.wrapping_add(first as usize).wrapping_add(a_offsets[copy as usize] as usize);
            // SAFETY: the element is in `a` if its column exists. No thread accesses the target word before the copy
            // has arrived.
            unsafe { copy_one(to, from, is_whole || first + a_col < k) };
        } else {
            let row = (copy - 8) * 4;
            let (to, row) = (b_words.byte_add(stage * 4 + row * COLS * 4), b_row + row);
            let from = b.wrapping_add((first * n) as usize);
            // SAFETY: `b` has this row if the check passes. No thread accesses these words before the copy has arrived.
            unsafe { copy_four_of_row(to, (from, n), (row, b_col), (quad, QUADS), is_whole || first + row < k) };
        }
    };
    // Starts all copies of a pair, if the pair exists.
    let start_copies = |pair: u32, stage: u32| {
        if pair * DEPTH < k {
            (0..12).for_each(|copy| start_copy(pair, stage, copy, false));
        }
    };
    // Returns a group of four elements that this thread multiplies in a step. There are 2 groups of `a`, then 4 of `b`.
    let read = |stage: u32, step: u32, group: u32| {
        let word = if group < 2 {
            step * A_STRIDE + thread_row + group * ROW_GROUP
        } else {
            DEPTH * A_STRIDE + step * COLS + thread_col + (group - 2) * COL_GROUP
        };
        // SAFETY: the four words are in the pair of tiles, at a multiple of 16 bytes, and have arrived.
        unsafe { *stages.add(stage as usize).add(word as usize).cast::<Float4>() }.0
    };

    let mut sums = [[0.0; 16]; 8];
    for pair in 0..STAGES - 1 {
        start_copies(pair, pair * PAIR_LEN);
        cp_async::commit();
    }
    cp_async::wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let mut fragments: [[f32; 4]; 6] = array::from_fn(|group| read(0, 0, group as u32));
    // `pair % STAGES` would cost a dozen instructions per pair. So the kernel keeps the first words of two stages: the
    // stage of this pair, and the stage of the previous pair, which is free for the next copies.
    let (mut stage, mut free) = (0, (STAGES - 1) * PAIR_LEN);
    for pair in 0..k.div_ceil(DEPTH) {
        let is_paced = n.is_multiple_of(4) && (pair + STAGES) * DEPTH <= k;
        for step in 0..DEPTH {
            if step == DEPTH - 1 {
                // As in `matmul_async_copies`: the next pair has arrived, and all threads have read the last fragments
                // of this pair.
                cp_async::wait::<{ STAGES - 2 }>();
                thread::sync_threads();
                (free, stage) = (stage, if stage == (STAGES - 1) * PAIR_LEN { 0 } else { stage + PAIR_LEN });
            } else {
                // SAFETY: all lanes of the warp run the same number of iterations of this loop.
                unsafe { warp::sync_warp(u32::MAX) };
            }
            let mut next = fragments;
            for j in 0..16 {
                // The change: the six reads and the copy of a step are each placed between two columns of
                // multiplications.
                for group in 0..6 {
                    if group * 16 / 6 == j as u32 {
                        next[group as usize] = read(stage, (step + 1) % DEPTH, group);
                    }
                }
                if j == 8 && step < 12 && is_paced {
                    start_copy(pair + STAGES - 1, free, step, true);
                } else if j == 8 && step == 0 {
                    start_copies(pair + STAGES - 1, free);
                }
                for i in 0..8 {
                    // The rows alternate between ascending and descending order, so an element of `a` stays in the
                    // operand cache from one column to the next.
                    let i = if j % 2 == 0 { i } else { 7 - i };
                    let (x, y) = (fragments[i / 4][i % 4], fragments[2 + j / 4][j % 4]);
                    sums[i][j] = GpuFloat::mul_add(x, y, sums[i][j]);
                }
            }
            if step == DEPTH - 2 {
                cp_async::commit();
            }
            fragments = next;
        }
    }
    // SAFETY: `c` has m * n elements, and each element has one writer. The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), (tile_row + thread_row, tile_col + thread_col)) };
}
