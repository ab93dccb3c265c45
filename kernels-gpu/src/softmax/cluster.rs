//! A cluster of blocks per long row.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span, of_block};
use super::smallest_block;
use crate::tensor_core::tma::{cluster_arrive, cluster_rank, cluster_wait};
use crate::tensor_core::{Bf16, F16, Shared};

/// Blocks of a cluster.
pub const BLOCKS: u32 = 8;

/// Vectors of 16 bytes that a thread of a block keeps.
const fn vectors(block: u32) -> u32 {
    if block == 1024 { 8 } else { 4 }
}

/// Bytes of a row that a block keeps.
pub(super) const fn bytes(block: u32) -> u32 {
    block * vectors(block) * 16
}

/// `softmax_vector` with eight blocks for a row: a cluster, whose blocks run at the same time and access each other's shared
/// memory.
///
/// Each block combines the parts of its threads and writes the result to the shared memory of all eight blocks. A barrier of the
/// cluster follows, and then each block combines eight parts. So the row has eight times the registers. A row of 512 KB is
/// read once, where a single block would have to read it twice. Smaller blocks for rows of the same length also leave several
/// blocks on each multiprocessor, and some of them load while others store.
///
/// A block may write to the shared memory of another block only when that block has started: the first barrier. Its wait
/// follows the loads. (CUDA C++ Programming Guide, "Distributed Shared Memory".)
///
/// # Safety
/// As [`softmax`](super) says.
#[rung(
    after = softmax_vector,
    lesson = "eight blocks of a cluster share a row and exchange their parts through distributed shared memory",
    blocks = [256, 512, 1024],
    default_block = 256,
    block_for = |shape| smallest_block(shape, [256, 512, 1024], |block| BLOCKS * bytes(block)),
    fixed_block,
    cluster = 8,
    grid = |launch| [BLOCKS.saturating_mul(launch.length(0).max(1) as u32), 1, 1],
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_cluster<T: RowElement, O: RowOperation, const BLOCK: u32>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[<O as RowOperation>::Part; BLOCK as usize / 32]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BLOCK_PARTS: MaybeUninit<[u64; BLOCKS as usize]> = MaybeUninit::uninit();
    const VECTORS: usize = vectors(BLOCK) as usize;
    let (rank, tid) = (cluster_rank(), thread::thread_idx_x());
    let block_parts = (&raw mut BLOCK_PARTS).cast::<u64>();
    let row = thread::block_idx_x() / BLOCKS;
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    let span = Span { n, first: rank * BLOCK + tid, stride: BLOCKS * BLOCK };

    // SAFETY: all threads of the cluster arrive here and wait below.
    unsafe { cluster_arrive() };
    // SAFETY: the row has n elements, and no thread writes the input.
    let vectors = unsafe { span.load::<T, O, VECTORS>(input.add(first)) };
    // SAFETY: the whole block calls it, with an element for each warp.
    let part = unsafe { of_block::<O, BLOCK>((&raw mut PARTS).cast(), span.part::<T, O, VECTORS>(&vectors)) };
    // SAFETY: all threads of the cluster wait here.
    unsafe { cluster_wait() };
    if tid < BLOCKS {
        // SAFETY: block `tid` of the cluster has started, and its element `rank` has no other writer. No block ends before the
        // barrier below.
        unsafe { Shared::of(block_parts.wrapping_add(rank as usize)).store_remote(tid, O::to_word(part)) };
    }
    // SAFETY: all threads of the cluster arrive and wait here.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
    // SAFETY: all words were written before the barrier, and the whole warp calls it.
    let part = unsafe { combine_blocks::<O>(block_parts) };
    // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
    unsafe { span.store::<T, O, VECTORS>(output.add(first), &vectors, O::norm(part, n), weight) };
}

/// Combines the parts of the blocks of a cluster, for all threads.
///
/// # Safety
/// Whole warps call it. `block_parts` is shared memory with a word for each block, which no thread writes.
#[inline(always)]
pub(super) unsafe fn combine_blocks<O: RowOperation>(block_parts: *const u64) -> O::Part {
    let lane = thread::thread_idx_x() % 32;
    // SAFETY: lane < BLOCKS where a word is read.
    O::of_warp(if lane < BLOCKS { O::of_word(unsafe { *block_parts.add(lane as usize) }) } else { O::NONE })
}
