//! A grid-stride loop: just enough blocks to keep the device busy, regardless of the size of the input.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shfl::sum_block;
use super::unrolling2::sum_items;

/// The number of elements that a thread adds per iteration.
const ITEMS: usize = 4;

/// `reduce_shfl`, preceded by a grid-stride loop. In each iteration, a thread adds four elements and advances by the
/// number of elements that the whole grid adds. The loop ends at the end of the input.
///
/// Each thread's partial sum stays in a register. So a block executes the shuffles, the barrier and the store once for
/// all of its elements. A block of `reduce_shfl` executes them for every 128 elements. The grid fills the device for
/// any input, and the host has only a few partial sums to add.
///
/// # Safety
/// See [`reduce`](super). The grid can have any number of blocks.
#[rung(
    after = reduce_shfl,
    lesson = "a grid that fills the device: threads stride over the input, and a block combines its sums once",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 128,
    items_per_thread = ITEMS,
    // Just enough blocks to fill multiprocessors that each hold 2048 threads.
    grid = |launch| launch.stride(launch.device.multiprocessors * (2048 / launch.block[0]))
)]
pub unsafe fn reduce_grid_stride<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    let mut sum = 0;
    let mut first = block_idx * BLOCK * ITEMS as u32 + tid;
    while first < n {
        // SAFETY: `input` has n elements that no thread writes.
        sum += unsafe { sum_items::<ITEMS>(input, first, BLOCK, n) };
        first += thread::grid_dim_x() * BLOCK * ITEMS as u32;
    }
    // SAFETY: all threads of the block call `sum_block`, and `warp_sums` has a word for each warp.
    sum = unsafe { sum_block::<BLOCK>(warp_sums, sum) };
    if tid == 0 {
        // SAFETY: `output` has an element for each block.
        unsafe { *output.add(block_idx as usize) = sum };
    }
}
