//! Rescaled sums: attention in one pass over the keys.
//!
//! A warp computes one query, and lane `l` computes column `l` of the query's output. The output is the sum of
//! `2^(score - maximum) * v` over all keys, divided by the sum of the weights `2^(score - maximum)`. Subtracting the
//! maximum keeps the powers of 2 from overflowing. But the kernel knows only the maximum of the scores so far, because
//! it reads each score once.
//!
//! When the maximum grows, all earlier weights are too large by the same factor. Correct both sums, so that they are
//! relative to the new maximum.

use cuda_std::prelude::*;

/// # Safety
/// `scores` points to `keys` floats for each block of one warp, `v` to 32 floats for each key, and `output` to 32
/// floats for each block. `keys` is not 0.
#[kernel]
pub unsafe fn rescaled_sums(scores: *const f32, v: *const f32, output: *mut f32, keys: u32) {
    let (lane, query) = (thread::thread_idx_x(), thread::block_idx_x());
    let (mut max, mut sum_of_weights, mut sum) = (f32::MIN, 0.0, 0.0);
    for key in 0..keys {
        // SAFETY: key < keys, so the score and the row of `v` exist.
        let (score, v) = unsafe { (*scores.add((query * keys + key) as usize), *v.add((key * 32 + lane) as usize)) };
        if score > max {
            // TODO: correct both sums.
            max = score;
        }
        let weight = exp2(score - max);
        sum_of_weights += weight;
        sum += weight * v;
    }
    // SAFETY: the block has 32 floats of `output`, and each lane writes a different float.
    unsafe { *output.add((query * 32 + lane) as usize) = sum / sum_of_weights };
}

/// Returns 2 to the power `x`: `ex2.approx`.
#[allow(unused, reason = "the host has no such instruction")]
fn exp2(x: f32) -> f32 {
    let mut power = x;
    // SAFETY: the instruction accesses no memory.
    unsafe {
        ptx!("ex2.approx.ftz.f32 {0}, {0};", inout(reg32) power);
    }
    power
}
