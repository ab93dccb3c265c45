//! Compaction: where a lane's element goes, from a ballot.
//!
//! Each warp is to write its positive elements side by side, in their order, and zeros behind them. A lane has to know how
//! many lanes before it have a positive element: that is its place.
//!
//! The ballot has a bit for each lane with a positive element. The bits of the lanes below lane `l` are those that `(1 << l) -
//! 1` has, and `count_ones()` counts them.
//!
//! Compute `place` and `count`, the number of positive elements of the warp. The rest is there: lanes with a positive element
//! write it at their place, and the last `32 - count` places get a zero each.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `input` and `output` point to an element for each thread; blocks have whole warps.
#[kernel]
pub unsafe fn compact(input: *const i32, output: *mut i32) {
    let (i, lane) = (thread::index_1d() as usize, warp::lane_id());
    let first = i - lane as usize;
    // SAFETY: in bounds; each place has one writer; all lanes vote together.
    unsafe {
        let own = *input.add(i);
        // TODO: how many positive elements the warp has, and how many of them are before this lane's.
        let count = 32;
        let place = lane;
        if own > 0 {
            *output.add(first + place as usize) = own;
        }
        if lane >= count {
            *output.add(first + lane as usize) = 0;
        }
    }
}
