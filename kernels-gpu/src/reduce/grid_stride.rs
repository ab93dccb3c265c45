//! A grid's stride: as many blocks as keep the device busy, whatever the size.

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::every_operation::every_operation;
use super::operation::{Operation, Sum};
use super::shfl::combine_block;
use super::{Element, ON_CHIP, all_exist, load_and_combine};
use crate::grid::GridStride;
use crate::warp::WARP_SIZE;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[Rung { entries: EVERY_OPERATION, ..REDUCE_GRID_STRIDE }];

/// Elements that a thread takes in a step.
const ITEMS_PER_THREAD: usize = 4;

/// The most blocks: enough for every SM of a large device to hold its fill of threads at 128 a block, and
/// few enough that what a block costs by itself is small against its part of a large input.
const MOST_BLOCKS: u32 = 2048;

entries! {
    /// `reduce_shfl` with a loop in front: a thread takes four elements, goes on by the whole grid's width,
    /// and takes four more, to the end.
    ///
    /// Partial results stay in the thread's register, so the shuffles, the barrier and the write of a
    /// block's result come once for all of its part and not once for every 128 elements. The grid is as large as
    /// the device is and not as the input, and the host has at most 2048 partial sums to add.
    ///
    /// # Safety
    /// As [`reduce`](super) says, with any number of blocks.
    reduce_grid_stride(input: *const i32, output: *mut i32, n: u32) for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK / WARP_SIZE as usize];
    rung ON_CHIP {
        lesson: "a grid as large as the device: a thread strides over the input, and a block combines once",
        geometry: Geometry::Stride {
            items_per_thread: ITEMS_PER_THREAD as u32,
            most_blocks: MOST_BLOCKS,
        },
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { grid_stride::<i32, Sum, BLOCK>(tile, input, output, n) }
}

every_operation! { reduce_grid_stride; shared [BLOCK / WARP_SIZE as usize]; grid_stride }

/// # Safety
/// As [`reduce`](super) says, with blocks of `BLOCK` threads; `warp_results` is shared memory of an element
/// for each warp.
#[inline(always)]
unsafe fn grid_stride<T: Element, O: Operation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    input: *const T,
    output: *mut T,
    n: u32,
) {
    let mut result = O::IDENTITY;
    let (turns, tid) = (GridStride::of_this_block((BLOCK * ITEMS_PER_THREAD) as u32), thread::thread_idx_x());
    for start in turns {
        let first = start + tid;
        // SAFETY: as the kernel's contract says.
        unsafe {
            if !all_exist::<ITEMS_PER_THREAD>(first, BLOCK as u32, n) {
                let rest = load_and_combine::<T, O, ITEMS_PER_THREAD, true>(input, first, BLOCK as u32, n);
                result = O::combine(result, rest);
                break;
            }
            let next = load_and_combine::<T, O, ITEMS_PER_THREAD, false>(input, first, BLOCK as u32, n);
            result = O::combine(result, next);
        }
    }
    // SAFETY: as the kernel's contract says; all threads of the block come here.
    unsafe {
        let result = combine_block::<T, O, BLOCK>(warp_results, result);
        if tid == 0 {
            *output.add(thread::block_idx_x() as usize) = result;
        }
    }
}
