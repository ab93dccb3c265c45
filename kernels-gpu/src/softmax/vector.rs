//! 16-byte accesses.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span, of_block};
use super::{rows, smallest_block};
use crate::tensor_core::{Bf16, F16};

/// The number of bytes of a row that a thread keeps: four 16-byte vectors.
pub(super) const THREAD_BYTES: u32 = 4 * 16;

/// Returns the number of bytes of a row that a block keeps.
pub(super) const fn bytes(block: u32) -> u32 {
    block * THREAD_BYTES
}

/// `softmax_registers` with 16-byte loads and stores: an eighth of the instructions for 16-bit elements.
///
/// A thread keeps four vectors: 32 elements of 16 bits, or 16 of 32 bits. So the longest row is 64 KB. If the size of a
/// row is not a multiple of 16 bytes, most rows start at unaligned addresses. A block accesses such rows element by
/// element.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_registers,
    lesson = "16-byte loads and stores: an eighth of the memory instructions, and more bytes in flight",
    blocks = [128, 256, 512, 1024],
    default_block = 128,
    block_for = |shape| smallest_block(shape, [128, 256, 512, 1024], bytes),
    fixed_block,
    grid = rows,
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_vector<T: RowElement, O: RowOperation, const BLOCK: u32>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[<O as RowOperation>::Part; BLOCK as usize / 32]> = MaybeUninit::uninit();
    const COUNT: usize = THREAD_BYTES as usize / size_of::<T>();
    let row = thread::block_idx_x();
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    let span = Span { n, first: thread::thread_idx_x(), stride: BLOCK };

    // SAFETY: the row has n elements, and no thread writes the input.
    let mut values: [f32; COUNT] = unsafe { span.load::<T, O, COUNT>(input.add(first)) };
    let part = span.weigh::<T, O, COUNT>(&mut values);
    // SAFETY: all threads of the block call `of_block`, and `PARTS` has an element for each warp.
    let factor = O::factor(part, unsafe { of_block::<O, BLOCK>((&raw mut PARTS).cast(), part) }, n);
    // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
    unsafe { span.store::<T, O, COUNT>(output.add(first), &values, factor, weight) };
}
