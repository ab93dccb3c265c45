//! No wave is left half empty: the tiles that do not fill one are divided along k.
//!
//! 8192 × 8192 elements are 2048 tiles of 128 × 256, and 132 SMs take them in 15.5 waves: in the last one,
//! `gemm_persistent` leaves 64 SMs idle for the time of a tile, 3 % of the whole. With 16 waves and a bit it would be 6
//! %.
//!
//! Here the tiles beyond the whole waves come first, as one row of stages that all blocks share evenly ("stream-K":
//! Osama, Merrill, Cecka, Garland, Owens, *Stream-K: Work-Centric Parallel Decomposition for Dense Matrix-Matrix
//! Multiplication on the GPU*, 2023). A block's share ends somewhere in a tile and begins somewhere in another. The
//! sums of what it has of a tile's beginning go to memory; who has a tile's end waits for those of the blocks before
//! it, adds them, and writes the tile. A block goes through its share from the end to the beginning, so that it hands
//! over first and waits last, and it waits only for blocks with smaller numbers, which were launched before it.
//!
//! To hand sums over costs some microseconds. Where the idle SMs of a last wave would cost less, and where there is no
//! whole wave, all tiles go whole.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device, device_thread_fence};
use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::large_tile::{A_BOXES, B_BOXES, COLUMNS, CONSUMERS, ROWS, SUMS};
use super::persistent::{Buffers, LAYOUT, SLOTS, STAGES, multiply_stages};
use super::stage::{depth, fill, stages};
use super::staged_output::{Staged, store_sums};
use super::tiles::corner;
use crate::tensor_core::barrier::sync_some;
use crate::tensor_core::element::Element;
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::registers;
use crate::tensor_core::tensor_map::wait_for_stores;
use crate::tensor_core::wgmma::{BOX_ROWS, Finish, Sums};
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_STREAM_K];

/// The stages that handing sums over costs as much as.
const HANDOVER: u32 = 12;

products! {
    /// `gemm_persistent` with the tiles that do not fill a wave divided along k.
    gemm_stream_k for [384] threads;
    shared Buffers::bytes(LAYOUT);
    rung Rung::USUAL {
        geometry: Geometry::Own { elements: ROWS * COLUMNS, blocks: BlockCount(|_| MULTIPROCESSORS) },
        lesson: "stream-K: the tiles that do not fill a wave are divided along k, so that no SM is idle at the end",
    };
    formats [bf16];
    tensor_maps_and_workspace => stream_k
}

/// What a block multiplies at a time: stages `first` to `end` of a tile.
#[derive(Clone, Copy)]
struct Piece {
    tile: u32,
    first: u32,
    end: u32,
}

/// How the tiles are shared.
#[derive(Clone, Copy)]
struct Shares {
    tiles: u32,
    /// The stages of a tile.
    depth: u32,
    /// The first tiles, which are divided.
    divided: u32,
}

/// The number of blocks, among which the tiles are shared.
#[inline(always)]
fn blocks() -> u32 {
    thread::grid_dim_x().max(1)
}

impl Shares {
    #[inline(always)]
    fn of(tiles: u32, depth: u32) -> Self {
        let blocks = blocks();
        let beyond = tiles % blocks;
        let gain = (blocks - beyond) * depth;
        let divided = if tiles > blocks && beyond > 0 && gain > HANDOVER * blocks { beyond } else { 0 };
        Self { tiles, depth: depth.max(1), divided }
    }

    /// The first stage of a block's share, counted through all divided tiles; that of the next block is its end.
    #[inline(always)]
    fn start(&self, block: u32) -> u32 {
        let all = u64::from(self.divided * self.depth);
        (all * u64::from(block) / u64::from(blocks())) as u32
    }

    /// The pieces of a block.
    #[inline(always)]
    fn of_block(self, block: u32) -> Pieces {
        // Divisions of 64 bits that most shapes can do without.
        let (start, end) = if self.divided > 0 { (self.start(block), self.start(block + 1)) } else { (0, 0) };
        Pieces { shares: self, start, end, tile: self.divided + block }
    }
}

/// The pieces that a block has yet to multiply.
struct Pieces {
    shares: Shares,
    /// What is left of its share of the divided tiles.
    start: u32,
    end: u32,
    /// Its next whole tile.
    tile: u32,
}

impl Pieces {
    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        let Shares { depth, tiles, .. } = self.shares;
        if self.start < self.end {
            let tile = (self.end - 1) / depth;
            let begin = tile * depth;
            let (first, end) = (self.start.max(begin), self.end);
            self.end = first;
            return Some(Piece { tile, first: first - begin, end: end - begin });
        }
        let tile = self.tile;
        self.tile += blocks();
        (tile < tiles).then_some(Piece { tile, first: 0, end: depth })
    }
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the bytes of [`LAYOUT`]; `workspace` has a zero for each consumer of
/// each block, and `parts` room for the sums of each. No more blocks are launched than run at a time.
#[inline(always)]
unsafe fn stream_k<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
    workspace: *mut u32,
    parts: *mut f32,
) where
    [f32; SUMS]: Sums<A>,
{
    let buffers = Buffers::of(shared, LAYOUT);
    let Buffers { barriers, .. } = buffers;
    let (group, thread) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    if thread::thread_idx_x() == 0 {
        product.prefetch();
        // SAFETY: the barrier of the block follows.
        unsafe { barriers.init(CONSUMERS * 4) };
    }
    thread::sync_threads();
    let tiles = product.m.div_ceil(ROWS) * product.n.div_ceil(COLUMNS);
    let block = thread::block_idx_x();
    let shares = Shares::of(tiles, stages::<A>(product.k));
    let mut pieces = shares.of_block(block);
    let mut at = Position::<STAGES>::START;
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumers have left it, and used when it
    // is full; the sums are touched by products only until they are finished.
    unsafe {
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                while let Some(Piece { tile, first, end }) = pieces.next() {
                    let place = corner::<ROWS, COLUMNS, 8>(tile, product.m, product.n);
                    for i in first..end {
                        barriers.empty(at.stage).wait(at.parity ^ 1);
                        let (stage, full) = (buffers.stage(at.stage), barriers.full(at.stage));
                        fill::<A, C, COLUMN_MAJOR, A_BOXES, B_BOXES>(product, place, i * depth::<A>(), stage, full);
                        at.advance();
                    }
                }
            }
            return;
        }
        registers::take::<232>();
        let consumer = group - 1;
        let report = |stage| barriers.leave(stage);
        let mut sums = [0.0; SUMS];
        while let Some(Piece { tile, first, end }) = pieces.next() {
            multiply_stages::<A, COLUMN_MAJOR>(&mut sums, consumer, &buffers, &mut at, end - first, report);
            let place = corner::<ROWS, COLUMNS, 8>(tile, product.m, product.n).down(consumer * BOX_ROWS);
            sums.finish();
            report(at.before());
            let handover = Handover { workspace, parts, consumer };
            if end < shares.depth {
                handover.give(&sums, block);
                continue;
            }
            // The blocks before this one have what is before `first`; some have no share.
            let (mut other, mut missing) = (block, first);
            while missing > 0 {
                other -= 1;
                let has = (shares.start(other + 1) - shares.start(other)).min(missing);
                if has > 0 {
                    handover.take(&mut sums, other);
                    missing -= has;
                }
            }
            store_sums::<_, _, _, SLOTS>(&sums, place, product, buffers.staging(consumer), consumer);
        }
        if thread == 0 {
            wait_for_stores::<0>();
        }
    }
}

/// The way of sums from one block to another.
#[derive(Clone, Copy)]
struct Handover {
    /// 1 for each consumer of each block whose sums are there.
    workspace: *mut u32,
    /// The sums of each consumer of each block.
    parts: *mut f32,
    consumer: u32,
}

impl Handover {
    /// The flag of this consumer in a block, and this thread's first four sums; the next four are 128 times as far.
    #[inline(always)]
    fn of_block(self, block: u32) -> (*mut u32, *mut f32) {
        let index = block * CONSUMERS + self.consumer;
        let first = (index * SUMS as u32 / 4 * 128 + thread::thread_idx_x() % 128) * 4;
        (self.workspace.wrapping_add(index as usize), self.parts.wrapping_add(first as usize))
    }

    /// Leaves this block's sums for another one.
    ///
    /// # Safety
    /// All threads of the warp group come, at most once in a launch; the workspaces are those of [`stream_k`].
    #[inline(always)]
    unsafe fn give(self, sums: &[f32; SUMS], block: u32) {
        let (flag, to) = self.of_block(block);
        // SAFETY: each thread has sums of its own, which are read when the flag is set.
        unsafe {
            for i in 0..SUMS / 4 {
                wide::store::<f32, 4>(to.add(i * 128 * 4), core::array::from_fn(|j| sums[4 * i + j]));
            }
            sync_some(1 + self.consumer, 128);
            if thread::thread_idx_x().is_multiple_of(128) {
                atomic_store_32_device(flag, Release, 1);
            }
        }
    }

    /// Waits for the sums of another block, adds them, and resets the flag for the next launch.
    ///
    /// # Safety
    /// All threads of the warp group come; the other block gives its sums, and no third one takes them.
    #[inline(always)]
    unsafe fn take(self, sums: &mut [f32; SUMS], block: u32) {
        let (flag, from) = self.of_block(block);
        // SAFETY: the sums are there when the flag is set, and nobody changes them any more.
        unsafe {
            if thread::thread_idx_x().is_multiple_of(128) {
                while atomic_load_32_device(flag, Relaxed) == 0 {}
                device_thread_fence(Acquire);
                atomic_store_32_device(flag, Relaxed, 0);
            }
            sync_some(1 + self.consumer, 128);
            for i in 0..SUMS / 4 {
                let there: [f32; 4] = wide::load(from.add(i * 128 * 4));
                for j in 0..4 {
                    sums[4 * i + j] += there[j];
                }
            }
        }
    }
}
