//! Asynchronous copies of rows that begin at any byte.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;

use cuda_std::warp::warp_shuffle_down;
use cuda_std::{shared, thread};
use rung::rung;

use super::ldmatrix::{load_fragments, swizzled};
use crate::tensor_core::cp_async::{commit, copy_four, copy_two, copy_up_to_four, wait};
use crate::tensor_core::mma::{self, Chunk, MmaElement, multiply_add, store_sums};
use crate::tensor_core::{BAND, Bf16, F16, Output, Shared, opaque, tile_corner};

/// The number of rows and of columns of warps in a block.
const WARP_ROWS: u32 = 2;
const WARP_COLUMNS: u32 = 4;
const THREADS: u32 = WARP_ROWS * WARP_COLUMNS * 32;
/// The number of elements along `k` in the tiles of `a` and `b`.
const DEPTH: u32 = 32;
/// The number of elements in 16 bytes.
pub(super) const CHUNK: u32 = 8;
/// The number of bytes in shared memory from one of a thread's chunks to the next: one chunk for each thread of the
/// block.
const STEP_BYTES: u32 = THREADS * 16;
/// The number of stages in shared memory, as in `gemm_cp_async`.
const STAGES: u32 = 4;
/// The number of bytes for each row of `a` and column of `b` in a stage: its elements, and 16 bytes for its tail.
const ROW_BYTES: u32 = DEPTH * 2 + 16;

/// `gemm_cp_async` for rows of any length. Copies begin early, at a multiple of 16 bytes, and threads realign the data.
///
/// `cp.async` copies 16, 8 or 4 bytes, and the source and destination addresses must be multiples of this size. Rows
/// with an odd number of elements can begin at any multiple of 2 bytes. `gemm_cp_async` does not accept such rows. Here
/// the alignment of the rows selects one of three methods:
///
/// - 16 bytes: one copy per chunk, as in `gemm_cp_async`.
/// - 8 bytes: two copies of 8 bytes per chunk.
/// - 4 or 2 bytes: one 16-byte copy per chunk, which begins at the multiple of 16 before the chunk. So the end of a
///   chunk is in the next chunk's copy. After the last chunk of a row of the tile, one more copy fetches 16 bytes, the
///   row's *tail*. When a stage has arrived, each thread joins the end of its copy with the start of the next lane's
///   copy.
///
/// The pipeline is compiled once for each method, so that the loop for 16 bytes does not contain the other two methods.
/// In this loop, a tile inside the matrix is copied without checks, as in `gemm_cp_async`.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_cp_async,
    lesson = "rows may start at any byte: copies begin at the previous multiple of 16, and threads realign the data",
    blocks = [256],
    resident = 1,
    dynamic_shared = shared_bytes(4, 4),
    grid = |launch| [launch.count_tiles(rows(4), columns(4)), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_unaligned<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    // SAFETY: the matrices have these sizes, and the launch provides `shared_bytes(4, 4)` bytes of dynamic shared
    // memory.
    unsafe { multiply_tile::<A, C, COLUMN_MAJOR, 4, 4>(a, b, c, [m, n, k]) };
}

/// Returns the number of rows in a block's tile of `c` if each warp tile has `fragments` fragments of `a`.
pub(super) const fn rows(fragments: usize) -> u32 {
    WARP_ROWS * mma::SIDE * fragments as u32
}

/// Returns the number of columns in a block's tile of `c` if each warp tile has `fragments` fragments of `b`.
pub(super) const fn columns(fragments: usize) -> u32 {
    WARP_COLUMNS * mma::SIDE * fragments as u32
}

/// Returns the number of bytes of shared memory that [`multiply_tile`] needs for warp tiles of `m` × `n` fragments.
pub(super) const fn shared_bytes(m: usize, n: usize) -> u32 {
    STAGES * (rows(m) + columns(n)) * ROW_BYTES
}

/// Computes a block's tile of `c`, in warp tiles of `M` × `N` fragments.
///
/// # Safety
/// See [`gemm`](super). The block has [`shared_bytes`] of dynamic shared memory.
#[inline(always)]
pub(super) unsafe fn multiply_tile<
    A: MmaElement,
    C: Output,
    const COLUMN_MAJOR: bool,
    const M: usize,
    const N: usize,
>(
    a: *const A,
    b: *const A,
    c: *mut C,
    [m, n, k]: [u32; 3],
) {
    let corner = tile_corner(thread::block_idx_x(), [rows(M), columns(N)], BAND, m, n);
    let a = Operand::<true>::new(a.cast(), [m, k], corner.0, rows(M));
    let b = Operand::<COLUMN_MAJOR>::new(b.cast(), if COLUMN_MAJOR { [n, k] } else { [k, n] }, corner.1, columns(N));
    // SAFETY: the operands belong to this tile, and the rows of both are aligned to at least `ALIGNMENT` bytes.
    unsafe {
        match a.alignment.min(b.alignment) {
            16 => pipeline::<A, C, COLUMN_MAJOR, M, N, 16>(a, b, c, [m, n, k], corner),
            8 => pipeline::<A, C, COLUMN_MAJOR, M, N, 8>(a, b, c, [m, n, k], corner),
            _ => pipeline::<A, C, COLUMN_MAJOR, M, N, 2>(a, b, c, [m, n, k], corner),
        }
    }
}

/// The pipeline of `gemm_cp_async`, with two changes: the copies depend on the alignment, and threads realign the
/// chunks after `wait`.
///
/// # Safety
/// See [`multiply_tile`]. Rows of `a` and `b` begin at multiples of `ALIGNMENT` bytes.
#[inline(always)]
unsafe fn pipeline<
    A: MmaElement,
    C: Output,
    const COLUMN_MAJOR: bool,
    const M: usize,
    const N: usize,
    const ALIGNMENT: u32,
>(
    a: Operand<true>,
    b: Operand<COLUMN_MAJOR>,
    c: *mut C,
    [m, n, k]: [u32; 3],
    (tile_row, tile_col): (u32, u32),
) {
    let stages = shared::dynamic_shared_mem::<u8>();
    let warp = thread::thread_idx_x() / 32;
    let warp_row = warp % WARP_ROWS * mma::SIDE * M as u32;
    let warp_col = warp / WARP_ROWS * mma::SIDE * N as u32;

    let steps = k.div_ceil(DEPTH);
    let stage_offset = |step: u32| step % STAGES * (rows(M) + columns(N)) * ROW_BYTES;
    let tiles = |step: u32| {
        let stage = stages.wrapping_add(stage_offset(step) as usize);
        (stage, stage.wrapping_add((rows(M) * ROW_BYTES) as usize))
    };
    let is_inside = tile_row + rows(M) <= m && tile_col + columns(N) <= n;
    let start_copies = |step: u32| {
        if ALIGNMENT == 16 && is_inside && (step + 1) * DEPTH <= k {
            let (tile_a, tile_b) = tiles(step);
            // SAFETY: the tiles are inside the matrices, and all earlier reads of the stage were before the last
            // barrier.
            unsafe {
                a.copy_whole(step, tile_a);
                b.copy_whole(step, tile_b);
            }
        } else if step < steps {
            let (tile_a, tile_b) = tiles(step);
            // SAFETY: all earlier reads of the stage were before the last barrier.
            unsafe {
                a.copy::<ALIGNMENT>(step, tile_a);
                b.copy::<ALIGNMENT>(step, tile_b);
            }
        }
        commit();
    };
    let wait_for = |step: u32| {
        wait::<{ STAGES - 2 }>();
        if ALIGNMENT == 2 && step < steps {
            let (tile_a, tile_b) = tiles(step);
            // SAFETY: this thread's copies have arrived, and other threads read its chunks only after the barrier.
            unsafe {
                a.realign(tile_a);
                b.realign(tile_b);
            }
        }
        thread::sync_threads();
    };
    let load = |step: u32, half: u32| {
        let tile_a = Shared::of(stages).byte_add(stage_offset(step));
        let tile_b = tile_a.byte_add(rows(M) * ROW_BYTES);
        // SAFETY: the stage has arrived for all threads, because every call follows `wait_for` of this step.
        unsafe {
            (
                load_fragments::<true, false, M>(a.chunks, tile_a, warp_row, half),
                load_fragments::<COLUMN_MAJOR, true, N>(b.chunks, tile_b, warp_col, half),
            )
        }
    };

    for step in 0..opaque(STAGES - 1) {
        start_copies(step);
    }
    wait_for(0);
    let mut sums = [[[[0.0; 4]; 2]; N]; M];
    let mut first_half = load(0, 0);
    for step in 0..steps {
        start_copies(step + STAGES - 1);
        let second_half = load(step, 1);
        // SAFETY: all lanes of the warp execute the call together.
        unsafe { multiply_add::<A, M, N>(&mut sums, &first_half.0, &first_half.1) };
        wait_for(step + 1);
        first_half = load((step + 1).min(steps - 1), 0);
        // SAFETY: all lanes of the warp execute the call together.
        unsafe { multiply_add::<A, M, N>(&mut sums, &second_half.0, &second_half.1) };
    }
    // SAFETY: only one warp stores each element of `c`.
    unsafe { store_sums(&sums, c, [m, n], tile_row + warp_row, tile_col + warp_col) };
}

/// A row-major operand, `a` or `b`, in global memory, and this thread's chunks of its tiles.
///
/// In shared memory, a swizzled tile is followed by 16 bytes for the tail of each of its rows.
#[derive(Clone, Copy)]
struct Operand<const K_MAJOR: bool> {
    data: *const u16,
    rows: u32,
    columns: u32,
    /// The position in the matrix of this thread's first chunk of the first tile.
    row: u32,
    col: u32,
    /// The number of chunks in a row of a tile, and the number of this thread's chunks in a tile.
    chunks: u32,
    count: u32,
    /// The alignment of row addresses in bytes: 16, 8, 4 or 2.
    alignment: u32,
}

impl<const K_MAJOR: bool> Operand<K_MAJOR> {
    /// Returns the operand whose tiles have `tile_side` rows of `a`, or columns of `b`, starting at `first`.
    #[inline(always)]
    fn new(data: *const u16, [rows, columns]: [u32; 2], first: u32, tile_side: u32) -> Self {
        let chunks = if K_MAJOR { DEPTH } else { tile_side } / CHUNK;
        let (row, chunk) = (thread::thread_idx_x() / chunks, thread::thread_idx_x() % chunks);
        let (row, col) = if K_MAJOR { (first + row, chunk * CHUNK) } else { (row, first + chunk * CHUNK) };
        // The alignment is the lowest bit set in the matrix's address or in the size of a row in bytes.
        let bits = data as u32 | (columns * 2) | 16;
        let count = tile_side * DEPTH / CHUNK / THREADS;
        Self { data, rows, columns, row, col, chunks, count, alignment: bits & bits.wrapping_neg() }
    }

    /// Returns the number of rows between two chunks of a thread. It is a multiple of 8, so a thread's chunks have the
    /// same swizzle, and their addresses are equal modulo 16.
    #[inline(always)]
    fn row_step(&self) -> u32 {
        THREADS / self.chunks
    }

    /// Returns the address in shared memory of this thread's first chunk of a tile. The thread's chunks are
    /// [`STEP_BYTES`] bytes apart.
    #[inline(always)]
    fn first_chunk(&self, tile: *mut u8) -> *mut u8 {
        let (row, chunk) = (thread::thread_idx_x() / self.chunks, thread::thread_idx_x() % self.chunks);
        tile.wrapping_add(swizzled(self.chunks, row, chunk) as usize)
    }

    /// Returns the address in shared memory of the tail of the row that contains this thread's chunk `i`.
    #[inline(always)]
    fn tail(&self, tile: *mut u8, i: u32) -> *mut u8 {
        let row = thread::thread_idx_x() / self.chunks + i * self.row_step();
        tile.wrapping_add((self.count * STEP_BYTES + row * 16) as usize)
    }

    /// Returns whether this thread's chunks are the last chunks in their rows of a tile.
    #[inline(always)]
    fn is_last(&self) -> bool {
        thread::thread_idx_x() % self.chunks == self.chunks - 1
    }

    /// Returns the number of bytes by which this thread's copies begin before its chunks, which is the same for all its
    /// chunks.
    #[inline(always)]
    fn early_bytes(&self) -> u32 {
        (self.data as u32).wrapping_add(self.row * self.columns * 2) % 16
    }

    /// Starts the copies of this thread's chunks of the tile of `step`, which is inside the matrix.
    ///
    /// # Safety
    /// See [`copy`](Self::copy). In addition, rows must begin at multiples of 16 bytes.
    #[inline(always)]
    unsafe fn copy_whole(&self, step: u32, tile: *mut u8) {
        let offset = if K_MAJOR { step * DEPTH } else { step * DEPTH * self.columns };
        let first = self.data.wrapping_add((self.row * self.columns + self.col + offset) as usize);
        for i in 0..self.count {
            let from = first.wrapping_add((i * self.row_step() * self.columns) as usize).cast();
            // SAFETY: the tile is inside the matrix.
            unsafe { copy_four(Shared::of(self.first_chunk(tile)).byte_add(i * STEP_BYTES), from, true) };
        }
    }

    /// Starts the copies of this thread's chunks of the tile of `step`. Elements outside the matrix are 0.
    ///
    /// A copy that begins early can read bytes before the matrix. These bytes exist, because memory is allocated at
    /// multiples of 16 bytes.
    ///
    /// # Safety
    /// The caller must ensure that rows begin at multiples of `ALIGNMENT` bytes. No thread may access the tile before a
    /// wait for the copies, a call of [`realign`](Self::realign) and a barrier.
    #[inline(always)]
    unsafe fn copy<const ALIGNMENT: u32>(&self, step: u32, tile: *mut u8) {
        let (row, col) =
            if K_MAJOR { (self.row, self.col + step * DEPTH) } else { (self.row + step * DEPTH, self.col) };
        let from = |i: u32| {
            let first = self.data.wrapping_add((row * self.columns + col) as usize);
            first.wrapping_add((i * self.row_step() * self.columns) as usize)
        };
        // The number of elements from chunk `i` to the end of the row, which is 0 or negative outside the matrix.
        let left_in_row = self.columns as i32 - col as i32;
        let left = |i: u32| if row + i * self.row_step() < self.rows { left_in_row } else { 0 };
        let (first, shared) = (self.first_chunk(tile), Shared::of(self.first_chunk(tile)));
        if ALIGNMENT == 16 || self.alignment == 16 {
            for i in 0..opaque(self.count) {
                // SAFETY: rows are multiples of 16 bytes, so a chunk is entirely inside or entirely outside the matrix.
                unsafe { copy_four(shared.byte_add(i * STEP_BYTES), from(i).cast(), left(i) > 0) };
            }
            return;
        }
        // The loops below are not unrolled, because they wait for memory anyway, and their code would displace other
        // instructions from the instruction cache.
        if ALIGNMENT == 8 || self.alignment == 8 {
            for i in 0..opaque(self.count) {
                for half in [0, CHUNK / 2] {
                    let to = shared.byte_add(i * STEP_BYTES + half * 2);
                    let from = from(i).wrapping_add(half as usize);
                    // SAFETY: rows are multiples of 8 bytes, so half a chunk is entirely inside or entirely outside the
                    // matrix.
                    unsafe { copy_two(to, from.cast(), left(i) > half as i32) };
                }
            }
            return;
        }
        let early = self.early_bytes();
        for i in 0..opaque(self.count) {
            let (to, from) = (first.wrapping_add((i * STEP_BYTES) as usize), from(i).wrapping_byte_sub(early as usize));
            let matrix_row = row + i * self.row_step();
            let bytes = if matrix_row < self.rows { 2 * left_in_row + early as i32 } else { 0 };
            let is_last_row = matrix_row + 1 == self.rows;
            // SAFETY: the row has `bytes` bytes from this address to its end.
            unsafe {
                copy_up_to(to, from, bytes, is_last_row);
                if self.is_last() {
                    copy_up_to(self.tail(tile, i), from.wrapping_byte_add(16), bytes - 16, is_last_row);
                }
            }
        }
    }

    /// Joins this thread's chunks from the copies of this lane and the next lane, if copies began early.
    ///
    /// # Safety
    /// The caller must ensure that all lanes of the warp execute the call together, and that the copies to this tile
    /// have arrived. No other thread may access this thread's chunks before a barrier.
    #[inline(always)]
    unsafe fn realign(&self, tile: *mut u8) {
        if self.alignment >= 8 {
            return;
        }
        for i in 0..opaque(self.count) {
            let to = self.first_chunk(tile).wrapping_add((i * STEP_BYTES) as usize).cast::<Chunk>();
            let tail = self.tail(tile, i).cast::<Chunk>();
            // SAFETY: both addresses point to 16 bytes of the stage that this thread copied, and all lanes execute the
            // shuffle.
            unsafe {
                let copied = (*to).0;
                let mut next = copied.map(|word| warp_shuffle_down(u32::MAX, word, 1, 32).0);
                if self.is_last() {
                    next = (*tail).0;
                }
                *to = Chunk(join(copied, next, self.early_bytes()));
            }
        }
    }
}

/// Starts a 16-byte copy from a row that has `bytes` bytes left at `from`. The remaining bytes become 0.
///
/// A copy reads 16 bytes even if fewer are needed, but memory may end at the end of the last row. So the end of the
/// last row is copied with loads and stores.
///
/// # Safety
/// The caller must ensure that `from` points to `bytes` bytes, and to 16 bytes unless the row is the last row of the
/// matrix. Both addresses are multiples of 16, and no thread accesses `to` before a wait for the copy.
#[inline(always)]
unsafe fn copy_up_to(to: *mut u8, from: *const u16, bytes: i32, is_last_row: bool) {
    if is_last_row && bytes < 16 {
        let element = |i: i32| {
            // SAFETY: the element is in the row, as this condition checks.
            if 2 * i < bytes { u32::from(unsafe { *from.wrapping_add(i as usize) }) } else { 0 }
        };
        // SAFETY: no other thread accesses these 16 bytes.
        unsafe { *to.cast() = Chunk(pairs(element)) };
        return;
    }
    // SAFETY: at most `bytes` bytes are used, and 16 exist.
    unsafe { copy_up_to_four(Shared::of(to), from.cast(), bytes.clamp(0, 16) as u32) };
}

/// Returns a chunk's eight 16-bit elements as four words.
#[inline(always)]
pub(super) fn pairs(element: impl Fn(i32) -> u32) -> [u32; 4] {
    [0, 2, 4, 6].map(|i| element(i) | element(i + 1) << 16)
}

/// Returns 16 of the 32 bytes of two chunks, starting at byte `first`, which is an even number below 16.
#[inline(always)]
pub(super) fn join([a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4], first: u32) -> [u32; 4] {
    // The selection uses masks, because indexing an array at run time would put the array into local memory. Each line
    // shifts all words by 8, 4 or 2 bytes if the corresponding bit of `first` is set.
    let mask = |bit: u32| if first & bit == 0 { 0 } else { u32::MAX };
    let pick = |mask: u32, unshifted: u32, shifted: u32| unshifted ^ (unshifted ^ shifted) & mask;
    let by_8 = [(a, c), (b, d), (c, e), (d, f), (e, g), (f, h)].map(|(here, later)| pick(mask(8), here, later));
    let by_4: [u32; 5] = array::from_fn(|i| pick(mask(4), by_8[i], by_8[i + 1]));
    array::from_fn(|i| pick(mask(2), by_4[i], by_4[i] >> 16 | by_4[i + 1] << 16))
}
