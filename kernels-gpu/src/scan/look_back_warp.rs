//! Look-back by a whole warp.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shuffle::sum_of_warps_before;
use super::status::Status;
use super::vector::{ITEMS, Tile};

/// `scan_look_back`, with 32 lanes that read 32 words at a time.
///
/// A look-back of one thread makes a trip to the L2 cache for each word. A warp reads the words of 32 tiles in one trip, finds
/// the nearest prefix by a vote, and adds the sums up to there with shuffles.
///
/// # Safety
/// As [`scan`](super) says; `input` and `output` are multiples of 16, and `status` has what [`status`](super::status) says.
#[rung(
    after = scan_look_back,
    lesson = "32 lanes look back at 32 tiles at a time, and a vote finds the nearest prefix",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 512,
    items_per_thread = ITEMS,
    single_pass
)]
pub unsafe fn scan_look_back_warp<const BLOCK: u32>(input: *const i32, output: *mut i32, status: *mut u64, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TICKET: MaybeUninit<u32> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut PREFIX: MaybeUninit<i32> = MaybeUninit::uninit();
    let (warp_sums, shared) = ((&raw mut WARP_SUMS).cast::<i32>(), (&raw mut PREFIX).cast::<i32>());
    let tid = thread::thread_idx_x();
    // SAFETY: the contract says what `status` is. The whole block takes the ticket, and nothing else uses its word.
    let (status, tile) = unsafe {
        let status = Status::open(status);
        (status, super::next_tile(status, (&raw mut TICKET).cast()))
    };

    // SAFETY: a tile of the input starts at a multiple of 16 bytes, and no thread writes the input.
    let (sums, warp_sum) = unsafe { Tile::load::<BLOCK>(input, tile, n) }.scan();
    // SAFETY: the whole block calls it, with a word for each warp.
    let before = unsafe { sum_of_warps_before::<BLOCK>(warp_sums, warp_sum) };
    if tid < 32 {
        // SAFETY: the last word has the sum of the whole tile.
        let sum = unsafe { *warp_sums.add(BLOCK as usize / 32 - 1) };
        // SAFETY: the whole warp calls it, and the blocks of the tiles before this one have smaller tickets.
        let prefix = unsafe { status.look_back_warp(tile, sum) };
        if tid == 0 {
            // SAFETY: no thread reads the word before the barrier.
            unsafe { *shared = prefix };
        }
    }
    thread::sync_threads();
    // SAFETY: the word was written before the barrier.
    let prefix = unsafe { *shared };
    // SAFETY: as for the input, and no other thread writes these elements.
    unsafe { sums.store::<BLOCK>(output, tile, n, before.wrapping_add(prefix)) };
    if tid == 0 {
        // SAFETY: once for each block, at its end.
        unsafe { status.finish() };
    }
}
