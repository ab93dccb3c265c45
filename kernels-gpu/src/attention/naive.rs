//! The matrix of scores in memory.

use cuda_std::{GpuFloat, thread, warp};
use rung::rung;

use super::{exp2, exponent_scale, keys_seen};
use crate::grid_barrier::GridBarrier;
use crate::tensor_core::{Bf16, Element, F16, Output};

const THREADS: u32 = 256;
/// The number of blocks per multiprocessor.
const RESIDENT: u32 = 4;

/// The naive version, which follows the formula: all scores, then the softmax of each row, then the product with `v`.
///
/// In most libraries, the three phases are separate kernels. Here they run in one launch, with grid barriers between
/// them. In the first phase, each thread computes a score. In the second phase, a warp reads a row three times: for its
/// maximum, for the weights and their sum, and to divide the weights by the sum. In the third phase, each thread
/// computes an element of the output.
///
/// The matrix has `queries` × `keys` floats for each head, so its size is quadratic. The kernel writes the matrix three
/// times and reads it four times. For 4096 queries and keys, each head has 64 MB of scores, but `q`, `k`, `v` and
/// `output` together have only 4 MB. The CUDA cores do all arithmetic, and lanes with neighboring keys read `k` from
/// rows that are `D` elements apart.
///
/// # Safety
/// See [`attention`](super). `scores` points to a float for each query and key of each head, fewer than 2^31 in total.
/// `barrier` points to a word that is 0, and the word is 0 again when the kernel ends.
#[rung(
    lesson = "all scores in memory, then the softmax of each row, then the product with v",
    blocks = [256],
    resident = RESIDENT,
    grid = |launch| {
        let longest = launch.length(2).max(launch.length(3));
        let blocks = (launch.length(0) * launch.length(1) * longest).div_ceil(THREADS.into()).max(1);
        [(launch.device.multiprocessors * RESIDENT).min(u32::try_from(blocks).unwrap_or(u32::MAX)), 1, 1]
    },
    blocks_wait,
    T = { _: Bf16, f16: F16 },
    D = { _: 128, d64: 64 },
    CAUSAL = { _: false, causal: true }
)]
pub unsafe fn attention_naive<T: Element + Output, const D: u32, const CAUSAL: bool>(
    q: *const T,
    k: *const T,
    v: *const T,
    output: *mut T,
    scores: *mut f32,
    barrier: *mut u32,
    batch: u32,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
) {
    let (first, threads) = (thread::index_1d(), thread::grid_dim_x() * THREADS);
    let (lane, warps) = (thread::thread_idx_x() % 32, threads / 32);
    // At least 1, so that the divisions need no check for zero.
    let (length, group) = (queries.max(1), (heads / kv_heads.max(1)).max(1));
    let rows = batch * heads * queries;
    let key_count = |row: u32| keys_seen::<CAUSAL>(row % length, queries, keys);
    // The first key of the head that belongs to a row of `q`.
    let first_key = |row: u32| row / length / group * keys;
    // SAFETY: the counter is 0, and only these grid barriers use it.
    let mut barrier = unsafe { GridBarrier::new(barrier) };

    let mut i = first;
    while i < rows * keys {
        let (row, key) = (i / keys.max(1), i % keys.max(1));
        if key < key_count(row) {
            let (q_row, k_row) = (row * D, (first_key(row) + key) * D);
            let mut score = 0.0;
            for d in 0..D {
                // SAFETY: row < rows and key < keys, so both elements are in their tensors.
                let (q, k) = unsafe { (*q.add((q_row + d) as usize), *k.add((k_row + d) as usize)) };
                score = GpuFloat::mul_add(q.to_f32(), k.to_f32(), score);
            }
            // SAFETY: i < rows * keys, and only one thread writes each score.
            unsafe { *scores.add(i as usize) = score };
        }
        i += threads;
    }
    // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
    unsafe { barrier.wait() };

    let mut row = first / 32;
    while row < rows {
        let row_scores = scores.wrapping_add((row * keys) as usize);
        // SAFETY: the row has these scores, which were written before the barrier. From here on, only one lane accesses
        // each score.
        unsafe {
            let mut max = f32::NEG_INFINITY;
            for key in (lane..key_count(row)).step_by(32) {
                max = max.max(*row_scores.add(key as usize));
            }
            max = of_warp(max, f32::max);
            let mut sum = 0.0;
            for key in (lane..key_count(row)).step_by(32) {
                let weight = exp2((*row_scores.add(key as usize) - max) * exponent_scale(D));
                sum += weight;
                *row_scores.add(key as usize) = weight;
            }
            let inverse = 1.0 / of_warp(sum, |a, b| a + b);
            for key in (lane..key_count(row)).step_by(32) {
                *row_scores.add(key as usize) *= inverse;
            }
        }
        row += warps;
    }
    // SAFETY: all threads of the grid call `wait`, and all blocks are resident.
    unsafe { barrier.wait() };

    let mut i = first;
    while i < rows * D {
        let row = i / D;
        let mut sum = 0.0;
        for key in 0..key_count(row) {
            // SAFETY: key < keys, so the weight and the element of `v` exist. The weights are complete after the
            // barrier.
            let (weight, v) = unsafe {
                let element = (first_key(row) + key) * D + i % D;
                (*scores.add((row * keys + key) as usize), *v.add(element as usize))
            };
            sum = GpuFloat::mul_add(weight, v.to_f32(), sum);
        }
        // SAFETY: i < rows * D, and only one thread writes each element.
        unsafe { *output.add(i as usize) = T::from_f32(sum) };
        i += threads;
    }
    // SAFETY: each block calls `finish` once, after the last grid barrier.
    unsafe { barrier.finish() };
}

/// Combines the values of a warp's lanes and returns the result to all lanes. All lanes must call the function
/// together.
#[inline(always)]
fn of_warp(mut value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    for lane_mask in [16, 8, 4, 2, 1] {
        // SAFETY: the mask names all 32 lanes, and all of them execute the shuffle.
        value = combine(value, unsafe { warp::warp_shuffle_xor(u32::MAX, value, lane_mask, 32) }.0);
    }
    value
}
