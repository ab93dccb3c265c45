//! The wrapping sum of `n` 32-bit integers, from additions by pairs of threads to warp shuffles.
//!
//! Every rung is one kernel in one file. All rungs except `reduce_one_launch` and `reduce_atomic` have the same
//! parameters and the same result: block `b` writes the sum of its slice of `input` to `output[b]`, and the host adds
//! these partial sums. `reduce_one_launch` and `reduce_atomic` compute the sum of all elements. A block's slice has one
//! element per thread, or 2, 4 or 8 in some rungs. The grid has just enough blocks for `n` elements, and one block for
//! `n` = 0.
//!
//! # Where the rungs come from
//!
//! The rungs up to `reduce_complete_unroll` follow *Divergent Warps (Example: Sum Reduction)*, an article based on
//! *Professional CUDA C Programming* (Cheng, Grossman and McKercher, 2014). The descriptions of these rungs name the
//! article's sections and kernels. "The article measures" refers to the article's measurements from January 2022,
//! relative to the first rung. For these measurements, the kernels were compiled for compute capability 7.5 and
//! profiled with Nsight Compute. `reduce_shfl` follows a different article, which its description names.
//!
//! The article's kernels are correct only if `n` is a multiple of the number of elements that a block adds. The kernels
//! here are correct for every `n` up to 2^31 - 1. They differ in three ways, which do not affect full blocks:
//! - no thread returns before a barrier at which other threads wait; instead, each thread checks in each round that its
//!   pair exists (`tid + stride < len`);
//! - if a thread adds several elements at once, the last block adds only the elements that exist;
//! - the last warp synchronizes between reading a neighbor's value and writing a value, because threads of a warp have
//!   not run in lockstep since Volta (`reduce_unroll_warps8`).
//!
//! # Safety
//! For all kernels, `input` points to `n` elements and `output` to one element per block, in device memory that nothing
//! else uses during the launch. The block is one-dimensional, and its size is a power of two from 64 to 1024. If the
//! kernel's name contains a size, the block has that size. The grid has the size that the rung describes.

use rung::Rung;

pub mod any;
pub mod atomic;
pub mod complete_unroll;
pub mod complete_unroll_warps8;
pub mod gmem;
pub mod gmem_unroll4;
pub mod grid_stride;
pub mod interleaved;
pub mod neighbored;
pub mod neighbored_less;
pub mod one_launch;
pub mod shfl;
pub mod smem;
pub mod smem_dyn;
pub mod smem_unroll4;
pub mod smem_unroll4_dyn;
pub mod unroll_warps8;
pub mod unrolling2;
pub mod unrolling4;
pub mod unrolling8;
pub mod vector;

/// The rungs, in the order of the ladder.
pub const RUNGS: &[Rung] = &[
    neighbored::REDUCE_NEIGHBORED,
    neighbored_less::REDUCE_NEIGHBORED_LESS,
    interleaved::REDUCE_INTERLEAVED,
    unrolling2::REDUCE_UNROLLING2,
    unrolling4::REDUCE_UNROLLING4,
    unrolling8::REDUCE_UNROLLING8,
    unroll_warps8::REDUCE_UNROLL_WARPS8,
    complete_unroll_warps8::REDUCE_COMPLETE_UNROLL_WARPS8,
    complete_unroll::REDUCE_COMPLETE_UNROLL,
    gmem::REDUCE_GMEM,
    gmem_unroll4::REDUCE_GMEM_UNROLL4,
    smem::REDUCE_SMEM,
    smem_dyn::REDUCE_SMEM_DYN,
    smem_unroll4::REDUCE_SMEM_UNROLL4,
    smem_unroll4_dyn::REDUCE_SMEM_UNROLL4_DYN,
    shfl::REDUCE_SHFL,
    grid_stride::REDUCE_GRID_STRIDE,
    vector::REDUCE_VECTOR,
    one_launch::REDUCE_ONE_LAUNCH,
    atomic::REDUCE_ATOMIC,
    any::REDUCE_ANY,
];
