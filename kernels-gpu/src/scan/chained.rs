//! The whole scan in one launch: each block waits for the previous block.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shuffle::sum_of_warps_before;
use super::status::{State, Status};
use super::vector::{ITEMS, SumTile};
use crate::operation::Sum;

/// `scan_vector`, except that each block passes the sum of all elements so far to the next block.
///
/// A block scans its tile, waits for the prefix of the previous tile, and publishes its tile's prefix. The kernel reads
/// the input once and writes the output once, which is the minimum. But the prefixes form a chain, and each link needs
/// a trip to the L2 cache. An H100 takes 20 ms for the 65,536 tiles of 2^28 elements, which is 0.3 µs for each tile.
/// (Yan, Long and Zhang, *StreamScan*, PPoPP 2013.)
///
/// # Safety
/// See [`scan`](super) and, for `status`, [`status`](super::status). `input` and `output` are aligned to 16 bytes.
#[rung(
    after = scan_reduce_first,
    lesson = "one launch reads once and writes once: prefixes pass from each block to the next",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS,
    single_pass
)]
pub unsafe fn scan_chained<const BLOCK: u32>(input: *const i32, output: *mut i32, status: *mut u64, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TICKET: MaybeUninit<u32> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut PREFIX: MaybeUninit<i32> = MaybeUninit::uninit();
    let (warp_sums, shared) = ((&raw mut WARP_SUMS).cast::<i32>(), (&raw mut PREFIX).cast::<i32>());
    let tid = thread::thread_idx_x();
    // SAFETY: `status` points to the words for this launch. All threads of the block call `next_tile`, and nothing else
    // uses `TICKET`.
    let (status, tile) = unsafe {
        let status = Status::open(status);
        (status, super::next_tile(status, (&raw mut TICKET).cast()))
    };

    // SAFETY: a tile of the input starts at a multiple of 16 bytes, and no thread writes the input.
    let (sums, warp_sum) = unsafe { SumTile::load::<BLOCK>(input, tile, n) }.scan();
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    let before = unsafe { sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, warp_sum) };
    if tid == BLOCK - 1 {
        let prefix = if tile == 0 {
            0_i32
        } else {
            loop {
                // SAFETY: the previous tile has a word, and its block has started, because that block's ticket is
                // smaller.
                if let (State::Prefix, sum) = unsafe { status.read(tile - 1) } {
                    break sum;
                }
            }
        };
        // SAFETY: `status` has a word for this tile.
        unsafe { status.publish(tile, State::Prefix, prefix.wrapping_add(before).wrapping_add(warp_sum)) };
        // SAFETY: one thread writes `shared`, and no thread reads it before the barrier.
        unsafe { *shared = prefix };
    }
    thread::sync_threads();
    // SAFETY: the word was written before the barrier.
    let prefix = unsafe { *shared };
    // SAFETY: a tile of the output starts at a multiple of 16 bytes, and no other thread writes its elements.
    unsafe { sums.store::<BLOCK>(output, tile, n, before.wrapping_add(prefix)) };
    if tid == 0 {
        // SAFETY: each block calls `finish` once, at its end.
        unsafe { status.finish() };
    }
}
