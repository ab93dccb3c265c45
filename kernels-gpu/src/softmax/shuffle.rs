//! Warp shuffles instead of the tree in shared memory.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RowElement, combine_warp, exp, shift};
use super::rows;
use crate::operation::{Max, Operation, Sum};
use crate::tensor_core::{Bf16, F16, Output as _};

/// `softmax_block`, except that warps combine their values in registers.
///
/// Five shuffles combine the values of a warp. Shared memory carries one value per warp, and each warp combines these
/// values with five more shuffles. The maximum and the sum each need one barrier, instead of one for each level of the
/// tree.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_block,
    lesson = "shuffles combine within a warp: one barrier each for the maximum and the sum",
    blocks = [128, 256, 512],
    default_block = 256,
    grid = rows,
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_shuffle<T: RowElement, const BLOCK: u32>(input: *const T, output: *mut T, m: u32, n: u32) {
    #[address_space(shared)]
    static mut MAXIMA: MaybeUninit<[f32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut SUMS: MaybeUninit<[f32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let (maxima, sums) = ((&raw mut MAXIMA).cast::<f32>(), (&raw mut SUMS).cast::<f32>());
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
    // SAFETY: all threads of the block call `combine_block`, and its array has an element for each warp.
    let shift = shift(unsafe { combine_block::<Max, BLOCK>(maxima, max) });
    let (mut sum, mut k) = (0.0, thread::thread_idx_x());
    while k < n {
        sum += exp(value(k) - shift);
        k += BLOCK;
    }
    // SAFETY: all threads of the block call `combine_block`, and its array has an element for each warp.
    let factor = 1.0 / unsafe { combine_block::<Sum, BLOCK>(sums, sum) };
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
/// warp, which nothing else uses.
#[inline(always)]
unsafe fn combine_block<O: Operation<f32>, const BLOCK: u32>(values: *mut f32, value: f32) -> f32 {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let value = combine_warp::<O>(value);
    if lane == 0 {
        // SAFETY: `values` has an element for each warp, and no thread reads the element before the barrier.
        unsafe { *values.add(warp as usize) = value };
    }
    thread::sync_threads();
    // SAFETY: an element is read only if lane < BLOCK / 32, and all elements were written before the barrier.
    combine_warp::<O>(if lane < BLOCK / 32 { unsafe { *values.add(lane as usize) } } else { O::IDENTITY })
}
