//! Tiles in shared memory and in registers, on CUDA cores: the baseline for tensor cores.

use core::mem::MaybeUninit;

use cuda_std::{GpuFloat, address_space, thread};
use rung::rung;

use crate::tensor_core::{BAND, Bf16, Element, F16, Output, Tf32, Wide, load, opaque, tile_corner};

/// The number of rows and of columns in a block's tile of `c`.
const SIDE: u32 = 128;
/// The number of elements along `k` in the tiles of `a` and `b`.
const DEPTH: u32 = 16;
const THREADS: u32 = 256;
/// The number of floats from one element along `k` to the next in shared memory. The padding of 4 floats spreads the
/// stores of a warp (8 elements along `k` of 4 rows) over all 32 banks. A multiple of 4 keeps 16-byte reads aligned.
const STRIDE: u32 = SIDE + 4;
const TILE_FLOATS: usize = (DEPTH * STRIDE) as usize;

/// A block computes 128 × 128 elements of `c`, and each of its 256 threads computes 8 × 8 of these elements.
///
/// In `gemm_naive`, each multiply-add waits for two loads. Here a block reads 2 · 128 · 16 elements for 16 elements
/// along `k`. These are 8 KB of 16-bit elements for 262144 multiply-adds, or 32 multiply-adds per byte. The ridge point
/// of an H200's FP32 roofline is at about 7 (67 TFLOP/s over 4.8 TB/s, two operations per multiply-add). A thread reads
/// 16 floats from shared memory for 64 multiply-adds, with four 16-byte reads.
///
/// Elements are converted when they are stored in the tiles, once for 128 uses. So the tiles hold 32-bit floats, and
/// the inner loop is the same as in a product of floats. Narrow elements only reduce global memory traffic. The CUDA
/// cores of a multiprocessor do 128 multiply-adds per cycle. Its tensor cores, which the next rungs use, do 2048.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_naive,
    lesson = "tiles in shared memory and registers keep the CUDA cores busy, so the CUDA cores are the limit",
    blocks = [256],
    grid = |launch| [launch.count_tiles(SIDE, SIDE), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32), tf32: (Tf32, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_tiled<A: Element, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    #[address_space(shared)]
    static mut TILE_A: MaybeUninit<[Wide<f32, 4>; TILE_FLOATS / 4]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TILE_B: MaybeUninit<[Wide<f32, 4>; TILE_FLOATS / 4]> = MaybeUninit::uninit();
    let (tile_a, tile_b) = ((&raw mut TILE_A).cast::<f32>(), (&raw mut TILE_B).cast::<f32>());
    let tid = thread::thread_idx_x();
    let (tile_row, tile_col) = tile_corner(thread::block_idx_x(), [SIDE, SIDE], BAND, m, n);
    // A thread's eight rows are four neighboring rows and the four rows half a tile further down. Its eight columns
    // follow the same pattern.
    let (thread_row, thread_col) = (tid / 16 * 4, tid % 16 * 4);
    let offset = |i: usize| i as u32 / 4 * (SIDE / 2) + i as u32 % 4;

    let mut sums = [[0.0; 8]; 8];
    for k_start in (0..k).step_by(DEPTH as usize) {
        // SAFETY: each element of a tile is written by one thread, and all threads have passed the barrier that follows
        // the last read of the tile.
        unsafe {
            store_tile::<A, true>(tile_a, a, [m, k], tile_row, k_start);
            store_tile::<A, COLUMN_MAJOR>(tile_b, b, [n, k], tile_col, k_start);
        }
        thread::sync_threads();
        // Two loops, because unrolling all 16 steps is not faster than unrolling 4.
        for four in (0..opaque(DEPTH)).step_by(4) {
            for step in four..four + 4 {
                // SAFETY: step < DEPTH, and the barrier orders the reads after all writes.
                let (rows, columns) =
                    unsafe { (load_eight(tile_a, step, thread_row), load_eight(tile_b, step, thread_col)) };
                for (i, sums) in sums.iter_mut().enumerate() {
                    for (j, sum) in sums.iter_mut().enumerate() {
                        *sum = GpuFloat::mul_add(rows[i / 4][i % 4], columns[j / 4][j % 4], *sum);
                    }
                }
            }
        }
        thread::sync_threads();
    }

    for (i, sums) in sums.iter().enumerate() {
        for (j, &sum) in sums.iter().enumerate() {
            let (row, col) = (tile_row + thread_row + offset(i), tile_col + thread_col + offset(j));
            if row < m && col < n {
                // SAFETY: row < m and col < n, and no other thread writes this element.
                unsafe { *c.add((row * n + col) as usize) = C::from_f32(sum) };
            }
        }
    }
}

/// Returns, for element `step` along `k`, four neighboring floats of a tile and the four floats half a tile further on.
///
/// # Safety
/// The caller must ensure that the whole tile has been written, that `step` < `DEPTH`, and that `first` is a multiple
/// of 4 below `SIDE / 2`.
#[inline(always)]
unsafe fn load_eight(tile: *const f32, step: u32, first: u32) -> [[f32; 4]; 2] {
    let from = tile.wrapping_add((step * STRIDE + first) as usize);
    // SAFETY: both groups of four are in the tile. The tile, STRIDE, SIDE / 2 and `first` are multiples of 16 bytes.
    unsafe { [load(from), load(from.wrapping_add(SIDE as usize / 2))] }
}

/// Converts a tile to 32-bit floats and stores it: `SIDE` rows of `a` or columns of `b`, starting at `first`, with
/// their elements along `k`, starting at `k_start`. Elements outside the matrix are 0.
///
/// `count` is the number of rows of `a`, or of columns of `b`. With `K_MAJOR`, neighbors in memory are neighbors along
/// `k`.
///
/// # Safety
/// The caller must ensure that the matrix has `count * k` elements, and that no thread reads the tile before a barrier.
#[inline(always)]
unsafe fn store_tile<A: Element, const K_MAJOR: bool>(
    tile: *mut f32,
    matrix: *const A,
    [count, k]: [u32; 2],
    first: u32,
    k_start: u32,
) {
    const ELEMENTS: usize = (SIDE * DEPTH / THREADS) as usize;
    let tid = thread::thread_idx_x();
    let position = |i: usize| {
        let i = i as u32;
        if K_MAJOR {
            // A warp loads 8 elements along `k` of 4 rows.
            (tid / 8 + i / 2 * (THREADS / 8), tid % 8 + i % 2 * 8)
        } else {
            (tid % SIDE, tid / SIDE + i * (THREADS / SIDE))
        }
    };
    // All loads come before the first store, so they are in flight at the same time.
    let mut elements = [0.0; ELEMENTS];
    for (i, element) in elements.iter_mut().enumerate() {
        let (x, depth) = position(i);
        let (x, depth) = (first + x, k_start + depth);
        if x < count && depth < k {
            let index = if K_MAJOR { x * k + depth } else { depth * count + x };
            // SAFETY: the element is in the matrix, as checked above.
            *element = unsafe { (*matrix.add(index as usize)).to_f32() };
        }
    }
    for (i, element) in elements.into_iter().enumerate() {
        let (x, depth) = position(i);
        // SAFETY: x < SIDE and depth < DEPTH, and no other thread has the same position.
        unsafe { *tile.add((depth * STRIDE + x) as usize) = element };
    }
}
