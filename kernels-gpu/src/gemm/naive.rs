//! One thread for each element: the first rung, on CUDA cores.
//!
//! A thread walks a row of `a` and a column of `b`, converts each pair of elements to 32-bit floats and adds their
//! product to its sum. That is what `matmul_naive` does, with half the bytes. The neighbours of a warp read the same
//! element of `a`, one sector, and 32 neighbouring elements of `b` when `b` lies row after row: 64 bytes, two sectors.
//! What limits it are the requests to the L1 cache, two loads for each multiply-add.

use cuda_std::{GpuFloat, thread};
use rung::{Geometry, Rung};

use super::Product;
use crate::tensor_core::element::{Element, Output};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_NAIVE];

/// The tile of `c` that a block takes: as wide as a warp, so that neighbouring lanes take neighbouring columns.
const ROWS: u32 = 8;
const COLUMNS: u32 = 32;

products! {
    /// A thread for each element of `c`.
    gemm_naive for [256] threads;
    shared 0;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "one thread an element: two loads for each multiply-add, on CUDA cores",
    };
    formats [bf16, f16, tf32];
    pointers => naive
}

/// # Safety
/// The contract of the ladder's kernels, for blocks of `ROWS` × `COLUMNS` threads in one dimension.
#[inline(always)]
unsafe fn naive<A: Element, C: Output, const COLUMN_MAJOR: bool>(_: *mut u8, product: &Product<A, C>) {
    let &Product { a, b, c, m, n, k } = product;
    let tiles_along = n.div_ceil(COLUMNS).max(1);
    let (tile, thread) = (thread::block_idx_x(), thread::thread_idx_x());
    let row = tile / tiles_along * ROWS + thread / COLUMNS;
    let column = tile % tiles_along * COLUMNS + thread % COLUMNS;
    if row >= m || column >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row < m, column < n, i < k.
        let (left, right) = unsafe {
            let at = if COLUMN_MAJOR { column * k + i } else { i * n + column };
            (*a.add((row * k + i) as usize), *b.add(at as usize))
        };
        sum = GpuFloat::mul_add(left.to_f32(), right.to_f32(), sum);
    }
    // SAFETY: row < m, column < n, and no other thread has this element.
    unsafe { *c.add((row * n + column) as usize) = C::from_f32(sum) };
}
