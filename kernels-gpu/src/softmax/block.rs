//! One block per row.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RowElement, exp, shift};
use super::rows;
use crate::operation::{Max, Operation, Sum};
use crate::tensor_core::{Bf16, F16, Output as _};

/// A block computes a row in the three passes of `softmax_thread_per_row`. Neighboring threads read neighboring
/// elements.
///
/// After the first and the second pass, each thread has the maximum or the sum of every `BLOCK`-th element. A tree in
/// shared memory combines these values in log2 `BLOCK` rounds. In each round, between two barriers, each thread of the
/// first half combines its value with a value of the second half.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_thread_per_row,
    lesson = "one block per row: coalesced loads, and a tree in shared memory for the maximum and the sum",
    blocks = [128, 256, 512],
    default_block = 256,
    grid = rows,
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_block<T: RowElement, const BLOCK: u32>(input: *const T, output: *mut T, m: u32, n: u32) {
    #[address_space(shared)]
    static mut VALUES: MaybeUninit<[f32; BLOCK as usize]> = MaybeUninit::uninit();
    let values = (&raw mut VALUES).cast::<f32>();
    let row = thread::block_idx_x();
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    // SAFETY: the row has n elements, and k < n in all three loops.
    let value = |k: u32| unsafe { *input.add(first + k as usize) }.value();

    let (mut max, mut k) = (f32::NEG_INFINITY, thread::thread_idx_x());
    while k < n {
        max = max.max(value(k));
        k += BLOCK;
    }
    // SAFETY: all threads of the block call `combine_tree`, and `values` has an element for each thread.
    let shift = shift(unsafe { combine_tree::<Max, BLOCK>(values, max) });
    let (mut sum, mut k) = (0.0, thread::thread_idx_x());
    while k < n {
        sum += exp(value(k) - shift);
        k += BLOCK;
    }
    // SAFETY: all threads of the block call `combine_tree`, and `values` has an element for each thread.
    let factor = 1.0 / unsafe { combine_tree::<Sum, BLOCK>(values, sum) };
    let mut k = thread::thread_idx_x();
    while k < n {
        // SAFETY: k < n, and no other thread writes this element.
        unsafe { *output.add(first + k as usize) = T::from_f32(exp(value(k) - shift) * factor) };
        k += BLOCK;
    }
}

/// Combines the values of a block's threads and returns the result to all threads.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `values` is shared memory with an element for each
/// thread, which nothing else uses.
#[inline(always)]
unsafe fn combine_tree<O: Operation<f32>, const BLOCK: u32>(values: *mut f32, value: f32) -> f32 {
    let tid = thread::thread_idx_x();
    // All threads must have read the result of an earlier call before any thread writes its element again.
    thread::sync_threads();
    // SAFETY: tid < BLOCK, and no other thread accesses the element before the barrier.
    unsafe { *values.add(tid as usize) = value };
    let mut half = BLOCK / 2;
    while half > 0 {
        thread::sync_threads();
        if tid < half {
            let (left, right) = (values.wrapping_add(tid as usize), values.wrapping_add((tid + half) as usize));
            // SAFETY: tid + half < BLOCK. In this round, no thread writes `right`, and no other thread reads `left`.
            unsafe { *left = O::combine(*left, *right) };
        }
        half /= 2;
    }
    thread::sync_threads();
    // SAFETY: the first element was written before the barrier.
    unsafe { *values }
}
