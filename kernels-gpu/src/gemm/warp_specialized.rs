//! Warp specialization: one warp group copies, and two multiply.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{Position, Ring, WARP_GROUP, depth, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{
    self, BOX_BYTES, BOX_ROWS, Boxes, Finish, STEPS, Sums, Tile, setmaxnreg_dec, setmaxnreg_inc,
};
use crate::tensor_core::{BAND, Bf16, Element, Shared, tile_corner};

/// The number of rows and of columns in a tile.
pub(super) const ROWS: u32 = 128;
pub(super) const COLUMNS: u32 = 256;
/// The number of warp groups that multiply: one for each 64 rows.
pub(super) const CONSUMERS: u32 = ROWS / BOX_ROWS;
/// The number of warps that leave a stage.
pub(super) const CONSUMER_WARPS: u32 = CONSUMERS * WARP_GROUP / 32;
/// The number of sums per thread: a warp group computes 64 rows × 256 columns.
pub(super) const SUMS: usize = 128;
/// The number of boxes of each factor in a stage.
pub(super) const A_BOXES: u32 = ROWS / BOX_ROWS;
pub(super) const B_BOXES: u32 = COLUMNS / BOX_ROWS;
pub(super) const STAGE_BYTES: u32 = (A_BOXES + B_BOXES) * BOX_BYTES;
/// The number of registers per thread. A multiprocessor has 65536 registers and a block has 384 threads, so each thread
/// starts with 168 registers. `setmaxnreg` redistributes them: 3 · 168 = 40 + 2 · 232.
pub(super) const PRODUCER_REGISTERS: u32 = 40;
pub(super) const CONSUMER_REGISTERS: u32 = 232;
/// The number of stages in shared memory.
const STAGES: u32 = 4;

/// A block of three warp groups computes a tile of 128 × 256: a producer starts the copies, and two consumers multiply.
///
/// In `gemm_tma`, the thread that starts the copies also multiplies. So a copy starts only after the previous products
/// have started. The block's 128 threads need all their registers for the sums of 128 × 128 elements. Each stage loads
/// 32 KB for 2 · 128 · 128 · 64 operations, so there are 64 operations per byte from the L2 cache.
///
/// Here the producer only waits for an empty stage and starts its copies. It releases most of its registers
/// (`setmaxnreg`), and the consumers acquire these registers for 64 × 256 sums each. With the larger tile, there are 85
/// operations per byte, and the next operands are already in shared memory, up to four stages ahead. Producer and
/// consumers synchronize with two mbarriers for each stage, "full" and "empty" (`hopper.rs`).
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_tma,
    lesson = "one warp group only starts copies, and gives its registers to two warp groups that only multiply",
    blocks = [384],
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, 0),
    row_bytes = 16,
    grid = |launch| [launch.count_tiles(ROWS, COLUMNS), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_warp_specialized<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_map: &TensorMap,
    #[grid_constant] b_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let ring = Ring::<STAGES>::of_block(STAGE_BYTES, 0);
    let (warp_group, thread) = (thread::thread_idx_x() / WARP_GROUP, thread::thread_idx_x() % WARP_GROUP);
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
    }
    thread::sync_threads();
    let (row, column) = tile_corner(thread::block_idx_x(), [ROWS, COLUMNS], BAND, m, n);
    let stage_count = k.div_ceil(depth::<A>());
    let mut position = Position::<STAGES>::START;
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        if thread == 0 {
            for i in 0..stage_count {
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
    let mut sums = [0.0; SUMS];
    for i in 0..stage_count {
        // SAFETY: all threads of the warp group reach this code. They use the stage only when it is full and leave it
        // only when its products have ended.
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
    // SAFETY: all threads of the warp group reach this code, and no other warp group writes these rows of the tile.
    unsafe {
        sums.finish();
        store_from_registers(&sums, [row + consumer * BOX_ROWS, column], c, [m, n]);
    }
}

/// Starts the products of a full stage for a consumer's 64 rows, as one group. The products are added to the sums.
/// Unless `is_added`, the first product replaces the sums.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function and that the stage is full. No thread
/// may write the stage or access the sums before a wait for the products.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool>(
    sums: &mut [f32; SUMS],
    consumer: u32,
    stage: Shared,
    is_added: bool,
) where
    [f32; SUMS]: Sums<A>,
{
    // SAFETY: the stage has the boxes of `a`, followed by the boxes of `b`, and stays full. All threads of the warp
    // group call this function.
    unsafe {
        let a = Tile::<A, Boxes<true>>::at(stage.byte_add(consumer * BOX_BYTES));
        let b = Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(A_BOXES * BOX_BYTES));
        wgmma::fence();
        for step in 0..STEPS {
            sums.multiply(a.step(step), b.step(step), is_added || step > 0);
        }
        wgmma::commit();
    }
}
