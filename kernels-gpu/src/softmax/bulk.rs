//! Resident clusters, with bulk copies ahead of the computation.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;
use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread, warp};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span};
use super::smallest_block;
use crate::tensor_core::tma::{self, Mbarrier, cluster_arrive, cluster_rank, cluster_wait};
use crate::tensor_core::{Bf16, F16, Shared};

/// Rows of a cluster whose pieces are in shared memory.
const STAGES: u32 = 3;

/// Bytes of a row that a block keeps, and of a stage.
const PIECE_BYTES: u32 = 64 << 10;

/// Blocks of a cluster. A row of two pieces is common, and more blocks would share it less evenly.
const fn blocks(block: u32) -> u32 {
    if block == 1024 { 8 } else { 2 }
}

/// Bytes of a row that a cluster keeps.
pub(super) const fn bytes(block: u32) -> u32 {
    blocks(block) * PIECE_BYTES
}

/// Returns the clusters that run at the same time: one block on each multiprocessor. The multiprocessors of a cluster are in one
/// processing cluster of the GPU (GPC). The GPCs of an H100 have up to 18 multiprocessors, so clusters of eight leave some idle:
/// there are 15 of them at a time on its 132 multiprocessors (`cuOccupancyMaxActiveClusters`).
fn resident(block: u32, multiprocessors: u32) -> u32 {
    (multiprocessors / blocks(block) - u32::from(block == 1024 && multiprocessors > 8)).max(1)
}

/// `softmax_cluster` with clusters that stay and compute one row after another. The copies of the next rows are in flight while
/// a cluster computes a row.
///
/// In `softmax_cluster`, a block of 1024 threads fills a multiprocessor. It loads, computes, stores and ends, and nothing loads
/// while it computes. Here one thread of each block starts a bulk copy (`cp.async.bulk`) of its piece of a row to shared memory,
/// three rows ahead.
///
/// A barrier of the cluster waits until the stores of all its threads have reached memory. Here these are the outputs of a row,
/// so the next row would wait for them. An asynchronous store (`st.async`) signals an mbarrier of the other block when its word
/// has arrived, and nothing else waits. The words of successive rows alternate between two arrays. Each warp also arrives at the
/// mbarriers, because it has read the words of the row before. When a warp has all words of a row, all warps of its block have
/// read their pieces, so the next copy to the stage can start.
///
/// A bulk copy needs an address and a length that are multiples of 16 bytes. Other rows are loaded element by element.
///
/// # Safety
/// As [`softmax`](super) says.
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
    static mut WORDS: MaybeUninit<[[u64; WARPS]; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut EXCHANGES: MaybeUninit<[u64; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIERS: MaybeUninit<[u64; STAGES as usize]> = MaybeUninit::uninit();
    const COUNT: usize = (PIECE_BYTES / BLOCK) as usize / size_of::<T>();
    let exchange = Exchange::<BLOCKS, { WARPS / 32 }> {
        words: (&raw mut WORDS).cast(),
        barriers: Shared::of((&raw const EXCHANGES).cast::<u64>()),
    };
    let ring = Ring {
        stages: shared::dynamic_shared_mem::<u8>(),
        stage_bytes: PIECE_BYTES,
        barriers: Shared::of((&raw const BARRIERS).cast::<u64>()),
    };
    let (tid, clusters) = (thread::thread_idx_x(), thread::grid_dim_x() / BLOCKS);
    // This block's piece of a row: an equal number of vectors for each block, rounded up.
    let piece = n.div_ceil(T::WIDTH as u32 * BLOCKS) * T::WIDTH as u32;
    let before = n.min(cluster_rank() * piece);
    let span = Span { n: piece.min(n - before), first: tid, stride: BLOCK };
    let start_of = |row: u32| row as usize * n as usize + before as usize;
    let is_copied = n.is_multiple_of(T::WIDTH as u32);

    let mut row = thread::block_idx_x() / BLOCKS;
    if tid == 0 {
        // SAFETY: the barrier of the cluster follows, and the stages are empty.
        unsafe {
            exchange.init();
            ring.init();
            for round in 0..STAGES {
                if is_copied && row + round * clusters < m {
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
        let mut values: [f32; COUNT] = unsafe {
            match is_copied {
                true => span.load::<T, O, COUNT>(ring.wait(round)),
                false => span.load::<T, O, COUNT>(input.add(start_of(row))),
            }
        };
        let part = span.weigh::<T, O, COUNT>(&mut values);
        // SAFETY: all threads of the cluster call it in each round.
        let of_row = unsafe { exchange.of_cluster::<O>(round, part) };
        let next = row + STAGES * clusters;
        if is_copied && tid == 0 && next < m {
            // SAFETY: all warps of the block have read the stage, because their words have arrived.
            unsafe { ring.start(round + STAGES, input.add(start_of(next)), span.n) };
        }
        // SAFETY: the piece has its elements, and no other thread accesses this thread's vectors of the output.
        unsafe {
            let weight = weight.wrapping_add(before as usize);
            span.store::<T, O, COUNT>(output.add(start_of(row)), &values, O::factor(part, of_row, n), weight);
        }
        (row, round) = (row + clusters, round + 1);
    }
}

/// The words of the warps of a cluster, `32 * N` for each of two rounds, with an mbarrier for each round.
#[derive(Clone, Copy)]
struct Exchange<const BLOCKS: u32, const N: usize> {
    words: *mut u64,
    barriers: Shared,
}

impl<const BLOCKS: u32, const N: usize> Exchange<BLOCKS, N> {
    /// Returns the mbarrier of a round.
    #[inline(always)]
    fn barrier(self, round: u32) -> Mbarrier {
        Mbarrier(self.barriers.byte_add(round % 2 * Mbarrier::BYTES))
    }

    /// Initializes the mbarriers: one thread announces the bytes of a round, and each warp of the cluster arrives.
    ///
    /// # Safety
    /// One thread of each block calls it, before a barrier of the cluster.
    #[inline(always)]
    unsafe fn init(self) {
        for round in 0..2 {
            // SAFETY: the mbarrier is in shared memory, and no thread uses it yet.
            unsafe { self.barrier(round).init(1 + 32 * N as u32) };
        }
    }

    /// Combines the parts of the threads of a cluster, for all threads.
    ///
    /// # Safety
    /// All threads of the cluster call it with the same rounds: 0, 1, 2 and so on.
    #[inline(always)]
    unsafe fn of_cluster<O: RowOperation>(self, round: u32, part: O::Part) -> O::Part {
        let (tid, warps, barrier) = (thread::thread_idx_x(), 32 * N as u32 / BLOCKS, self.barrier(round));
        let (number, lane) = (cluster_rank() * warps + tid / 32, tid % 32);
        let words = self.words.wrapping_add(round as usize % 2 * 32 * N);
        let part = O::of_warp([part]);
        // SAFETY: this warp alone writes the word. No warp still reads the word of two rounds before: this warp has waited for
        // the round before, in which each warp arrived after it had read the words of the round before that. Block `lane` does
        // not end before the word arrives, because its threads wait for it.
        unsafe {
            if tid == 0 {
                barrier.arrive_expect_tx(32 * N as u32 * 8);
            }
            // One lane arrives for all lanes of the warp.
            warp::sync_warp(u32::MAX);
            if lane < BLOCKS {
                Shared::of(words.add(number as usize)).store_async(lane, O::to_word(part), barrier);
                barrier.arrive_remote(lane);
            }
            barrier.wait(round / 2 % 2);
            O::of_warp(array::from_fn::<_, N, _>(|i| O::of_word(*words.add(32 * i + lane as usize))))
        }
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
    /// One thread calls it, before a barrier of the block.
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
    /// One thread calls it. No thread accesses the stage before [`wait`](Self::wait). The elements fit into the stage, no
    /// thread writes them, and their address and bytes are multiples of 16.
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

    /// Waits for the copy of a round, and returns its stage.
    ///
    /// # Safety
    /// The copy was started.
    #[inline(always)]
    unsafe fn wait<T>(self, round: u32) -> *const T {
        let (stage, barrier) = self.stage(round);
        // SAFETY: the barrier is in the phase of the round or in the next one, because the stage is filled again later.
        unsafe { barrier.wait(round / STAGES % 2) };
        stage.cast()
    }
}
