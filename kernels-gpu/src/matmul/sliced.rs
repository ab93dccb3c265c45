//! Slices of `k`: enough blocks for every multiprocessor even if `c` has few tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device, device_thread_fence};
use cuda_std::{GpuFloat, shared, thread, warp};
use rung::rung;

use super::register_tiles::{
    COL_GROUP, DEPTH, Float4, ROW_GROUP, STAGES, a_stride, add_elements, copy_four_of_row, pair_len, tile_of_block,
    write_sums,
};
use crate::tensor_core::Shared;
use crate::tensor_core::cp_async::{self, copy_one};

/// The number of rows of `c` that a block computes.
pub const ROWS: u32 = 64;

/// The number of columns of `c` that a block computes.
pub const COLS: u32 = 64;

/// `matmul_pipelined` with 64 × 64 elements of `c` per block, 4 × 8 per thread, and with `k` divided into slices. A
/// separate block computes each slice.
///
/// If `c` has 288 tiles for 132 multiprocessors (two or three each), some multiprocessors are idle while the last tiles
/// are multiplied. Here a block computes a smaller tile. If there are still too few blocks, `k` is divided into slices.
/// The blocks of a tile then add to `c` one after another. The first slice writes its sums. Each following slice waits
/// for the previous slice, adds its sums, and signals the next slice. So the result is the same in every run. Only the
/// words of the workspace must be zero at the start, not `c`.
///
/// A block waits only for blocks with a lower index. These blocks were scheduled earlier and never wait for this block.
/// The last slice leaves its tile's word of the workspace zero.
///
/// Prediction: if `c` has 288 tiles for 132 multiprocessors, a quarter of the multiprocessors' time is lost with one
/// slice, and 7 % with three slices. Measured on an H100 80GB HBM3: 1000 × 1100 × 1300 takes 111.1 µs in one slice,
/// 100.4 in two, 94.9 in three and 94.2 in four (cuBLAS 90.2). 1024³, whose 256 tiles are nearly two per
/// multiprocessor, takes 63.0 µs in one slice and 66.3 in two (cuBLAS 58.0).
///
/// # Safety
/// See [`matmul`](super). `workspace` points to one zero word per tile, and the kernel leaves these words zero again.
/// One launch at a time uses the workspace.
#[rung(
    after = matmul_pipelined,
    lesson = "smaller tiles, and slices of k that add to the result one after another: the fastest if tiles are few",
    blocks = [128],
    grid = |launch| super::sliced_tiles(launch, ROWS, COLS),
    resident = 4,
    dynamic_shared = STAGES * pair_len(ROWS, COLS) * 4
)]
pub unsafe fn matmul_sliced(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, workspace: *mut u32) {
    const A_STRIDE: u32 = a_stride(ROWS);
    // The number of threads that copy a row of a tile of `b`, four columns each.
    const QUADS: u32 = COLS / 4;
    const PAIR_LEN: u32 = pair_len(ROWS, COLS);
    let stages = shared::dynamic_shared_mem::<Float4>().cast::<f32>();
    let (tile_row, tile_col) = tile_of_block(m, n, ROWS, COLS);
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let thread_row = warp % 2 * 32 + lane % 8 * 4;
    let thread_col = warp / 2 * 32 + lane / 8 * 4;
    // The slice of `k`. Each slice consists of whole pairs of tiles. The last slices may be empty.
    let (slice, slices) = (thread::block_idx_y(), thread::grid_dim_y());
    let depth = k.div_ceil(DEPTH).div_ceil(slices) * DEPTH;
    let start = (slice * depth).min(k);
    let end = (start + depth).min(k);

    // The elements that this thread copies: every 8th row of one column of `a`, and four columns of two rows of `b`.
    // For a row or column outside a matrix, the thread copies the last row or column instead. The products of these
    // duplicates are not written to `c`.
    let (a_row, a_col) = (tid / DEPTH, tid % DEPTH);
    let (b_row, quad) = (tid / QUADS, tid % QUADS);
    let b_col = tile_col + quad * 4;
    let a_offsets: [u32; 8] = array::from_fn(|i| (tile_row + a_row + i as u32 * 8).min(m - 1) * k + a_col);
    let a_words = Shared::of(stages).byte_add((a_col * A_STRIDE + a_row) * 4);
    let b_words = Shared::of(stages).byte_add((DEPTH * A_STRIDE + b_row * COLS + quad * 4) * 4);
    // Starts one of the 10 copies of a pair to the stage that begins at word `stage`: 8 of `a`, then 2 of `b`. A
    // complete pair needs no check of the depth.
    let start_copy = |pair: u32, stage: u32, copy: u32, is_whole: bool| {
        let first = start + pair * DEPTH;
        if copy < 8 {
            let to = a_words.byte_add(stage * 4 + copy * 8 * 4);
            let from = a.wrapping_add(first as usize).wrapping_add(a_offsets[copy as usize] as usize);
            // SAFETY: the element is in `a` if its column exists. No thread accesses the target word before the copy
            // has arrived.
            unsafe { copy_one(to, from, is_whole || first + a_col < end) };
        } else {
            let row = (copy - 8) * 8;
            let (to, row) = (b_words.byte_add(stage * 4 + row * COLS * 4), b_row + row);
            let from = b.wrapping_add((first * n) as usize);
            // SAFETY: `b` has this row if the check passes. No thread accesses these words before the copy has arrived.
            unsafe { copy_four_of_row(to, (from, n), (row, b_col), (quad, QUADS), is_whole || first + row < end) };
        }
    };
    // Starts all copies of a pair, if the pair exists.
    let start_copies = |pair: u32, stage: u32| {
        if start + pair * DEPTH < end {
            (0..10).for_each(|copy| start_copy(pair, stage, copy, false));
        }
    };
    // Returns a group of four elements that this thread multiplies in a step. There is 1 group of `a`, then 2 of `b`.
    let read = |stage: u32, step: u32, group: u32| {
        let word = if group < 1 {
            step * A_STRIDE + thread_row + group * ROW_GROUP
        } else {
            DEPTH * A_STRIDE + step * COLS + thread_col + (group - 1) * COL_GROUP
        };
        // SAFETY: the four words are in the pair of tiles, at a multiple of 16 bytes, and have arrived.
        unsafe { *stages.add(stage as usize).add(word as usize).cast::<Float4>() }.0
    };

    let mut sums = [[0.0; 8]; 4];
    for pair in 0..STAGES - 1 {
        start_copies(pair, pair * PAIR_LEN);
        cp_async::commit();
    }
    cp_async::wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let mut fragments: [[f32; 4]; 3] = array::from_fn(|group| read(0, 0, group as u32));
    let (mut stage, mut free) = (0, (STAGES - 1) * PAIR_LEN);
    for pair in 0..(end - start).div_ceil(DEPTH) {
        let is_paced = n.is_multiple_of(4) && start + (pair + STAGES) * DEPTH <= end;
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
            for j in 0..8 {
                // As in `matmul_pipelined`, with three reads.
                for group in 0..3 {
                    if group * 8 / 3 == j as u32 {
                        next[group as usize] = read(stage, (step + 1) % DEPTH, group);
                    }
                }
                if j == 4 && step < 10 && is_paced {
                    start_copy(pair + STAGES - 1, free, step, true);
                } else if j == 4 && step == 0 {
                    start_copies(pair + STAGES - 1, free);
                }
                for i in 0..4 {
                    // The rows alternate between ascending and descending order, so an element of `a` stays in the
                    // operand cache from one column to the next.
                    let i = if j % 2 == 0 { i } else { 3 - i };
                    let (x, y) = (fragments[i / 4][i % 4], fragments[1 + j / 4][j % 4]);
                    sums[i][j] = GpuFloat::mul_add(x, y, sums[i][j]);
                }
            }
            if step == DEPTH - 2 {
                cp_async::commit();
            }
            fragments = next;
        }
    }

    // The change: the slices of a tile add to `c` one after another.
    let turn = workspace.wrapping_add(thread::block_idx_x() as usize);
    let first = (tile_row + thread_row, tile_col + thread_col);
    if slice > 0 {
        // SAFETY: `workspace` has a word for each tile, which all blocks access with atomic operations only. The
        // earlier slices raise the word to `slice`. Until this block's turn ends, no other block accesses the elements
        // of this block's tile of `c`.
        unsafe {
            while atomic_load_32_device(turn, Relaxed) != slice {}
            // One fence after the loop, instead of one after each load, makes the writes before this turn visible.
            device_thread_fence(Acquire);
            add_elements(&mut sums, c, (m, n), first);
        }
    }
    // SAFETY: `c` has m * n elements, and during this block's turn, only this block accesses the elements of its tile.
    // The column is a multiple of 4.
    unsafe { write_sums(&sums, c, (m, n), first) };
    // All writes of the block come before the turn of the next slice.
    thread::sync_threads();
    if slices > 1 && tid == 0 {
        let next = if slice + 1 == slices { 0 } else { slice + 1 };
        // SAFETY: `workspace` has a word for each tile.
        unsafe { atomic_store_32_device(turn, Release, next) };
    }
}
