//! A pipeline of asynchronous copies, and larger warp tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{shared, thread};
use rung::rung;

use super::ldmatrix::{load_fragments, swizzled};
use super::{opaque, tile_corner};
use crate::copy_async::{Shared, commit, copy_four, wait};
use crate::tensor_core::element::{Bf16, F16, Output};
use crate::tensor_core::mma::{MmaElement, multiply_add, store_sums};

/// Rows and columns of a block's tile of `c`, and elements along `k` in the tiles of `a` and `b`.
const ROWS: u32 = 128;
const COLUMNS: u32 = 256;
const DEPTH: u32 = 32;
const THREADS: u32 = 256;
/// Elements in 16 bytes, what one copy moves.
const CHUNK: u32 = 8;
/// Bytes of a stage: a tile of `a`, then a tile of `b`.
const BYTES_A: u32 = ROWS * DEPTH * 2;
const STAGE_BYTES: u32 = BYTES_A + COLUMNS * DEPTH * 2;
/// Stages in shared memory: one is multiplied while copies into the others are in flight.
const STAGES: u32 = 4;

/// While one stage is multiplied, the copies into the next three are in flight.
///
/// In `gemm_ldmatrix` a block loads the next tiles, waits for them, stores them in shared memory, waits for all threads,
/// and only then multiplies. In the meantime only the second block on the multiprocessor has work. Here shared memory has
/// four stages, each a tile of `a` and a tile of `b`. `cp.async` copies 16 bytes from global to shared memory and bypasses
/// the registers: 72 KB are in flight on each multiprocessor.
///
/// The registers that held loaded chunks are free now, so a warp computes 64 × 64 elements: 4 KB from shared memory for 32
/// `mma.sync`, 32 cycles for 65536 multiply-adds. With 64 × 32 elements, the same multiply-adds took 48 cycles. A
/// multiprocessor of an H200 does at most 2048 multiply-adds per cycle, so shared memory keeps up now. The 128 × 256
/// elements of a block take 128 registers of each thread for the sums. So only one block fits on a multiprocessor, and its
/// eight warps must hide every latency. Therefore fragments are double-buffered: while one half of a stage is multiplied,
/// `ldmatrix` loads the fragments of the next half, across the barrier too.
///
/// One barrier per stage is enough. After the barrier, the next stage has arrived for all threads, and all threads have
/// read the last fragments of the previous stage, which is filled next.
///
/// Rows that are not multiples of 16 bytes are copied element by element, which is slow; `gemm_unaligned` copies such rows
/// asynchronously.
///
/// # Safety
/// As [`gemm`](super) says.
#[rung(
    after = gemm_ldmatrix,
    lesson = "four stages of asynchronous copies, 64 x 64 elements per warp, and the next fragments loaded ahead",
    blocks = [256],
    resident = 1,
    dynamic_shared = STAGES * STAGE_BYTES,
    grid = |launch| [launch.count_tiles(ROWS, COLUMNS), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_cp_async<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let stages = shared::dynamic_shared_mem::<u8>();
    // Chunks in a row of the tiles as they lie in memory.
    let (row_a, row_b) = (DEPTH / CHUNK, if COLUMN_MAJOR { DEPTH } else { COLUMNS } / CHUNK);
    let (tile_row, tile_col) = tile_corner([ROWS, COLUMNS], m, n);
    // Two rows and four columns of warps.
    let warp = thread::thread_idx_x() / 32;
    let (warp_row, warp_col) = (warp % 2 * 64, warp / 2 * 64);

    let steps = k.div_ceil(DEPTH);
    let stage_offset = |step: u32| step % STAGES * STAGE_BYTES;
    let start_copies = |step: u32| {
        if step < steps {
            let (tile_a, k_start) = (stages.wrapping_add(stage_offset(step) as usize), step * DEPTH);
            let tile_b = tile_a.wrapping_add(BYTES_A as usize);
            // SAFETY: the matrices have these sizes. The stage was read before the last barrier, or never.
            unsafe {
                copy_tile(ROWS, row_a, tile_a, a.cast(), [m, k], tile_row, k_start);
                if COLUMN_MAJOR {
                    copy_tile(COLUMNS, row_b, tile_b, b.cast(), [n, k], tile_col, k_start);
                } else {
                    copy_tile(DEPTH, row_b, tile_b, b.cast(), [k, n], k_start, tile_col);
                }
            }
        }
        // Past the last step the group is empty, so that the number of groups in flight stays the same.
        commit();
    };
    let load = |step: u32, half: u32| {
        let tile_a = Shared::of(stages).byte_add(stage_offset(step));
        let tile_b = tile_a.byte_add(BYTES_A);
        // SAFETY: the stage has arrived for all threads: every call follows `wait` and a barrier.
        unsafe {
            (
                load_fragments::<true, false, 4>(row_a, tile_a, warp_row, half),
                load_fragments::<COLUMN_MAJOR, true, 4>(row_b, tile_b, warp_col, half),
            )
        }
    };

    for step in 0..opaque(STAGES - 1) {
        start_copies(step);
    }
    wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let mut sums = [[[[0.0; 4]; 2]; 4]; 4];
    let mut first_half = load(0, 0);
    for step in 0..steps {
        let second_half = load(step, 1);
        start_copies(step + STAGES - 1);
        // SAFETY: all lanes of the warp take part.
        unsafe { multiply_add::<A, 4, 4>(&mut sums, &first_half.0, &first_half.1) };
        wait::<{ STAGES - 2 }>();
        thread::sync_threads();
        // The last step loads its first half again, for nothing: that costs less than a branch in every step.
        first_half = load((step + 1).min(steps - 1), 0);
        // SAFETY: all lanes of the warp take part.
        unsafe { multiply_add::<A, 4, 4>(&mut sums, &second_half.0, &second_half.1) };
    }
    // SAFETY: each element of `c` belongs to one warp.
    unsafe { store_sums(&sums, c, [m, n], tile_row + warp_row, tile_col + warp_col) };
}

/// Starts the copies of this thread's chunks of a tile of `tile_rows` rows with `chunks` chunks each. Elements outside of the
/// matrix are 0.
///
/// # Safety
/// The caller must ensure that the matrix is row-major and has `rows * columns` elements, and that no thread accesses the
/// tile before the copies have been waited for and a barrier has been passed.
#[inline(always)]
unsafe fn copy_tile(
    tile_rows: u32,
    chunks: u32,
    tile: *mut u8,
    matrix: *const u16,
    [rows, columns]: [u32; 2],
    tile_row: u32,
    tile_col: u32,
) {
    let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
    // A thread's chunks are a multiple of 8 rows apart, so they are swizzled alike.
    let (count, row_step, byte_step) = (tile_rows * chunks / THREADS, THREADS / chunks, THREADS * 16);
    let to = tile.wrapping_add(swizzled(chunks, row, chunk) as usize);
    let (row, col) = (tile_row + row, tile_col + chunk * CHUNK);
    let from = matrix.wrapping_add((row * columns + col) as usize);
    if (matrix as u32 | columns * 2).is_multiple_of(16) {
        for i in 0..count {
            let exists = row + i * row_step < rows && col < columns;
            let from = from.wrapping_add((i * row_step * columns) as usize);
            // SAFETY: rows are multiples of eight elements, so a chunk is in the matrix as a whole or not at all.
            unsafe { copy_four(Shared::of(to).byte_add(i * byte_step), from.cast(), exists) };
        }
        return;
    }
    for element in 0..opaque(count * CHUNK) {
        let (i, j) = (element / CHUNK, element % CHUNK);
        let exists = row + i * row_step < rows && col + j < columns;
        // SAFETY: an element outside of the matrix is not read, and no other thread writes this chunk.
        unsafe {
            let value = if exists { *from.wrapping_add((i * row_step * columns + j) as usize) } else { 0 };
            *to.wrapping_add((i * byte_step + j * 2) as usize).cast() = value;
        }
    }
}
