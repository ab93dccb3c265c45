//! The prefix sum: element `i` of `output` is the wrapping sum of the elements 0 to `i` of `input`.
//!
//! `scan_look_back_warp` and `scan_pipelined` are generic over the element type `T`, the [operation](crate::operation)
//! `O`, and the form (inclusive or exclusive). In the exclusive form, element `i` of `output` is the sum of the
//! elements before element `i`. In these rungs, and in the functions that the rungs share, "sum" means the combination
//! of elements by `O`.
//!
//! Every rung is one kernel in one file. The rungs up to `scan_vector` scan sections: each block scans one section, and
//! the host adds the sums of the preceding sections. From `scan_three_phases` on, one launch computes the whole scan.
//! The kernels are correct for every `n` up to 2^31 - 1. Threads without an element execute every barrier and shuffle,
//! with the identity as their value, which is 0 for a sum.
//!
//! # Safety
//! For all kernels, `input` and `output` each point to `n` elements in device memory that nothing else uses during the
//! launch. The block is one-dimensional, and its size is a power of two from 64 to 1024. If the kernel's name contains
//! a size, the block has that size. The grid has the size that the rung describes.

use cuda_std::thread;
use rung::LaunchRequest;
#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

use status::Status;

pub mod chained;
pub mod coarsened;
pub mod global;
pub mod look_back;
pub mod look_back_warp;
pub mod padded;
pub mod pipelined;
pub mod reduce_first;
pub mod shared;
pub mod shuffle;
pub mod status;
pub mod three_phases;
pub mod vector;
pub mod work_efficient;

/// The rungs, in the order of the ladder.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    global::SCAN_GLOBAL,
    shared::SCAN_SHARED,
    work_efficient::SCAN_WORK_EFFICIENT,
    padded::SCAN_PADDED,
    shuffle::SCAN_SHUFFLE,
    coarsened::SCAN_COARSENED,
    vector::SCAN_VECTOR,
    three_phases::SCAN_THREE_PHASES,
    reduce_first::SCAN_REDUCE_FIRST,
    chained::SCAN_CHAINED,
    look_back::SCAN_LOOK_BACK,
    look_back_warp::SCAN_LOOK_BACK_WARP,
    pipelined::SCAN_PIPELINED,
];

/// Returns the number of blocks for a rung whose resident blocks each process several tiles: the number of
/// multiprocessors or length 1 of the shape, whichever is smaller.
fn resident(launch: &LaunchRequest<'_>) -> u32 {
    launch.device.multiprocessors.min(launch.length(1) as u32)
}

/// Takes the next tile for this block and returns the tile's number to all threads.
///
/// # Safety
/// All threads of the block call the function once. `ticket` is a word of shared memory that nothing else uses.
#[inline(always)]
unsafe fn next_tile(status: Status, ticket: *mut u32) -> u32 {
    if thread::thread_idx_x() == 0 {
        // SAFETY: only the first thread takes a ticket, and no thread reads the word before the barrier.
        unsafe { *ticket = status.take_ticket() };
    }
    thread::sync_threads();
    // SAFETY: the first thread wrote the word before the barrier.
    unsafe { *ticket }
}
