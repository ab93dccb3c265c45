//! Online softmax: the maximum and the sum in one pass.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, of_block};
use super::rows;
use crate::tensor_core::{Bf16, F16, Output as _};

/// A thread keeps the maximum of its elements so far, and the sum of their exponentials relative to this maximum. When
/// an element is a new maximum, the thread multiplies the sum by `exp(old maximum - new maximum)`.
///
/// So one pass over the row computes the maximum and the sum, and a second pass writes the output. The row is read
/// twice instead of three times. The cost is a second exponential per element. (Milakov and Gimelshein, *Online
/// normalizer calculation for softmax*, 2018.) The partial results of the threads are rescaled and combined in the same
/// way, with one barrier ([`RowOperation::both`]). With another operation, the kernel computes an RMSNorm.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_shuffle,
    lesson = "one pass for maximum and sum: a new maximum rescales the sum; the row is read twice, not three times",
    blocks = [128, 256, 512],
    default_block = 256,
    grid = rows,
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_online<T: RowElement, O: RowOperation, const BLOCK: u32>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[<O as RowOperation>::Part; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let row = thread::block_idx_x();
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    // SAFETY: the row has n elements, and k < n in both loops.
    let value = |k: u32| unsafe { *input.add(first + k as usize) }.value();

    let (mut part, mut k) = (O::NONE, thread::thread_idx_x());
    while k < n {
        part = O::both(part, O::of(value(k)));
        k += BLOCK;
    }
    // SAFETY: all threads of the block call `of_block`, and `PARTS` has an element for each warp.
    let row = unsafe { of_block::<O, BLOCK>((&raw mut PARTS).cast(), part) };
    let mut k = thread::thread_idx_x();
    while k < n {
        // SAFETY: k < n, no thread writes the weight, and no other thread writes this element of the output.
        unsafe {
            let weight = if O::HAS_WEIGHT { (*weight.add(k as usize)).value() } else { 1.0 };
            *output.add(first + k as usize) = T::from_f32(O::output(row, n, value(k)) * weight);
        }
        k += BLOCK;
    }
}
