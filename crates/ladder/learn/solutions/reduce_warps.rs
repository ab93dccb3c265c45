//! Hints:
//!
//! 1. `let (warp, lane) = (t / 32, t % 32);`
//! 2. In the first warp, lanes below 8 take `*tile.add(lane)`, the other lanes 0, and all 32 call `warp_sum`.
//! 3. `if warp == 0` is a question that all lanes of a warp answer alike, so they may shuffle inside.
//!
//! Barriers are counted as arrivals of warps: 8 warps, 9 barriers before, and 1 now.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*, warp};

/// The sum of the values of a warp's lanes, in each of them.
///
/// # Safety
/// All lanes of the warp call it together.
unsafe fn warp_sum(value: i32) -> i32 {
    let mut sum = value;
    let mut bits = 16;
    while bits > 0 {
        // SAFETY: all lanes are here.
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, bits, 32) }.0;
        bits /= 2;
    }
    sum
}

/// # Safety
/// `input` points to `n` elements, `output` to one for each block. The grid has blocks of 256 threads, and a thread for
/// each element, or more.
#[kernel]
pub unsafe fn reduce_warps(input: *const i32, output: *mut i32, n: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: in bounds, by the guards; all lanes of a warp take the same way to where they shuffle.
    unsafe {
        let own = if i < n as usize { *input.add(i) } else { 0 };
        #[address_space(shared)]
        static mut TILE: MaybeUninit<[i32; 8]> = MaybeUninit::uninit();
        let tile = (&raw mut TILE).cast::<i32>();
        let (warp, lane) = (t / 32, t % 32);
        let sum = warp_sum(own);
        if lane == 0 {
            *tile.add(warp) = sum;
        }
        thread::sync_threads();
        if warp == 0 {
            let sum = warp_sum(if lane < 8 { *tile.add(lane) } else { 0 });
            if lane == 0 {
                *output.add(thread::block_idx_x() as usize) = sum;
            }
        }
    }
}
