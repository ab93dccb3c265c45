//! Wide loads: 16 bytes an instruction, and no loop.

use cuda_std::thread;
use rung::Rung;

use super::every_operation::every_operation;
use super::operation::{Element, ITEMS_PER_THREAD, Operation, Sum};
use super::shfl::combine_block;
use super::{ON_CHIP, data_blocks, load_and_combine};
use crate::grid::BlockOutput;
use crate::warp::WARP_SIZE;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[Rung { entries: EVERY_OPERATION, ..REDUCE_VECTOR }];

/// The blocks that suit wide loads: for inputs that would leave SMs without a block, and for others.
const BLOCKS: [[u32; 3]; 2] = [[512, 1, 1], [1024, 1, 1]];
/// The first size that has parts enough for the larger blocks.
const MANY: u64 = 1 << 22;

/// A rung with wide loads and no loop.
pub(super) const WIDE: Rung = Rung {
    geometry: data_blocks(ITEMS_PER_THREAD as u32),
    default_block: BLOCKS[1],
    choose: Some(|shape| BLOCKS[usize::from(shape[0] >= MANY)]),
    ..ON_CHIP
};

entries! {
    /// A thread takes eight elements by loads of 16 bytes, all in flight before the first is added; the rest is
    /// `reduce_shfl`.
    ///
    /// Against `reduce_grid_stride`: a quarter of the load instructions for the same bytes, and no loop to wait in. A
    /// block reads 32 KB, adds it up and ends, and the SM begins the next block while others still add: the
    /// hardware's queue of blocks does what the loop did. Elements of 64 bits come two in a load, in twice as many
    /// loads. The last block, whose part is not a whole one, loads single elements.
    ///
    /// Prediction: two loads of 16 bytes for each of 2048 threads of an SM are 64 KB in flight, more than the
    /// 40 KB that 3.3 TB/s at a latency of 1.5 µs want of each of 132 SMs; so memory is the limit, about 95 %
    /// of its 3352 GB/s. Measured on an H100 80GB HBM3 with blocks of 1024, the partial sums left to the host:
    /// 2^28 elements of `i32` in 335.6 µs, 3200 GB/s, 2^24 in 24.5 µs. A loop over fewer blocks took 343 to
    /// 350 µs, and hints to the caches changed nothing.
    ///
    /// # Safety
    /// As [`reduce`](super) says; `input` is a multiple of 16.
    reduce_vector(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK / WARP_SIZE as usize];
    rung WIDE {
        lesson: "16-byte loads, two in flight for each thread, and no loop: memory is the limit",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { vector::<i32, Sum, BLOCK>(tile, input, output, n) }
}

every_operation! {
    reduce_vector for [512, 1024]; shared [BLOCK / WARP_SIZE as usize]; vector
}

/// # Safety
/// The contract of `reduce_vector`, for blocks of `BLOCK` threads; `warp_results` is shared memory of an element for
/// each warp.
#[inline(always)]
unsafe fn vector<T: Element, O: Operation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    // SAFETY: as the kernel's contract says.
    unsafe {
        let own = load_and_combine_wide::<T, O, BLOCK>(input, n);
        let result = combine_block::<T, O, BLOCK>(warp_results, own);
        BlockOutput::new(output).write(|| result);
    }
}

/// Loads this thread's [`ITEMS_PER_THREAD`] elements, or those that exist, and combines them.
///
/// # Safety
/// `input` points to `n` elements that no thread writes, and is a multiple of 16; the block has `BLOCK` threads.
#[inline(always)]
pub(super) unsafe fn load_and_combine_wide<T: Element, O: Operation<T>, const BLOCK: usize>(
    input: *const T,
    n: u32,
) -> T {
    let part = (BLOCK * ITEMS_PER_THREAD) as u32;
    let start = thread::block_idx_x() * part;
    let tid = thread::thread_idx_x();
    // SAFETY: as the caller promises; a whole part is in bounds, and parts begin at multiples of 16 bytes.
    unsafe {
        if start + part <= n {
            let elements = T::load_wide(input.add(start as usize), tid as usize, BLOCK);
            elements.into_iter().fold(O::IDENTITY, O::combine)
        } else {
            load_and_combine::<T, O, ITEMS_PER_THREAD, true>(input, start + tid, BLOCK as u32, n)
        }
    }
}
