//! Tiles in shared memory and in registers, on CUDA cores: what the tensor cores are measured against.
//!
//! In `gemm_naive` each multiply-add waits for two loads. Here a block of 256 threads takes 128 × 128 elements of `c`,
//! each thread 8 × 8 of them. For 16 elements along `k`, the block reads 2 · 128 · 16 elements, 8 KB of 16-bit ones,
//! for 262144 multiply-adds: 32 for each byte, where the roofline of an H200 has its ridge at about 7 for FP32 (67
//! TFLOP/s over 4.8 TB/s, two operations each). A thread reads 16 floats from shared memory for 64 multiply-adds, as
//! four reads of 16 bytes.
//!
//! The elements are converted when they come into the tiles, once for 128 uses. So a tile holds 32-bit floats, and the
//! inner loop is the same as that of a product of floats: the narrow formats save bytes of global memory and nothing
//! else. An SM has 128 multiply-adds a cycle on its CUDA cores; on the tensor cores, from the next rung on, 16 times as
//! many.

use cuda_std::{GpuFloat, thread};
use rung::{Geometry, Rung};

use super::tiles::corner;
use super::{Product, unknown};
use crate::tensor_core::element::{Element, Output};
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_TILED];

/// Rows of a block's tile of `c`, and as many columns; elements along `k` of the tiles of both factors.
const SIDE: u32 = 128;
const DEPTH: u32 = 16;
const THREADS: u32 = 256;
/// Floats from one element along `k` to the next: four more than a row, so that a warp that writes 8 of them for 4
/// lines writes to 32 banks. A multiple of 4, for reads of 16 bytes.
const PITCH: u32 = SIDE + 4;

products! {
    /// A tile of 128 × 128 elements for each block, 8 × 8 for each thread, from tiles of floats in shared memory.
    gemm_tiled for [256] threads;
    shared 2 * DEPTH * PITCH * 4;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: SIDE, columns: SIDE, most_slices: 1 },
        lesson: "tiles in shared memory and registers: the CUDA cores are busy, and that is all they can do",
    };
    formats [bf16, f16, tf32];
    pointers => tiled
}

/// # Safety
/// The contract of the ladder's kernels; `shared` is two tiles of floats.
#[inline(always)]
unsafe fn tiled<A: Element, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    let &Product { a, b, c, m, n, k } = product;
    let corner = corner::<SIDE, SIDE, 8>(thread::block_idx_x(), m, n);
    let tile_a = shared.cast::<f32>();
    let tile_b = tile_a.wrapping_add((DEPTH * PITCH) as usize);
    // This thread's first row and column; its others are the next three, and the same four half a tile further.
    let (row, column) = (thread::thread_idx_x() / 16 * 4, thread::thread_idx_x() % 16 * 4);
    let mut sums = [[0.0; 8]; 8];
    for first in (0..k).step_by(DEPTH as usize) {
        // SAFETY: each element of the tiles is written by one thread, and barriers part that from the reading.
        unsafe {
            load::<A, true>(tile_a, a, [m, k], corner.row, first);
            load::<A, COLUMN_MAJOR>(tile_b, b, [n, k], corner.column, first);
            thread::sync_threads();
            // In two loops, because 16 steps written out are no faster than 4.
            for four in (0..unknown(DEPTH)).step_by(4) {
                for step in four..four + 4 {
                    multiply_add(&mut sums, eight(tile_a, step, row), eight(tile_b, step, column));
                }
            }
        }
        thread::sync_threads();
    }
    let line = |i: usize| (i as u32 / 4) * (SIDE / 2) + i as u32 % 4;
    for (i, sums) in sums.iter().enumerate() {
        let row = corner.row + row + line(i);
        for (j, &sum) in sums.iter().enumerate() {
            let column = corner.column + column + line(j);
            if row < m && column < n {
                // SAFETY: in `c`, and this thread's own.
                unsafe { *c.add((row * n + column) as usize) = C::from_f32(sum) };
            }
        }
    }
}

/// Four neighbours of a tile and the four half a tile further, in step `step` along `k`.
///
/// # Safety
/// All of the tile has been written; `line` is a multiple of 4.
#[inline(always)]
unsafe fn eight(tile: *const f32, step: u32, line: u32) -> [[f32; 4]; 2] {
    let at = tile.wrapping_add((step * PITCH + line) as usize);
    // SAFETY: as the caller promises.
    unsafe { [wide::load(at), wide::load(at.wrapping_add(SIDE as usize / 2))] }
}

/// Adds the product of each row and each column to its sum.
#[inline(always)]
fn multiply_add(sums: &mut [[f32; 8]; 8], rows: [[f32; 4]; 2], columns: [[f32; 4]; 2]) {
    for (i, sums) in sums.iter_mut().enumerate() {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = GpuFloat::mul_add(rows[i / 4][i % 4], columns[j / 4][j % 4], *sum);
        }
    }
}

/// Loads this thread's share of a tile: [`SIDE`] lines, rows of `a` or columns of `b`, from the element `first` of
/// each on. With `ALONG_K`, a line's elements lie side by side in memory, otherwise neighbouring lines do. What lies
/// outside is 0.
///
/// # Safety
/// The matrix is valid for reads; no thread reads the tile before a barrier.
#[inline(always)]
unsafe fn load<A: Element, const ALONG_K: bool>(
    tile: *mut f32,
    matrix: *const A,
    [lines, k]: [u32; 2],
    first_line: u32,
    first: u32,
) {
    const ELEMENTS: usize = (SIDE * DEPTH / THREADS) as usize;
    let thread = thread::thread_idx_x();
    let place = |i: usize| {
        let i = i as u32;
        if ALONG_K {
            // A warp takes 8 elements of 4 lines.
            (thread / 8 + i / 2 * (THREADS / 8), thread % 8 + i % 2 * 8)
        } else {
            (thread % SIDE, thread / SIDE + i * (THREADS / SIDE))
        }
    };
    // All are read before the first is waited for.
    let mut elements = [0.0; ELEMENTS];
    for (i, element) in elements.iter_mut().enumerate() {
        let (line, depth) = place(i);
        let (line, depth) = (first_line + line, first + depth);
        if line < lines && depth < k {
            let at = if ALONG_K { line * k + depth } else { depth * lines + line };
            // SAFETY: inside of the matrix.
            *element = unsafe { (*matrix.add(at as usize)).to_f32() };
        }
    }
    for (i, element) in elements.into_iter().enumerate() {
        let (line, depth) = place(i);
        // SAFETY: in the tile, and this thread's own.
        unsafe { *tile.add((depth * PITCH + line) as usize) = element };
    }
}
