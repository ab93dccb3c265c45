//! Shared code of the rungs for Hopper: tiles in shared memory, the products of a warp group, and the order in which
//! warp groups multiply.
//!
//! A block computes the output of 64 queries of a head for each warp group that multiplies. Its shared memory holds the
//! queries, and stages for tiles of keys and of values ([`Stages`]). Tensor copies fill the tiles. A tile consists of
//! boxes, each with 64 columns and all rows of the tile.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::array;

use cuda_std::{shared, thread};

use super::keys_seen;
use crate::gemm::hopper::{CONSUMER_BARRIER, WARP_GROUP};
use crate::tensor_core::tma::{Mbarrier, TensorMap, barrier_arrive, barrier_sync, fence_mbarrier_init};
use crate::tensor_core::wgmma::{
    self, BOX_ALIGN, BOX_ROWS, Boxes, ROW_BYTES, STEPS, Sums, TallBoxes, Tile, fence_fragments,
};
use crate::tensor_core::{Element, Output, Shared};

/// The number of 16-bit elements in a row of a box.
const BOX_COLUMNS: u32 = ROW_BYTES / 2;

/// The number of stages for tiles of keys, and the number of stages for tiles of values.
pub(super) const STAGES: u32 = 2;

/// Returns the number of warp groups of a block that multiply, each for 64 queries. If queries and keys have 64
/// elements, there are enough registers for a third such warp group.
pub(super) const fn consumers(d: u32) -> u32 {
    if d == 64 { 3 } else { 2 }
}

/// Returns the number of keys in a tile. It is the most that the registers of two warp groups allow, or less if the
/// causal mask hides parts of tiles.
pub(super) const fn tile_keys(d: u32, is_causal: bool) -> u32 {
    if d == 128 && !is_causal { 176 } else { 128 }
}

/// The dynamic shared memory of a block: `ROWS` queries, then the stages of the keys and of the values with `KEYS` rows
/// each, then the mbarriers. The queries have two mbarriers, "full" and "empty", and so does each stage, as in
/// [`Ring`](crate::gemm::hopper::Ring).
#[derive(Clone, Copy)]
pub(super) struct Memory<const D: u32, const ROWS: u32, const KEYS: u32> {
    start: Shared,
}

impl<const D: u32, const ROWS: u32, const KEYS: u32> Memory<D, ROWS, KEYS> {
    const QUERY_BYTES: u32 = ROWS * D * 2;
    const TILE_BYTES: u32 = KEYS * D * 2;
    const BARRIERS: u32 = Self::QUERY_BYTES + 2 * STAGES * Self::TILE_BYTES;

    /// The number of bytes of dynamic shared memory, including space to align the queries.
    pub(super) const BYTES: u32 = BOX_ALIGN + Self::BARRIERS + 2 * (1 + 2 * STAGES) * Mbarrier::BYTES;

    /// Returns the block's memory. The launch must provide [`Self::BYTES`] bytes of dynamic shared memory.
    #[inline(always)]
    pub(super) fn of_block() -> Self {
        Self { start: Shared::of(shared::dynamic_shared_mem::<u8>()).aligned_to(BOX_ALIGN) }
    }

    #[inline(always)]
    fn barrier(self, index: u32) -> Mbarrier {
        Mbarrier(self.start.byte_add(Self::BARRIERS + index * Mbarrier::BYTES))
    }

    /// Returns the queries as one stage.
    #[inline(always)]
    pub(super) fn queries(self) -> Stages<D, ROWS> {
        Stages { first: self.start, full: self.barrier(0), empty: self.barrier(1) }
    }

    /// Returns the stages of the keys.
    #[inline(always)]
    pub(super) fn keys(self) -> Stages<D, KEYS> {
        let first = self.start.byte_add(Self::QUERY_BYTES);
        Stages { first, full: self.barrier(2), empty: self.barrier(2 + STAGES) }
    }

    /// Returns the stages of the values.
    #[inline(always)]
    pub(super) fn values(self) -> Stages<D, KEYS> {
        let first = self.start.byte_add(Self::QUERY_BYTES + STAGES * Self::TILE_BYTES);
        Stages { first, full: self.barrier(2 + 2 * STAGES), empty: self.barrier(2 + 3 * STAGES) }
    }

    /// Initializes the mbarriers. One thread fills a stage, and each warp that multiplies reports that it has left the
    /// stage.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block calls the function once, and that a barrier of the block
    /// follows before any thread uses the mbarriers.
    #[inline(always)]
    pub(super) unsafe fn init(self) {
        for index in 0..2 * (1 + 2 * STAGES) {
            let is_empty = index == 1 || index >= 2 && (index - 2) / STAGES % 2 == 1;
            // SAFETY: the mbarrier is in the block's shared memory, nothing else uses its memory, and a barrier
            // follows.
            unsafe { self.barrier(index).init(if is_empty { ROWS / 16 } else { 1 }) };
        }
        fence_mbarrier_init();
    }
}

/// Tiles of `ROWS` rows in shared memory, with two mbarriers per tile.
#[derive(Clone, Copy)]
pub(super) struct Stages<const D: u32, const ROWS: u32> {
    first: Shared,
    full: Mbarrier,
    empty: Mbarrier,
}

impl<const D: u32, const ROWS: u32> Stages<D, ROWS> {
    /// Returns the address of a tile.
    #[inline(always)]
    pub(super) fn tile(self, stage: u32) -> Shared {
        self.first.byte_add(stage * ROWS * D * 2)
    }

    /// Returns the mbarrier whose phase ends when the tile is full.
    #[inline(always)]
    pub(super) fn full(self, stage: u32) -> Mbarrier {
        Mbarrier(self.full.0.byte_add(stage * Mbarrier::BYTES))
    }

    /// Returns the mbarrier whose phase ends when all warps have left the tile.
    #[inline(always)]
    fn empty(self, stage: u32) -> Mbarrier {
        Mbarrier(self.empty.0.byte_add(stage * Mbarrier::BYTES))
    }

    /// Starts the copies that fill a tile with the rows of a head, starting at `row`.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block calls the function, that all warps have left the tile, and
    /// that the map has boxes of `ROWS` rows.
    #[inline(always)]
    pub(super) unsafe fn fill(self, stage: u32, map: &TensorMap, row: u32, head: u32) {
        let full = self.full(stage);
        // SAFETY: only this thread arrives, and it announces the bytes of all boxes that it copies. The boxes are in
        // the tile, which no thread accesses before the phase ends.
        unsafe {
            full.arrive_expect_tx(ROWS * D * 2);
            for i in 0..D / BOX_COLUMNS {
                let to = self.tile(stage).byte_add(i * ROWS * ROW_BYTES);
                map.load_3d([i * BOX_COLUMNS, row, head], to, full);
            }
        }
    }

    /// Fills the next tile like [`Self::fill`], after all warps have left the tile.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block calls the function, and that the map has boxes of `ROWS`
    /// rows.
    #[inline(always)]
    pub(super) unsafe fn fill_next<const N: u32>(self, place: &mut Place<N>, map: &TensorMap, row: u32, head: u32) {
        // SAFETY: in the first round the tile is free, because a wait for the phase before the first phase returns at
        // once.
        unsafe {
            self.empty(place.stage()).wait(place.parity() ^ 1);
            self.fill(place.stage(), map, row, head);
        }
        place.0 += 1;
    }

    /// Reports that this warp has left the tile, with one arrival per warp, and advances to the next tile.
    ///
    /// # Safety
    /// The caller must ensure that whole warps call the function, once for each time that the tile was full, and that
    /// their products with the tile are complete.
    #[inline(always)]
    pub(super) unsafe fn leave<const N: u32>(self, place: &mut Place<N>) {
        if thread::thread_idx_x().is_multiple_of(32) {
            // SAFETY: the phase ends with the arrivals of all warps, and this warp has not arrived yet in this phase.
            unsafe { self.empty(place.stage()).arrive() };
        }
        place.0 += 1;
    }
}

/// A tile, identified by its number since the start of the kernel. One number takes fewer registers than a stage and a
/// parity.
#[derive(Clone, Copy)]
pub(super) struct Place<const STAGES: u32>(u32);

impl<const STAGES: u32> Place<STAGES> {
    /// Returns the stage of the tile.
    #[inline(always)]
    pub(super) fn stage(self) -> u32 {
        self.0 % STAGES
    }

    /// Returns the parity of the phase of "full" in which the tile is filled.
    #[inline(always)]
    pub(super) fn parity(self) -> u32 {
        self.0 / STAGES % 2
    }
}

/// The next tile of the queries, of the keys and of the values.
pub(super) struct Positions {
    pub(super) query: Place<1>,
    pub(super) key: Place<STAGES>,
    pub(super) value: Place<STAGES>,
}

impl Positions {
    /// The first tiles.
    pub(super) const START: Self = Self { query: Place(0), key: Place(0), value: Place(0) };
}

impl<const D: u32, const ROWS: u32, const KEYS: u32> Memory<D, ROWS, KEYS> {
    /// Fills the tiles for one part of the work, starting with the last tile of keys. Each tile is filled after all
    /// warps have left it.
    ///
    /// # Safety
    /// The caller must ensure that one thread of the block fills all tiles, and that the maps describe `q`, `k` and `v`
    /// with boxes of `ROWS`, `KEYS` and `KEYS` rows.
    #[inline(always)]
    pub(super) unsafe fn produce<const CAUSAL: bool>(
        self,
        [q_map, k_map, v_map]: [&TensorMap; 3],
        work: &Work<CAUSAL, ROWS, KEYS>,
        positions: &mut Positions,
    ) {
        if work.tiles == 0 {
            return;
        }
        // SAFETY: only this thread fills the tiles, from maps whose boxes have the sizes of the tiles.
        unsafe {
            self.queries().fill_next(&mut positions.query, q_map, work.row, work.head);
            for tile in (0..work.tiles).rev() {
                self.keys().fill_next(&mut positions.key, k_map, tile * KEYS, work.kv_head);
                self.values().fill_next(&mut positions.value, v_map, tile * KEYS, work.kv_head);
            }
        }
    }
}

/// `ROWS` queries of a head, and the tiles of `KEYS` keys that they see.
#[derive(Clone, Copy)]
pub(super) struct Work<const CAUSAL: bool, const ROWS: u32, const KEYS: u32> {
    /// The head of `q`, and the head of `k` and `v`, numbered across all sequences.
    pub(super) head: u32,
    pub(super) kv_head: u32,
    /// The first query.
    pub(super) row: u32,
    /// The number of tiles of keys that a query sees.
    pub(super) tiles: u32,
    queries: u32,
    keys: u32,
}

impl<const CAUSAL: bool, const ROWS: u32, const KEYS: u32> Work<CAUSAL, ROWS, KEYS> {
    /// Returns the work for the queries of a head, starting at `row`.
    #[inline(always)]
    pub(super) fn new(head: u32, row: u32, [heads, kv_heads, queries, keys]: [u32; 4]) -> Self {
        // At least 1, so that the divisions need no check for zero.
        let kv_head = head / (heads / kv_heads.max(1)).max(1);
        let last = (row + ROWS).min(queries).max(1) - 1;
        let tiles = if row < queries { keys_seen::<CAUSAL>(last, queries, keys).div_ceil(KEYS) } else { 0 };
        Self { head, kv_head, row, tiles, queries, keys }
    }

    /// Returns the work of block number `index`. Neighboring blocks have the same head, so they read the same keys and
    /// values from the L2 cache. With a causal mask, the last queries of a head come first, because they see the most
    /// keys.
    #[inline(always)]
    pub(super) fn of_block(index: u32, lengths: [u32; 4]) -> Self {
        let rows = lengths[2].div_ceil(ROWS).max(1);
        let row = if CAUSAL { rows - 1 - index % rows } else { index % rows };
        Self::new(index / rows, row * ROWS, lengths)
    }

    /// Replaces the scores of keys that a query of this warp group does not see by -∞. The scores belong to tile number
    /// `tile` and have the layout of [`Sums`](crate::tensor_core::wgmma::Sums).
    #[inline(always)]
    pub(super) fn mask<const N: usize>(&self, scores: &mut [f32; N], consumer: u32, tile: u32) {
        let (first_row, first_key) = (self.row + consumer * BOX_ROWS, tile * KEYS);
        // The first query sees the fewest keys.
        if first_key + KEYS <= keys_seen::<CAUSAL>(first_row, self.queries, self.keys) {
            return;
        }
        let t = thread::thread_idx_x() % WARP_GROUP;
        let row = first_row + t / 32 * 16 + t % 32 / 4;
        let key_counts = [row, row + 8].map(|row| keys_seen::<CAUSAL>(row, self.queries, self.keys));
        for i in 0..N {
            if first_key + i as u32 / 4 * 8 + t % 4 * 2 + i as u32 % 2 >= key_counts[i / 2 % 2] {
                scores[i] = f32::NEG_INFINITY;
            }
        }
    }
}

/// Starts the products of a warp group's 64 queries with the keys of a tile, as one group. The products replace the
/// scores.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call the function and that both tiles are full. No thread
/// may write the tiles or access the scores before a wait for the products.
#[inline(always)]
pub(super) unsafe fn start_scores<T: Element, const D: u32, const ROWS: u32, const KEYS: u32, const N: usize>(
    scores: &mut [f32; N],
    queries: Shared,
    keys: Shared,
) where
    [f32; N]: Sums<T>,
{
    // SAFETY: the boxes of each tile are contiguous. The tiles stay full, and all threads of the warp group call this
    // function.
    unsafe {
        wgmma::fence();
        for i in 0..D / BOX_COLUMNS {
            let q = Tile::<T, Boxes<true>>::at(queries.byte_add(i * ROWS * ROW_BYTES));
            let k = Tile::<T, Boxes<true>>::at(keys.byte_add(i * KEYS * ROW_BYTES));
            for step in 0..STEPS {
                scores.multiply(q.step(step), k.step(step), i + step > 0);
            }
        }
        wgmma::commit();
    }
}

/// Starts the products of weights with the values of a tile, as one group. The products are added to the sums.
///
/// # Safety
/// See [`start_scores`]. Here the tile of values must be full, and the sums take the place of the scores.
#[inline(always)]
pub(super) unsafe fn start_sums<T: Element, const KEYS: u32, const N: usize, const FRAGMENTS: usize>(
    sums: &mut [f32; N],
    weights: [[u32; 4]; FRAGMENTS],
    values: Shared,
) where
    [f32; N]: Sums<T>,
{
    // SAFETY: the tile stays full, and all threads of the warp group call this function.
    unsafe {
        let v = Tile::<T, TallBoxes<KEYS>>::at(values);
        let weights = fence_fragments(weights);
        #[expect(clippy::needless_range_loop, reason = "an iterator would put the array into local memory")]
        for step in 0..FRAGMENTS {
            sums.multiply_fragment(weights[step], v.step(step as u32), true);
        }
        wgmma::commit();
    }
}

/// Returns the fragments of the weights, which are rounded to 16 bits.
#[inline(always)]
pub(super) fn round<T: Output<Pair = u32>, const N: usize, const FRAGMENTS: usize>(
    weights: &[f32; N],
) -> [[u32; 4]; FRAGMENTS] {
    array::from_fn(|step| wgmma::fragment::<T>(array::from_fn(|i| weights[8 * step + i])))
}

/// The order in which the warp groups start their products. They start one after another.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    consumer: u32,
    next: u32,
}

impl Turn {
    /// Returns the order of `consumers` warp groups. The first warp group starts.
    ///
    /// # Safety
    /// The caller must ensure that all threads of all consumers call the function once.
    #[inline(always)]
    pub(super) unsafe fn start(consumer: u32, consumers: u32) -> Self {
        let turn = Self { consumer, next: if consumer + 1 == consumers { 0 } else { consumer + 1 } };
        if turn.next == 0 {
            // SAFETY: whole warps arrive, and the first consumer waits for them.
            unsafe { turn.pass() };
        }
        turn
    }

    /// Waits until the previous consumer has called [`Self::pass`].
    ///
    /// # Safety
    /// The caller must ensure that all threads of the consumer call the function, alternating with [`Self::pass`].
    #[inline(always)]
    pub(super) unsafe fn wait(self) {
        // SAFETY: this warp group waits, and the previous warp group arrives.
        unsafe { barrier_sync(CONSUMER_BARRIER + self.consumer, 2 * WARP_GROUP) };
    }

    /// Lets the next consumer start.
    ///
    /// # Safety
    /// See [`Self::wait`].
    #[inline(always)]
    pub(super) unsafe fn pass(self) {
        // SAFETY: this warp group arrives, and the next warp group waits.
        unsafe { barrier_arrive(CONSUMER_BARRIER + self.next, 2 * WARP_GROUP) };
    }

    /// Ends the sequence: the first consumer waits for the final arrival of the last consumer.
    ///
    /// # Safety
    /// The caller must ensure that all threads of all consumers call the function once, after their last
    /// [`Self::pass`].
    #[inline(always)]
    pub(super) unsafe fn end(self) {
        if self.consumer == 0 {
            // SAFETY: at this barrier, the last consumer has arrived once more than the first consumer has waited.
            unsafe { self.wait() };
        }
    }
}
