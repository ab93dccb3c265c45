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
use super::operand::{Chunks, DEPTH};
use super::tiles::corner;
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
/// Bytes of a stage.
const STAGE: u32 = TileA::BYTES + TileB::<true>::BYTES;

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
    let mut part = WarpTile::<ALONG>::of_this_warp();
    let (row, column) = TileA::place();
    let chunks_a = product.chunks_of_a(corner.row, row, column);
    let (row, column) = TileB::<COLUMN_MAJOR>::place();
    let chunks_b = product.chunks_of_b(corner.column, row, column);
    let mut stage = Stage::<COLUMN_MAJOR> { shared, at: 0 };
    let mut copies = Copies { a: chunks_a, b: chunks_b, stage, left: product.k };
    // SAFETY: a stage is read when its copies have been waited for and a barrier has been passed, and filled again when
    // one has been passed since it was read. All threads go through all steps together.
    unsafe {
        for _ in 1..unknown(STAGES) {
            copies.start_next();
        }
        wait_for_next_stage();
        let mut now = stage.fragments::<A>(&part, 0);
        for first in (0..product.k).step_by(DEPTH as usize) {
            let next = stage.fragments::<A>(&part, 1);
            copies.start_next();
            part.multiply_add(&now.0, &now.1);
            wait_for_next_stage();
            // The last one is read once more, for nothing: that costs less than a branch in every turn.
            stage = if first + DEPTH < product.k { stage.after() } else { stage };
            now = stage.fragments(&part, 0);
            part.multiply_add(&next.0, &next.1);
        }
        part.write(corner, product);
    }
}

/// Waits until the stage that is multiplied next has arrived, for all threads of the block.
#[inline(always)]
fn wait_for_next_stage() {
    copy_async::wait::<{ STAGES - 2 }>();
    thread::sync_threads();
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
    unsafe fn start_next(&mut self) {
        if self.left > 0 {
            let (tile_a, tile_b) = self.stage.tiles();
            // SAFETY: as the caller promises.
            unsafe {
                self.a.copy::<CHUNKS_A>(TileA::APART, tile_a.first_chunk(), TileA::BYTES_APART);
                self.b.copy::<CHUNKS_B>(TileB::<COLUMN_MAJOR>::APART, tile_b.first_chunk(), TileA::BYTES_APART);
            }
            self.a.advance();
            self.b.advance();
            self.stage = self.stage.after();
            self.left = self.left.saturating_sub(DEPTH);
        }
        copy_async::commit();
    }
}
