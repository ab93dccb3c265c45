//! 16-byte loads, and no loop.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shfl::sum_block;
use super::unrolling2::sum_items;

/// Four neighboring elements, aligned for a 16-byte load (PTX ISA §5.4.2, "Vectors"): the counterpart of CUDA C++'s
/// `int4`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Int4([i32; 4]);

/// The number of elements per thread: two loads.
const ITEMS: u32 = 8;

/// A thread loads eight elements with two 16-byte loads. Both loads are in flight before the first addition. The rest
/// is the same as in `reduce_shfl`.
///
/// Compared with `reduce_grid_stride`, the same bytes need a quarter of the load instructions, and there is no loop in
/// which each iteration waits for its loads. A block reads 32 KB, adds up the elements and ends. The multiprocessor
/// begins the next block while other blocks still add, so the hardware's block scheduler replaces the loop. The last
/// block loads single elements if its slice is incomplete.
///
/// Prediction: two 16-byte loads for each of the 2048 threads of a multiprocessor are 64 KB in flight. At 3.3 TB/s and
/// a latency of 1.5 µs, each of 132 multiprocessors needs only 40 KB in flight. So memory is the limit, and the rung
/// should reach about 95 % of the memory's 3352 GB/s. Measured on an H100 80GB HBM3 with blocks of 1024, without the
/// host's addition of the partial sums: 335.6 µs (3200 GB/s) for 2^28 elements and 24.5 µs for 2^24. A loop over fewer
/// blocks took 343 to 350 µs, and cache hints changed nothing.
///
/// # Safety
/// See [`reduce`](super). `input` is aligned to 16 bytes.
#[rung(
    after = reduce_grid_stride,
    lesson = "16-byte loads, two in flight per thread, and no loop: memory is the limit",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 1024,
    // Below 2^22 elements, blocks of 1024 would leave some multiprocessors without a block.
    block_for = |shape| if shape[0] < 1 << 22 { [512, 1, 1] } else { [1024, 1, 1] },
    items_per_thread = ITEMS
)]
pub unsafe fn reduce_vector<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let (tid, block_idx) = (thread::thread_idx_x(), thread::block_idx_x());

    // SAFETY: `input` has n elements at a multiple of 16 bytes, which no thread writes.
    let sum = unsafe { sum_vectors::<BLOCK>(input, n) };
    // SAFETY: all threads of the block call `sum_block`, and `warp_sums` has a word for each warp.
    let sum = unsafe { sum_block::<BLOCK>(warp_sums, sum) };
    if tid == 0 {
        // SAFETY: `output` has an element for each block.
        unsafe { *output.add(block_idx as usize) = sum };
    }
}

/// Returns the sum of this thread's eight elements, or of fewer elements at the end of the input.
///
/// # Safety
/// `input` points to `n` elements that no thread writes, and is aligned to 16 bytes. The block has `BLOCK` threads.
#[inline(always)]
pub(super) unsafe fn sum_vectors<const BLOCK: u32>(input: *const i32, n: u32) -> i32 {
    let (tid, start) = (thread::thread_idx_x(), thread::block_idx_x() * BLOCK * ITEMS);
    if start + BLOCK * ITEMS <= n {
        let vectors = input.wrapping_add(start as usize).cast::<Int4>().wrapping_add(tid as usize);
        // SAFETY: the block's whole slice is below n, and each slice begins at a multiple of 16 bytes.
        let (near, far) = unsafe { ((*vectors).0, (*vectors.add(BLOCK as usize)).0) };
        return near.into_iter().chain(far).sum();
    }
    // SAFETY: `input` has n elements that no thread writes.
    unsafe { sum_items::<{ ITEMS as usize }>(input, start + tid, BLOCK, n) }
}
