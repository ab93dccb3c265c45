//! A deferred store: a tile is packed into registers and stored while the next tile is multiplied.
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
/// `gemm_ping_pong` hides the stores of a tile, but its tiles are smaller and need more data from the L2 cache. Here
/// both consumers work on the same tile, as in `gemm_fitted`. At the end of a tile, the consumers only pack their sums,
/// two to a register, and then start the next tile at once. During each of the next tile's first four stages, a
/// consumer starts the products and then stores a box of the packed tile. In addition, the kernel fills the first
/// stages before the block's barrier, so that the first products start sooner.
///
/// On an H100, the CUDA port takes 0.967 times as long as the port of `gemm_persistent` for 8192³, 0.977 times for
/// 4096³ and 1.012 times for 2048³. The factors for `gemm_fitted` are 0.974, 0.989 and 1.008. If filling the first
/// stages early is the only change, the factors are 0.993, 0.998 and 0.986.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_fitted,
    lesson = "packed sums are stored during the next tile: the tensor cores wait only for the packing",
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
        // SAFETY: one thread calls `fill`, for a stage that is empty: the stage is unused, or all consumers have left
        // it.
        unsafe { fill::<COLUMN_MAJOR>(&ring, at.stage, [a_map, b_map], tile, i * depth::<A>()) };
    };
    let mut filled = 0;
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the block follows.
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
        // SAFETY: all threads of the warp group reach this code.
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
    // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let index = warp_group - 1;
    let output = OutputMatrix { map: c_map, data: c, rows: m, columns: n };
    let mut consumer = Consumer { output, slots: ring.output_box(index * SLOTS), ring, at, index, stage_count };
    let mut sums = [[0.0; SUMS]; 2];
    let mut packed: Option<PackedHalf> = None;
    while let Some(tile) = next {
        // SAFETY: all threads of the warp group reach this code, and the sums are not accessed until they are finished.
        unsafe {
            if tile.is_fitted {
                consumer.multiply_all::<A, COLUMN_MAJOR, FITTED_SUMS>(&mut sums, tile, packed.as_ref());
            } else {
                consumer.multiply_all::<A, COLUMN_MAJOR, SUMS>(&mut sums, tile, packed.as_ref());
            }
            // The next tile is computed while the last products run.
            next = tiles.next(m, n);
            let [first, second] = &mut sums;
            first.finish();
            second.finish();
            ring.leave(consumer.at.previous());
        }
        packed = Some(PackedHalf::new::<C>(&sums, tile, consumer.index));
    }
    if let Some(half) = &packed {
        // SAFETY: all threads of the warp group reach this code. Only this warp group writes its half of the last tile
        // and its boxes.
        unsafe { store_boxes(half, consumer.index, consumer.slots, &consumer.output) };
    }
    if thread == 0 {
        // The block must not end before the last copies have read shared memory.
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
    /// Starts the products of all stages of a tile. The products replace the sums. Between the first products, the
    /// function stores the previous tile. A wait for the last products must follow.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call the function, and that no thread accesses the
    /// sums before a wait for the products.
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
        // SAFETY: the called functions have the same requirements as this function.
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

    /// Starts the products of stage number `I`, if that stage exists, and then stores box number `I` of the previous
    /// tile.
    ///
    /// # Safety
    /// See [`Consumer::multiply_all`].
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
        // SAFETY: the called functions have the same requirements as this function. Only this warp group writes its
        // half of the previous tile and its boxes.
        unsafe {
            if (I as u32) < self.stage_count {
                self.stage::<A, COLUMN_MAJOR, N>(sums, tile, I as u32);
            }
            if let Some(previous) = previous {
                store_box::<C, I>(previous, self.index, self.slots, &self.output);
            }
        }
    }

    /// Starts the products of stage number `i` and leaves the previous stage.
    ///
    /// # Safety
    /// See [`Consumer::multiply_all`].
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
        // SAFETY: all threads of the warp group reach this code. They use the stage only when it is full and leave it
        // only when its products have ended.
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
