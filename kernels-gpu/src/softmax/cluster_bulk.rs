//! A resident cluster of blocks per long row, with bulk copies ahead.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread};
use rung::rung;

use super::bulk::Ring;
use super::cluster::combine_blocks;
use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span, of_block};
use super::smallest_block;
use crate::tensor_core::tma::{cluster_arrive, cluster_rank, cluster_wait};
use crate::tensor_core::{Bf16, F16, Shared};

/// Blocks of a cluster.
pub const BLOCKS: u32 = super::cluster::BLOCKS;
/// Rows of a cluster whose parts are in shared memory.
const STAGES: u32 = 2;

/// Vectors of 16 bytes that a thread of a block keeps.
const fn vectors(block: u32) -> u32 {
    if block == 1024 { 7 } else { 4 }
}

/// Bytes of a row that a block keeps, and of a stage.
pub(super) const fn bytes(block: u32) -> u32 {
    block * vectors(block) * 16
}

/// Blocks of a multiprocessor.
const fn resident(block: u32) -> u32 {
    if block == 1024 { 1 } else { 1536 / block }
}

/// `softmax_bulk` with the clusters of `softmax_cluster`: each block of a cluster copies its piece of the next rows ahead.
///
/// A block of `softmax_bulk` has two rows in shared memory, so its longest row is half of the shared memory. Eight blocks keep
/// rows of eight times that length. The words that the blocks exchange alternate between two arrays, as the parts of the
/// warps do, so each row needs one barrier of the cluster.
///
/// # Safety
/// As [`softmax`](super) says.
#[rung(
    after = softmax_bulk,
    lesson = "resident clusters: each of eight blocks copies its piece of the next rows ahead",
    blocks = [256, 512, 1024],
    default_block = 256,
    block_for = |shape| smallest_block(shape, [256, 512, 1024], |block| BLOCKS * bytes(block)),
    fixed_block,
    cluster = 8,
    grid = |launch| {
        let most = (launch.device.multiprocessors * resident(launch.block[0])).min(launch.length(3) as u32) / BLOCKS;
        [BLOCKS * (launch.length(0) as u32).min(most).max(1), 1, 1]
    },
    dynamic_shared = STAGES * bytes(BLOCK),
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_cluster_bulk<T: RowElement, O: RowOperation, const BLOCK: u32>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[[<O as RowOperation>::Part; BLOCK as usize / 32]; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BLOCK_PARTS: MaybeUninit<[[u64; BLOCKS as usize]; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIERS: MaybeUninit<[u64; STAGES as usize]> = MaybeUninit::uninit();
    const VECTORS: usize = vectors(BLOCK) as usize;
    let parts = (&raw mut PARTS).cast::<[<O as RowOperation>::Part; BLOCK as usize / 32]>();
    let block_parts = (&raw mut BLOCK_PARTS).cast::<[u64; BLOCKS as usize]>();
    let ring = Ring {
        stages: shared::dynamic_shared_mem::<u8>(),
        stage_bytes: bytes(BLOCK),
        barriers: Shared::of((&raw const BARRIERS).cast::<u64>()),
    };
    let (tid, rank, clusters) = (thread::thread_idx_x(), cluster_rank(), thread::grid_dim_x() / BLOCKS);
    // This block's piece of a row: an eighth of its vectors, rounded up.
    let piece = n.div_ceil(T::WIDTH as u32 * BLOCKS) * T::WIDTH as u32;
    let before = n.min(rank * piece);
    let span = Span { n: piece.min(n - before), first: tid, stride: BLOCK };
    let start_of = |row: u32| row as usize * n as usize + before as usize;
    let is_copied = n.is_multiple_of(T::WIDTH as u32);

    let mut row = thread::block_idx_x() / BLOCKS;
    if is_copied && tid == 0 {
        // SAFETY: the barrier of the cluster follows, and the stages are empty.
        unsafe {
            ring.init();
            for round in 0..STAGES {
                if row + round * clusters < m {
                    ring.start(round, input.add(start_of(row + round * clusters)), span.n);
                }
            }
        }
    }
    // SAFETY: all threads of the cluster arrive and wait here. Each block has started after the barrier.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
    let mut round = 0;
    while row < m {
        // SAFETY: the piece has its elements, which no thread writes. A copied piece was started STAGES rounds ago.
        let vectors: [[u32; 4]; VECTORS] = unsafe {
            match is_copied {
                true => span.load::<T, O, VECTORS>(ring.wait(round)),
                false => span.load::<T, O, VECTORS>(input.add(start_of(row))),
            }
        };
        let part = span.part::<T, O, VECTORS>(&vectors);
        // SAFETY: the whole block calls it. Rounds alternate between two arrays, so a barrier separates each read and write.
        let part = unsafe { of_block::<O, BLOCK>(parts.add(round as usize % 2).cast(), part) };
        let next = row + STAGES * clusters;
        // SAFETY: all threads have read the stage, before the barrier in `of_block`. Block `tid` has started, and does not end
        // before the barrier below. Its word `rank` of this round has no other writer, and no thread reads it before that.
        unsafe {
            if is_copied && tid == 0 && next < m {
                ring.start(round + STAGES, input.add(start_of(next)), span.n);
            }
            let words = block_parts.add(round as usize % 2).cast::<u64>();
            if tid < BLOCKS {
                Shared::of(words.add(rank as usize)).store_remote(tid, O::to_word(part));
            }
            cluster_arrive();
            cluster_wait();
            let norm = O::norm(combine_blocks::<O>(words), n);
            span.store::<T, O, VECTORS>(
                output.add(start_of(row)),
                &vectors,
                norm,
                weight.wrapping_add(before as usize),
            );
        }
        (row, round) = (row + clusters, round + 1);
    }
}
