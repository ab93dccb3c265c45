//! Stream-K: the tiles that do not fill a round of all blocks are divided along k.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device, device_thread_fence};
use cuda_std::thread;
use rung::rung;

use super::hopper::{CONSUMER_BARRIER, OutputMatrix, Position, Ring, WARP_GROUP, depth, store_through_shared};
use super::warp_specialized::{
    A_BOXES, B_BOXES, COLUMNS, CONSUMER_REGISTERS, CONSUMER_WARPS, CONSUMERS, PRODUCER_REGISTERS, ROWS, STAGE_BYTES,
    SUMS, multiply,
};
use crate::tensor_core::tma::{self, TensorMap, barrier_sync};
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{BAND, Bf16, load, store, tile_corner};

/// The number of stages in shared memory.
const STAGES: u32 = 4;
/// The number of boxes for the product per consumer: one box is written while the other is copied.
const SLOTS: u32 = 2;
/// The cost of handing sums over to another block, as the number of stages that take the same time.
const HANDOVER_STAGES: u32 = 12;

/// `gemm_persistent`, but the tiles that do not fill a round are divided along k.
///
/// A product of 8192 × 8192 elements has 2048 tiles of 128 × 256, which are 15.5 rounds of 132 multiprocessors. In the
/// last round, `gemm_persistent` leaves 64 multiprocessors idle while the other 68 compute a tile, which wastes 3 % of
/// the total time. With slightly more than 16 rounds, the loss would be 6 %.
///
/// Here the tiles beyond the whole rounds come first, as one sequence of stages that all blocks share evenly
/// ("stream-K": Osama, Merrill, Cecka, Garland, Owens, *Stream-K: Work-Centric Parallel Decomposition for Dense
/// Matrix-Matrix Multiplication on the GPU*, 2023). A block's share can begin inside one tile and end inside another.
/// If a block computes some of a tile's stages, but not the last stage, it hands its sums over through memory. The
/// block with the last stage waits for the sums of the blocks before it, adds them, and stores the tile. A block
/// processes its share from the end to the beginning, so it hands its sums over first and waits for other sums last.
/// The block waits only for blocks with smaller numbers, which were launched earlier.
///
/// Handing sums over takes a few microseconds. Tiles are not divided if idle multiprocessors in the last round would
/// cost less than the handover, or if there is no whole round.
///
/// # Safety
/// See [`gemm`](super). `workspace` holds a zero word for each consumer of each block, and `parts` holds 64 × 256
/// elements for each consumer of each block. All blocks of the grid run at the same time.
#[rung(
    after = gemm_persistent,
    lesson = "stream-K: the tiles that do not fill a wave are divided along k, so that no SM is idle at the end",
    blocks = [384],
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, CONSUMERS * SLOTS),
    row_bytes = 16,
    grid = |launch| [launch.device.multiprocessors, 1, 1],
    blocks_wait,
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_stream_k<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_map: &TensorMap,
    #[grid_constant] b_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
    workspace: *mut u32,
    parts: *mut f32,
) {
    let ring = Ring::<STAGES>::of_block(STAGE_BYTES, CONSUMERS * SLOTS);
    let (warp_group, thread) = (thread::thread_idx_x() / WARP_GROUP, thread::thread_idx_x() % WARP_GROUP);
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
    }
    thread::sync_threads();
    let block = thread::block_idx_x();
    let division = Division::new(m.div_ceil(ROWS) * n.div_ceil(COLUMNS), k.div_ceil(depth::<A>()));
    let mut pieces = division.pieces(block);
    let mut position = Position::<STAGES>::START;
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        while thread == 0
            && let Some(Piece { tile, first, end }) = pieces.next()
        {
            let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
            for i in first..end {
                let corner = [row, column, i * depth::<A>()];
                // SAFETY: one thread fills the stage, after all consumers have left the stage.
                unsafe {
                    ring.empty(position.stage).wait(position.parity ^ 1);
                    ring.fill::<COLUMN_MAJOR, A_BOXES, B_BOXES>(position.stage, [a_map, b_map], corner);
                }
                position.advance();
            }
        }
        return;
    }
    // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let consumer = warp_group - 1;
    let (output, slots) =
        (OutputMatrix { map: c_map, data: c, rows: m, columns: n }, ring.output_box(consumer * SLOTS));
    let handover = Handover { workspace, parts, consumer };
    let mut sums = [0.0; SUMS];
    while let Some(Piece { tile, first, end }) = pieces.next() {
        for i in 0..end - first {
            // SAFETY: all threads of the warp group reach this code. They use the stage only when it is full and leave
            // it only when its products have ended.
            unsafe {
                ring.full(position.stage).wait(position.parity);
                multiply::<A, COLUMN_MAJOR>(&mut sums, consumer, ring.stage(position.stage), i > 0);
                wgmma::wait::<1>();
                if i > 0 {
                    ring.leave(position.previous());
                }
            }
            position.advance();
        }
        let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
        // SAFETY: all threads of the warp group reach this code.
        unsafe {
            sums.finish();
            ring.leave(position.previous());
        }
        if end < division.depth {
            // SAFETY: a block has at most one piece without the tile's last stage, and the block with the last stage
            // takes the sums of this piece.
            unsafe { handover.give(&sums, block) };
            continue;
        }
        // SAFETY: the blocks with the stages before `first` give their sums, and only this block takes these sums.
        unsafe { handover.take_all(&mut sums, &division, block, first) };
        // SAFETY: all threads of the warp group reach this code. Only this warp group writes these rows of the tile and
        // these boxes.
        unsafe {
            store_through_shared::<_, _, SLOTS>(&sums, [row + consumer * BOX_ROWS, column], &output, slots, consumer);
        }
    }
    if thread == 0 {
        tma::wait_read::<0>();
    }
}

/// Stages `first` to `end` of a tile, which a block multiplies without a pause.
#[derive(Clone, Copy)]
struct Piece {
    tile: u32,
    first: u32,
    end: u32,
}

/// The division of tiles among the blocks of the grid.
#[derive(Clone, Copy)]
struct Division {
    tiles: u32,
    /// The number of stages in a tile.
    depth: u32,
    /// The number of tiles that are divided along k. These tiles come first.
    divided: u32,
}

/// Returns the number of blocks of the grid, in a form that the compiler knows not to be 0.
#[inline(always)]
fn blocks() -> u32 {
    thread::grid_dim_x().max(1)
}

impl Division {
    #[inline(always)]
    fn new(tiles: u32, depth: u32) -> Self {
        let blocks = blocks();
        let leftover = tiles % blocks;
        // `gain` is the number of stages for which blocks would be idle, summed over all blocks. Dividing the last
        // tiles saves `gain / blocks` stages.
        let gain = (blocks - leftover) * depth;
        let divided = if tiles > blocks && leftover > 0 && gain > HANDOVER_STAGES * blocks { leftover } else { 0 };
        Self { tiles, depth: depth.max(1), divided }
    }

    /// Returns the first stage of a block's share, numbered across all divided tiles. The share ends where the next
    /// block's share begins.
    #[inline(always)]
    fn start(&self, block: u32) -> u32 {
        let all = u64::from(self.divided * self.depth);
        (all * u64::from(block) / u64::from(blocks())) as u32
    }

    /// Returns the pieces of a block.
    #[inline(always)]
    fn pieces(self, block: u32) -> Pieces {
        // The divisions are 64-bit and slow, and most shapes do not need them.
        let (start, end) = if self.divided > 0 { (self.start(block), self.start(block + 1)) } else { (0, 0) };
        Pieces { division: self, start, end, tile: self.divided + block }
    }
}

/// The pieces that a block has not multiplied yet.
struct Pieces {
    division: Division,
    /// The remaining stages of the block's share.
    start: u32,
    end: u32,
    /// The block's next whole tile.
    tile: u32,
}

impl Pieces {
    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        let Division { depth, tiles, .. } = self.division;
        if self.start < self.end {
            let tile = (self.end - 1) / depth;
            let tile_start = tile * depth;
            let (first, end) = (self.start.max(tile_start), self.end);
            self.end = first;
            return Some(Piece { tile, first: first - tile_start, end: end - tile_start });
        }
        let tile = self.tile;
        self.tile += blocks();
        (tile < tiles).then_some(Piece { tile, first: 0, end: depth })
    }
}

/// The memory through which a consumer hands its sums over to the same consumer of another block.
#[derive(Clone, Copy)]
struct Handover {
    /// A flag for each consumer of each block. The flag is 1 when the consumer's sums have been written.
    workspace: *mut u32,
    /// The sums of each consumer of each block.
    parts: *mut f32,
    consumer: u32,
}

impl Handover {
    /// Returns the flag of this consumer in a block, and the address of this thread's first four sums. The thread's
    /// next four sums follow after the first four sums of all 128 threads, so that neighboring threads access
    /// neighboring memory.
    #[inline(always)]
    fn of_block(self, block: u32) -> (*mut u32, *mut f32) {
        let index = block * CONSUMERS + self.consumer;
        let first = (index * SUMS as u32 / 4 * WARP_GROUP + thread::thread_idx_x() % WARP_GROUP) * 4;
        (self.workspace.wrapping_add(index as usize), self.parts.wrapping_add(first as usize))
    }

    /// Writes this block's sums for another block, and sets the flag.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function, at most once in a launch, and that
    /// `workspace` and `parts` are the arguments of [`gemm_stream_k`](self).
    #[inline(always)]
    unsafe fn give(self, sums: &[f32; SUMS], block: u32) {
        let (flag, to) = self.of_block(block);
        // SAFETY: each thread writes different sums. The other block reads the sums after the flag is set, and the flag
        // is set after a barrier of all writing threads.
        unsafe {
            for i in 0..SUMS / 4 {
                store::<f32, 4>(to.add(i * WARP_GROUP as usize * 4), array::from_fn(|j| sums[4 * i + j]));
            }
            barrier_sync(CONSUMER_BARRIER + self.consumer, WARP_GROUP);
            if thread::thread_idx_x().is_multiple_of(WARP_GROUP) {
                atomic_store_32_device(flag, Release, 1);
            }
        }
    }

    /// Adds the sums of the blocks before `block`. These blocks multiplied the first `stages` stages of this block's
    /// tile.
    ///
    /// # Safety
    /// See [`Handover::take`], for each of these blocks.
    #[inline(always)]
    unsafe fn take_all(self, sums: &mut [f32; SUMS], division: &Division, block: u32, stages: u32) {
        let (mut other, mut missing) = (block, stages);
        while missing > 0 {
            other -= 1;
            // Some blocks may have an empty share.
            let stages = (division.start(other + 1) - division.start(other)).min(missing);
            if stages > 0 {
                // SAFETY: the called functions have the same requirements as this function.
                unsafe { self.take(sums, other) };
                missing -= stages;
            }
        }
    }

    /// Waits for the sums of another block, adds them, and resets the flag for the next launch.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function, that the other block gives its
    /// sums, and that no third block takes them.
    #[inline(always)]
    unsafe fn take(self, sums: &mut [f32; SUMS], block: u32) {
        let (flag, from) = self.of_block(block);
        // SAFETY: the sums are written before the flag is set. One thread waits for the flag, and the other threads
        // wait for that thread at the barrier. No thread writes the sums again in this launch.
        unsafe {
            if thread::thread_idx_x().is_multiple_of(WARP_GROUP) {
                while atomic_load_32_device(flag, Relaxed) == 0 {}
                device_thread_fence(Acquire);
                atomic_store_32_device(flag, Relaxed, 0);
            }
            barrier_sync(CONSUMER_BARRIER + self.consumer, WARP_GROUP);
            for i in 0..SUMS / 4 {
                let given: [f32; 4] = load(from.add(i * WARP_GROUP as usize * 4));
                for j in 0..4 {
                    sums[4 * i + j] += given[j];
                }
            }
        }
    }
}
