//! A pipeline of asynchronous copies, and wider parts of the tile for each warp.
//!
//! In `gemm_ldmatrix` a block reads the next tiles, waits for them, writes them to shared memory, waits for the others,
//! and only then multiplies; only the second block on the SM has something to do meanwhile. Here shared memory has four
//! stages of a tile of each factor. `cp.async` copies 16 bytes from global to shared memory past the registers
//! ([`copy_async`]): while one stage is multiplied, the copies into the next three are under way, 72 KB on each SM.
//!
//! The registers that held tiles on their way are free, and so a warp's part grows to 64 × 64: 4 KB from shared memory
//! for 32 `mma.sync`, 32 cycles for 65536 multiply-adds, where 64 × 32 needed 48 for as many. An SM of an H200 does at
//! most 2048 multiply-adds a cycle, so shared memory keeps up now. A block's 128 × 256 elements take 128 registers of
//! each thread for the sums, so there is one block on an SM, and its eight warps have to hide every latency by
//! themselves. Therefore fragments are double-buffered: while a step is multiplied, `ldmatrix` fetches the next one's,
//! across the barrier too.
//!
//! One barrier for each stage is enough: behind it, the next stage has arrived for all threads, and all have read the
//! last fragments of the one before, which is filled next.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::ldmatrix::SwizzledTile;
use super::operand::{Chunks, DEPTH, Places};
use super::tiles::{Corner, corner};
use super::warp_tile::{self, WarpTile};
use super::{Product, unknown};
use crate::copy_async;
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::{FragmentA, FragmentB, MmaElement};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_CP_ASYNC];

/// Fragments below each other and side by side in a warp's part of the tile, and the tile's sides.
const DOWN: usize = 4;
const ALONG: usize = 4;
const ROWS: u32 = warp_tile::rows(DOWN);
const COLUMNS: u32 = warp_tile::columns(ALONG);
/// Tiles of both factors in shared memory: one is multiplied while the others are on their way.
const STAGES: u32 = 4;

/// Bytes of shared memory for the stages of tiles with so many rows of `a` and columns of `b`.
pub(super) const fn shared_bytes(rows: u32, columns: u32) -> u32 {
    STAGES * stage_bytes(rows, columns)
}

/// Bytes of a stage: both tiles, and for each row of them 16 bytes more ([`Chunks::copy`]).
#[inline(always)]
const fn stage_bytes(rows: u32, columns: u32) -> u32 {
    (rows + columns) * (DEPTH * 2 + 16)
}

products! {
    /// A tile of 128 × 256 elements for each block, from four stages that asynchronous copies fill.
    gemm_cp_async for [256] threads;
    resident 1;
    shared shared_bytes(ROWS, COLUMNS);
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "four stages of asynchronous copies, 64 x 64 a warp, and the next fragments on their way",
    };
    formats [bf16, f16];
    pointers => cp_async
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the rung's bytes.
#[inline(always)]
unsafe fn cp_async<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    // SAFETY: as the caller promises.
    unsafe { pipeline::<A, C, COLUMN_MAJOR, ROWS, COLUMNS, DOWN, ALONG>(shared, product) };
}

/// A block's tile of `ROWS` × `COLUMNS` elements, for warps' parts of `DOWN` × `ALONG` fragments.
///
/// # Safety
/// The contract of the ladder's kernels; `shared` has [`shared_bytes`].
#[inline(always)]
pub(super) unsafe fn pipeline<
    A: MmaElement,
    C: Output,
    const COLUMN_MAJOR: bool,
    const ROWS: u32,
    const COLUMNS: u32,
    const DOWN: usize,
    const ALONG: usize,
>(
    shared: *mut u8,
    product: &Product<A, C>,
) {
    const { assert!(ROWS == warp_tile::rows(DOWN) && COLUMNS == warp_tile::columns(ALONG)) };
    let corner = corner::<ROWS, COLUMNS, 8>(thread::block_idx_x(), product.m, product.n);
    let (row, column) = SwizzledTile::<true, ROWS>::place();
    let a = product.chunks_of_a(corner.row, row, column);
    let (row, column) = SwizzledTile::<COLUMN_MAJOR, COLUMNS>::place();
    let b = product.chunks_of_b(corner.column, row, column);
    let stage = Stage::<COLUMN_MAJOR, ROWS, COLUMNS> { shared, at: 0 };
    let (copies, part) = (Copies { a, b, stage, left: product.k }, WarpTile::<DOWN, ALONG>::of_this_warp());
    // A loop for each alignment: the usual one has no branch between its multiplications.
    // SAFETY: as the caller promises.
    unsafe {
        match copies.a.alignment().min(copies.b.alignment()) {
            16 => copies.multiply::<A, C, 16, DOWN, ALONG>(part, corner, product),
            8 => copies.multiply::<A, C, 8, DOWN, ALONG>(part, corner, product),
            _ => copies.multiply::<A, C, 2, DOWN, ALONG>(part, corner, product),
        }
    }
}

/// A stage, `at` bytes behind the beginning of the block's shared memory. The tile of `b` lies behind that of `a`.
#[derive(Clone, Copy)]
struct Stage<const COLUMN_MAJOR: bool, const ROWS: u32, const COLUMNS: u32> {
    shared: *mut u8,
    at: u32,
}

impl<const COLUMN_MAJOR: bool, const ROWS: u32, const COLUMNS: u32> Stage<COLUMN_MAJOR, ROWS, COLUMNS> {
    #[inline(always)]
    fn tiles(self) -> (SwizzledTile<true, ROWS>, SwizzledTile<COLUMN_MAJOR, COLUMNS>) {
        let Self { shared, at } = self;
        (SwizzledTile { shared, at }, SwizzledTile { shared, at: at + SwizzledTile::<true, ROWS>::BYTES })
    }

    /// Where this thread's chunks of both tiles go.
    #[inline(always)]
    fn places(self) -> (Places, Places) {
        let (tile_a, tile_b) = self.tiles();
        let tails = self.shared.wrapping_add((self.at + (ROWS + COLUMNS) * DEPTH * 2) as usize);
        (tile_a.places(tails), tile_b.places(tails.wrapping_add((ROWS * 16) as usize)))
    }

    /// The next stage. Behind the last one comes the first.
    #[inline(always)]
    fn after(self) -> Self {
        let bytes = stage_bytes(ROWS, COLUMNS);
        Self { at: if self.at == (STAGES - 1) * bytes { 0 } else { self.at + bytes }, ..self }
    }

    /// What a warp multiplies for its part in step `step` of the stage.
    ///
    /// # Safety
    /// All lanes of the warp call it together, and no thread writes to the stage meanwhile.
    #[inline(always)]
    unsafe fn fragments<E: MmaElement, const DOWN: usize, const ALONG: usize>(
        self,
        part: &WarpTile<DOWN, ALONG>,
        step: u32,
    ) -> ([FragmentA<E>; DOWN], [FragmentB<E>; ALONG]) {
        let (a, b) = self.tiles();
        // SAFETY: as the caller promises.
        unsafe { (a.fragments(part.row, step), b.fragments(part.column, step)) }
    }
}

/// A thread's copies: its chunks of the next tiles, and the stage that they go to.
struct Copies<const COLUMN_MAJOR: bool, const ROWS: u32, const COLUMNS: u32> {
    a: Chunks<true>,
    b: Chunks<COLUMN_MAJOR>,
    stage: Stage<COLUMN_MAJOR, ROWS, COLUMNS>,
    /// Elements along `k` from the next tiles on.
    left: u32,
}

impl<const COLUMN_MAJOR: bool, const ROWS: u32, const COLUMNS: u32> Copies<COLUMN_MAJOR, ROWS, COLUMNS> {
    /// Multiplies a block's tile, and writes it. The chunks of both factors are aligned to `ALIGNMENT`.
    ///
    /// # Safety
    /// As [`pipeline`]; the copies and this warp's part are those of the tile at `corner`.
    #[inline(always)]
    unsafe fn multiply<A: MmaElement, C: Output, const ALIGNMENT: u32, const DOWN: usize, const ALONG: usize>(
        mut self,
        mut part: WarpTile<DOWN, ALONG>,
        corner: Corner,
        product: &Product<A, C>,
    ) {
        let mut stage = self.stage;
        // SAFETY: a stage is read when its copies have been waited for and a barrier has been passed, and filled again
        // when one has been passed since it was read. All threads go through all steps together.
        unsafe {
            for _ in 1..unknown(STAGES) {
                self.start_next::<ALIGNMENT>();
            }
            self.wait_for_next_stage(stage, ALIGNMENT == 2 && product.k > 0);
            let mut now = stage.fragments::<A, DOWN, ALONG>(&part, 0);
            for first in (0..product.k).step_by(DEPTH as usize) {
                let next = stage.fragments::<A, DOWN, ALONG>(&part, 1);
                self.start_next::<ALIGNMENT>();
                part.multiply_add(&now.0, &now.1);
                // The last one is read once more, for nothing: that costs less than a branch in every turn.
                let is_there_more = first + DEPTH < product.k;
                stage = if is_there_more { stage.after() } else { stage };
                self.wait_for_next_stage(stage, ALIGNMENT == 2 && is_there_more);
                now = stage.fragments(&part, 0);
                part.multiply_add(&next.0, &next.1);
            }
            part.write(corner, product);
        }
    }

    /// Starts the copies of the next tiles, if there are any, and ends their group.
    ///
    /// # Safety
    /// The matrices are valid for reads, and no thread reads the next stage any more.
    #[inline(always)]
    unsafe fn start_next<const ALIGNMENT: u32>(&mut self) {
        if self.left > 0 {
            let (a, b) = self.stage.places();
            // SAFETY: as the caller promises.
            unsafe {
                self.a.copy::<ALIGNMENT>(SwizzledTile::<true, ROWS>::APART, a);
                self.b.copy::<ALIGNMENT>(SwizzledTile::<COLUMN_MAJOR, COLUMNS>::APART, b);
            }
            self.a.advance();
            self.b.advance();
            self.stage = self.stage.after();
            self.left = self.left.saturating_sub(DEPTH);
        }
        copy_async::commit();
    }

    /// Waits until the stage that is multiplied next has arrived, for all threads of the block.
    ///
    /// # Safety
    /// All threads of the block call it. With an alignment of 2, `realigns` is true once for each stage that they have filled.
    #[inline(always)]
    unsafe fn wait_for_next_stage(&self, next: Stage<COLUMN_MAJOR, ROWS, COLUMNS>, realigns: bool) {
        copy_async::wait::<{ STAGES - 2 }>();
        if realigns {
            let (a, b) = next.places();
            // SAFETY: this thread's copies have arrived, and it alone accesses their places before the barrier.
            unsafe {
                self.a.realign(a);
                self.b.realign(b);
            }
        }
        thread::sync_threads();
    }
}
