//! Tiles a little lower, so that the last wave is as full as the others, and no pause from one tile to the next.
//!
//! 4096 × 4096 elements are 512 tiles of 128 × 256, and 132 SMs take them in four waves, of which the last one leaves 16
//! SMs idle: 3 % of the time. The number of rows of the *second* factor of a warp-group product is free in steps of
//! eight. So here the tensor cores are given the transposed product: columns of `b` come first, 64 for an instruction,
//! and rows of `a` second. Where 4096 rows were 32 bands of 128, they are 16 tiles of 248 rows, 128 columns wide, and
//! one of 128 rows, 256 columns wide: 33 tiles for each 256 columns, so 528 in all, which is four whole waves of tiles
//! that take 3 % less time (`fitted_tiles.rs`).
//!
//! Turns as in `gemm_ping_pong` hide the writing of a tile behind the next one, but their tiles are smaller, and read
//! more from the L2 cache. Here both warp groups multiply for one tile, and wait at its end only until they have packed
//! their sums, two to a register. They start the next tile at once, and write a box of the packed tile after the
//! products of each of the first stages have been started.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;

use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::fitted_tiles::{Place, Plan, Turns};
use super::persistent::{Buffers, LAYOUT, SLOTS, STAGES};
use super::stage::{depth, fill, stages};
use super::staged_output::copy_box;
use super::tiles::Corner;
use crate::copy_async::Shared;
use crate::tensor_core::barrier::{fence_for_bulk_copies, sync_some};
use crate::tensor_core::element::{Element, Output};
use crate::tensor_core::pipeline::Position;
use crate::tensor_core::registers;
use crate::tensor_core::stmatrix::store_four_transposed;
use crate::tensor_core::tensor_map::{wait_for_stores, wait_for_written};
use crate::tensor_core::wgmma::{self, BOX_BYTES, BOX_ROWS, Boxes, Finish, STEPS, Sums, Tile, place_in_box};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_FITTED];

/// The boxes of a consumer's part of a tile: 256 or 248 rows × 64 columns, or 128 × 128.
const PARTS: usize = 4;
/// The order in which they are written. In a tile of 248 rows the last one, box 3, has eight rows that box 2 has too, with the same
/// elements: it is written when box 2 has been, which is long over by then.
const ORDER: [usize; PARTS] = [2, 0, 1, 3];
/// Registers with the sums of 128 rows, or with those of 256 packed, and those with the sums of 120 rows.
const SUMS: usize = 64;
const FEWER: usize = 60;

products! {
    /// A block for each SM, with tiles that fill the waves; their products are written while the next ones begin.
    gemm_fitted for [384] threads;
    shared Buffers::bytes(LAYOUT);
    rung Rung::USUAL {
        geometry: Geometry::Own {
            elements: 256 * 128,
            blocks: BlockCount(|shape| Plan::of(shape[0] as u32, shape[1] as u32).tiles().min(MULTIPROCESSORS)),
        },
        lesson: "tiles of 248 rows where those of 256 leave the last wave half empty, and packed sums leave during the next tile",
    };
    formats [bf16_to_bf16, f16_to_f16];
    tensor_maps => fitted
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the bytes of [`LAYOUT`].
#[inline(always)]
unsafe fn fitted<A: Element, C: Output<Pair = u32>, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
) where
    [f32; SUMS]: Sums<A>,
    [f32; FEWER]: Sums<A>,
{
    let (group, thread) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    let buffers = Buffers::of(shared, LAYOUT);
    let mut turns = Turns::of_block();
    let count = stages::<A>(product.k);
    let mut at = Position::<STAGES>::START;
    let mut place = turns.next(product.m, product.n);
    // SAFETY: whole warp groups take each branch. A stage is filled when its consumers have left it.
    unsafe {
        let fill = |place: Place, i: u32, at: Position<STAGES>| {
            let (stage, full, corner) = (buffers.stage(at.stage), buffers.barriers.full(at.stage), place.corner());
            if place.is_wide {
                fill::<A, C, COLUMN_MAJOR, 2, 4>(product, corner, i * depth::<A>(), stage, full);
            } else {
                fill::<A, C, COLUMN_MAJOR, 4, 2>(product, corner, i * depth::<A>(), stage, full);
            }
        };
        // The first stages are filled before anybody else is ready.
        let mut filled = 0;
        if thread::thread_idx_x() == 0 {
            product.prefetch();
            buffers.barriers.init(8);
            if let Some(place) = place {
                while filled < count.min(STAGES) {
                    fill(place, filled, at);
                    at.advance();
                    filled += 1;
                }
            }
        }
        thread::sync_threads();
        if group == 0 {
            registers::keep::<40>();
            if thread == 0 {
                while let Some(tile) = place {
                    for i in filled..count {
                        buffers.barriers.empty(at.stage).wait(at.parity ^ 1);
                        fill(tile, i, at);
                        at.advance();
                    }
                    filled = 0;
                    place = turns.next(product.m, product.n);
                }
            }
            return;
        }
        registers::take::<232>();
        let mut consumer = Consumer { product, buffers, at, index: group - 1, count };
        let mut sums = [[0.0; SUMS]; 2];
        let mut done: Option<Packed> = None;
        while let Some(tile) = place {
            if tile.is_fitted {
                consumer.multiply::<COLUMN_MAJOR, FEWER>(&mut sums, tile, done.as_ref());
            } else {
                consumer.multiply::<COLUMN_MAJOR, SUMS>(&mut sums, tile, done.as_ref());
            }
            // While the last products run.
            place = turns.next(product.m, product.n);
            let [first, second] = &mut sums;
            first.finish();
            second.finish();
            consumer.buffers.barriers.leave(consumer.at.before());
            done = Some(Packed::of::<C>(&sums, tile.part(consumer.index)));
        }
        if let Some(done) = &done {
            consumer.put::<0>(done);
            consumer.put::<1>(done);
            consumer.put::<2>(done);
            consumer.put::<3>(done);
        }
        if thread == 0 {
            wait_for_stores::<0>();
        }
    }
}

/// A consumer's part of a tile, rounded: two rows to a register, as [`Sums`] has pairs of columns.
struct Packed {
    pairs: [u32; SUMS],
    place: Place,
}

impl Packed {
    #[inline(always)]
    fn of<C: Output<Pair = u32>>([first, second]: &[[f32; SUMS]; 2], place: Place) -> Self {
        let pair = |sums: &[f32; SUMS], i: usize| C::pair(sums[2 * i], sums[2 * i + 1]);
        let pairs = if place.is_fitted {
            array::from_fn(|i| match i {
                0..32 => pair(first, i),
                32..48 => pair(second, i - 32),
                // The last box begins eight rows earlier, so 2 pairs, and has rows that the one before it has too.
                _ => pair(second, i - 34),
            })
        } else {
            array::from_fn(|i| if i < 32 { pair(first, i) } else { pair(second, i - 32) })
        };
        Self { pairs, place }
    }

    /// Where a box begins.
    #[inline(always)]
    fn corner(&self, index: u32) -> Corner {
        let Place { row, column, is_wide, is_fitted } = self.place;
        let row = row + index % 2 * BOX_ROWS;
        match index {
            0 | 1 => Corner { row, column },
            _ if is_wide => Corner { row, column: column + BOX_ROWS },
            3 if is_fitted => Corner { row: row + 120, column },
            _ => Corner { row: row + 128, column },
        }
    }
}

/// A warp group that multiplies and writes.
struct Consumer<'a, A, C> {
    product: &'a TensorProduct<'a, A, C>,
    buffers: Buffers,
    at: Position<STAGES>,
    index: u32,
    count: u32,
}

impl<A: Element, C: Output<Pair = u32>> Consumer<'_, A, C>
where
    [f32; SUMS]: Sums<A>,
{
    /// Starts the products of all stages of a tile, which replace the sums, with `N` registers of them in the second
    /// half, and writes the tile before between the first of them. The last products have to be waited for.
    ///
    /// # Safety
    /// All threads of the warp group come; the sums are touched by products only until they are finished.
    #[inline(always)]
    unsafe fn multiply<const COLUMN_MAJOR: bool, const N: usize>(
        &mut self,
        sums: &mut [[f32; SUMS]; 2],
        tile: Place,
        before: Option<&Packed>,
    ) where
        [f32; N]: Sums<A>,
    {
        // SAFETY: as the caller promises.
        unsafe {
            self.stage::<COLUMN_MAJOR, N, 0>(sums, tile, before, 0);
            self.stage::<COLUMN_MAJOR, N, 1>(sums, tile, before, 1);
            self.stage::<COLUMN_MAJOR, N, 2>(sums, tile, before, 2);
            self.stage::<COLUMN_MAJOR, N, 3>(sums, tile, before, 3);
            for i in PARTS as u32..self.count {
                self.stage::<COLUMN_MAJOR, N, PARTS>(sums, tile, None, i);
            }
        }
    }

    /// Starts the products of stage number `i`, if there is one, and writes the box `PART` of the tile before.
    ///
    /// # Safety
    /// As for [`Consumer::multiply`].
    #[inline(always)]
    unsafe fn stage<const COLUMN_MAJOR: bool, const N: usize, const PART: usize>(
        &mut self,
        [first, second]: &mut [[f32; SUMS]; 2],
        tile: Place,
        before: Option<&Packed>,
        i: u32,
    ) where
        [f32; N]: Sums<A>,
    {
        const { assert!(N <= SUMS) };
        let Self { ref buffers, index, .. } = *self;
        // SAFETY: a stage is used when it is full, and left when the products behind it have been started; the sums of
        // the second half are the first `N` of its registers.
        unsafe {
            if PART == PARTS || i < self.count {
                let second = &mut *(second as *mut [f32; SUMS]).cast::<[f32; N]>();
                let stage = buffers.stage(self.at.stage);
                // Rows of `a`, and columns of `b`, for both halves.
                let (below, b, beside) = match tile.is_wide {
                    true => (0, 2 + 2 * index, 3 + 2 * index),
                    false => (2, 4 + index, 4 + index),
                };
                let tile_of_a = |boxes: u32| Tile::<A, Boxes<true>>::at(stage.byte_add(boxes * BOX_BYTES));
                let tile_of_b = |boxes: u32| Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(boxes * BOX_BYTES));
                let (a, below, b, beside) = (tile_of_a(0), tile_of_a(below), tile_of_b(b), tile_of_b(beside));
                buffers.barriers.full(self.at.stage).wait(self.at.parity);
                wgmma::fence();
                for step in 0..STEPS {
                    first.multiply(b.step(step), a.step(step), i > 0 || step > 0);
                    second.multiply(beside.step(step), below.step(step), i > 0 || step > 0);
                }
                wgmma::commit();
                if i > 0 {
                    // The products before these are over, and so the stage before is empty.
                    wgmma::wait::<1>();
                    buffers.barriers.leave(self.at.before());
                }
                self.at.advance();
            }
            if PART < PARTS
                && let Some(before) = before
            {
                self.put::<PART>(before);
            }
        }
    }

    /// Writes one of the boxes of a tile to the product, in the order of [`ORDER`], by a copy that is under way afterwards. There
    /// are [`SLOTS`] boxes to write to.
    ///
    /// # Safety
    /// All threads of the warp group come; no other thread writes these elements of the product.
    #[inline(always)]
    unsafe fn put<const PART: usize>(&self, done: &Packed) {
        let Self { product, buffers, index, .. } = self;
        let (warp, lane) = (thread::thread_idx_x() % 128 / 32, thread::thread_idx_x() % 32);
        let slot = buffers.staging(*index).wrapping_add((PART as u32 % SLOTS * BOX_BYTES) as usize);
        let number = const { ORDER[PART % PARTS] };
        // SAFETY: the thread that has started all copies waits until the last one from this box has read it, and the
        // others wait for that thread; each lane has 16 bytes of its own. Where the last box has rows of the first, that
        // one has been written.
        unsafe {
            if thread::thread_idx_x().is_multiple_of(128) {
                wait_for_stores::<1>();
                if PART == PARTS - 1 {
                    wait_for_written::<2>();
                }
            }
            sync_some(1 + index, 128);
            for quarter in 0..4 {
                let pairs = array::from_fn(|i| done.pairs[number * 16 + quarter * 4 + i]);
                let (row, chunk) = (quarter as u32 * 16 + lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2);
                store_four_transposed(Shared::of(slot).byte_add(place_in_box(row, chunk)), pairs);
            }
            fence_for_bulk_copies();
            sync_some(1 + index, 128);
            copy_box(slot, done.corner(number as u32), product);
        }
    }
}
