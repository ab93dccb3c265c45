//! Tensor copies: one thread fills a stage with four instructions.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::hopper::{BOXES, Position, Ring, SIDE, STAGE_BYTES, SUMS, depth, multiply, store_from_registers};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish};
use crate::tensor_core::{BAND, Bf16, tile_corner};

/// The number of stages in shared memory.
const STAGES: u32 = 3;

/// A warp group computes a 128 × 128 tile from stages that tensor copies fill. The warp group's first thread starts the
/// copies.
///
/// In `gemm_wgmma`, the 128 threads compute 2048 addresses for each stage, check each address against the bounds of the
/// matrix, and issue the copies. These steps take about thirty instructions per thread for every four products. Four
/// products keep the tensor cores busy for 512 cycles.
///
/// Hopper has a copy engine in each multiprocessor, the Tensor Memory Accelerator (TMA). The host describes both
/// factors with tensor maps, and one thread passes the corner of a box to the TMA. The TMA computes the addresses,
/// fills in zeros outside the matrix, and writes the box with the swizzle that the tensor cores expect. The TMA reports
/// arrived bytes to an `mbarrier` in shared memory, at which all threads wait. Two blocks share a multiprocessor: while
/// one waits, the other multiplies.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_wgmma,
    lesson = "tensor copies: one thread requests a tile, and the copy engine handles addresses, edges and swizzle",
    blocks = [128],
    resident = 2,
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, 0),
    row_bytes = 16,
    grid = |launch| [launch.count_tiles(SIDE, SIDE), 1, 1],
    (A, C) = { _: (Bf16, Bf16), f32: (Bf16, f32) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_tma<A, C, const COLUMN_MAJOR: bool>(
    #[grid_constant] a_map: &TensorMap,
    #[grid_constant] b_map: &TensorMap,
    #[grid_constant] c_map: &TensorMap,
    c: *mut C,
    m: u32,
    n: u32,
    k: u32,
) {
    let ring = Ring::<STAGES>::of_block(STAGE_BYTES, 0);
    let thread = thread::thread_idx_x();
    let (row, column) = tile_corner(thread::block_idx_x(), [SIDE, SIDE], BAND, m, n);
    let fill = |index: u32, stage: u32| {
        let corner = [row, column, index * depth::<A>()];
        // SAFETY: one thread calls `fill`, for an empty stage. The stage is unused, or all threads have reached a
        // barrier after the stage's products ended.
        unsafe { ring.fill::<COLUMN_MAJOR, BOXES, BOXES>(stage, [a_map, b_map], corner) };
    };

    let stage_count = k.div_ceil(depth::<A>());
    if thread == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the block follows.
        unsafe { ring.init(1) };
        for i in 0..(STAGES - 1).min(stage_count) {
            fill(i, i);
        }
    }
    thread::sync_threads();
    let mut sums = [[0.0; SUMS]; 2];
    let (mut used, mut filled) = (Position::<STAGES>::START, Position::<STAGES> { stage: STAGES - 1, parity: 0 });
    for i in 0..stage_count {
        // SAFETY: the stage is full after the wait. It is filled again only after the next iteration's barrier, which
        // follows the wait for these products. All threads of the warp group, which is the whole block, reach this
        // code.
        unsafe {
            ring.full(used.stage).wait(used.parity);
            multiply::<A, COLUMN_MAJOR>(&mut sums, ring.stage(used.stage), i > 0);
            used.advance();
            wgmma::wait::<1>();
        }
        // After this barrier, the products of the previous stage have ended in all warps, so that stage is filled next.
        thread::sync_threads();
        let next = i + STAGES - 1;
        if thread == 0 && next < stage_count {
            fill(next, filled.stage);
        }
        filled.advance();
    }
    for (half, sums) in sums.iter_mut().enumerate() {
        // SAFETY: all threads of the warp group reach this code, and no other block writes this tile.
        unsafe {
            sums.finish();
            store_from_registers(sums, [row + half as u32 * BOX_ROWS, column], c, [m, n]);
        }
    }
}
