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
use super::operand::{Chunks, DEPTH, Places, THREADS};
use super::tiles::{Corner, corner};
use super::warp_tile::{self, DOWN, ROWS, WarpTile};
use super::{Product, unknown};
use crate::copy_async;
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::{FragmentA, FragmentB, MmaElement};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_CP_ASYNC];

/// Fragments side by side in a warp's part of the tile, and the tile's columns.
const ALONG: usize = 4;
const COLUMNS: u32 = warp_tile::columns(ALONG);
/// Tiles of both factors in shared memory: one is multiplied while the others are on their way.
const STAGES: u32 = 4;

type TileA = SwizzledTile<true, ROWS>;
type TileB<const COLUMN_MAJOR: bool> = SwizzledTile<COLUMN_MAJOR, COLUMNS>;

/// A thread's chunks of a tile.
const CHUNKS_A: u32 = TileA::BYTES / TileA::BYTES_APART;
const CHUNKS_B: u32 = TileB::<true>::BYTES / TileA::BYTES_APART;
/// Bytes of a stage: both tiles, and a word for each chunk ([`Places::tail`]).
const STAGE: u32 = TileA::BYTES + TileB::<true>::BYTES + (CHUNKS_A + CHUNKS_B) * THREADS * 4;

products! {
    /// A tile of 128 × 256 elements for each block, from four stages that asynchronous copies fill.
    gemm_cp_async for [256] threads;
    resident 1;
    shared STAGES * STAGE;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: ROWS, columns: COLUMNS, most_slices: 1 },
        lesson: "four stages of asynchronous copies, 64 x 64 a warp, and the next fragments on their way",
    };
    formats [bf16, f16];
    pointers => cp_async
}

/// # Safety
/// The contract of the ladder's kernels; `shared` is four stages.
#[inline(always)]
unsafe fn cp_async<A: MmaElement, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>) {
    let corner = corner::<ROWS, COLUMNS, 8>(thread::block_idx_x(), product.m, product.n);
    let (row, column) = TileA::place();
    let a = product.chunks_of_a(corner.row, row, column);
    let (row, column) = TileB::<COLUMN_MAJOR>::place();
    let b = product.chunks_of_b(corner.column, row, column);
    let copies = Copies { a, b, stage: Stage::<COLUMN_MAJOR> { shared, at: 0 }, left: product.k };
    // A loop for each alignment: the usual one has no branch between its multiplications.
    // SAFETY: as the caller promises.
    unsafe {
        match copies.a.alignment().min(copies.b.alignment()) {
            16 => multiply::<A, C, COLUMN_MAJOR, 16>(copies, corner, product),
            4 => multiply::<A, C, COLUMN_MAJOR, 4>(copies, corner, product),
            _ => multiply::<A, C, COLUMN_MAJOR, 2>(copies, corner, product),
        }
    }
}

/// Multiplies a block's tile, and writes it. The chunks of both factors are aligned to `ALIGNMENT`.
///
/// # Safety
/// As [`cp_async`]; the copies are those of the tile at `corner`.
#[inline(always)]
unsafe fn multiply<A: MmaElement, C: Output, const COLUMN_MAJOR: bool, const ALIGNMENT: u32>(
    mut copies: Copies<COLUMN_MAJOR>,
    corner: Corner,
    product: &Product<A, C>,
) {
    let mut part = WarpTile::<ALONG>::of_this_warp();
    let mut stage = copies.stage;
    // SAFETY: a stage is read when its copies have been waited for and a barrier has been passed, and filled again when
    // one has been passed since it was read. All threads go through all steps together.
    unsafe {
        for _ in 1..unknown(STAGES) {
            copies.start_next::<ALIGNMENT>();
        }
        copies.wait_for_next_stage(stage, ALIGNMENT == 2 && product.k > 0);
        let mut now = stage.fragments::<A>(&part, 0);
        for first in (0..product.k).step_by(DEPTH as usize) {
            let next = stage.fragments::<A>(&part, 1);
            copies.start_next::<ALIGNMENT>();
            part.multiply_add(&now.0, &now.1);
            // The last one is read once more, for nothing: that costs less than a branch in every turn.
            let is_there_more = first + DEPTH < product.k;
            stage = if is_there_more { stage.after() } else { stage };
            copies.wait_for_next_stage(stage, ALIGNMENT == 2 && is_there_more);
            now = stage.fragments(&part, 0);
            part.multiply_add(&next.0, &next.1);
        }
        part.write(corner, product);
    }
}

/// A stage, `at` bytes behind the beginning of the block's shared memory. The tile of `b` lies behind that of `a`.
#[derive(Clone, Copy)]
struct Stage<const COLUMN_MAJOR: bool> {
    shared: *mut u8,
    at: u32,
}

impl<const COLUMN_MAJOR: bool> Stage<COLUMN_MAJOR> {
    #[inline(always)]
    fn tiles(self) -> (TileA, TileB<COLUMN_MAJOR>) {
        let Self { shared, at } = self;
        (SwizzledTile { shared, at }, SwizzledTile { shared, at: at + TileA::BYTES })
    }

    /// Where this thread's chunks of both tiles go.
    #[inline(always)]
    fn places(self) -> (Places, Places) {
        let (tile_a, tile_b) = self.tiles();
        let tails = self.shared.wrapping_add((self.at + TileA::BYTES + TileB::<COLUMN_MAJOR>::BYTES) as usize);
        let tail = tails.cast::<u32>().wrapping_add(thread::thread_idx_x() as usize);
        let bytes = TileA::BYTES_APART;
        let b_tail = tail.wrapping_add((CHUNKS_A * THREADS) as usize);
        (Places { to: tile_a.first_chunk(), bytes, tail }, Places { to: tile_b.first_chunk(), bytes, tail: b_tail })
    }

    /// The next stage. Behind the last one comes the first.
    #[inline(always)]
    fn after(self) -> Self {
        Self { at: if self.at == (STAGES - 1) * STAGE { 0 } else { self.at + STAGE }, ..self }
    }

    /// What a warp multiplies for its part in step `step` of the stage.
    ///
    /// # Safety
    /// All lanes of the warp call it together, and no thread writes to the stage meanwhile.
    #[inline(always)]
    unsafe fn fragments<E: MmaElement>(
        self,
        part: &WarpTile<ALONG>,
        step: u32,
    ) -> ([FragmentA<E>; DOWN], [FragmentB<E>; ALONG]) {
        let (a, b) = self.tiles();
        // SAFETY: as the caller promises.
        unsafe { (a.fragments(part.row, step), b.fragments(part.column, step)) }
    }
}

/// A thread's copies: its chunks of the next tiles, and the stage that they go to.
struct Copies<const COLUMN_MAJOR: bool> {
    a: Chunks<true>,
    b: Chunks<COLUMN_MAJOR>,
    stage: Stage<COLUMN_MAJOR>,
    /// Elements along `k` from the next tiles on.
    left: u32,
}

impl<const COLUMN_MAJOR: bool> Copies<COLUMN_MAJOR> {
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
                self.a.copy::<CHUNKS_A, ALIGNMENT>(TileA::APART, a);
                self.b.copy::<CHUNKS_B, ALIGNMENT>(TileB::<COLUMN_MAJOR>::APART, b);
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
    unsafe fn wait_for_next_stage(&self, next: Stage<COLUMN_MAJOR>, realigns: bool) {
        copy_async::wait::<{ STAGES - 2 }>();
        if realigns {
            let (a, b) = next.places();
            // SAFETY: this thread's copies have arrived, and it alone accesses their places before the barrier.
            unsafe {
                self.a.realign::<CHUNKS_A>(a);
                self.b.realign::<CHUNKS_B>(b);
            }
        }
        thread::sync_threads();
    }
}
