//! One warp group copies, two multiply.
//!
//! In `gemm_tma` the thread that starts the copies multiplies too: a copy starts when the products before it have been
//! started, and the block's 128 threads hold the sums of 128 × 128 elements in all the registers that they can have.
//! Each stage brings 32 KB for 2 · 128 · 128 · 64 operations, 64 operations a byte from the L2 cache.
//!
//! Here a block has three warp groups. The first, the producer, does nothing but wait for an empty stage and start its
//! copies. It gives most of its registers to the other two ([`registers`]), the consumers, which have 64 × 256 sums
//! each: 85 operations a byte, and a tensor core that always finds its next operands in shared memory, four stages
//! ahead. Who fills and who uses meet at two barriers for each stage, "full" and "empty"
//! ([`pipeline`](crate::tensor_core::pipeline)).
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::TensorProduct;
use super::large_tile::{A_BOXES, B_BOXES, COLUMNS, CONSUMERS, ROWS, STAGE_BYTES, SUMS, multiply};
use super::stage::{self, fill};
use super::tiles::{corner, write_sums};
use crate::copy_async::Shared;
use crate::tensor_core::element::{Element, Output};
use crate::tensor_core::pipeline::{Barriers, Position};
use crate::tensor_core::registers;
use crate::tensor_core::wgmma::{self, BOX_ALIGN, BOX_ROWS, Finish, Sums};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_WARP_SPECIALIZED];

/// Stages in shared memory.
const STAGES: u32 = 4;

products! {
    /// A warp group that copies and two that multiply, for a tile of 128 × 256.
    gemm_warp_specialized for [384] threads;
    shared BOX_ALIGN + STAGES * STAGE_BYTES + Barriers::<STAGES>::BYTES;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "a warp group that only starts copies feeds two that only multiply, and gives them its registers",
    };
    formats [bf16];
    tensor_maps => warp_specialized
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the rung's bytes.
#[inline(always)]
unsafe fn warp_specialized<A: Element, C: Output, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
) where
    [f32; SUMS]: Sums<A>,
{
    let stages = Shared::of(shared).aligned_to(BOX_ALIGN);
    let barriers = Barriers::<STAGES>(stages.byte_add(STAGES * STAGE_BYTES));
    let (group, thread) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    if thread::thread_idx_x() == 0 {
        product.prefetch();
        // SAFETY: the barrier of the block follows.
        unsafe { barriers.init(CONSUMERS * 4) };
    }
    thread::sync_threads();
    let place = corner::<ROWS, COLUMNS, 8>(thread::block_idx_x(), product.m, product.n);
    let count = stage::stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumers have left it, and used when it
    // is full; the sums are touched by products only until they are finished.
    unsafe {
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                for i in 0..count {
                    barriers.empty(at.stage).wait(at.parity ^ 1);
                    let to = stages.byte_add(at.stage * STAGE_BYTES);
                    let (k, full) = (i * stage::depth::<A>(), barriers.full(at.stage));
                    fill::<A, C, COLUMN_MAJOR, A_BOXES, B_BOXES>(product, place, k, to, full);
                    at.advance();
                }
            }
            return;
        }
        registers::take::<232>();
        let consumer = group - 1;
        let mut sums = [0.0; SUMS];
        for i in 0..count {
            barriers.full(at.stage).wait(at.parity);
            multiply::<A, COLUMN_MAJOR>(&mut sums, consumer, stages.byte_add(at.stage * STAGE_BYTES), i > 0);
            // The products before these are over, and so the stage before is empty.
            wgmma::wait::<1>();
            if i > 0 {
                barriers.leave(at.before());
            }
            at.advance();
        }
        sums.finish();
        write_sums(&sums, place.down(consumer * BOX_ROWS), product.c());
    }
}
