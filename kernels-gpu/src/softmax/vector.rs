//! 16-byte accesses.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span, of_block};
use super::{rows, smallest_block};
use crate::tensor_core::{Bf16, F16};

/// Vectors of 16 bytes that a thread of a block keeps.
const fn vectors(block: u32) -> u32 {
    if block == 1024 { 8 } else { 4 }
}

/// Bytes of a row that a block keeps.
pub(super) const fn bytes(block: u32) -> u32 {
    block * vectors(block) * 16
}

/// `softmax_registers` with loads and stores of 16 bytes: an eighth of the instructions for elements of 16 bits.
///
/// The registers hold the words as they were loaded. Two elements of 16 bits share a register, so a thread has up to 64
/// elements. Rows whose bytes are not a multiple of 16 start at addresses that are not either. A block accesses such rows
/// element by element.
///
/// # Safety
/// As [`softmax`](super) says.
#[rung(
    after = softmax_registers,
    lesson = "16-byte loads and stores, and elements that stay packed: longer rows in the same registers",
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
    const VECTORS: usize = vectors(BLOCK) as usize;
    let row = thread::block_idx_x();
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    let span = Span { n, first: thread::thread_idx_x(), stride: BLOCK };

    // SAFETY: the row has n elements, and no thread writes the input.
    let vectors = unsafe { span.load::<T, O, VECTORS>(input.add(first)) };
    // SAFETY: the whole block calls it, with an element for each warp.
    let part = unsafe { of_block::<O, BLOCK>((&raw mut PARTS).cast(), span.part::<T, O, VECTORS>(&vectors)) };
    // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
    unsafe { span.store::<T, O, VECTORS>(output.add(first), &vectors, O::norm(part, n), weight) };
}
