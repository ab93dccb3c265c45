//! A cluster of blocks per long row.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span};
use super::smallest_block;
use super::vector::{THREAD_BYTES, bytes};
use crate::tensor_core::tma::{cluster_arrive, cluster_rank, cluster_wait};
use crate::tensor_core::{Bf16, F16, Shared};

/// The number of blocks in a cluster.
pub const BLOCKS: u32 = 8;

/// `softmax_vector` with a cluster of eight blocks per row. The blocks of a cluster run at the same time and can access
/// each other's shared memory.
///
/// Each warp combines the parts of its lanes and writes the result to the shared memory of all eight blocks. A barrier
/// of the cluster follows, and then each warp combines the parts of all warps. So eight times the registers are
/// available for a row, and a row of 512 KB is read only once.
///
/// A block may write to the shared memory of another block only after that block has started. The kernel's first
/// barrier ensures this order. Threads arrive at this barrier before the loads and wait after them. (CUDA C++
/// Programming Guide, "Distributed Shared Memory".)
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_vector,
    lesson = "eight blocks of a cluster share a row and exchange their parts through distributed shared memory",
    blocks = [256, 512, 1024],
    default_block = 256,
    block_for = |shape| smallest_block(shape, [256, 512, 1024], |block| BLOCKS * bytes(block)),
    fixed_block,
    cluster = BLOCKS,
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
    static mut PARTS: MaybeUninit<[u64; WARPS]> = MaybeUninit::uninit();
    const COUNT: usize = THREAD_BYTES as usize / size_of::<T>();
    const WARPS: usize = (BLOCKS * BLOCK / 32) as usize;
    let row = thread::block_idx_x() / BLOCKS;
    if row >= m {
        return;
    }
    let first = row as usize * n as usize;
    let span = Span { n, first: cluster_rank() * BLOCK + thread::thread_idx_x(), stride: BLOCKS * BLOCK };

    // SAFETY: all threads of the cluster arrive here and wait below.
    unsafe { cluster_arrive() };
    // SAFETY: the row has n elements, and no thread writes the input.
    let mut values: [f32; COUNT] = unsafe { span.load::<T, O, COUNT>(input.add(first)) };
    let part = span.weigh::<T, O, COUNT>(&mut values);
    // SAFETY: all threads of the cluster reach this code, and after the wait all blocks have started.
    let row = unsafe {
        cluster_wait();
        of_cluster::<O, BLOCKS, { WARPS / 32 }>((&raw mut PARTS).cast(), part)
    };
    // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
    unsafe { span.store::<T, O, COUNT>(output.add(first), &values, O::factor(part, row, n), weight) };
}

/// Combines the parts of all threads of a cluster of `BLOCKS` blocks and returns the result to all threads. Each warp
/// writes its part to the shared memory of all blocks, so one barrier of the cluster suffices. The cluster has `32 * N`
/// warps.
///
/// # Safety
/// All threads of the cluster call the function together, and all blocks have started. `words` is shared memory with a
/// word for each warp of the cluster, at the same offset in each block. No thread reads the words after the next
/// barrier of the cluster.
#[inline(always)]
pub(super) unsafe fn of_cluster<O: RowOperation, const BLOCKS: u32, const N: usize>(
    words: *mut u64,
    part: O::Part,
) -> O::Part {
    let (tid, warps) = (thread::thread_idx_x(), 32 * N as u32 / BLOCKS);
    let (warp, lane) = (cluster_rank() * warps + tid / 32, tid % 32);
    let part = O::of_warp([part]);
    if lane < BLOCKS {
        // SAFETY: block `lane` has started, and does not end before the barrier. Only this warp writes the word, and no
        // thread reads the word before the barrier.
        unsafe { Shared::of(words.add(warp as usize)).store_remote(lane, O::to_word(part)) };
    }
    // SAFETY: all threads of the cluster arrive and wait here.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
    // SAFETY: the cluster has 32 * N warps, which wrote their words before the barrier.
    O::of_warp(array::from_fn::<_, N, _>(|i| O::of_word(unsafe { *words.add(32 * i + lane as usize) })))
}
