//! Bulk copies ahead of the computation.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, shared, thread};
use rung::rung;

use super::row::{RmsNorm, RowElement, RowOperation, Softmax, Span, of_block};
use super::smallest_block;
use crate::tensor_core::tma::{self, Mbarrier};
use crate::tensor_core::{Bf16, F16, Shared};

/// Rows of a block in shared memory.
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

/// Resident blocks, which compute one row after another. The copies of the next rows are in flight while a block computes a row.
///
/// In `softmax_vector`, a block loads, computes, stores and ends. The multiprocessor loads during a computation only if it has
/// other blocks, and for long rows there is one block. Here one thread starts a bulk copy (`cp.async.bulk`) of a whole row to
/// shared memory, two rows ahead. The barrier that combines the parts of a row also says that all threads have read the stage, so
/// the next copy to the stage starts there.
///
/// A bulk copy needs an address and a length that are multiples of 16 bytes. Other rows are loaded element by element.
///
/// # Safety
/// As [`softmax`](super) says.
#[rung(
    after = softmax_vector,
    lesson = "resident blocks: bulk copies load the next rows while a block computes and stores a row",
    blocks = [128, 256, 512, 1024],
    default_block = 128,
    block_for = |shape| smallest_block(shape, [128, 256, 512, 1024], bytes),
    fixed_block,
    grid = |launch| {
        let most = launch.device.multiprocessors * resident(launch.block[0]);
        [(launch.length(0).max(1) as u32).min(most).min(launch.length(3) as u32), 1, 1]
    },
    dynamic_shared = STAGES * bytes(BLOCK),
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
    #[address_space(shared)]
    static mut PARTS: MaybeUninit<[[<O as RowOperation>::Part; BLOCK as usize / 32]; 2]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIERS: MaybeUninit<[u64; STAGES as usize]> = MaybeUninit::uninit();
    const VECTORS: usize = vectors(BLOCK) as usize;
    let parts = (&raw mut PARTS).cast::<[<O as RowOperation>::Part; BLOCK as usize / 32]>();
    let ring = Ring {
        stages: shared::dynamic_shared_mem::<u8>(),
        stage_bytes: bytes(BLOCK),
        barriers: Shared::of((&raw const BARRIERS).cast::<u64>()),
    };
    let (tid, blocks, span) =
        (thread::thread_idx_x(), thread::grid_dim_x(), Span { n, first: thread::thread_idx_x(), stride: BLOCK });
    let start_of = |row: u32| row as usize * n as usize;
    let is_copied = span.is_aligned(input);

    let mut row = thread::block_idx_x();
    if is_copied && tid == 0 {
        // SAFETY: the barrier of the block follows, and the stages are empty.
        unsafe {
            ring.init();
            for round in 0..STAGES {
                if row + round * blocks < m {
                    ring.start(round, input.add(start_of(row + round * blocks)), n);
                }
            }
        }
    }
    thread::sync_threads();
    let mut round = 0;
    while row < m {
        // SAFETY: the row has n elements, which no thread writes. A copied row was started STAGES rounds ago.
        let vectors: [[u32; 4]; VECTORS] = unsafe {
            match is_copied {
                true => span.load::<T, O, VECTORS>(ring.wait(round)),
                false => span.load::<T, O, VECTORS>(input.add(start_of(row))),
            }
        };
        let part = span.part::<T, O, VECTORS>(&vectors);
        // SAFETY: the whole block calls it. Rounds alternate between two arrays, so a barrier separates each read and write.
        let part = unsafe { of_block::<O, BLOCK>(parts.add(round as usize % 2).cast(), part) };
        let next = row + STAGES * blocks;
        if is_copied && tid == 0 && next < m {
            // SAFETY: all threads have read the stage, before the barrier in `of_block`.
            unsafe { ring.start(round + STAGES, input.add(start_of(next)), n) };
        }
        // SAFETY: the row has n elements, and no other thread accesses this thread's vectors of the output.
        unsafe { span.store::<T, O, VECTORS>(output.add(start_of(row)), &vectors, O::norm(part, n), weight) };
        (row, round) = (row + blocks, round + 1);
    }
}

/// The stages in shared memory for the rows of successive rounds.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub(super) stages: *mut u8,
    pub(super) stage_bytes: u32,
    pub(super) barriers: Shared,
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
    pub(super) unsafe fn init(self) {
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
    pub(super) unsafe fn start<T>(self, round: u32, from: *const T, n: u32) {
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
    pub(super) unsafe fn wait<T>(self, round: u32) -> *const T {
        let (stage, barrier) = self.stage(round);
        // SAFETY: the barrier is in the phase of the round or in the next one, because the stage is filled again later.
        unsafe { barrier.wait(round / STAGES % 2) };
        stage.cast()
    }
}
