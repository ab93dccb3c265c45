//! The warp groups that multiply take tiles in turn: while one writes its product, the other one multiplies.
//!
//! In `gemm_persistent` both consumers multiply for the same tile, and both pack and store their sums at the same time.
//! The tensor cores idle from one tile's last product to the next one's first: 2500 to 2900 cycles, a seventh of the time
//! when k is 1024.
//!
//! Here each consumer has tiles of its own, 128 rows of them, and they take turns ("ping-pong", as in CUTLASS). When one
//! has started the last products of its tile, it lets the other one begin, and writes its sums while that one
//! multiplies. The turns are needed for another reason too: who waits for a stage knows its phase only by the parity, so
//! it must not begin to wait while the stage is more than one phase behind.
//!
//! A tile has 192 columns, and needs 53 bytes from the L2 cache for each cycle of its products, or 128, and needs 64.
//! The narrow ones are taken where they fill the SMs so much better that the product is over sooner (`is_wide`).
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::buffers::{Buffers, Layout};
use super::small_tile::{BOXES as A_BOXES, multiply};
use super::stage::{depth, fill, stages};
use super::staged_output::{Staged, store_sums};
use super::tiles::corner;
use crate::tensor_core::barrier::{arrive_some, sync_some};
use crate::tensor_core::element::Element;
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::registers;
use crate::tensor_core::tensor_map::wait_for_stores;
use crate::tensor_core::wgmma::{self, BOX_ROWS, Finish, ROW_BYTES, Sums};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_PING_PONG];

/// The rows of a tile.
const ROWS: u32 = 128;
/// The columns of a wide tile and of a narrow one, and the stages for each.
const WIDE: u32 = 192;
const WIDE_STAGES: u32 = 5;
const NARROW: u32 = 128;
const NARROW_STAGES: u32 = 6;

/// The elements of a narrow tile.
pub(super) const TILE: u32 = ROWS * NARROW;

/// The parts of a block's shared memory for tiles with so many columns. A consumer has one box for the product: there is
/// time while the other one multiplies.
#[inline(always)]
const fn layout(columns: u32) -> Layout {
    Layout { stage_bytes: (ROWS + columns) * ROW_BYTES, slots: 1 }
}

/// The bytes of shared memory for either width.
pub(super) const SHARED_BYTES: u32 = {
    let (wide, narrow) = (Buffers::<WIDE_STAGES>::bytes(layout(WIDE)), Buffers::<NARROW_STAGES>::bytes(layout(NARROW)));
    if wide > narrow { wide } else { narrow }
};

/// Whether a product of this shape is multiplied in wide tiles: when the SM with the most of them has fewer columns to
/// multiply than with narrow ones, whose products take 4 % longer.
const fn is_wide(m: u32, n: u32) -> bool {
    most_columns(m, n, WIDE) * 25 <= most_columns(m, n, NARROW) * 26
}

/// How many columns the SM with the most tiles has to multiply, in tiles with so many columns.
const fn most_columns(m: u32, n: u32, columns: u32) -> u64 {
    tiles(m, n, columns).div_ceil(MULTIPROCESSORS) as u64 * columns as u64
}

/// The number of tiles with so many columns.
#[inline(always)]
const fn tiles(m: u32, n: u32, columns: u32) -> u32 {
    m.div_ceil(ROWS) * n.div_ceil(columns)
}

/// The number of tiles of a product of this shape: m, n, and anything.
pub(super) fn tiles_of(shape: &[u64]) -> u32 {
    let (m, n) = (shape[0] as u32, shape[1] as u32);
    tiles(m, n, if is_wide(m, n) { WIDE } else { NARROW })
}

products! {
    /// A block for each SM, whose two consumers take tiles in turn.
    gemm_ping_pong for [384] threads;
    shared SHARED_BYTES;
    rung Rung::USUAL {
        geometry: Geometry::Own {
            elements: TILE,
            blocks: BlockCount(|shape| tiles_of(shape).min(MULTIPROCESSORS)),
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
/// The contract of the ladder's kernels; `shared` has [`SHARED_BYTES`].
#[inline(always)]
unsafe fn ping_pong<A: Element, C: Staged, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &TensorProduct<'_, A, C>)
where
    WideSums: Sums<A>,
    NarrowSums: Sums<A>,
{
    // SAFETY: as the caller promises.
    unsafe { multiply_tiles::<A, C, COLUMN_MAJOR>(shared, product, || ()) };
}

/// A thread's sums of half the rows of a tile.
pub(super) type WideSums = [f32; WIDE as usize / 2];
pub(super) type NarrowSums = [f32; NARROW as usize / 2];

/// Multiplies and writes the block's tiles. One thread calls `wait` before it starts the first copy.
///
/// # Safety
/// As [`ping_pong`], when `wait` has returned.
#[inline(always)]
pub(super) unsafe fn multiply_tiles<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
    wait: impl FnOnce(),
) where
    WideSums: Sums<A>,
    NarrowSums: Sums<A>,
{
    let (m, n) = (product.m, product.n);
    // SAFETY: as the caller promises.
    unsafe {
        if is_wide(m, n) {
            const SUMS: usize = WIDE as usize / 2;
            in_turns::<A, C, COLUMN_MAJOR, SUMS, WIDE, { WIDE / BOX_ROWS }, WIDE_STAGES>(shared, product, wait);
        } else {
            const SUMS: usize = NARROW as usize / 2;
            in_turns::<A, C, COLUMN_MAJOR, SUMS, NARROW, { NARROW / BOX_ROWS }, NARROW_STAGES>(shared, product, wait);
        }
    }
}

/// [`multiply_tiles`] with tiles of `COLUMNS` columns, of which a thread has `N` sums in each half of the rows, and `BOXES`
/// boxes of `b` in each of `STAGES` stages.
///
/// # Safety
/// As for [`multiply_tiles`].
#[inline(always)]
unsafe fn in_turns<
    A: Element,
    C: Staged,
    const COLUMN_MAJOR: bool,
    const N: usize,
    const COLUMNS: u32,
    const BOXES: u32,
    const STAGES: u32,
>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
    wait: impl FnOnce(),
) where
    [f32; N]: Sums<A>,
{
    let buffers = Buffers::<STAGES>::of(shared, layout(COLUMNS));
    let Buffers { barriers, .. } = buffers;
    let (group, thread) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    if thread::thread_idx_x() == 0 {
        product.prefetch();
        // SAFETY: the barrier of the block follows.
        unsafe { barriers.init(4) };
    }
    thread::sync_threads();
    let tiles = tiles(product.m, product.n, COLUMNS);
    let (first, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let place = |tile| corner::<ROWS, COLUMNS, 8>(tile, product.m, product.n);
    let count = stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    let mut tile = first;
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumer has left it, and used when it is
    // full; the sums are touched by products only until they are finished. Turns are handed over for each tile but the
    // block's last, and waited for before each but its first.
    unsafe {
        if group == 0 {
            registers::keep::<24>();
            if thread == 0 {
                wait();
                while tile < tiles {
                    let place = place(tile);
                    for i in 0..count {
                        barriers.empty(at.stage).wait(at.parity ^ 1);
                        let (stage, full) = (buffers.stage(at.stage), barriers.full(at.stage));
                        fill::<A, C, COLUMN_MAJOR, A_BOXES, BOXES>(product, place, i * depth::<A>(), stage, full);
                        at.advance();
                    }
                    tile += blocks;
                }
            }
            return;
        }
        registers::take::<240>();
        let consumer = group - 1;
        let turn = Turn { consumer };
        let mut sums = [[0.0; N]; 2];
        tile += consumer * blocks;
        at.skip(consumer * count);
        while tile < tiles {
            if tile != first {
                turn.wait();
            }
            for i in 0..count {
                barriers.full(at.stage).wait(at.parity);
                multiply::<A, COLUMN_MAJOR, N>(&mut sums, buffers.stage(at.stage), i > 0);
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
                let place = place.down(half as u32 * BOX_ROWS);
                store_sums::<_, _, _, 1>(sums, place, product, buffers.staging(consumer), consumer);
            }
            at.skip(count);
            tile += 2 * blocks;
        }
        if thread == 0 {
            wait_for_stores::<0>();
        }
    }
}
