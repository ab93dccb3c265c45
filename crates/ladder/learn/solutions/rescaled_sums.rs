//! Hints:
//!
//! 1. A weight was `2^(score - max)`, and should be `2^(score - new_max)`. What is the quotient of the two weights?
//! 2. The quotient does not depend on the score, so one factor corrects a whole sum.
//! 3. `let factor = exp2(max - score);` before `max` changes, and both sums are multiplied by `factor`.
//!
//! Before the first key, `max` is the smallest float and both sums are 0, so the factor does not matter. After the last
//! key, all weights are relative to the maximum of the whole row. The quotient of the sums would be the same with any
//! maximum.

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
            let factor = exp2(max - score);
            sum_of_weights *= factor;
            sum *= factor;
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
