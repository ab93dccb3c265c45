//! The warp groups that multiply take tiles in turn: while one writes its product, the other one multiplies.
//!
//! In `gemm_persistent` both consumers multiply for the same tile, and both pack and store their sums at the same time.
//! The tensor cores idle from one tile's last product to the next one's first: 2500 to 2900 cycles, a seventh of the time
//! when k is 1024.
//!
//! Here each consumer has tiles of its own, 128 × 128 elements, and they take turns ("ping-pong", as in CUTLASS). When
//! one has started the last products of its tile, it lets the other one begin, and writes its sums while that one
//! multiplies. A stage is smaller, so there are six of them; a tile needs 64 bytes from the L2 cache for each cycle of its
//! products instead of 48.
//!
//! The turns are needed for another reason: who waits for a stage knows its phase only by the parity. It must not begin
//! to wait while the stage is more than one phase behind.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::buffers;
use super::small_tile::{BOXES, SIDE, STAGE_BYTES, SUMS, multiply};
use super::stage::{depth, fill, stages};
use super::staged_output::{Staged, store_sums};
use super::tiles::{corner, tiles};
use crate::tensor_core::barrier::{arrive_some, sync_some};
use crate::tensor_core::element::Element;
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::registers;
use crate::tensor_core::tensor_map::wait_for_stores;
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish, Sums};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_PING_PONG];

/// Stages in shared memory.
const STAGES: u32 = 6;
/// The parts of a block's shared memory.
type Buffers = buffers::Buffers<STAGES, STAGE_BYTES>;

products! {
    /// A block for each SM, whose two consumers take tiles of 128 × 128 in turn.
    gemm_ping_pong for [384] threads;
    shared Buffers::BYTES;
    rung Rung::USUAL {
        geometry: Geometry::Own {
            elements: SIDE * SIDE,
            blocks: BlockCount(|shape| tiles::<SIDE, SIDE>(shape).min(MULTIPROCESSORS.into()) as u32),
        },
        lesson: "two warp groups take tiles in turn: one writes its product while the other multiplies",
    };
    formats [bf16, f16, tf32_columns];
    tensor_maps => ping_pong
}

/// Whose turn it is to multiply.
#[derive(Clone, Copy)]
struct Turn {
    consumer: u32,
}

impl Turn {
    /// The barriers of [`store_sums`] come before.
    const FIRST_BARRIER: u32 = 3;

    /// Waits until the other consumer hands over.
    ///
    /// # Safety
    /// All threads of this consumer come, and those of the other one to [`Turn::hand_over`].
    #[inline(always)]
    unsafe fn wait(self) {
        // SAFETY: as the caller promises.
        unsafe { sync_some(Self::FIRST_BARRIER + self.consumer, 256) };
    }

    /// Lets the other consumer go on.
    ///
    /// # Safety
    /// All threads of this consumer come, and those of the other one to [`Turn::wait`].
    #[inline(always)]
    unsafe fn hand_over(self) {
        // SAFETY: as the caller promises.
        unsafe { arrive_some(Self::FIRST_BARRIER + (self.consumer ^ 1), 256) };
    }
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has [`Buffers::BYTES`].
#[inline(always)]
unsafe fn ping_pong<A: Element, C: Staged, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &TensorProduct<'_, A, C>)
where
    [f32; SUMS]: Sums<A>,
{
    let buffers = Buffers::of(shared);
    let Buffers { barriers, .. } = buffers;
    let (group, thread) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    if thread::thread_idx_x() == 0 {
        product.prefetch();
        // SAFETY: the barrier of the block follows.
        unsafe { barriers.init(4) };
    }
    thread::sync_threads();
    let tiles = product.m.div_ceil(SIDE) * product.n.div_ceil(SIDE);
    let (first, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let place = |tile| corner::<SIDE, SIDE, 8>(tile, product.m, product.n);
    let count = stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    let mut tile = first;
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumer has left it, and used when it is
    // full; the sums are touched by products only until they are finished. Turns are handed over for each tile but the
    // block's last, and waited for before each but its first.
    unsafe {
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                while tile < tiles {
                    let place = place(tile);
                    for i in 0..count {
                        barriers.empty(at.stage).wait(at.parity ^ 1);
                        let (stage, full) = (buffers.stage(at.stage), barriers.full(at.stage));
                        fill::<A, C, COLUMN_MAJOR, BOXES, BOXES>(product, place, i * depth::<A>(), stage, full);
                        at.advance();
                    }
                    tile += blocks;
                }
            }
            return;
        }
        registers::take::<232>();
        let consumer = group - 1;
        let turn = Turn { consumer };
        let mut sums = [[0.0; SUMS]; 2];
        tile += consumer * blocks;
        at.skip(consumer * count);
        while tile < tiles {
            if tile != first {
                turn.wait();
            }
            for i in 0..count {
                barriers.full(at.stage).wait(at.parity);
                multiply::<A, COLUMN_MAJOR>(&mut sums, buffers.stage(at.stage), i > 0);
                if i + 1 == count && tile + blocks < tiles {
                    turn.hand_over();
                }
                // The products before these are over, and so the stage before is empty.
                wgmma::wait::<1>();
                if i > 0 {
                    barriers.leave(at.before());
                }
                at.advance();
            }
            // While the last products run.
            let place = place(tile);
            for (half, sums) in sums.iter_mut().enumerate() {
                sums.finish();
                if half == 0 {
                    barriers.leave(at.before());
                }
                store_sums(sums, place.down(half as u32 * BOX_ROWS), product, buffers.staging(consumer), consumer);
            }
            at.skip(count);
            tile += 2 * blocks;
        }
        if thread == 0 {
            wait_for_stores::<0>();
        }
    }
}
