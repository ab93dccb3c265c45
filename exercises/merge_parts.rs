//! Merge: the maximum and the sum of a warp.
//!
//! A warp computes the softmax of a row. Each lane visits every 32nd element and keeps a *part*: the maximum of its
//! elements, and the sum of their `exp(x - maximum)`. A butterfly of shuffles merges the parts, until each lane has the
//! part of the whole row.
//!
//! Complete `merge`. The sums of two parts are relative to different maxima, so `merge` cannot simply add them. A row
//! may have fewer than 32 elements. A lane without elements has the part (-∞, 0), and `merge` may receive two such
//! parts.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Returns e to the power `x`.
fn exp(x: f32) -> f32 {
    GpuFloat::exp2(x * core::f32::consts::LOG2_E)
}

/// Returns the part that covers the elements of two parts. A part is a maximum and a sum.
fn merge((max, sum): (f32, f32), (other_max, other_sum): (f32, f32)) -> (f32, f32) {
    // TODO: make both sums relative to the same maximum.
    (max.max(other_max), sum + other_sum)
}

/// # Safety
/// `input` and `output` point to a row of `n` elements for each block of one warp. No element is infinite.
#[kernel]
pub unsafe fn merge_parts(input: *const f32, output: *mut f32, n: u32) {
    let lane = thread::thread_idx_x();
    let first = (thread::block_idx_x() * n) as usize;
    // SAFETY: the row has n elements, and k < n in both loops.
    let value = |k: u32| unsafe { *input.add(first + k as usize) };
    let mut part = (f32::NEG_INFINITY, 0.0);
    let mut k = lane;
    while k < n {
        // A single element is a part with the sum 1.
        part = merge(part, (value(k), 1.0));
        k += 32;
    }
    for bits in [16, 8, 4, 2, 1] {
        // SAFETY: all lanes of the warp shuffle together.
        let (max, sum) = unsafe {
            (warp::warp_shuffle_xor(u32::MAX, part.0, bits, 32).0, warp::warp_shuffle_xor(u32::MAX, part.1, bits, 32).0)
        };
        part = merge(part, (max, sum));
    }
    let mut k = lane;
    while k < n {
        // SAFETY: k < n, and no other lane accesses this element of the output.
        unsafe { *output.add(first + k as usize) = exp(value(k) - part.0) / part.1 };
        k += 32;
    }
}
