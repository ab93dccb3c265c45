//! One warp per short row.

use cuda_std::thread;
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span};
use crate::tensor_core::{Bf16, F16};

/// The number of warps in a block, which is also the number of rows that a block computes.
const WARPS: u32 = 4;
/// The maximum number of elements in a row.
pub const LONGEST: u32 = 32 * COUNT as u32;
/// The number of elements per lane.
const COUNT: usize = 32;

/// `softmax_vector` with one warp per row, which needs no barrier and no shared memory.
///
/// Only shuffles combine the parts of a row, and a warp does not wait for other warps. So some warps of a
/// multiprocessor load while others store. If a block computes a row, all its warps load, then wait at the barrier, and
/// then store. The rows have at most 1024 elements.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_vector,
    lesson = "one warp per row: shuffles alone combine the row, without a barrier or shared memory",
    blocks = [128],
    grid = |launch| [launch.length(0).div_ceil(WARPS.into()).max(1) as u32, 1, 1],
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_warp_per_row<T: RowElement, O: RowOperation>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    let row = thread::block_idx_x() * WARPS + thread::thread_idx_x() / 32;
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    let span = Span { n, first: thread::thread_idx_x() % 32, stride: 32 };

    // SAFETY: the row has n elements, and no thread writes the input.
    let mut values: [f32; COUNT] = unsafe { span.load::<T, O, COUNT>(input.add(first)) };
    let part = span.weigh::<T, O, COUNT>(&mut values);
    let factor = O::factor(part, O::of_warp([part]), n);
    // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
    unsafe { span.store::<T, O, COUNT>(output.add(first), &values, factor, weight) };
}
