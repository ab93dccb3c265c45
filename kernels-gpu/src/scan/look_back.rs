//! Decoupled look-back: a block does not wait for the prefix of the previous block.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shuffle::sum_of_warps_before;
use super::status::Status;
use super::vector::{ITEMS, SumTile};
use crate::operation::Sum;

/// `scan_chained`, except that each block publishes the sum of its tile as soon as the sum is known.
///
/// A block looks back over the preceding tiles and adds their sums until it finds a prefix. So the block waits only
/// until these tiles have been loaded and scanned. It does not wait for the chain of all prefixes. (Merrill and
/// Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back*, 2016.)
///
/// # Safety
/// See [`scan`](super) and, for `status`, [`status`](super::status). `input` and `output` are aligned to 16 bytes.
#[rung(
    after = scan_chained,
    lesson = "blocks publish their sums before their prefixes, and look back over the sums of earlier tiles",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS,
    single_pass
)]
pub unsafe fn scan_look_back<const BLOCK: u32>(input: *const i32, output: *mut i32, status: *mut u64, n: u32) {
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
    if tid == 0 {
        // SAFETY: the last word of `warp_sums` holds the sum of the whole tile.
        let sum = unsafe { *warp_sums.add(BLOCK as usize / 32 - 1) };
        // SAFETY: the blocks of all earlier tiles have started, because their tickets are smaller.
        let prefix = unsafe { status.look_back(tile, sum) };
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
