//! A pipeline of asynchronous copies, and larger warp tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{shared, thread};
use rung::rung;

use super::ldmatrix::{load_fragments, swizzled};
use crate::tensor_core::cp_async::{commit, copy_four, wait};
use crate::tensor_core::mma::{MmaElement, multiply_add, store_sums};
use crate::tensor_core::{BAND, Bf16, F16, Output, Shared, opaque, tile_corner};

/// Rows and columns of a block's tile of `c`, and elements along `k` in the tiles of `a` and `b`.
const ROWS: u32 = 128;
const COLUMNS: u32 = 256;
const DEPTH: u32 = 32;
const THREADS: u32 = 256;
/// Elements in 16 bytes, which one copy moves.
const CHUNK: u32 = 8;
/// Chunks of a thread in a tile of `a` and in a tile of `b`.
const COUNT_A: u32 = ROWS * DEPTH / CHUNK / THREADS;
const COUNT_B: u32 = COLUMNS * DEPTH / CHUNK / THREADS;
/// Bytes of a stage: a tile of `a`, then a tile of `b`.
const BYTES_A: u32 = ROWS * DEPTH * 2;
const STAGE_BYTES: u32 = BYTES_A + COLUMNS * DEPTH * 2;
/// Stages in shared memory: one is multiplied while copies into the others are in flight.
const STAGES: u32 = 4;

/// While one stage is multiplied, the copies into the next three are in flight.
///
/// In `gemm_ldmatrix` a block loads the next tiles, waits for them, stores them in shared memory, waits for all
/// threads, and only then multiplies. In the meantime only the second block on the multiprocessor has work. Here shared
/// memory has four stages, each a tile of `a` and a tile of `b`. `cp.async` copies 16 bytes from global to shared
/// memory and bypasses the registers: 72 KB are in flight on each multiprocessor.
///
/// The registers that held loaded chunks are free now, so a warp computes 64 × 64 elements: 4 KB from shared memory for
/// 32 `mma.sync`, 32 cycles for 65536 multiply-adds. With 64 × 32 elements, the same multiply-adds took 48 cycles. A
/// multiprocessor of an H200 does at most 2048 multiply-adds per cycle, so shared memory keeps up now. The 128 × 256
/// elements of a block take 128 registers of each thread for the sums. So only one block fits on a multiprocessor, and
/// its eight warps must hide every latency. Therefore fragments are double-buffered: while one half of a stage is
/// multiplied, `ldmatrix` loads the fragments of the next half, across the barrier too.
///
/// One barrier per stage is enough. After the barrier, the next stage has arrived for all threads, and all threads have
/// read the last fragments of the previous stage, which is filled next.
///
/// Rows that are not multiples of 16 bytes are copied element by element, which is slow; `gemm_unaligned` copies such
/// rows asynchronously.
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
    let (tile_row, tile_col) = tile_corner(thread::block_idx_x(), [ROWS, COLUMNS], BAND, m, n);
    // Two rows and four columns of warps.
    let warp = thread::thread_idx_x() / 32;
    let (warp_row, warp_col) = (warp % 2 * 64, warp / 2 * 64);
    // The size of `b`, and chunks in a row of the tiles, as both lie in memory.
    let size_b = if COLUMN_MAJOR { [n, k] } else { [k, n] };
    let (chunks_a, chunks_b) = (DEPTH / CHUNK, if COLUMN_MAJOR { DEPTH } else { COLUMNS } / CHUNK);
    let is_aligned = (a as u32 | b as u32 | (k * 2) | (size_b[1] * 2)).is_multiple_of(16);

    let steps = k.div_ceil(DEPTH);
    let stage_offset = |step: u32| step % STAGES * STAGE_BYTES;
    let start_copies = |step: u32| {
        if step < steps {
            let k_start = step * DEPTH;
            let corner_b = if COLUMN_MAJOR { [tile_col, k_start] } else { [k_start, tile_col] };
            let tile_a = stages.wrapping_add(stage_offset(step) as usize);
            let tile_b = tile_a.wrapping_add(BYTES_A as usize);
            // SAFETY: the matrices have these sizes. All threads have passed a barrier since the stage was read.
            unsafe {
                copy_tile(is_aligned, [COUNT_A, chunks_a], tile_a, a.cast(), [m, k], [tile_row, k_start]);
                copy_tile(is_aligned, [COUNT_B, chunks_b], tile_b, b.cast(), size_b, corner_b);
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
                load_fragments::<true, false, 4>(chunks_a, tile_a, warp_row, half),
                load_fragments::<COLUMN_MAJOR, true, 4>(chunks_b, tile_b, warp_col, half),
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

/// Copies this thread's `count` chunks of a tile, whose rows have `chunks` chunks. Elements outside of the matrix are
/// 0.
///
/// With `is_aligned`, the copies are asynchronous. Otherwise the thread loads and stores each element.
///
/// # Safety
/// The caller must ensure that the matrix is row-major and has `rows * columns` elements, that its rows begin at
/// multiples of 16 bytes if `is_aligned`, and that no thread accesses the tile before the copies have been waited for
/// and a barrier has been passed.
#[inline(always)]
unsafe fn copy_tile(
    is_aligned: bool,
    [count, chunks]: [u32; 2],
    tile: *mut u8,
    matrix: *const u16,
    [rows, columns]: [u32; 2],
    [tile_row, tile_col]: [u32; 2],
) {
    let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
    // A multiple of 8, so all of a thread's chunks are swizzled alike.
    let row_step = THREADS / chunks;
    let to = tile.wrapping_add(swizzled(chunks, row, chunk) as usize);
    let (row, col) = (tile_row + row, tile_col + chunk * CHUNK);
    let from = matrix.wrapping_add((row * columns + col) as usize);
    if is_aligned {
        for i in 0..count {
            let exists = row + i * row_step < rows && col < columns;
            let from = from.wrapping_add((i * row_step * columns) as usize).cast();
            // SAFETY: rows are multiples of eight elements, so a chunk is in the matrix as a whole or not at all.
            unsafe { copy_four(Shared::of(to).byte_add(i * THREADS * 16), from, exists) };
        }
        return;
    }
    for element in 0..opaque(count * CHUNK) {
        let (i, j) = (element / CHUNK, element % CHUNK);
        let exists = row + i * row_step < rows && col + j < columns;
        // SAFETY: an element outside of the matrix is not read, and no other thread writes this chunk.
        unsafe {
            let value = if exists { *from.add((i * row_step * columns + j) as usize) } else { 0 };
            *to.cast::<u16>().add((i * THREADS * CHUNK + j) as usize) = value;
        }
    }
}
