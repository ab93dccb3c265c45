//! The whole result in one launch: the last block collects the results that the others publish.

use core::array;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_load_64_device, atomic_store_64_device};
use cuda_std::thread;
use rung::{Form, Rung};

use super::every_operation::every_operation;
use super::operation::{Element, Operation, Sum};
use super::shfl::combine_block;
use super::vector::{WIDE, load_and_combine_wide};
use crate::warp::WARP_SIZE;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[Rung { entries: EVERY_OPERATION, ..REDUCE_ONE_LAUNCH }];

/// The bit of a word of the workspace that says that the word was published.
const PUBLISHED: u64 = 1 << 32;

/// Words of the workspace that a block publishes its result of `T` in.
#[must_use]
pub const fn words<T>() -> usize {
    size_of::<T>() / 4
}

/// Words of other blocks that a thread of the last block has in flight: as many as leave registers for two blocks of
/// 1024 threads on an SM.
const IN_FLIGHT: usize = 8;

entries! {
    /// `reduce_vector`, whose last block collects the results of the others and writes the result of all to
    /// `output[0]`.
    ///
    /// Each other block publishes its result in a word of `workspace`: 32 bits of result and a bit that says that
    /// they are there, in one store, so that no fence has to order the two and no other block waits. (Results of 64
    /// bits are two words, a half and a bit each.) The threads of the last block read those words until all the bits
    /// are there, and put them back to zero for the next launch. It works because blocks begin in the order of their
    /// indices: when the last one runs, all others have begun, and none of them waits for anything. So the last block
    /// only waits for blocks that run.
    ///
    /// Prediction: what the last block does comes on top, some reads of L2 one behind the other, about 2 µs. The
    /// usual way, in which every block writes its result, fences, and counts itself, and the last to come adds
    /// up, was measured on an H100 80GB HBM3 at 340.2 µs for 2^28 elements of `i32` where `reduce_vector` took
    /// 335.6, 26.5 for 24.5 at 2^24, and 6.9 for 5.2 at 2^20: the fence and the count are two trips to L2 for each
    /// block, and here is neither. Measured there: 344.2 µs for `reduce_vector`'s 337.9 at 2^28, 25.8 for 24.6 at
    /// 2^24. So it is 1 µs where the blocks are 2048, and 6 where they are 32768: what costs is that one SM reads
    /// 256 KB of words alone, at 64 bytes a clock, and the prediction left that out. Reading twice as many of them
    /// together changed nothing.
    ///
    /// # Safety
    /// As [`reduce`](super) says, but `output` is one element, and `workspace` points to [`words`] zeros for each
    /// block, which are zeros again afterwards; `input` is a multiple of 16. One launch at a time has the
    /// workspace.
    reduce_one_launch(input: *const i32, output: *mut i32, workspace: *mut u64, n: u32)
    for BLOCK in [64, 128, 256, 512, 1024];
    shared tile: [i32; BLOCK / WARP_SIZE as usize];
    rung WIDE {
        lesson: "the whole result: each block publishes its own in one word, and the last block adds them up",
        single_pass: true,
        form: Form::Workspace,
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { one_launch::<i32, Sum, BLOCK>(tile, input, output, workspace, n) }
}

every_operation! {
    reduce_one_launch for [512, 1024] with workspace: *mut u64; shared [BLOCK / WARP_SIZE as usize]; one_launch
}

/// # Safety
/// The contract of `reduce_one_launch`, for blocks of `BLOCK` threads; `warp_results` is shared memory of an element
/// for each warp.
#[inline(always)]
unsafe fn one_launch<T: Element, O: Operation<T>, const BLOCK: usize>(
    warp_results: *mut T,
    input: *const T,
    output: *mut T,
    workspace: *mut u64,
    n: u32,
) {
    let (index, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    // SAFETY: as the kernel's contract says; all threads of the block take the same way at its end.
    unsafe {
        let own = load_and_combine_wide::<T, O, BLOCK>(input, n);
        let result = combine_block::<T, O, BLOCK>(warp_results, own);
        if index + 1 < thread::grid_dim_x() {
            if tid == 0 {
                publish(workspace, index, result);
            }
            return;
        }
        let others = collect_published::<T, O, BLOCK>(workspace, index);
        // The first warp has read the results of the block's warps before others are written there.
        thread::sync_threads();
        let others = combine_block::<T, O, BLOCK>(warp_results, others);
        if tid == 0 {
            *output = O::combine(result, others);
        }
    }
}

/// Publishes the result of block `index`.
///
/// # Safety
/// `workspace` has words for block `index`, and they are zero.
#[inline(always)]
unsafe fn publish<T: Element>(workspace: *mut u64, index: u32, result: T) {
    let bits = result.to_bits_64();
    for half in 0..words::<T>() {
        let word = bits >> (32 * half) & u64::from(u32::MAX) | PUBLISHED;
        let at = index as usize * words::<T>() + half;
        // SAFETY: as the caller promises. A thread that reads the word reads nothing else that this one wrote.
        unsafe { atomic_store_64_device(workspace.add(at), Relaxed, word) };
    }
}

/// Waits for this thread's share of the results of the first `blocks` blocks, combines them, and leaves zeros in
/// their place.
///
/// # Safety
/// All threads of one block of `BLOCK` call it, in one block of the grid; the first `blocks` blocks publish their
/// results, and wait for nothing.
#[inline(always)]
unsafe fn collect_published<T: Element, O: Operation<T>, const BLOCK: usize>(workspace: *mut u64, blocks: u32) -> T {
    let words_of_a_result = words::<T>();
    let results_in_flight = IN_FLIGHT / words_of_a_result;
    let mut result = O::IDENTITY;
    let mut first = thread::thread_idx_x();
    while first < blocks {
        let block = |k: usize| first + (k * BLOCK) as u32;
        let address = |k: usize, half: usize| workspace.wrapping_add(block(k) as usize * words_of_a_result + half);
        // All loads are started before the first word is waited for.
        let found: [u64; IN_FLIGHT] = array::from_fn(|word| {
            let (k, half) = (word / words_of_a_result, word % words_of_a_result);
            // SAFETY: the word is that of a block of this grid.
            if block(k) < blocks { unsafe { atomic_load_64_device(address(k, half), Relaxed) } } else { 0 }
        });
        for k in 0..results_in_flight {
            if block(k) < blocks {
                let mut bits = 0;
                for half in 0..words_of_a_result {
                    let mut word = found[k * words_of_a_result + half];
                    // SAFETY: the word is that of a block of this grid; no other thread takes it. The store is as
                    // strong as the one that published the word, or the two would race.
                    unsafe {
                        while word & PUBLISHED == 0 {
                            word = atomic_load_64_device(address(k, half), Relaxed);
                        }
                        atomic_store_64_device(address(k, half), Relaxed, 0);
                    }
                    bits |= (word & u64::from(u32::MAX)) << (32 * half);
                }
                result = O::combine(result, T::from_bits_64(bits));
            }
        }
        first += (results_in_flight * BLOCK) as u32;
    }
    result
}
