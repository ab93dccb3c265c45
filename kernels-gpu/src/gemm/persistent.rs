//! Blocks that stay: one for each SM, tile after tile, and the product leaves while the next tile is multiplied.
//!
//! A block of `gemm_warp_specialized` fills its pipeline at its start, and at its end the tensor cores wait until the
//! sums are written, in pieces of 4 bytes. With one block on an SM nothing covers that.
//!
//! Here as many blocks are launched as there are SMs, and each takes every 132nd tile. The producer goes on to the next
//! tile at once: the stages are full again when the consumers come back. The sums are packed into fragments, stored by
//! `stmatrix` to boxes without bank conflicts, and copied out by the copy engine, whole rows of 128 bytes, while the
//! next products run (`store_sums`). Tiles are counted along bands of eight rows (`corner`), so that the 132 tiles of a
//! wave share what they read in the L2 cache.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::buffers::{self, Layout};
use super::large_tile::{A_BOXES, B_BOXES, COLUMNS, CONSUMERS, ROWS, STAGE_BYTES, SUMS, multiply};
use super::stage::{depth, fill, stages};
use super::staged_output::{Staged, store_sums};
use super::tiles::{corner, tiles};
use crate::tensor_core::element::Element;
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::registers;
use crate::tensor_core::tensor_map::wait_for_stores;
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish, Sums};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_PERSISTENT];

/// Stages in shared memory.
pub(super) const STAGES: u32 = 4;
/// The parts of a block's shared memory.
pub(super) type Buffers = buffers::Buffers<STAGES>;
/// What they are made of: while a box of the product is written, the one before is copied.
pub(super) const LAYOUT: Layout = Layout { stage_bytes: STAGE_BYTES, slots: SLOTS };
/// A consumer's boxes for the product.
pub(super) const SLOTS: u32 = 2;

products! {
    /// A block for each SM, which takes tile after tile of 128 × 256 and writes them by tensor copies.
    gemm_persistent for [384] threads;
    shared Buffers::bytes(LAYOUT);
    rung Rung::USUAL {
        geometry: Geometry::Own {
            elements: ROWS * COLUMNS,
            blocks: BlockCount(|shape| tiles::<ROWS, COLUMNS>(shape).min(MULTIPROCESSORS.into()) as u32),
        },
        lesson: "a block for each SM stays for tile after tile; the product leaves by tensor copies while the next is multiplied",
    };
    formats [bf16, f16, tf32_columns];
    tensor_maps => persistent
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the bytes of [`LAYOUT`].
#[inline(always)]
unsafe fn persistent<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
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
    let count = stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    let mut tile = thread::block_idx_x();
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumers have left it, and used when it
    // is full; the sums are touched by products only until they are finished.
    unsafe {
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                while tile < tiles {
                    let place = corner::<ROWS, COLUMNS, 8>(tile, product.m, product.n);
                    for i in 0..count {
                        barriers.empty(at.stage).wait(at.parity ^ 1);
                        let (stage, full) = (buffers.stage(at.stage), barriers.full(at.stage));
                        fill::<A, C, COLUMN_MAJOR, A_BOXES, B_BOXES>(product, place, i * depth::<A>(), stage, full);
                        at.advance();
                    }
                    tile += thread::grid_dim_x();
                }
            }
            return;
        }
        registers::take::<232>();
        let consumer = group - 1;
        let report = |stage| barriers.leave(stage);
        let mut sums = [0.0; SUMS];
        while tile < tiles {
            multiply_stages::<A, COLUMN_MAJOR>(&mut sums, consumer, &buffers, &mut at, count, report);
            // While the last products run.
            let place = corner::<ROWS, COLUMNS, 8>(tile, product.m, product.n).down(consumer * BOX_ROWS);
            sums.finish();
            report(at.before());
            store_sums::<_, _, _, SLOTS>(&sums, place, product, buffers.staging(consumer), consumer);
            tile += thread::grid_dim_x();
        }
        if thread == 0 {
            wait_for_stores::<0>();
        }
    }
}

/// Starts the products of so many stages, which replace the sums. All but the last stage are reported when they are
/// empty; the sums and the last stage have to be waited for.
///
/// # Safety
/// All threads of the warp group come; `at` is the consumer's place among the stages; `report` says that a stage is
/// empty.
#[inline(always)]
pub(super) unsafe fn multiply_stages<A: Element, const COLUMN_MAJOR: bool>(
    sums: &mut [f32; SUMS],
    consumer: u32,
    buffers: &Buffers,
    at: &mut Position<STAGES>,
    count: u32,
    report: impl Fn(u32),
) where
    [f32; SUMS]: Sums<A>,
{
    // SAFETY: a stage is used when it is full; the sums are touched by products only.
    unsafe {
        for i in 0..count {
            buffers.barriers.full(at.stage).wait(at.parity);
            multiply::<A, COLUMN_MAJOR>(sums, consumer, buffers.stage(at.stage), i > 0);
            // The products before these are over, and so the stage before is empty.
            wgmma::wait::<1>();
            if i > 0 {
                report(at.before());
            }
            at.advance();
        }
    }
}
