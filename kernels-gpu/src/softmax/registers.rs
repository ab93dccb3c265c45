//! The row in registers: one read and one write.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, of_block};
use super::{rows, smallest_block};
use crate::tensor_core::{Bf16, F16, Output as _};

/// The number of elements per thread.
const ITEMS: usize = 16;
/// The maximum number of elements in a row.
pub const LONGEST: u32 = 1024 * ITEMS as u32;

/// Each thread loads its elements once and keeps them in registers, so the row is read once and written once.
///
/// A copy of the matrix moves the same number of bytes, so the time of a copy is a lower bound for this rung and all
/// later rungs. A thread keeps 16 elements, so the block has 64, 256 or 1024 threads, depending on the length of the
/// row. The kernel is generic over the operation, because an RMSNorm differs only in what it computes from the elements
/// in registers.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_online,
    lesson = "the row stays in registers: one read and one write, like a copy",
    blocks = [64, 256, 1024],
    default_block = 64,
    block_for = |shape| smallest_block(&[0, shape[1]], [64, 256, 1024], |block| block * ITEMS as u32),
    fixed_block,
    grid = rows,
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_registers<T: RowElement, O: RowOperation, const BLOCK: u32>(
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
    let index = |k: usize| thread::thread_idx_x() + k as u32 * BLOCK;

    let mut values: [f32; ITEMS] = array::from_fn(|k| match index(k) < n {
        // SAFETY: index(k) < n.
        true => unsafe { *input.add(first + index(k) as usize) }.value(),
        false => O::OUTSIDE,
    });
    let part = O::weigh(&mut values, 1, |k| index(k) < n);
    // SAFETY: all threads of the block call `of_block`, and `PARTS` has an element for each warp.
    let factor = O::factor(part, unsafe { of_block::<O, BLOCK>((&raw mut PARTS).cast(), part) }, n);
    #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
    for k in 0..ITEMS {
        if index(k) < n {
            // SAFETY: index(k) < n, no thread writes the weight, and no other thread writes this element of the output.
            unsafe {
                let weight = if O::HAS_WEIGHT { (*weight.add(index(k) as usize)).value() } else { 1.0 };
                *output.add(first + index(k) as usize) = T::from_f32(values[k] * factor * weight);
            }
        }
    }
}
