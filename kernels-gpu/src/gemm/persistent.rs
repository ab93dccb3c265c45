//! Persistent blocks: one block per multiprocessor computes one tile after another.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{OutputMatrix, Position, Ring, WARP_GROUP, depth, store_through_shared};
use super::warp_specialized::{
    A_BOXES, B_BOXES, COLUMNS, CONSUMER_REGISTERS, CONSUMER_WARPS, CONSUMERS, PRODUCER_REGISTERS, ROWS, STAGE_BYTES,
    SUMS, multiply,
};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{BAND, Bf16, F16, Tf32, tile_corner};

/// The number of stages in shared memory.
const STAGES: u32 = 4;
/// The number of boxes for the product per consumer: one box is written while the other is copied.
const SLOTS: u32 = 2;

/// `gemm_warp_specialized` with one block per multiprocessor. Each block computes several tiles, one after another, and
/// stores them with tensor copies.
///
/// A block of `gemm_warp_specialized` first fills its pipeline. After the block's last products, the tensor cores wait
/// until the sums are stored, 4 bytes at a time. With only one resident block per multiprocessor, no other block hides
/// these waits.
///
/// Here the grid has one block per multiprocessor. Block `i` computes the tiles `i`, `i + blocks`, `i + 2 * blocks` and
/// so on. The producer continues with the next tile at once, so the stages are full when the consumers start the next
/// tile. The consumers pack the sums and store them in boxes with `stmatrix`, without bank conflicts. The TMA copies
/// the boxes to the product in whole 128-byte rows while the next products run (`store_through_shared`). Tiles are
/// numbered in bands of eight rows (`tile_corner`), so that the tiles of a round share data in the L2 cache.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_warp_specialized,
    lesson = "one block per SM computes many tiles; tensor copies store a tile while the next is multiplied",
    blocks = [384],
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, CONSUMERS * SLOTS),
    row_bytes = 16,
    grid = |launch| [launch.count_tiles(ROWS, COLUMNS).min(launch.device.multiprocessors), 1, 1],
    (A, C, COLUMN_MAJOR) = {
        _: (Bf16, Bf16, false), columns: (Bf16, Bf16, true), f32: (Bf16, f32, false), f32_columns: (Bf16, f32, true),
        f16: (F16, F16, false), f16_columns: (F16, F16, true), f16_f32: (F16, f32, false),
        f16_f32_columns: (F16, f32, true), tf32_columns: (Tf32, f32, true),
    }
)]
pub unsafe fn gemm_persistent<A, C, const COLUMN_MAJOR: bool>(
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
        // SAFETY: a barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
    }
    thread::sync_threads();
    let tiles = m.div_ceil(ROWS) * n.div_ceil(COLUMNS);
    let stage_count = k.div_ceil(depth::<A>());
    let mut position = Position::<STAGES>::START;
    let mut tile = thread::block_idx_x();
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        while thread == 0 && tile < tiles {
            let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
            for i in 0..stage_count {
                let corner = [row, column, i * depth::<A>()];
                // SAFETY: one thread fills the stage, after all consumers have left the stage.
                unsafe {
                    ring.empty(position.stage).wait(position.parity ^ 1);
                    ring.fill::<COLUMN_MAJOR, A_BOXES, B_BOXES>(position.stage, [a_map, b_map], corner);
                }
                position.advance();
            }
            tile += thread::grid_dim_x();
        }
        return;
    }
    // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let consumer = warp_group - 1;
    let (output, slots) =
        (OutputMatrix { map: c_map, data: c, rows: m, columns: n }, ring.output_box(consumer * SLOTS));
    let mut sums = [0.0; SUMS];
    while tile < tiles {
        for i in 0..stage_count {
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
        // The tile's corner is computed while the last products run.
        let (row, column) = tile_corner(tile, [ROWS, COLUMNS], BAND, m, n);
        // SAFETY: all threads of the warp group reach this code. Only this warp group writes these rows of the tile and
        // these boxes.
        unsafe {
            sums.finish();
            ring.leave(position.previous());
            store_through_shared::<_, _, SLOTS>(&sums, [row + consumer * BOX_ROWS, column], &output, slots, consumer);
        }
        tile += thread::grid_dim_x();
    }
    if thread == 0 {
        // The block must not end before the last copies have read shared memory.
        tma::wait_read::<0>();
    }
}
