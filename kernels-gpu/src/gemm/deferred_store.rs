//! A deferred store: a tile is packed into registers and stored while the next one is multiplied.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::rung;

use super::fitted::{
    BlockTiles, CONSUMER_REGISTERS, CONSUMER_WARPS, CONSUMERS, FITTED_SUMS, HALF_BOXES, OutputTile, PRODUCER_REGISTERS,
    PackedHalf, Plan, SLOTS, STAGE_BYTES, STAGES, SUMS, fill, multiply, store_box, store_boxes,
};
use super::hopper::{OutputMatrix, Position, Ring, WARP_GROUP, depth};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{self, Finish, Sums, setmaxnreg_dec, setmaxnreg_inc};
use crate::tensor_core::{Bf16, Element, F16};

/// `gemm_fitted` without a pause between tiles.
///
/// The alternation of `gemm_ping_pong` hides the storing of a tile, but its tiles are smaller and read more from the L2
/// cache. Here both consumers multiply for one tile, as in `gemm_fitted`, and at its end they wait only until they have
/// packed their sums, two to a register. They start the next tile at once. After the products of each of its first four
/// stages have been started, they store a box of the packed tile. For the same reason the first stages are filled
/// before the block's barrier, so that the first products start sooner.
///
/// Measured on an H100 with CUDA ports, as times over the port of `gemm_persistent`: 0.967 for 8192³, 0.977 for 4096³
/// and 1.012 for 2048³, where `gemm_fitted` has 0.974, 0.989 and 1.008. Filling the first stages early has 0.993, 0.998
/// and 0.986 by itself.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_fitted,
    lesson = "packed sums leave during the next tile: the tensor cores wait only until they are packed",
    blocks = [384],
    dynamic_shared = Ring::<STAGES>::bytes(STAGE_BYTES, CONSUMERS * SLOTS),
    row_bytes = 16,
    grid = |launch| {
        let (m, n, multiprocessors) = (launch.length(0), launch.length(1), launch.device.multiprocessors);
        [Plan::of(m as u32, n as u32, multiprocessors).tiles().clamp(1, multiprocessors), 1, 1]
    },
    (A, C) = { _: (Bf16, Bf16), f16: (F16, F16) },
    COLUMN_MAJOR = { _: false, columns: true }
)]
pub unsafe fn gemm_deferred_store<A, C, const COLUMN_MAJOR: bool>(
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
    let stage_count = k.div_ceil(depth::<A>());
    let mut at = Position::<STAGES>::START;
    let mut tiles = BlockTiles::of_block();
    let mut next = tiles.next(m, n);
    let fill = |tile: OutputTile, i: u32, at: Position<STAGES>| {
        // SAFETY: one thread comes here, for a stage that is empty: at first, or when all consumers have left it.
        unsafe { fill::<COLUMN_MAJOR>(&ring, at.stage, [a_map, b_map], tile, i * depth::<A>()) };
    };
    let mut filled = 0;
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: the barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
        if let Some(tile) = next {
            while filled < stage_count.min(STAGES) {
                fill(tile, filled, at);
                at.advance();
                filled += 1;
            }
        }
    }
    thread::sync_threads();
    if warp_group == 0 {
        // SAFETY: the whole warp group comes here.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        while thread == 0
            && let Some(tile) = next
        {
            for i in filled..stage_count {
                // SAFETY: the stage's mbarriers are initialized.
                unsafe { ring.empty(at.stage).wait(at.parity ^ 1) };
                fill(tile, i, at);
                at.advance();
            }
            filled = 0;
            next = tiles.next(m, n);
        }
        return;
    }
    // SAFETY: whole warp groups come here, and the producer releases what they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let index = warp_group - 1;
    let output = OutputMatrix { map: c_map, data: c, rows: m, columns: n };
    let mut consumer = Consumer { output, slots: ring.output_box(index * SLOTS), ring, at, index, stage_count };
    let mut sums = [[0.0; SUMS]; 2];
    let mut packed: Option<PackedHalf> = None;
    while let Some(tile) = next {
        // SAFETY: the whole warp group comes here, and the sums are not accessed until they are finished.
        unsafe {
            if tile.is_fitted {
                consumer.multiply_all::<A, COLUMN_MAJOR, FITTED_SUMS>(&mut sums, tile, packed.as_ref());
            } else {
                consumer.multiply_all::<A, COLUMN_MAJOR, SUMS>(&mut sums, tile, packed.as_ref());
            }
            // Computed while the last products run.
            next = tiles.next(m, n);
            let [first, second] = &mut sums;
            first.finish();
            second.finish();
            ring.leave(consumer.at.previous());
        }
        packed = Some(PackedHalf::new::<C>(&sums, tile, consumer.index));
    }
    if let Some(half) = &packed {
        // SAFETY: the whole warp group comes here. Only it has its half of the last tile and its boxes.
        unsafe { store_boxes(half, consumer.index, consumer.slots, &consumer.output) };
    }
    if thread == 0 {
        // Shared memory must stay until the last copies have read it.
        tma::wait_read::<0>();
    }
}

/// A warp group that multiplies and stores.
struct Consumer<'a, C> {
    output: OutputMatrix<'a, C>,
    slots: *mut u8,
    ring: Ring<STAGES>,
    at: Position<STAGES>,
    index: u32,
    stage_count: u32,
}

impl<C: Copy> Consumer<'_, C> {
    /// Starts the products of all stages of a tile, which replace the sums, and stores the previous tile between the
    /// first of them. The last products still have to be waited for.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call it, and that no thread accesses the sums before
    /// the products have been waited for.
    #[inline(always)]
    unsafe fn multiply_all<A: Element, const COLUMN_MAJOR: bool, const N: usize>(
        &mut self,
        sums: &mut [[f32; SUMS]; 2],
        tile: OutputTile,
        previous: Option<&PackedHalf>,
    ) where
        [f32; SUMS]: Sums<A>,
        [f32; N]: Sums<A>,
    {
        // SAFETY: the contract is this function's.
        unsafe {
            self.stage_and_box::<A, COLUMN_MAJOR, N, 0>(sums, tile, previous);
            self.stage_and_box::<A, COLUMN_MAJOR, N, 1>(sums, tile, previous);
            self.stage_and_box::<A, COLUMN_MAJOR, N, 2>(sums, tile, previous);
            self.stage_and_box::<A, COLUMN_MAJOR, N, 3>(sums, tile, previous);
            for i in HALF_BOXES as u32..self.stage_count {
                self.stage::<A, COLUMN_MAJOR, N>(sums, tile, i);
            }
        }
    }

    /// Starts the products of stage number `I`, if there is one, and then stores box number `I` of the previous tile.
    ///
    /// # Safety
    /// As for [`Consumer::multiply_all`].
    #[inline(always)]
    unsafe fn stage_and_box<A: Element, const COLUMN_MAJOR: bool, const N: usize, const I: usize>(
        &mut self,
        sums: &mut [[f32; SUMS]; 2],
        tile: OutputTile,
        previous: Option<&PackedHalf>,
    ) where
        [f32; SUMS]: Sums<A>,
        [f32; N]: Sums<A>,
    {
        // SAFETY: the contract is this function's. Only this warp group has its half of the previous tile and its
        // boxes.
        unsafe {
            if (I as u32) < self.stage_count {
                self.stage::<A, COLUMN_MAJOR, N>(sums, tile, I as u32);
            }
            if let Some(previous) = previous {
                store_box::<C, I>(previous, self.index, self.slots, &self.output);
            }
        }
    }

    /// Starts the products of stage number `i`, and leaves the stage before.
    ///
    /// # Safety
    /// As for [`Consumer::multiply_all`].
    #[inline(always)]
    unsafe fn stage<A: Element, const COLUMN_MAJOR: bool, const N: usize>(
        &mut self,
        sums: &mut [[f32; SUMS]; 2],
        tile: OutputTile,
        i: u32,
    ) where
        [f32; SUMS]: Sums<A>,
        [f32; N]: Sums<A>,
    {
        let Self { ref ring, ref mut at, index, .. } = *self;
        // SAFETY: the whole warp group uses the stage when it is full, and leaves it when its products have ended,
        // which is after the next stage's have been started.
        unsafe {
            ring.full(at.stage).wait(at.parity);
            multiply::<A, COLUMN_MAJOR, N>(sums, tile, index, ring.stage(at.stage), i > 0);
            if i > 0 {
                wgmma::wait::<1>();
                ring.leave(at.previous());
            }
        }
        at.advance();
    }
}
