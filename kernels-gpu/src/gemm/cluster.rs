//! Two blocks share each tile of `b`: one copy out of the L2 cache fills the shared memory of both.
//!
//! Each block of `gemm_persistent` reads 48 KB from the L2 cache for a stage, 32 KB of them `b`'s, and the block beside
//! it on the same columns reads the same 32 KB. Here two blocks on neighbouring SMs form a cluster, with one tile above
//! the other. Each of them copies half of `b`'s boxes to both (multicast). So a stage costs the L2 cache 32 KB for each
//! block instead of 48.
//!
//! A copy may only go out when both blocks have left the stage that it fills, so consumers report an empty stage to
//! both producers; and no block may end while the other still writes into its shared memory.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::large_tile::{A_BOXES, B_BOXES, COLUMNS, CONSUMERS, ROWS, STAGE_BYTES, SUMS};
use super::persistent::{Buffers, LAYOUT, SLOTS, STAGES, multiply_stages};
use super::stage::{depth, stages};
use super::staged_output::{Staged, store_sums};
use super::tiles::{Corner, corner};
use crate::copy_async::Shared;
use crate::tensor_core::barrier::Barrier;
use crate::tensor_core::element::Element;
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::tensor_map::wait_for_stores;
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, Finish, Sums};
use crate::tensor_core::{cluster, registers};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_CLUSTER];

/// The blocks of a cluster, which have one tile of the product above the other.
const BLOCKS: u32 = 2;
/// The rows of a cluster's tiles.
const CLUSTER_ROWS: u32 = BLOCKS * ROWS;

products! {
    /// `gemm_persistent` in clusters of two blocks, each of which copies half of `b`'s tile to both.
    gemm_cluster for [384] threads;
    cluster 2;
    shared Buffers::bytes(LAYOUT);
    rung Rung::USUAL {
        geometry: Geometry::Own {
            elements: ROWS * COLUMNS,
            blocks: BlockCount(|shape| {
                let pairs = shape[0].div_ceil(CLUSTER_ROWS.into()) * shape[1].div_ceil(COLUMNS.into());
                (pairs * u64::from(BLOCKS)).min(u64::from(MULTIPROCESSORS / BLOCKS * BLOCKS)) as u32
            }),
        },
        lesson: "two blocks share b's tiles by multicast: a third less to read from the L2 cache",
    };
    formats [bf16];
    tensor_maps => in_clusters
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the bytes of [`LAYOUT`].
#[inline(always)]
unsafe fn in_clusters<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
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
        // SAFETY: the barrier of the cluster follows.
        unsafe { barriers.init(BLOCKS * CONSUMERS * 4) };
    }
    let rank = cluster::rank();
    let tiles = product.m.div_ceil(CLUSTER_ROWS) * product.n.div_ceil(COLUMNS);
    let place = |tile| corner::<CLUSTER_ROWS, COLUMNS, 4>(tile, product.m, product.n).down(rank * ROWS);
    let count = stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    let mut tile = thread::block_idx_x() / BLOCKS;
    // SAFETY: whole warp groups take each branch, and all threads come to the cluster's barriers. A stage is filled
    // when the consumers of both blocks have left it, and used when it is full; the sums are touched by products only
    // until they are finished.
    unsafe {
        cluster::sync();
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                while tile < tiles {
                    for i in 0..count {
                        barriers.empty(at.stage).wait(at.parity ^ 1);
                        let (stage, full) = (buffers.stage(at.stage), barriers.full(at.stage));
                        fill::<A, C, COLUMN_MAJOR>(product, place(tile), i * depth::<A>(), stage, full, rank);
                        at.advance();
                    }
                    tile += thread::grid_dim_x() / BLOCKS;
                }
            }
        } else {
            registers::take::<232>();
            let consumer = group - 1;
            let mut sums = [0.0; SUMS];
            // Each warp reports an empty stage to both blocks, by a lane each.
            let report = |stage| {
                if thread % 32 < BLOCKS {
                    barriers.empty(stage).arrive_in_block(thread % 32);
                }
            };
            while tile < tiles {
                multiply_stages::<A, COLUMN_MAJOR>(&mut sums, consumer, &buffers, &mut at, count, report);
                sums.finish();
                report(at.before());
                store_sums::<_, _, _, SLOTS>(
                    &sums,
                    place(tile).down(consumer * BOX_ROWS),
                    product,
                    buffers.staging(consumer),
                    consumer,
                );
                tile += thread::grid_dim_x() / BLOCKS;
            }
            if thread == 0 {
                wait_for_stores::<0>();
            }
        }
        cluster::sync();
    }
}

/// Starts the copies of this block's share of a stage: its own part of `a`, and half of `b`'s boxes for both blocks.
///
/// # Safety
/// The maps describe the factors as the [ladder](super) says; in no block of the cluster anything reads or writes the
/// stage until the phase of `full` ends.
#[inline(always)]
unsafe fn fill<A, C, const COLUMN_MAJOR: bool>(
    &TensorProduct { a, b, .. }: &TensorProduct<'_, A, C>,
    Corner { row, column }: Corner,
    k: u32,
    stage: Shared,
    full: Barrier,
    rank: u32,
) {
    const SHARE: u32 = B_BOXES / BLOCKS;
    // SAFETY: as the caller promises; the boxes are the stage's.
    unsafe {
        full.arrive_expecting(STAGE_BYTES);
        for i in 0..A_BOXES {
            a.load(k, row + i * BOX_ROWS, stage.byte_add(i * BOX_BYTES), full);
        }
        for i in 0..SHARE {
            let i = rank * SHARE + i;
            let (to, column) = (stage.byte_add((A_BOXES + i) * BOX_BYTES), column + i * BOX_ROWS);
            let [x, y] = if COLUMN_MAJOR { [k, column] } else { [column, k] };
            b.load_for_blocks(x, y, to, full, (1 << BLOCKS) - 1);
        }
    }
}
