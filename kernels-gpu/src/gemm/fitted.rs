//! Fitted tiles: each tile has slightly fewer rows, so that the last round is as full as the previous rounds.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;

use cuda_std::thread;
use rung::rung;

use super::hopper::{CONSUMER_BARRIER, OutputMatrix, Position, Ring, WARP_GROUP, copy_box, depth};
use crate::tensor_core::tma::{self, TensorMap, barrier_sync};
use crate::tensor_core::wgmma::{
    self, BOX_BYTES, BOX_ROWS, Boxes, Finish, STEPS, Sums, Tile, setmaxnreg_dec, setmaxnreg_inc, stmatrix_transposed,
    swizzled_offset,
};
use crate::tensor_core::{Bf16, Element, F16, Output, Shared, opaque};

/// The number of stages in shared memory, and the number of bytes in a stage: two boxes of one factor and four boxes of
/// the other.
pub(super) const STAGES: u32 = 4;
pub(super) const STAGE_BYTES: u32 = 6 * BOX_BYTES;
/// The number of warp groups that multiply, and the number of their warps.
pub(super) const CONSUMERS: u32 = 2;
pub(super) const CONSUMER_WARPS: u32 = CONSUMERS * WARP_GROUP / 32;
/// The number of boxes in shared memory per consumer for the product: one box is written while the other is copied.
pub(super) const SLOTS: u32 = 2;
/// The number of registers per thread, as in `gemm_warp_specialized`: 40 + 2 · 232 = 3 · 168.
pub(super) const PRODUCER_REGISTERS: u32 = 40;
pub(super) const CONSUMER_REGISTERS: u32 = 232;
/// The number of sums per thread for 128 rows × 64 columns, and for the 120 rows of the second half of a fitted tile.
pub(super) const SUMS: usize = 64;
pub(super) const FITTED_SUMS: usize = 60;
/// The number of boxes in a consumer's half of a tile: 256 (or 248) rows × 64 columns, or 128 × 128.
pub(super) const HALF_BOXES: usize = 4;
/// The order in which the boxes are copied. In a fitted tile, boxes 2 and 3 overlap in eight rows, so box 3 must wait
/// until box 2 has been written. Therefore box 2 is copied first and box 3 last. Two other copies come between them, so
/// box 2 has usually been written when box 3 is copied.
const COPY_ORDER: [usize; HALF_BOXES] = [2, 0, 1, 3];
/// The number of packed pairs per thread in a box. 8 rows × 64 columns are two pairs per thread.
const BOX_PAIRS: usize = 16;
/// The number of rows that box 3 of a fitted tile shares with box 2: a box has 64 rows, and only 56 rows remain.
const SHARED_ROWS: u32 = 8;
const SHARED_PAIRS: usize = 2;

/// The number of rows in a wide tile, and of columns in a tall tile.
const SHORT_SIDE: u32 = 128;
/// The number of columns in a wide tile, and in a pair of tall tiles.
const PAIR_COLUMNS: u32 = 256;
/// The number of rows in a whole tall tile, in groups of eight.
const WHOLE: u32 = 32;
const FITTED: u32 = 31;
/// The number of fitted tiles per 4096 rows. 4096 rows consist of 16 fitted tiles and a wide tile: 16 · 248 + 128.
const FITTED_PER_PERIOD: u32 = 16;
const PERIOD_ROWS: u32 = FITTED_PER_PERIOD * FITTED * 8 + SHORT_SIDE;
/// The number of pairs of tile columns in a band. A band has 1024 columns of `b`, which stay in the L2 cache.
const BAND_PAIRS: u32 = 4;
/// The number of positions by which a block advances from one round to the next. This prime divides none of the numbers
/// of multiprocessors of Hopper GPUs (78, 114, 132, 144), so a block visits every position of a round.
const ROTATION: u32 = 37;

/// `gemm_persistent` with tiles of 248 rows if tiles of 256 rows would leave the last round half empty.
///
/// A product of 4096 × 4096 elements has 512 tiles of 128 × 256. 132 multiprocessors compute these tiles in four
/// rounds. In the last round, 16 multiprocessors are idle, which wastes 3 % of the time. The *second* factor of a
/// warp-group product can have any number of rows that is a multiple of eight. So here the tensor cores compute the
/// transposed product: columns of `b` are the first factor, 64 per instruction, and rows of `a` are the second factor.
/// `gemm_persistent` divides 4096 rows into 32 bands of 128 rows. Here 4096 rows are divided into 16 bands of tall
/// tiles (248 rows × 128 columns) and a band of wide tiles (128 rows × 256 columns). So there are 33 tiles per 256
/// columns, and the product has 528 tiles. These tiles fill four rounds, and each round takes 3 % less time (`Plan`).
///
/// On an H100, the CUDA port takes 0.974 times as long as the port of `gemm_persistent` for 8192³, 0.989 times for
/// 4096³ and 1.008 times for 2048³.
///
/// # Safety
/// See [`gemm`](super).
#[rung(
    after = gemm_persistent,
    lesson = "tiles of 248 rows if tiles of 256 rows would leave the last wave half empty",
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
pub unsafe fn gemm_fitted<A, C, const COLUMN_MAJOR: bool>(
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
    if thread::thread_idx_x() == 0 {
        tma::prefetch([a_map, b_map, c_map]);
        // SAFETY: a barrier of the block follows.
        unsafe { ring.init(CONSUMER_WARPS) };
    }
    thread::sync_threads();
    let stage_count = k.div_ceil(depth::<A>());
    let mut position = Position::<STAGES>::START;
    let mut tiles = BlockTiles::of_block();
    if warp_group == 0 {
        // SAFETY: all threads of the warp group reach this code.
        unsafe { setmaxnreg_dec::<PRODUCER_REGISTERS>() };
        while thread == 0
            && let Some(tile) = tiles.next(m, n)
        {
            for i in 0..stage_count {
                // SAFETY: one thread fills the stage, after all consumers have left the stage.
                unsafe {
                    ring.empty(position.stage).wait(position.parity ^ 1);
                    fill::<COLUMN_MAJOR>(&ring, position.stage, [a_map, b_map], tile, i * depth::<A>());
                }
                position.advance();
            }
        }
        return;
    }
    // SAFETY: whole warp groups reach this code, and the producer releases the registers that they acquire.
    unsafe { setmaxnreg_inc::<CONSUMER_REGISTERS>() };
    let consumer = warp_group - 1;
    let (output, slots) =
        (OutputMatrix { map: c_map, data: c, rows: m, columns: n }, ring.output_box(consumer * SLOTS));
    let mut sums = [[0.0; SUMS]; 2];
    while let Some(tile) = tiles.next(m, n) {
        // SAFETY: all threads of the warp group reach this code, and the sums are not accessed until they are finished.
        // Only this warp group writes its half of the tile and its boxes.
        unsafe {
            if tile.is_fitted {
                multiply_all::<A, COLUMN_MAJOR, FITTED_SUMS>(
                    &mut sums,
                    tile,
                    consumer,
                    &ring,
                    &mut position,
                    stage_count,
                );
            } else {
                multiply_all::<A, COLUMN_MAJOR, SUMS>(&mut sums, tile, consumer, &ring, &mut position, stage_count);
            }
            let [first, second] = &mut sums;
            first.finish();
            second.finish();
            ring.leave(position.previous());
            store_boxes(&PackedHalf::new::<C>(&sums, tile, consumer), consumer, slots, &output);
        }
    }
    if thread == 0 {
        // The block must not end before the last copies have read shared memory.
        tma::wait_read::<0>();
    }
}

/// The division of a product into tiles. Each group of 256 columns consists of `tall` rows of two tall tiles, followed
/// by `wide` wide tiles.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// The number of rows of a tall tile in groups of eight.
    groups: u32,
    tall: u32,
    wide: u32,
    /// The number of pairs of tall-tile columns. Each pair covers 256 columns.
    pairs: u32,
}

impl Plan {
    /// Returns the faster of two plans for this number of blocks: whole tall tiles, or 16 fitted tiles and a wide tile
    /// for each 4096 rows.
    ///
    /// The host calls this function with the number of multiprocessors, and the kernel with the number of blocks. Both
    /// receive the same plan. If there are fewer blocks than multiprocessors, the chosen plan takes one round for both
    /// numbers, and the alternative plan takes at least as long.
    #[inline(always)]
    pub(super) fn of(m: u32, n: u32, blocks: u32) -> Self {
        let whole = Self::with(WHOLE, m / (WHOLE * 8), m, n);
        let fitted = Self::with(FITTED, m / PERIOD_ROWS * FITTED_PER_PERIOD, m, n);
        if fitted.time(blocks) < whole.time(blocks) { fitted } else { whole }
    }

    #[inline(always)]
    fn with(groups: u32, tall: u32, m: u32, n: u32) -> Self {
        Self { groups, tall, wide: (m - tall * groups * 8).div_ceil(SHORT_SIDE), pairs: n.div_ceil(PAIR_COLUMNS) }
    }

    #[inline(always)]
    fn tiles_per_pair(&self) -> u32 {
        2 * self.tall + self.wide
    }

    /// Returns the number of tiles.
    #[inline(always)]
    pub(super) fn tiles(&self) -> u32 {
        self.pairs * self.tiles_per_pair()
    }

    /// Returns the number of rounds times the number of rows in a tile. The time of the product is proportional to this
    /// result.
    #[inline(always)]
    fn time(&self, blocks: u32) -> u32 {
        self.tiles().div_ceil(blocks) * self.groups
    }

    /// Returns tile number `index`. The tiles are numbered band by band, and within a band in row-major order, tall
    /// tiles first.
    #[inline(always)]
    fn tile(&self, index: u32) -> OutputTile {
        // At least 1, so that the divisions need no check for zero.
        let tiles_per_band = (BAND_PAIRS * self.tiles_per_pair()).max(1);
        let (band, index) = (index / tiles_per_band, index % tiles_per_band);
        let first_pair = band * BAND_PAIRS;
        let pairs = (self.pairs - first_pair).clamp(1, BAND_PAIRS);
        let tall_tiles = 2 * pairs * self.tall;
        let is_wide = index >= tall_tiles;
        let (index, tiles_per_row, first_row, rows, columns) = if is_wide {
            (index - tall_tiles, pairs, self.tall * self.groups * 8, SHORT_SIDE, PAIR_COLUMNS)
        } else {
            (index, 2 * pairs, 0, self.groups * 8, SHORT_SIDE)
        };
        let (tile_row, tile_column) = (index / tiles_per_row, index % tiles_per_row);
        OutputTile {
            row: first_row + tile_row * rows,
            column: first_pair * PAIR_COLUMNS + tile_column * columns,
            is_wide,
            is_fitted: self.groups == FITTED && !is_wide,
        }
    }
}

/// A tile's first row, its first column and its shape: wide (128 × 256), fitted (248 × 128), or whole (256 × 128).
#[derive(Clone, Copy)]
pub(super) struct OutputTile {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) is_wide: bool,
    pub(super) is_fitted: bool,
}

/// The tiles of a block: one in each round. The block's position in a round rotates, so that no block gets all wide
/// tiles, which take longer than fitted tiles.
#[derive(Clone, Copy)]
pub(super) struct BlockTiles {
    /// The first tile of the round.
    round_start: u32,
    /// The block's position in the round.
    position: u32,
}

impl BlockTiles {
    /// Returns the tiles of this block.
    #[inline(always)]
    pub(super) fn of_block() -> Self {
        Self { round_start: 0, position: thread::block_idx_x() }
    }

    /// Returns the block's next tile of a product with `m` rows and `n` columns, or `None` after the last tile.
    #[inline(always)]
    pub(super) fn next(&mut self, m: u32, n: u32) -> Option<OutputTile> {
        let blocks = thread::grid_dim_x().max(1);
        // The sizes are opaque, so the compiler recomputes the plan for each tile. This frees the plan's registers for
        // sums.
        let plan = Plan::of(opaque(m), opaque(n), blocks);
        let index = self.round_start + self.position;
        self.round_start += blocks;
        self.position = (self.position + ROTATION) % blocks;
        (index < plan.tiles()).then(|| plan.tile(index))
    }
}

/// Starts the copies that fill a stage with the slice of a tile's factors that begins at `k`.
///
/// # Safety
/// See [`Ring::fill`].
#[inline(always)]
pub(super) unsafe fn fill<const COLUMN_MAJOR: bool>(
    ring: &Ring<STAGES>,
    stage: u32,
    maps: [&TensorMap; 2],
    tile: OutputTile,
    k: u32,
) {
    let corner = [tile.row, tile.column, k];
    // SAFETY: the called functions have the same requirements as this function. Both tile shapes have six boxes.
    unsafe {
        if tile.is_wide {
            ring.fill::<COLUMN_MAJOR, 2, 4>(stage, maps, corner);
        } else {
            ring.fill::<COLUMN_MAJOR, 4, 2>(stage, maps, corner);
        }
    }
}

/// Starts the products of all stages of a tile. The products replace the sums. The caller must then wait for the
/// products.
///
/// # Safety
/// See [`multiply`]. Its requirements must hold for each stage of the tile when the stage is full.
#[inline(always)]
unsafe fn multiply_all<A: Element, const COLUMN_MAJOR: bool, const N: usize>(
    sums: &mut [[f32; SUMS]; 2],
    tile: OutputTile,
    consumer: u32,
    ring: &Ring<STAGES>,
    position: &mut Position<STAGES>,
    stage_count: u32,
) where
    [f32; SUMS]: Sums<A>,
    [f32; N]: Sums<A>,
{
    for i in 0..stage_count {
        // SAFETY: all threads of the warp group reach this code. They use the stage only when it is full and leave it
        // only when its products have ended.
        unsafe {
            ring.full(position.stage).wait(position.parity);
            multiply::<A, COLUMN_MAJOR, N>(sums, tile, consumer, ring.stage(position.stage), i > 0);
            wgmma::wait::<1>();
            if i > 0 {
                ring.leave(position.previous());
            }
        }
        position.advance();
    }
}

/// Starts the products of a full stage for a consumer's half of a tile, as one group. The products are added to the
/// sums. Unless `is_added`, the first product replaces the sums. In the second array of sums, only the first `N`
/// registers are used.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function and that the stage is full. No thread
/// may write the stage or access the sums before a wait for the products.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool, const N: usize>(
    [first, second]: &mut [[f32; SUMS]; 2],
    tile: OutputTile,
    consumer: u32,
    stage: Shared,
    is_added: bool,
) where
    [f32; SUMS]: Sums<A>,
    [f32; N]: Sums<A>,
{
    const { assert!(N <= SUMS) };
    // The boxes of `a` come first. Each of the two arrays of sums covers 64 columns and 128 or 120 rows. In a wide
    // tile, a consumer computes 128 columns, and both arrays cover the same rows. In a tall tile, a consumer computes
    // 64 columns, and the second array covers the lower rows.
    let (first_b, second_b, second_a) = match tile.is_wide {
        true => (2 + 2 * consumer, 3 + 2 * consumer, 0),
        false => (4 + consumer, 4 + consumer, 2),
    };
    // SAFETY: the boxes are in the stage, which stays full, and all threads of the warp group call this function. `N`
    // is at most `SUMS`.
    unsafe {
        let second = &mut *(second as *mut [f32; SUMS]).cast::<[f32; N]>();
        let tile_of_a = |boxes: u32| Tile::<A, Boxes<true>>::at(stage.byte_add(boxes * BOX_BYTES));
        let tile_of_b = |boxes: u32| Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(boxes * BOX_BYTES));
        let (first_a, second_a) = (tile_of_a(0), tile_of_a(second_a));
        let (first_b, second_b) = (tile_of_b(first_b), tile_of_b(second_b));
        wgmma::fence();
        for step in 0..STEPS {
            first.multiply(first_b.step(step), first_a.step(step), is_added || step > 0);
            second.multiply(second_b.step(step), second_a.step(step), is_added || step > 0);
        }
        wgmma::commit();
    }
}

/// A consumer's half of a tile, rounded and packed: a register holds two neighboring rows of a column.
pub(super) struct PackedHalf {
    /// The pairs of box 0, then the pairs of boxes 1, 2 and 3.
    pairs: [u32; HALF_BOXES * BOX_PAIRS],
    /// The tile, with its first column replaced by the first column of this half.
    tile: OutputTile,
}

impl PackedHalf {
    /// Packs the sums of a consumer's half of a tile.
    #[inline(always)]
    pub(super) fn new<C: Output<Pair = u32>>(
        [first, second]: &[[f32; SUMS]; 2],
        tile: OutputTile,
        consumer: u32,
    ) -> Self {
        const FIRST_PAIRS: usize = SUMS / 2;
        const BEFORE_BOX_3: usize = 3 * BOX_PAIRS;
        let columns = if tile.is_wide { 128 } else { 64 };
        let tile = OutputTile { column: tile.column + consumer * columns, ..tile };
        let pair = |sums: &[f32; SUMS], i: usize| C::pair(sums[2 * i], sums[2 * i + 1]);
        let pairs = if tile.is_fitted {
            array::from_fn(|i| match i {
                0..FIRST_PAIRS => pair(first, i),
                FIRST_PAIRS..BEFORE_BOX_3 => pair(second, i - FIRST_PAIRS),
                _ => pair(second, i - FIRST_PAIRS - SHARED_PAIRS),
            })
        } else {
            array::from_fn(|i| if i < FIRST_PAIRS { pair(first, i) } else { pair(second, i - FIRST_PAIRS) })
        };
        Self { pairs, tile }
    }

    /// Returns the first row and the first column of a box.
    #[inline(always)]
    fn corner(&self, index: u32) -> [u32; 2] {
        let OutputTile { row, column, is_wide, is_fitted } = self.tile;
        let row = row + index % 2 * BOX_ROWS;
        match index {
            0 | 1 => [row, column],
            _ if is_wide => [row, column + BOX_ROWS],
            3 if is_fitted => [row + 2 * BOX_ROWS - SHARED_ROWS, column],
            _ => [row + 2 * BOX_ROWS, column],
        }
    }
}

/// Stores all boxes of a consumer's half of a tile. The last copies are still in flight when the function returns.
///
/// # Safety
/// See [`store_box`].
#[inline(always)]
pub(super) unsafe fn store_boxes<C: Copy>(
    half: &PackedHalf,
    consumer: u32,
    slots: *mut u8,
    output: &OutputMatrix<'_, C>,
) {
    // SAFETY: the called functions have the same requirements as this function.
    unsafe {
        store_box::<C, 0>(half, consumer, slots, output);
        store_box::<C, 1>(half, consumer, slots, output);
        store_box::<C, 2>(half, consumer, slots, output);
        store_box::<C, 3>(half, consumer, slots, output);
    }
}

/// Writes box number `STEP` of [`COPY_ORDER`] to shared memory and copies it to the product. The copy is still in
/// flight when the function returns. `STEP` is a constant, so that the compiler knows which registers hold the box's
/// pairs.
///
/// # Safety
/// The caller must ensure that all threads of the warp group `consumer` call the function for all boxes in order. No
/// other thread may write these elements of the product. `slots` must point to [`SLOTS`] boxes that only this warp
/// group uses.
#[inline(always)]
pub(super) unsafe fn store_box<C: Copy, const STEP: usize>(
    half: &PackedHalf,
    consumer: u32,
    slots: *mut u8,
    output: &OutputMatrix<'_, C>,
) {
    let index = const { COPY_ORDER[STEP] };
    let (warp, lane) = (thread::thread_idx_x() % WARP_GROUP / 32, thread::thread_idx_x() % 32);
    let slot = slots.wrapping_add((STEP as u32 % SLOTS * BOX_BYTES) as usize);
    if thread::thread_idx_x().is_multiple_of(WARP_GROUP) {
        // Waits until the last copy from this slot has read the slot.
        tma::wait_read::<1>();
        if STEP == HALF_BOXES - 1 {
            // Waits until box 2, the third to last copy, has been written.
            tma::wait_written::<2>();
        }
    }
    // SAFETY: the first barrier separates the slot's last copy from the next writes to the slot. The second barrier
    // separates these writes from the start of the next copy. Each lane passes the address of a different 16 bytes of
    // the box.
    unsafe {
        barrier_sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
        for quarter in 0..4 {
            // Four 8 × 8 matrices: 16 rows of the product, and 16 columns for each warp.
            let pairs = array::from_fn(|i| half.pairs[index * BOX_PAIRS + quarter * 4 + i]);
            let (row, chunk) = (quarter as u32 * 16 + lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2);
            stmatrix_transposed(Shared::of(slot).byte_add(swizzled_offset(row, chunk)), pairs);
        }
        tma::fence_shared();
        barrier_sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
        copy_box(slot, half.corner(index as u32), output);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    /// The numbers of multiprocessors of Hopper GPUs.
    const MULTIPROCESSORS: [u32; 4] = [78, 114, 132, 144];

    #[test]
    fn every_element_is_in_one_tile_for_any_number_of_blocks() {
        for (m, n) in [(1, 1), (128, 256), (4095, 300), (4096, 4096), (4097, 8), (8192, 1100), (12_500, 257)] {
            for multiprocessors in MULTIPROCESSORS {
                let plan = Plan::of(m, n, multiprocessors);
                // All tiles consist of units of eight rows and 64 columns.
                let (rows, columns) = (m.div_ceil(8), n.div_ceil(64));
                let mut covered = vec![0; (rows * columns) as usize];
                for index in 0..plan.tiles() {
                    let OutputTile { row, column, is_wide, is_fitted } = plan.tile(index);
                    let [height, width] = if is_wide { [128, 256] } else { [if is_fitted { 248 } else { 256 }, 128] };
                    for i in (row / 8..(row + height) / 8).filter(|&i| i < rows) {
                        for j in (column / 64..(column + width) / 64).filter(|&j| j < columns) {
                            covered[(i * columns + j) as usize] += 1;
                        }
                    }
                }
                assert!(covered.iter().all(|&times| times == 1), "{m} x {n} on {multiprocessors}");
            }
        }
    }

    #[test]
    fn the_kernel_has_the_hosts_plan() {
        for multiprocessors in MULTIPROCESSORS {
            for (m, n) in (1..60).flat_map(|i| (1..60).map(move |j| (i * 331, j * 127))) {
                let plan = Plan::of(m, n, multiprocessors);
                let blocks = plan.tiles().min(multiprocessors);
                assert_eq!(Plan::of(m, n, blocks).groups, plan.groups, "{m} x {n} on {multiprocessors}");
            }
        }
    }

    #[test]
    fn a_rotation_goes_through_all_positions() {
        assert!(MULTIPROCESSORS.iter().all(|blocks| blocks % ROTATION != 0));
    }
}
