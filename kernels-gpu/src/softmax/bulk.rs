//! Resident clusters with bulk copies ahead of the computation.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread};
use rung::rung;

use super::cluster::of_cluster;
use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span};
use super::smallest_block;
use crate::tensor_core::tma::{self, Mbarrier, cluster_arrive, cluster_rank, cluster_wait};
use crate::tensor_core::{Bf16, F16, Shared};

/// The number of rows of a cluster whose pieces are in shared memory at the same time.
const STAGES: u32 = 3;

/// The number of bytes of a row that a block keeps, which is also the size of a stage.
const PIECE_BYTES: u32 = 64 << 10;

/// Returns the number of blocks in a cluster. Rows of two pieces are common, and more blocks would share such rows less
/// evenly.
const fn blocks(block: u32) -> u32 {
    if block == 1024 { 8 } else { 2 }
}

/// Returns the number of bytes of a row that a cluster keeps.
pub(super) const fn bytes(block: u32) -> u32 {
    blocks(block) * PIECE_BYTES
}

/// Returns the number of clusters that run at the same time, with one block on each multiprocessor. The multiprocessors
/// of a cluster belong to one graphics processing cluster (GPC). The GPCs of an H100 have up to 18 multiprocessors, so
/// clusters of eight leave some multiprocessors idle. On the 132 multiprocessors of an H100, 15 such clusters run at a
/// time (`cuOccupancyMaxActiveClusters`).
fn resident(block: u32, multiprocessors: u32) -> u32 {
    (multiprocessors / blocks(block) - u32::from(block == 1024 && multiprocessors > 8)).max(1)
}

/// `softmax_cluster` with resident clusters. Each cluster computes several rows one after another. While a cluster
/// computes a row, the copies of its next rows are in flight.
///
/// In `softmax_cluster`, a block of 1024 threads fills a multiprocessor. The block loads, computes, stores and ends,
/// and no other block loads while it computes. Here one thread of each block starts a bulk copy (`cp.async.bulk`) of
/// its piece of a row to shared memory, three rows ahead. After the barrier that combines the parts of a row, all
/// threads have read the stage, so the next copy to this stage can start. The words that the blocks exchange alternate
/// between two arrays, so each row needs one barrier.
///
/// A bulk copy needs an address and a length that are multiples of 16 bytes. Rows that do not meet this condition are
/// loaded element by element.
///
/// # Safety
/// See [`softmax`](super).
#[rung(
    after = softmax_cluster,
    lesson = "resident clusters: bulk copies load the next rows while a cluster computes and stores a row",
    blocks = [512, 1024],
    default_block = 512,
    block_for = |shape| smallest_block(shape, [512, 1024], bytes),
    fixed_block,
    cluster = blocks(BLOCK),
    grid = |launch| {
        let (block, rows) = (launch.block[0], launch.length(0).max(1) as u32);
        let most = resident(block, launch.device.multiprocessors).min(launch.length(3) as u32 / blocks(block));
        [blocks(block) * rows.min(most.max(1)), 1, 1]
    },
    dynamic_shared = STAGES * PIECE_BYTES,
    O = { _: Softmax, rmsnorm: RmsNorm },
    T = { _: Bf16, f16: F16, f32: f32 },
)]
pub unsafe fn softmax_bulk<T: RowElement, O: RowOperation, const BLOCK: u32>(
    input: *const T,
    output: *mut T,
    weight: *const T,
    m: u32,
    n: u32,
) {
    const BLOCKS: u32 = blocks(BLOCK);
    const WARPS: usize = (BLOCKS * BLOCK / 32) as usize;
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[[u64; WARPS]; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIERS: MaybeUninit<[u64; STAGES as usize]> = MaybeUninit::uninit();
    const COUNT: usize = (PIECE_BYTES / BLOCK) as usize / size_of::<T>();
    let parts = (&raw mut PARTS).cast::<[u64; WARPS]>();
    let ring = Ring {
        stages: shared::dynamic_shared_mem::<u8>(),
        stage_bytes: PIECE_BYTES,
        barriers: Shared::of((&raw const BARRIERS).cast::<u64>()),
    };
    let (tid, clusters) = (thread::thread_idx_x(), thread::grid_dim_x() / BLOCKS);
    // This block's piece of a row. All blocks have the same number of vectors, rounded up.
    let piece = n.div_ceil(T::WIDTH as u32 * BLOCKS) * T::WIDTH as u32;
    let before = n.min(cluster_rank() * piece);
    let span = Span { n: piece.min(n - before), first: tid, stride: BLOCK };
    let start_of = |row: u32| row as usize * n as usize + before as usize;
    let is_copied = n.is_multiple_of(T::WIDTH as u32);

    let mut row = thread::block_idx_x() / BLOCKS;
    if is_copied && tid == 0 {
        // SAFETY: a barrier of the cluster follows, and the stages are empty.
        unsafe {
            ring.init();
            for round in 0..STAGES {
                if row + round * clusters < m {
                    ring.start(round, input.add(start_of(row + round * clusters)), span.n);
                }
            }
        }
    }
    // SAFETY: all threads of the cluster arrive and wait here. After the barrier, each block has started.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
    let mut round = 0;
    while row < m {
        // SAFETY: the row has the elements of the piece, which no thread writes. If the piece is copied, its copy
        // started STAGES rounds ago.
        let mut values: [f32; COUNT] = unsafe {
            match is_copied {
                true => span.load::<T, O, COUNT>(ring.wait(round)),
                false => span.load::<T, O, COUNT>(input.add(start_of(row))),
            }
        };
        let part = span.weigh::<T, O, COUNT>(&mut values);
        // SAFETY: all threads of the cluster call `of_cluster`. Rounds alternate between two arrays, so a barrier
        // separates the reads of an array from the next writes.
        let of_row = unsafe { of_cluster::<O, BLOCKS, { WARPS / 32 }>(parts.add(round as usize % 2).cast(), part) };
        let next = row + STAGES * clusters;
        if is_copied && tid == 0 && next < m {
            // SAFETY: all threads read the stage before the barrier in `of_cluster`.
            unsafe { ring.start(round + STAGES, input.add(start_of(next)), span.n) };
        }
        // SAFETY: the row has the elements of the piece, and no other thread accesses this thread's vectors of the
        // output.
        unsafe {
            let weight = weight.wrapping_add(before as usize);
            span.store::<T, O, COUNT>(output.add(start_of(row)), &values, O::factor(part, of_row, n), weight);
        }
        (row, round) = (row + clusters, round + 1);
    }
}

/// The stages in shared memory for the rows of successive rounds.
#[derive(Clone, Copy)]
struct Ring {
    stages: *mut u8,
    stage_bytes: u32,
    barriers: Shared,
}

impl Ring {
    /// Returns the stage of a round, and its barrier.
    #[inline(always)]
    fn stage(self, round: u32) -> (*mut u8, Mbarrier) {
        let stage = round % STAGES;
        let barrier = Mbarrier(self.barriers.byte_add(stage * Mbarrier::BYTES));
        (self.stages.wrapping_add((stage * self.stage_bytes) as usize), barrier)
    }

    /// Initializes the barriers.
    ///
    /// # Safety
    /// One thread calls the method, before a barrier of the block.
    #[inline(always)]
    unsafe fn init(self) {
        for round in 0..STAGES {
            // SAFETY: the barrier is in shared memory, and no thread uses it yet.
            unsafe { self.stage(round).1.init(1) };
        }
        tma::fence_mbarrier_init();
    }

    /// Starts the copy of `n` elements to the stage of a round.
    ///
    /// # Safety
    /// One thread calls the method. No thread accesses the stage before [`wait`](Self::wait). The elements fit into the
    /// stage, no thread writes them, and their address and size in bytes are multiples of 16.
    #[inline(always)]
    unsafe fn start<T>(self, round: u32, from: *const T, n: u32) {
        let ((stage, barrier), bytes) = (self.stage(round), n * size_of::<T>() as u32);
        // SAFETY: the elements fit into the stage, and all addresses and sizes are multiples of 16.
        unsafe {
            barrier.arrive_expect_tx(bytes);
            if bytes > 0 {
                tma::load_row(from, bytes, Shared::of(stage), barrier);
            }
        }
    }

    /// Waits for the copy of a round and returns its stage.
    ///
    /// # Safety
    /// The copy has been started.
    #[inline(always)]
    unsafe fn wait<T>(self, round: u32) -> *const T {
        let (stage, barrier) = self.stage(round);
        // SAFETY: the barrier is in the phase of this round or in the next phase, because the stage is filled again
        // only after all threads have read it.
        unsafe { barrier.wait(round / STAGES % 2) };
        stage.cast()
    }
}
