//! One thread per element of the product, on CUDA cores.

use cuda_std::{GpuFloat, thread};
use rung::rung;

use crate::tensor_core::{Bf16, Element, F16, Output, Tf32};

/// The number of rows and of columns in a block's tile of `c`. Each warp computes a row of the tile, so neighboring
/// lanes compute neighboring columns.
const ROWS: u32 = 8;
const COLUMNS: u32 = 32;

/// The naive version: a thread multiplies a row of `a` by a column of `b`.
///
/// A thread converts each pair of elements to 32-bit floats and adds their product to its sum. `matmul_naive` does the
/// same with 32-bit elements. In each step, all lanes of a warp read the same element of `a` (one sector). If `b` is
/// row-major, the lanes read 32 neighboring elements of `b`: 64 bytes, or two sectors. The number of requests to the L1
/// cache limits the speed, because each multiply-add takes two loads.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    lesson = "one thread per element: two loads for each multiply-add, on CUDA cores",
    blocks = [256],
    grid = |launch| [launch.count_tiles(ROWS, COLUMNS), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32), f16: (F16, F16), f16_f32: (F16, f32), tf32: (Tf32, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_naive<A: Element, C: Output, const COLUMN_MAJOR: bool>(
    a: *const A,
    b: *const A,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let (tid, tile) = (thread::thread_idx_x(), thread::block_idx_x());
    // At least 1, so that the divisions need no check for zero.
    let tiles_in_row = n.div_ceil(COLUMNS).max(1);
    let row = tile / tiles_in_row * ROWS + tid / COLUMNS;
    let col = tile % tiles_in_row * COLUMNS + tid % COLUMNS;
    if row >= m || col >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        let b_index = if COLUMN_MAJOR { col * k + i } else { i * n + col };
        // SAFETY: row < m, col < n and i < k, so both elements are in their matrices.
        let (a, b) = unsafe { (*a.add((row * k + i) as usize), *b.add(b_index as usize)) };
        sum = GpuFloat::mul_add(a.to_f32(), b.to_f32(), sum);
    }
    // SAFETY: row < m and col < n, and no other thread writes this element.
    unsafe { *c.add((row * n + col) as usize) = C::from_f32(sum) };
}
