//! Look-back by a whole warp.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shuffle::sum_of_warps_before;
use super::status::Status;
use super::vector::{ITEMS, Tile};
use crate::operation::{Element, Max, Min, Operation, Product, Sum};

/// `scan_look_back`, except that 32 lanes read 32 words at a time.
///
/// In a look-back by one thread, each word costs a trip to the L2 cache. A warp reads the words of 32 tiles in one
/// trip, finds the nearest prefix with a vote, and adds the sums up to this prefix with shuffles.
///
/// # Safety
/// See [`scan`](super) and, for `status`, [`status`](super::status). `input` and `output` are aligned to 16 bytes.
#[rung(
    after = scan_look_back,
    lesson = "32 lanes look back at 32 tiles at a time, and a vote finds the nearest prefix",
    blocks = [512],
    default_block = 512,
    items_per_thread = ITEMS,
    single_pass,
    O = { _: Sum, product: Product, min: Min, max: Max },
    (T, WIDTH) = { _: (i32, 4), u32: (u32, 4), i64: (i64, 2), f32: (f32, 4) },
    EXCLUSIVE = { _: false, exclusive: true },
)]
pub unsafe fn scan_look_back_warp<
    T: Element,
    O: Operation<T>,
    const WIDTH: usize,
    const EXCLUSIVE: bool,
    const BLOCK: u32,
>(
    input: *const T,
    output: *mut T,
    status: *mut u64,
    n: u32,
) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[T; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut TICKET: MaybeUninit<u32> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut PREFIX: MaybeUninit<T> = MaybeUninit::uninit();
    let (warp_sums, shared) = ((&raw mut WARP_SUMS).cast::<T>(), (&raw mut PREFIX).cast::<T>());
    let tid = thread::thread_idx_x();
    // SAFETY: `status` points to the words for this launch. All threads of the block call `next_tile`, and nothing else
    // uses `TICKET`.
    let (status, tile) = unsafe {
        let status = Status::open(status);
        (status, super::next_tile(status, (&raw mut TICKET).cast()))
    };

    // SAFETY: a tile of the input starts at a multiple of 16 bytes, and no thread writes the input.
    let (sums, warp_sum) = unsafe { Tile::<T, O, WIDTH>::load::<BLOCK>(input, tile, n) }.scan_form::<EXCLUSIVE>();
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    let before = unsafe { sum_of_warps_before::<T, O, BLOCK>(warp_sums, warp_sum) };
    if tid < 32 {
        // SAFETY: the last word of `warp_sums` holds the sum of the whole tile.
        let sum = unsafe { *warp_sums.add(BLOCK as usize / 32 - 1) };
        // SAFETY: all lanes of the warp call `look_back_warp`. The blocks of all earlier tiles have started, because
        // their tickets are smaller.
        let prefix = unsafe { status.look_back_warp::<T, O>(tile, sum) };
        if tid == 0 {
            // SAFETY: one thread writes `shared`, and no thread reads it before the barrier.
            unsafe { *shared = prefix };
        }
    }
    thread::sync_threads();
    // SAFETY: the word was written before the barrier.
    let prefix = unsafe { *shared };
    // SAFETY: a tile of the output starts at a multiple of 16 bytes, and no other thread writes its elements.
    unsafe { sums.store::<BLOCK>(output, tile, n, O::combine(prefix, before)) };
    if tid == 0 {
        // SAFETY: each block calls `finish` once, at its end.
        unsafe { status.finish() };
    }
}
