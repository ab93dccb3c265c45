//! Warp specialization: one warp group copies, two multiply.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{Position, Ring, WARP_GROUP, depth, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{
    self, BOX_BYTES, BOX_ROWS, Boxes, Finish, STEPS, Sums, Tile, setmaxnreg_dec, setmaxnreg_inc,
};
use crate::tensor_core::{BAND, Bf16, Element, Shared, tile_corner};

/// The rows and the columns of a tile.
pub(super) const ROWS: u32 = 128;
pub(super) const COLUMNS: u32 = 256;
/// The warp groups that multiply: one for each 64 rows.
pub(super) const CONSUMERS: u32 = ROWS / BOX_ROWS;
/// The warps that leave a stage.
pub(super) const CONSUMER_WARPS: u32 = CONSUMERS * WARP_GROUP / 32;
/// The sums of a thread: a warp group has 64 rows × 256 columns.
pub(super) const SUMS: usize = 128;
/// The boxes of a stage.
pub(super) const A_BOXES: u32 = ROWS / BOX_ROWS;
pub(super) const B_BOXES: u32 = COLUMNS / BOX_ROWS;
pub(super) const STAGE_BYTES: u32 = (A_BOXES + B_BOXES) * BOX_BYTES;
/// Registers of a thread. A multiprocessor has 65536 and a block 384 threads, so each thread starts with 168. Three warp
/// groups have 3 · 168 = 40 + 2 · 232.
pub(super) const PRODUCER_REGISTERS: u32 = 40;
pub(super) const CONSUMER_REGISTERS: u32 = 232;
/// Stages in shared memory.
const STAGES: u32 = 4;

/// A block of three warp groups computes a tile of 128 × 256: a producer starts the copies, and two consumers multiply.
///
/// In `gemm_tma` the thread that starts the copies multiplies too. A copy starts when the products before it have been
/// started, and the block's 128 threads hold the sums of 128 × 128 elements in all the registers that they can have. Each
/// stage brings 32 KB for 2 · 128 · 128 · 64 operations: 64 operations for a byte from the L2 cache.
///
/// Here the producer only waits for an empty stage and starts its copies. It releases most of its registers
/// (`setmaxnreg`), and the consumers acquire them and have 64 × 256 sums each. That is 85 operations for a byte, and the
/// tensor cores find the next operands in shared memory, up to four stages ahead. Producer and consumers synchronize with
/// two mbarriers for each stage, "full" and "empty" (`hopper.rs`).
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_tma,
    lesson = "a warp group that only starts copies feeds two that only multiply, and gives them its registers",
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
        // SAFETY: the barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
    }
    thread::sync_threads();
    let (row, column) = tile_corner(thread::block_idx_x(), [ROWS, COLUMNS], BAND, m, n);
    let stage_count = k.div_ceil(depth::<A>());
    let mut at = Position::<STAGES>::START;
    if warp_group == 0 {
        // SAFETY: the whole warp group comes here.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        if thread == 0 {
            for i in 0..stage_count {
                let corner = [row, column, i * depth::<A>()];
                // SAFETY: one thread fills the stage, after all consumers have left it.
                unsafe {
                    ring.empty(at.stage).wait(at.parity ^ 1);
                    ring.fill::<COLUMN_MAJOR, A_BOXES, B_BOXES>(at.stage, [a_map, b_map], corner);
                }
                at.advance();
            }
        }
        return;
    }
    // SAFETY: whole warp groups come here, and the producer releases what they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let consumer = warp_group - 1;
    let mut sums = [0.0; SUMS];
    for i in 0..stage_count {
        // SAFETY: the whole warp group uses the stage when it is full, and leaves it when its products have ended, which is
        // after the next stage's have been started.
        unsafe {
            ring.full(at.stage).wait(at.parity);
            multiply::<A, COLUMN_MAJOR>(&mut sums, consumer, ring.stage(at.stage), i > 0);
            wgmma::wait::<1>();
            if i > 0 {
                ring.leave(at.previous());
            }
        }
        at.advance();
    }
    // SAFETY: the whole warp group comes here, and no other warp group has these rows of the tile.
    unsafe {
        sums.finish();
        store_from_registers(&sums, [row + consumer * BOX_ROWS, column], c, [m, n]);
    }
}

/// Starts the products of a full stage for the 64 rows of a consumer in one group, and adds them to the sums. Unless
/// `is_added`, the first of them replaces the sums.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call it, that the stage is full and no thread writes it
/// before the products have been waited for, and that until then no thread accesses the sums.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool>(
    sums: &mut [f32; SUMS],
    consumer: u32,
    stage: Shared,
    is_added: bool,
) where
    [f32; SUMS]: Sums<A>,
{
    // SAFETY: the stage has the boxes of `a` and then those of `b`. It is full and stays so, and all threads are here.
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
