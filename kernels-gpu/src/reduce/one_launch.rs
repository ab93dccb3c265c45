//! The whole sum in one launch: the last block adds up the sums that the other blocks publish.

use core::array;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::mid::{atomic_load_64_device, atomic_store_64_device};
use cuda_std::{address_space, thread};
use rung::rung;

use super::shfl::sum_block;
use super::vector::sum_vectors;

/// The bit of a workspace word that marks its low 32 bits as a block's sum.
const PUBLISHED: u64 = 1 << 32;

/// The number of words that a thread of the last block has in flight. With 8 words, a multiprocessor has enough
/// registers for two blocks of 1024 threads.
const IN_FLIGHT: usize = 8;

/// `reduce_vector`, except that the last block adds up the sums of the other blocks and writes the total to
/// `output[0]`.
///
/// Each other block publishes its sum in a word of `workspace`. One store writes the 32 bits of the sum and the bit
/// `PUBLISHED`, so no fence has to order the sum and the bit. The threads of the last block poll these words until
/// every word is published, and reset the words to 0 for the next launch. The last block can wait because blocks begin
/// in the order of their indices. When the last block runs, all other blocks have begun, and none of them waits for
/// anything.
///
/// Prediction: the last block's additional work is a few dependent reads of the L2 cache, about 2 µs. In the usual
/// scheme, every block writes its sum, executes a fence and increments a counter, and the last block to arrive adds up
/// the sums. The fence and the counter cost each block two trips to the L2. This rung needs neither a fence nor a
/// counter. Measured on an H100 80GB HBM3: 344.2 µs at 2^28 elements (`reduce_vector` 337.9), and 25.8 µs at 2^24
/// (24.6). So the last block's work takes 1 µs with 2048 blocks and 6 µs with 32768. The prediction ignored that a
/// single multiprocessor reads all 256 KB of words, at 64 bytes per clock.
///
/// # Safety
/// See [`reduce`](super), but `output` points to one element. `workspace` points to one zero word per block, and the
/// kernel leaves these words zero again. `input` is aligned to 16 bytes. One launch at a time uses the workspace.
#[rung(
    after = reduce_vector,
    lesson = "the whole sum: each block publishes its sum in one word, and the last block adds the words up",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 1024,
    block_for = |shape| if shape[0] < 1 << 22 { [512, 1, 1] } else { [1024, 1, 1] },
    items_per_thread = 8,
    single_pass
)]
pub unsafe fn reduce_one_launch<const BLOCK: u32>(input: *const i32, output: *mut i32, workspace: *mut u64, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let (tid, block_idx, last_block) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x() - 1);

    // SAFETY: `input` has n elements at a multiple of 16 bytes, which no thread writes.
    let mut sum = unsafe { sum_vectors::<BLOCK>(input, n) };
    if block_idx == last_block {
        // SAFETY: only the last block of the grid calls `collect`. Every other block publishes its sum and does not
        // wait.
        sum += unsafe { collect::<BLOCK>(workspace, last_block) };
    }
    // SAFETY: all threads of the block call `sum_block`, and `warp_sums` has a word for each warp.
    sum = unsafe { sum_block::<BLOCK>(warp_sums, sum) };
    if tid == 0 && block_idx == last_block {
        // SAFETY: only this thread of this block writes the output.
        unsafe { *output = sum };
    } else if tid == 0 {
        // SAFETY: the workspace has a word for each block. The last block reads nothing else that this block writes, so
        // the store may be relaxed.
        unsafe { atomic_store_64_device(workspace.add(block_idx as usize), Relaxed, PUBLISHED | sum as u32 as u64) };
    }
}

/// Adds up this thread's share of the sums that the first `blocks` blocks publish, and resets the words of these sums
/// to 0.
///
/// # Safety
/// All threads of one block of the grid call the function. The first `blocks` blocks publish their sums and wait for
/// nothing.
#[inline(always)]
unsafe fn collect<const BLOCK: u32>(workspace: *mut u64, blocks: u32) -> i32 {
    let mut sum = 0;
    let mut first = thread::thread_idx_x();
    while first < blocks {
        let block = |k: usize| first + k as u32 * BLOCK;
        let address = |k: usize| workspace.wrapping_add(block(k) as usize);
        // All loads start before the loop waits for the first word.
        let words: [u64; IN_FLIGHT] = array::from_fn(|k| {
            // SAFETY: block(k) < blocks, so the word belongs to a block of this grid.
            if block(k) < blocks { unsafe { atomic_load_64_device(address(k), Relaxed) } } else { PUBLISHED }
        });
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for k in 0..IN_FLIGHT {
            let mut word = words[k];
            while word & PUBLISHED == 0 {
                // SAFETY: a word without `PUBLISHED` was loaded above, so it belongs to a block of this grid.
                word = unsafe { atomic_load_64_device(address(k), Relaxed) };
            }
            if block(k) < blocks {
                // SAFETY: the word belongs to a block of this grid, and no other thread reads it.
                unsafe { atomic_store_64_device(address(k), Relaxed, 0) };
            }
            sum += (word as u32).cast_signed();
        }
        first += IN_FLIGHT as u32 * BLOCK;
    }
    sum
}
