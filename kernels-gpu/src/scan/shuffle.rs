//! Warp shuffles: a warp scans in registers.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread, warp};
use rung::rung;

use crate::operation::{Element, Operation, Sum};

/// Each warp scans 32 elements with five shuffles. The first warp scans the sums of the warps in the same way.
///
/// Unlike in `scan_padded`, threads exchange values between registers in each round. Two barriers replace one barrier
/// per tree level. Hillis and Steele's rounds do more additions than the tree, but a warp's addition costs the same for
/// one lane as for 32 lanes.
///
/// # Safety
/// See [`scan`](super).
#[rung(
    after = scan_padded,
    lesson = "warps scan in registers with shuffles; shared memory carries one sum per warp",
    blocks = [64, 128, 256, 512, 1024],
    default_block = 256
)]
pub unsafe fn scan_shuffle<const BLOCK: u32>(input: *const i32, output: *mut i32, n: u32) {
    #[address_space(shared)]
    static mut WARP_SUMS: MaybeUninit<[i32; BLOCK as usize / 32]> = MaybeUninit::uninit();
    let warp_sums = (&raw mut WARP_SUMS).cast::<i32>();
    let i = thread::block_idx_x() * BLOCK + thread::thread_idx_x();

    // SAFETY: the input is read only if i < n.
    let value = if i < n { unsafe { *input.add(i as usize) } } else { 0 };
    let sum = scan_warp::<i32, Sum>(value);
    // SAFETY: all threads of the block call `sum_of_warps_before`, and `warp_sums` has a word for each warp.
    let before = unsafe { sum_of_warps_before::<i32, Sum, BLOCK>(warp_sums, sum) };
    if i < n {
        // SAFETY: i < n, and no other thread writes this element.
        unsafe { *output.add(i as usize) = sum.wrapping_add(before) };
    }
}

/// Returns the sum of the values of this lane and the lanes before it. All 32 lanes must call the function together.
#[inline(always)]
pub(crate) fn scan_warp<T: Element, O: Operation<T>>(value: T) -> T {
    let mut sum = value;
    for stride in [1, 2, 4, 8, 16] {
        // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
        let (before, exists) = unsafe { warp::warp_shuffle_up(u32::MAX, sum, stride, 32) };
        sum = O::combine(if exists { before } else { O::IDENTITY }, sum);
    }
    sum
}

/// Returns the sum of the values of the lanes before this one. `sum` is the result of [`scan_warp`] for this lane's
/// `value`. All 32 lanes must call the function together.
#[inline(always)]
pub(super) fn sum_of_lanes_before<T: Element, O: Operation<T>>(sum: T, value: T) -> T {
    // For integer sums, a subtraction replaces the shuffle.
    if let Some(before) = O::undo(sum, value) {
        return before;
    }
    // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
    let (before, exists) = unsafe { warp::warp_shuffle_up(u32::MAX, sum, 1, 32) };
    if exists { before } else { O::IDENTITY }
}

/// Sums the values of a warp's lanes and returns the sum to every lane. All 32 lanes must call the function together.
#[inline(always)]
pub(super) fn sum_warp<T: Element, O: Operation<T>>(mut sum: T) -> T {
    for lane_mask in [16, 8, 4, 2, 1] {
        // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
        sum = O::combine(sum, unsafe { warp::warp_shuffle_xor(u32::MAX, sum, lane_mask, 32) }.0);
    }
    sum
}

/// Returns the sum of the values of all warps before this one. `sum` is the inclusive scan of this warp's values.
///
/// # Safety
/// All threads of a block of `BLOCK` call the function together. `warp_sums` is shared memory with an element for each
/// warp, which nothing else uses.
#[inline(always)]
pub(crate) unsafe fn sum_of_warps_before<T: Element, O: Operation<T>, const BLOCK: u32>(
    warp_sums: *mut T,
    sum: T,
) -> T {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    if lane == 31 {
        // SAFETY: `warp_sums` has an element for each warp.
        unsafe { *warp_sums.add(warp as usize) = sum };
    }
    thread::sync_threads();
    if warp == 0 {
        // SAFETY: an element is accessed only if lane < BLOCK / 32, and all elements were written before the barrier.
        let total = if lane < BLOCK / 32 { unsafe { *warp_sums.add(lane as usize) } } else { O::IDENTITY };
        let total = scan_warp::<T, O>(total);
        if lane < BLOCK / 32 {
            // SAFETY: lane < BLOCK / 32, and each element has one writer.
            unsafe { *warp_sums.add(lane as usize) = total };
        }
    }
    thread::sync_threads();
    // SAFETY: `warp_sums` has an element for each earlier warp.
    if warp > 0 { unsafe { *warp_sums.add(warp as usize - 1) } } else { O::IDENTITY }
}
