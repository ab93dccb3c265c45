//! A pipeline of asynchronous copies, and larger warp tiles.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{shared, thread};
use rung::rung;

use super::ldmatrix::{load_fragments, swizzled};
use crate::tensor_core::cp_async::{commit, copy_four, wait};
use crate::tensor_core::mma::{MmaElement, multiply_add, store_sums};
use crate::tensor_core::{BAND, Bf16, F16, Output, Shared, opaque, tile_corner};

/// The number of rows and columns in a block's tile of `c`, and the number of elements along `k` in the tiles of `a`
/// and `b`.
const ROWS: u32 = 128;
const COLUMNS: u32 = 256;
const DEPTH: u32 = 32;
const THREADS: u32 = 256;
/// The number of elements in 16 bytes, the size of a copy.
const CHUNK: u32 = 8;
/// The number of chunks per thread in a tile of `a` and in a tile of `b`.
const COUNT_A: u32 = ROWS * DEPTH / CHUNK / THREADS;
const COUNT_B: u32 = COLUMNS * DEPTH / CHUNK / THREADS;
/// The number of bytes in a stage: a tile of `a`, then a tile of `b`.
const BYTES_A: u32 = ROWS * DEPTH * 2;
const STAGE_BYTES: u32 = BYTES_A + COLUMNS * DEPTH * 2;
/// The number of stages in shared memory: one stage is multiplied while the copies to the other stages are in flight.
const STAGES: u32 = 4;

/// While one stage is multiplied, the copies to the next three stages are in flight.
///
/// In `gemm_ldmatrix`, a block loads the next tiles, waits for the loads, stores the tiles in shared memory, waits for
/// all threads, and only then multiplies. During these waits, only the second block on the multiprocessor has work.
/// Here shared memory has four stages, each with a tile of `a` and a tile of `b`. `cp.async` copies 16 bytes from
/// global to shared memory and bypasses the registers. So 72 KB are in flight on each multiprocessor.
///
/// Loaded chunks no longer occupy registers, so a warp can compute 64 × 64 elements. For 32 `mma.sync` (65536
/// multiply-adds), it reads 4 KB from shared memory, which takes 32 cycles. With 64 × 32 elements, the reads for the
/// same multiply-adds took 48 cycles. A multiprocessor of an H200 does at most 2048 multiply-adds per cycle, so shared
/// memory now keeps up. The sums of a block's 128 × 256 elements take 128 registers per thread. So only one block fits
/// on a multiprocessor, and its eight warps must hide every latency. Therefore fragments are double-buffered: while one
/// half of a stage is multiplied, `ldmatrix` loads the fragments of the next half, even across the barrier.
///
/// One barrier per stage is enough. After the barrier, the next stage has arrived for all threads. All threads have
/// also read the last fragments of the previous stage, which the next copies fill.
///
/// A tile inside the matrix is copied without checks, so few instructions remain between the products. The copies are
/// the first instructions of a step. If they followed the `ldmatrix` instructions of the second half, they would wait
/// in the same queue. On an H100, both choices matter for 8192³. With the copies after `ldmatrix`, the time grows by a
/// factor of 1.03. With bounds checks for all chunks, it grows by a factor of 1.17.
///
/// The length of a row must be a multiple of 16 bytes, the size of a copy. `gemm_unaligned` accepts rows of any length.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_ldmatrix,
    lesson = "four stages of asynchronous copies, 64 x 64 elements per warp, and the next fragments loaded ahead",
    blocks = [256],
    resident = 1,
    dynamic_shared = STAGES * STAGE_BYTES,
    row_bytes = 16,
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
    let stages = Shared::of(shared::dynamic_shared_mem::<u8>());
    let (tile_row, tile_col) = tile_corner(thread::block_idx_x(), [ROWS, COLUMNS], BAND, m, n);
    // Two rows and four columns of warps.
    let warp = thread::thread_idx_x() / 32;
    let (warp_row, warp_col) = (warp % 2 * 64, warp / 2 * 64);
    // The number of chunks in a row of each tile in memory order.
    let (chunks_a, chunks_b) = (DEPTH / CHUNK, if COLUMN_MAJOR { DEPTH } else { COLUMNS } / CHUNK);
    let size_b = if COLUMN_MAJOR { [n, k] } else { [k, n] };
    let mut copies_a = Copies::<COUNT_A, true>::new(chunks_a, a.cast(), [m, k], tile_row);
    let mut copies_b = Copies::<COUNT_B, COLUMN_MAJOR>::new(chunks_b, b.cast(), size_b, tile_col);
    let is_inside = tile_row + ROWS <= m && tile_col + COLUMNS <= n;
    let start_copies = |a: &Copies<COUNT_A, true>, b: &Copies<COUNT_B, COLUMN_MAJOR>, stage: u32, k_left: u32| {
        let tile_a = stages.byte_add(stage);
        let tile_b = tile_a.byte_add(BYTES_A);
        // SAFETY: all threads have passed a barrier since the last read of the stage. Only tiles inside the matrix are
        // copied without checks.
        unsafe {
            if is_inside && k_left >= DEPTH {
                a.start(tile_a);
                b.start(tile_b);
            } else if k_left > 0 {
                a.start_at_edge(tile_a);
                b.start_at_edge(tile_b);
            }
        }
        // After the last tile, this group of copies is empty, but it keeps the number of groups in flight constant.
        commit();
    };
    let next_stage = |offset: u32| if offset == (STAGES - 1) * STAGE_BYTES { 0 } else { offset + STAGE_BYTES };
    let load = |stage: u32, half: u32| {
        let tile_a = stages.byte_add(stage);
        // SAFETY: the stage has arrived for all threads, because every call of this closure follows `wait` and a
        // barrier.
        unsafe {
            (
                load_fragments::<true, false, 4>(chunks_a, tile_a, warp_row, half),
                load_fragments::<COLUMN_MAJOR, true, 4>(chunks_b, tile_a.byte_add(BYTES_A), warp_col, half),
            )
        }
    };

    let (mut filled_stage, mut k_left) = (0, k);
    for _ in 0..opaque(STAGES - 1) {
        start_copies(&copies_a, &copies_b, filled_stage, k_left);
        copies_a.advance();
        copies_b.advance();
        filled_stage = next_stage(filled_stage);
        k_left = k_left.saturating_sub(DEPTH);
    }
    wait::<{ STAGES - 2 }>();
    thread::sync_threads();
    let mut sums = [[[[0.0; 4]; 2]; 4]; 4];
    let mut stage = 0;
    let mut first_half = load(stage, 0);
    for k_start in (0..k).step_by(DEPTH as usize) {
        start_copies(&copies_a, &copies_b, filled_stage, k_left);
        let second_half = load(stage, 1);
        // SAFETY: all lanes of the warp execute the call together.
        unsafe { multiply_add::<A, 4, 4>(&mut sums, &first_half.0, &first_half.1) };
        // The last step needlessly loads its first half again, which costs less than a branch in every step.
        stage = if k_start + DEPTH < k { next_stage(stage) } else { stage };
        wait::<{ STAGES - 2 }>();
        thread::sync_threads();
        first_half = load(stage, 0);
        // SAFETY: all lanes of the warp execute the call together.
        unsafe { multiply_add::<A, 4, 4>(&mut sums, &second_half.0, &second_half.1) };
        copies_a.advance();
        copies_b.advance();
        filled_stage = next_stage(filled_stage);
        k_left = k_left.saturating_sub(DEPTH);
    }
    // SAFETY: only one warp stores each element of `c`.
    unsafe { store_sums(&sums, c, [m, n], tile_row + warp_row, tile_col + warp_col) };
}

/// A thread's asynchronous copies of its `COUNT` chunks of each tile. The tiles follow each other along `k`.
///
/// With `K_MAJOR`, neighbors in a row of the matrix are neighbors along `k`.
struct Copies<const COUNT: u32, const K_MAJOR: bool> {
    /// The first chunk of the next tile.
    from: *const u16,
    /// The number of elements from one row of the matrix to the next.
    columns: u32,
    /// The number of rows and of columns from the first chunk to the end of the matrix. A number is zero or negative if
    /// the chunk is outside the matrix.
    rows_left: i32,
    columns_left: i32,
    /// The offset in bytes of the first chunk in a tile, and the number of rows from one chunk to the next.
    offset: u32,
    row_step: u32,
}

impl<const COUNT: u32, const K_MAJOR: bool> Copies<COUNT, K_MAJOR> {
    /// Returns this thread's copies of tiles of a row-major matrix. `first` is the first row of the tiles with
    /// `K_MAJOR`, and otherwise their first column. Each row of a tile has `chunks` chunks.
    #[inline(always)]
    fn new(chunks: u32, matrix: *const u16, [rows, columns]: [u32; 2], first: u32) -> Self {
        let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
        let offset = swizzled(chunks, row, chunk);
        let (row, col) = if K_MAJOR { (first + row, chunk * CHUNK) } else { (row, first + chunk * CHUNK) };
        Self {
            from: matrix.wrapping_add((row * columns + col) as usize),
            columns,
            rows_left: rows as i32 - row as i32,
            columns_left: columns as i32 - col as i32,
            offset,
            // A multiple of 8, so that all chunks of a thread have the same swizzle.
            row_step: THREADS / chunks,
        }
    }

    /// Starts the copies of a tile that is inside the matrix.
    ///
    /// # Safety
    /// The caller must ensure that the matrix has the given size and that its rows begin at multiples of 16 bytes. No
    /// thread may access `tile` before a wait for the copies and a barrier.
    #[inline(always)]
    unsafe fn start(&self, tile: Shared) {
        for i in 0..COUNT {
            // SAFETY: the whole tile is inside the matrix.
            unsafe { self.copy(tile, i, true) };
        }
    }

    /// Starts the copies of a tile at an edge of the matrix. Elements outside the matrix become 0.
    ///
    /// # Safety
    /// See [`start`](Self::start), except that part of the tile may be outside the matrix.
    #[inline(always)]
    unsafe fn start_at_edge(&self, tile: Shared) {
        // Few tiles are at an edge, so this loop is not unrolled.
        for i in 0..opaque(COUNT) {
            let exists = self.columns_left > 0 && self.rows_left > (i * self.row_step) as i32;
            // SAFETY: rows are multiples of eight elements, so a chunk is entirely inside or entirely outside the
            // matrix.
            unsafe { self.copy(tile, i, exists) };
        }
    }

    /// Starts the copy of chunk `i`. If the chunk does not exist, fills it with zeros.
    ///
    /// # Safety
    /// See [`start`](Self::start), if the chunk exists.
    #[inline(always)]
    unsafe fn copy(&self, tile: Shared, i: u32, exists: bool) {
        let from = self.from.wrapping_add((i * self.row_step * self.columns) as usize).cast();
        // SAFETY: the chunk is read only if it exists. Its destination is in the tile, and no other thread writes
        // there.
        unsafe { copy_four(tile.byte_add(self.offset + i * THREADS * 16), from, exists) };
    }

    /// Advances to the next tile.
    #[inline(always)]
    fn advance(&mut self) {
        if K_MAJOR {
            self.from = self.from.wrapping_add(DEPTH as usize);
            self.columns_left -= DEPTH as i32;
        } else {
            self.from = self.from.wrapping_add((DEPTH * self.columns) as usize);
            self.rows_left -= DEPTH as i32;
        }
    }
}
