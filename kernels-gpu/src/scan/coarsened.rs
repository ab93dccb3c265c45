//! Several elements per thread, in registers.

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::shuffle::{scan_warp, sum_of_warps_before};
use crate::operation::Sum;

/// The number of neighboring elements per thread.
const ITEMS: u32 = 8;

/// A thread scans eight neighboring elements in registers. Each warp scans only the sums of its threads.
///
/// Compared with `scan_shuffle`, the same shuffles and barriers serve eight times the data. But the addresses of a
/// warp's load are eight words apart. The load touches 32 sectors instead of 4, and the L1 cache has to keep these
/// sectors for the next loads. (Thread coarsening: *Programming Massively Parallel Processors*, section 11.5.)
///
/// # Safety
/// See [`scan`](super).
#[rung(
    after = scan_shuffle,
    lesson = "eight neighboring elements per thread: fewer exchanges per element, but strided loads and stores",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256,
    items_per_thread = ITEMS
)]
pub unsafe fn scan_coarsened<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let first = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * ITEMS;

    let mut sum = 0_i32;
    let sums: [i32; ITEMS as usize] = array::from_fn(|k| {
        let i = first + k as u32;
        // SAFETY: the input is read only if i < n.
        sum = sum.wrapping_add(if i < n { unsafe { *input.add(i as usize) } } else { 0 });
        sum
    });
    let warp_sum = scan_warp::<i32, Sum>(sum);
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    let before = unsafe { sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, warp_sum) };
    let before = before.wrapping_add(warp_sum.wrapping_sub(sum));
    for (k, sum) in sums.into_iter().enumerate() {
        let i = first + k as u32;
        if i < n {
            // SAFETY: i < n, and no other thread writes this element.
            unsafe { *output.add(i as usize) = sum.wrapping_add(before) };
        }
    }
}
