//! Compaction: a ballot gives each element its index.
//!
//! Each warp must write its positive elements contiguously, in their original order, followed by zeros. The new index
//! of an element is the number of lower lanes with a positive element.
//!
//! The ballot has a bit for each lane with a positive element. The mask `(1 << lane) - 1` has the bits of the lower
//! lanes, and `count_ones()` counts bits.
//!
//! Compute `place`, the new index of the lane's element, and `count`, the number of positive elements of the warp. The
//! kernel does the rest: lanes with a positive element write it at `place`, and the last `32 - count` elements become
//! 0.

use cuda_std::{prelude::*, warp};

/// # Safety
/// `input` and `output` point to an element for each thread; the block size is a multiple of 32.
#[kernel]
pub unsafe fn compact(input: *const i32, output: *mut i32) {
    let (i, lane) = (thread::index_1d() as usize, warp::lane_id());
    let first = i - lane as usize;
    // SAFETY: the arrays have an element for each thread, each element has one writer, and all lanes vote together.
    unsafe {
        let element = *input.add(i);
        // TODO: count the positive elements of the warp, and the positive elements of lower lanes.
        let count = 32;
        let place = lane;
        if element > 0 {
            *output.add(first + place as usize) = element;
        }
        if lane >= count {
            *output.add(first + lane as usize) = 0;
        }
    }
}
