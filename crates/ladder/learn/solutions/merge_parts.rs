//! Hints:
//!
//! 1. The larger of the two maxima is the maximum of all elements. Multiplying a sum by `exp(max - larger)` makes it
//!    relative to the larger maximum.
//! 2. If both maxima are -∞, their difference is NaN. A part without elements has the sum 0 for any maximum.
//! 3. `(larger, sum * exp(max - larger) + other_sum * exp(other_max - larger))`, unless `larger` is -∞.
//!
//! Like a sum or a maximum, the merge is associative (except for rounding), and the order of its operands does not
//! matter. So a warp, a block or a cluster can merge parts along any tree. The kernels of the ladder save exponentials:
//! the warp first finds its maximum, then each lane rescales its sum once, and then the warp adds up the sums.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// Returns e to the power `x`.
fn exp(x: f32) -> f32 {
    GpuFloat::exp2(x * core::f32::consts::LOG2_E)
}

/// Returns the part that covers the elements of two parts. A part is a maximum and a sum.
fn merge((max, sum): (f32, f32), (other_max, other_sum): (f32, f32)) -> (f32, f32) {
    let larger = max.max(other_max);
    if larger == f32::NEG_INFINITY {
        return (larger, 0.0);
    }
    (larger, sum * exp(max - larger) + other_sum * exp(other_max - larger))
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
