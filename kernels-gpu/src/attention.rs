//! Attention, the forward pass: `output` = softmax(`q` `k`ᵀ / √d) `v`. The rungs lead from a matrix of scores in memory
//! to tiles that never leave the multiprocessor.
//!
//! `q` and `output` have the shape [`batch`, `heads`, `queries`, `D`], `k` and `v` have the shape [`batch`, `kv_heads`,
//! `keys`, `D`], and all are row-major. Elements are 16-bit floats, bfloat16 or half precision. Sums are 32-bit floats.
//! A group of `heads / kv_heads` heads shares a head of `k` and `v`. In entry points with `causal` in their names,
//! query `i` sees the keys up to `i + keys - queries`, so the last query sees all keys. The output of a query that sees
//! no key is 0.
//!
//! The softmax has base 2: a score `s` becomes 2^((s - maximum) log2(e) / √d), which is one multiply-add and one `ex2`.
//! These weights are rounded to 16 bits before the multiplication by `v`. The sum of the weights uses their values
//! before this rounding.
//!
//! # Safety
//! For all kernels, `q`, `k`, `v` and `output` point to tensors of these shapes in device memory. Each tensor has fewer
//! than 2^31 elements and is aligned to 16 bytes, and nothing else uses it during the launch. `kv_heads` divides
//! `heads`. The number at the end of the kernel's name is the number of threads in the block. The grid has the size
//! that the rung describes. Each tensor map describes the tensor in its name, with three dimensions (`D`, the length,
//! all heads) and boxes of 64 columns, with a 128-byte swizzle.

#[cfg(not(target_arch = "nvptx64"))]
use rung::Rung;

use crate::exp2::exp2;

pub mod cp_async;
mod hopper;
pub mod mma;
pub mod naive;
pub mod overlapped;
pub mod persistent;
pub mod ping_pong;
pub mod tiled;
pub mod wgmma;

/// The rungs, in the order of the ladder.
// Only the host has this list: some modules are not compiled for older GPUs, because their instructions need a newer
// architecture.
#[cfg(not(target_arch = "nvptx64"))]
pub const RUNGS: &[Rung] = &[
    naive::ATTENTION_NAIVE,
    tiled::ATTENTION_TILED,
    mma::ATTENTION_MMA,
    cp_async::ATTENTION_CP_ASYNC,
    wgmma::ATTENTION_WGMMA,
    ping_pong::ATTENTION_PING_PONG,
    overlapped::ATTENTION_OVERLAPPED,
    persistent::ATTENTION_PERSISTENT,
];

/// Returns log2(e) / √`d`, the factor that converts a score to an exponent of 2.
const fn exponent_scale(d: u32) -> f32 {
    // The square root of 2 if the exponent of d is odd.
    let root = if d.trailing_zeros().is_multiple_of(2) { 1.0 } else { core::f64::consts::SQRT_2 };
    (core::f64::consts::LOG2_E / (root * (1 << (d.trailing_zeros() / 2)) as f64)) as f32
}

/// Returns the number of keys that a query sees, counted from the first key.
#[inline(always)]
fn keys_seen<const CAUSAL: bool>(query: u32, queries: u32, keys: u32) -> u32 {
    if CAUSAL { (query + 1 + keys).saturating_sub(queries).min(keys) } else { keys }
}
