//! Clusters: two blocks share each tile of `b`.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{OutputMatrix, Position, Ring, WARP_GROUP, depth, store_through_shared};
use super::warp_specialized::{
    A_BOXES, B_BOXES, COLUMNS, CONSUMER_REGISTERS, CONSUMER_WARPS, CONSUMERS, PRODUCER_REGISTERS, ROWS, STAGE_BYTES,
    SUMS, multiply,
};
use crate::tensor_core::tma::{self, TensorMap, cluster_rank, cluster_sync};
use crate::tensor_core::wgmma::{self, BOX_BYTES, BOX_ROWS, Finish, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{BAND, Bf16, tile_corner};

/// The number of blocks in a cluster. The first block computes one tile, and the second block the tile below it.
const BLOCKS: u32 = 2;
/// The number of rows that the tiles of a cluster's blocks cover.
const CLUSTER_ROWS: u32 = BLOCKS * ROWS;
/// The number of stages in shared memory.
const STAGES: u32 = 4;
/// The number of boxes for the product per consumer: one box is written while the other is copied.
const SLOTS: u32 = 2;

/// `gemm_persistent` in clusters of two blocks. Each block copies half of `b`'s tile to both blocks.
///
/// For each stage, a block of `gemm_persistent` reads 48 KB from the L2 cache, 32 KB of it from `b`. The block with the
/// same columns and the next rows reads the same 32 KB. Here these two blocks form a cluster on neighboring
/// multiprocessors, and each copies half of `b`'s boxes to both blocks (multicast). So for each stage, a block reads 32
/// KB from the L2 cache instead of 48.
///
/// A copy may start only when both blocks have left the stage that it fills, so consumers report an empty stage to both
/// producers. No block may end while the other block still writes to its shared memory.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_persistent,
    lesson = "two blocks share b's tiles by multicast, and read a third less from the L2 cache",
    blocks = [384],
    cluster = 2,
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, CONSUMERS * SLOTS),
    row_bytes = 16,
    grid = |launch| {
        let blocks = launch.count_tiles(CLUSTER_ROWS, COLUMNS).saturating_mul(BLOCKS);
        [blocks.min(launch.device.multiprocessors / BLOCKS * BLOCKS), 1, 1]
    },
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_cluster<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_map: &TensorMap,
    #[grid_constant] b_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let ring = Ring::<STAGES>::of_block(STAGE_BYTES, CONSUMERS * SLOTS);
    let (warp_group, thread) = (thread::thread_idx_x() / WARP_GROUP, thread::thread_idx_x() % WARP_GROUP);
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the cluster follows.
        unsafe { ring.init(BLOCKS * CONSUMER_WARPS) };
    }
    // SAFETY: all threads of both blocks reach this code.
    unsafe { cluster_sync() };
    let rank = cluster_rank();
    let tiles = m.div_ceil(CLUSTER_ROWS) * n.div_ceil(COLUMNS);
    // The first row and the first column of this block's tile. `tile` is the number of the cluster's pair of tiles.
    let block_corner = |tile| {
        let (row, column) = tile_corner(tile, [CLUSTER_ROWS, COLUMNS], BAND / BLOCKS, m, n);
        [row + rank * ROWS, column]
    };
    let stage_count = k.div_ceil(depth::<A>());
    let mut position = Position::<STAGES>::START;
    let mut tile = thread::block_idx_x() / BLOCKS;
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        while thread == 0 && tile < tiles {
            let [row, column] = block_corner(tile);
            for i in 0..stage_count {
                let corner = [row, column, i * depth::<A>()];
                // SAFETY: one thread of each block fills the stage, after the consumers of both blocks have left the
                // stage.
                unsafe {
                    ring.empty(position.stage).wait(position.parity ^ 1);
                    fill_share::<COLUMN_MAJOR>(&ring, position.stage, [a_map, b_map], corner, rank);
                }
                position.advance();
            }
            tile += thread::grid_dim_x() / BLOCKS;
        }
    } else {
        // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
        unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
        let consumer = warp_group - 1;
        let output = OutputMatrix { map: c_map, data: c, rows: m, columns: n };
        let slots = ring.output_box(consumer * SLOTS);
        // Each warp reports an empty stage to both blocks: lane 0 to the first block, lane 1 to the second.
        let leave = |stage| {
            if thread % 32 < BLOCKS {
                // SAFETY: this warp has not arrived yet in this phase, and neither block has ended.
                unsafe { ring.empty(stage).arrive_remote(thread % 32) };
            }
        };
        let mut sums = [0.0; SUMS];
        while tile < tiles {
            for i in 0..stage_count {
                // SAFETY: all threads of the warp group reach this code. They use the stage only when it is full, and
                // leave it only when its products have ended.
                unsafe {
                    ring.full(position.stage).wait(position.parity);
                    multiply::<A, COLUMN_MAJOR>(&mut sums, consumer, ring.stage(position.stage), i > 0);
                    wgmma::wait::<1>();
                }
                if i > 0 {
                    leave(position.previous());
                }
                position.advance();
            }
            // SAFETY: all threads of the warp group reach this code. Only this warp group writes these rows of the tile
            // and these boxes.
            unsafe {
                sums.finish();
                leave(position.previous());
                let [row, column] = block_corner(tile);
                let corner = [row + consumer * BOX_ROWS, column];
                store_through_shared::<_, _, SLOTS>(&sums, corner, &output, slots, consumer);
            }
            tile += thread::grid_dim_x() / BLOCKS;
        }
        if thread == 0 {
            tma::wait_read::<0>();
        }
    }
    // SAFETY: all threads of both blocks reach this code.
    unsafe { cluster_sync() };
}

/// Starts the copies of this block's share of a stage: its rows of `a`, and half of `b`'s boxes, for both blocks.
///
/// # Safety
/// The caller must ensure that the maps describe the factors as specified in [`gemm`](super), and that no thread of
/// either block accesses the stage before it is full.
#[inline(always)]
unsafe fn fill_share<const COLUMN_MAJOR: bool>(
    ring: &Ring<STAGES>,
    stage: u32,
    [a_map, b_map]: [&TensorMap; 2],
    [row, column, k]: [u32; 3],
    rank: u32,
) {
    const SHARE: u32 = B_BOXES / BLOCKS;
    const ALL_BLOCKS: u16 = (1 << BLOCKS) - 1;
    let (boxes, full) = (ring.stage(stage), ring.full(stage));
    // SAFETY: this thread announces the bytes of all boxes of its block's stage. This thread copies some of these
    // boxes, and the other block's producer copies the rest. All boxes are in the stage.
    unsafe {
        full.arrive_expect_tx(STAGE_BYTES);
        for i in 0..A_BOXES {
            a_map.load(k, row + i * BOX_ROWS, boxes.byte_add(i * BOX_BYTES), full);
        }
        for i in 0..SHARE {
            let i = rank * SHARE + i;
            let (to, column) = (boxes.byte_add((A_BOXES + i) * BOX_BYTES), column + i * BOX_ROWS);
            let [x, y] = if COLUMN_MAJOR { [k, column] } else { [column, k] };
            b_map.load_multicast(x, y, to, full, ALL_BLOCKS);
        }
    }
}
