//! Tensor copies: one thread fills a stage with four instructions.
//!
//! In `gemm_wgmma` all 128 threads compute 2048 addresses for each stage, check each against the edges, and issue the
//! copies: some thirty instructions a thread for every four products that keep the tensor cores busy for 512 cycles.
//!
//! Here the host has described both factors by tensor maps, and one thread names a tile's corner. The copy engine
//! computes addresses, fills in zeros at the edges, and writes the boxes swizzled as the tensor cores read them. It
//! reports the bytes that have arrived to a barrier in shared memory ([`Barrier`](crate::tensor_core::barrier::Barrier)), where all threads wait. Two blocks
//! share an SM: while one waits, the other multiplies.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::TensorProduct;
use super::small_tile::{BOXES, SIDE, STAGE_BYTES, SUMS, multiply};
use super::stage::{depth, fill, stages as stages_of};
use super::tiles::{corner, write_sums};
use crate::copy_async::Shared;
use crate::tensor_core::element::{Element, Output};
use crate::tensor_core::pipeline::{Barriers, Position};
use crate::tensor_core::wgmma::{self, BOX_ALIGN, BOX_ROWS, Finish, Sums};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_TMA];

/// Stages in shared memory.
const STAGES: u32 = 3;

products! {
    /// A warp group for a tile of 128 × 128, filled by tensor copies that its first thread starts.
    gemm_tma for [128] threads;
    resident 2;
    shared BOX_ALIGN + STAGES * STAGE_BYTES + Barriers::<STAGES>::BYTES;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: SIDE, columns: SIDE, most_slices: 1 },
        lesson: "tensor copies: one thread names a tile, and the copy engine does the addresses, the edges and the swizzle",
    };
    formats [bf16];
    tensor_maps => tma
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the rung's bytes.
#[inline(always)]
unsafe fn tma<A: Element, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &TensorProduct<'_, A, C>)
where
    [f32; SUMS]: Sums<A>,
{
    let stages = Shared::of(shared).aligned_to(BOX_ALIGN);
    let barriers = Barriers::<STAGES>(stages.byte_add(STAGES * STAGE_BYTES));
    let thread = thread::thread_idx_x();
    let place = corner::<SIDE, SIDE, 8>(thread::block_idx_x(), product.m, product.n);
    let count = stages_of::<A>(product.k);
    let (mut filled, mut used) = (Position::<STAGES>::START, Position::<STAGES>::START);
    let fill = |part: u32, stage: u32| {
        let (to, full) = (stages.byte_add(stage * STAGE_BYTES), barriers.full(stage));
        // SAFETY: it is called by one thread, for a stage that is empty.
        unsafe { fill::<A, C, COLUMN_MAJOR, BOXES, BOXES>(product, place, part * depth::<A>(), to, full) };
    };
    // SAFETY: one thread fills a stage, at first and behind a barrier that all threads reach when the products that
    // used it are over; the sums are touched by products only until they are finished.
    unsafe {
        if thread == 0 {
            product.prefetch();
            barriers.init(1);
            for i in 0..(STAGES - 1).min(count) {
                fill(i, i);
            }
        }
        filled.stage = STAGES - 1;
        thread::sync_threads();
        let mut sums = [[0.0; SUMS]; 2];
        for i in 0..count {
            barriers.full(used.stage).wait(used.parity);
            multiply::<A, COLUMN_MAJOR, _>(&mut sums, stages.byte_add(used.stage * STAGE_BYTES), i > 0);
            used.advance();
            // The products before these are over in all warps behind the barrier, and their stage is the next to fill.
            wgmma::wait::<1>();
            thread::sync_threads();
            let next = i + STAGES - 1;
            if thread == 0 && next < count {
                fill(next, filled.stage);
            }
            filled.advance();
        }
        for (half, sums) in sums.iter_mut().enumerate() {
            sums.finish();
            write_sums(sums, place.down(half as u32 * BOX_ROWS), product.c());
        }
    }
}
