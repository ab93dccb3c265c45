//! Pacing: the reads and copies are spread evenly over the multiplications.
//!
//! `matmul_double_buffered` reads a step ahead, but the driver's compiler gathers those reads, and the copies of the next
//! tiles, at the top of the loop. There they queue for the one memory pipe of the SM while the multipliers starve. Here
//! each read and each copy has its place between two columns of multiplications, and a warp's barrier in each step keeps
//! the compiler from moving them together again. The barrier costs one issue slot of 134.
//!
//! An SM's schedulers issue 4 instructions a cycle, and each multiplication of a warp takes a slot: any other
//! instruction costs one. The loop has 2048 of them in 2190 instructions. To keep the others few, rows of `b` are
//! copied four columns at a time where they begin at multiples of 16 bytes.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
// The indices select registers: they are constants once the loops are unrolled.
#![allow(clippy::needless_range_loop)]

use cuda_std::{GpuFloat, thread, warp};
use rung::Rung;

use super::block_tile::{DEPTH, Fragments, Part, Product, Sums, ThreadTile, TileSizes, write};
use super::copy_pipeline::{CopyPipeline, STAGES, stage_after, stages_len, wait_for_next_pair};
use super::large_register_tile::{LARGE, LargeTile};
use crate::warp::FULL_MASK;
use crate::wide::Wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_PIPELINED];

entries! {
    /// `matmul_double_buffered` with every read and every copy in its place between the multiplications.
    ///
    /// Predicted: 94 of 100 instructions are multiplications, so at most 94 % of the multipliers' peak; cuBLAS's own
    /// kernel for these sizes (256 × 128 × 8, three stages, eight warps) has 89 in 100. Measured on an H100 80GB HBM3,
    /// whose multipliers' peak is 66.9 TFLOP/s: 52.0 for 4096³ (cuBLAS 50.7), 52.8 for 8192³ (51.6), 49.7 for 2048³,
    /// whose 128 tiles are one round of 132 SMs (50.0). 79 %, not 94: Nsight Compute calls a fifth of the stalls
    /// dispatch stalls, of which cuBLAS has half as many. The steps on the way, each measured at 4096³: both fragments
    /// in registers a step ahead 46.8, a warp's barrier in each step 47.9, tiles of 128 × 256 49.1, the copies spread
    /// over the steps 51.2, and edges without a loop of their own 52.4 (with other data, of 24 bits).
    ///
    /// # Safety
    /// As [`matmul`](super) says; the grid's x counts tiles of 128 × 256; dynamic shared memory holds 3 pairs of tiles.
    matmul_pipelined(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for BLOCK in [256];
    dynamic stages: [Wide<f32, 4>; stages_len::<LargeTile>() / 4];
    rung LARGE {
        lesson: "every read and every copy paced between the multiplications, which never starve: the top",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == LargeTile::THREADS) };
        let product = Product { a, b, c, m, n, k };
        if n.is_multiple_of(4) {
            pipelined(stages.cast(), &product);
        } else {
            in_strips(stages.cast(), &product);
        }
    }
}

/// # Safety
/// The contract of [`matmul_pipelined_256`], whose dynamic shared memory `stages` points to; `n` is a multiple of 4.
#[inline(always)]
unsafe fn pipelined(stages: *mut f32, product: &Product) {
    let part = Part::of_this_block::<LargeTile>(product);
    // SAFETY: as the caller promises; each element of `c` is one thread's.
    unsafe {
        LargeTile::multiply::<true>(stages, product, &part, |row, column, sums| {
            write::<true>(product, row, column, sums);
        });
    }
}

/// Any `n`: the block's tile in strips of 64 columns, one after the other, with 4 × 8 elements a thread.
///
/// Rows that do not begin at multiples of 16 bytes are copied by single words, and the tile at once would be as
/// much code again as the other way is, for the driver to compile before the first launch.
///
/// # Safety
/// The contract of [`matmul_pipelined_256`], whose dynamic shared memory `stages` points to.
#[inline(always)]
unsafe fn in_strips(stages: *mut f32, product: &Product) {
    type Strip = ThreadTile<4, 2, 4, 8>;
    const {
        assert!(Strip::ROWS == LargeTile::ROWS && LargeTile::COLUMNS.is_multiple_of(Strip::COLUMNS));
        assert!(Strip::THREADS == LargeTile::THREADS);
        assert!(stages_len::<Strip>() <= stages_len::<LargeTile>());
    }
    let mut part = Part::of_this_block::<LargeTile>(product);
    let end = (part.left + LargeTile::COLUMNS as u32).min(product.n);
    while part.left < end {
        // SAFETY: as the caller promises; each element of `c` is one thread's. The barrier parts the strips' use of
        // the stages.
        unsafe {
            Strip::multiply::<false>(stages, product, &part, |row, column, sums| {
                write::<false>(product, row, column, sums);
            });
            thread::sync_threads();
        }
        part.left += Strip::COLUMNS as u32;
    }
}

impl<const WARPS_DOWN: usize, const WARPS_ALONG: usize, const DOWN: usize, const ALONG: usize>
    ThreadTile<WARPS_DOWN, WARPS_ALONG, DOWN, ALONG>
{
    /// Multiplies a block's part and gives each element and its place in `c` to `write`: the row, the first column, and
    /// four neighbouring columns.
    ///
    /// # Safety
    /// As [`matmul`](super) says; all threads of the block call it; `stages` are [`stages_len`] floats of shared memory,
    /// aligned to 16 bytes. With `WIDE`, `n` is a multiple of 4.
    #[inline(always)]
    pub(super) unsafe fn multiply<const WIDE: bool>(
        stages: *mut f32,
        product: &Product,
        part: &Part,
        write: impl FnMut(u32, u32, [f32; 4]),
    ) {
        let mut copies = CopyPipeline::<Self, WIDE>::new(stages, product, part);
        let copies_a_step = CopyPipeline::<Self, WIDE>::COPIES.div_ceil(DEPTH - 2);
        let tile = Self::of_this_thread();
        let mut sums: Sums<DOWN, ALONG> = [[0.0; ALONG]; DOWN];
        let mut stage = 0;
        for _ in 0..STAGES - 1 {
            // SAFETY: as the caller promises; nothing has been read yet.
            unsafe { copies.start_next() };
        }
        wait_for_next_pair();

        // SAFETY: the first pair has arrived.
        let mut fragments = unsafe { tile.fragments(stages, 0) };
        for _ in 0..(part.to - part.from).div_ceil(DEPTH as u32) {
            let is_whole = copies.is_whole();
            for step in 0..DEPTH {
                if step == DEPTH - 1 {
                    // After its last fragments, no thread reads the present pair any more.
                    wait_for_next_pair();
                    stage = stage_after::<Self>(stage, 1);
                } else {
                    // SAFETY: no lane leaves the loop alone.
                    unsafe { warp::sync_warp(FULL_MASK) };
                }
                let mut next = fragments;
                for j in 0..ALONG {
                    // SAFETY: the stage has arrived.
                    unsafe {
                        let pair = stages.add(stage as usize);
                        tile.read_in_turn(pair, (step + 1) % DEPTH, j, &mut next);
                    }
                    if j == ALONG / 2 {
                        // SAFETY: as the caller promises; the stage of the next pair was read to its end before the
                        // last barrier.
                        unsafe {
                            if is_whole {
                                for copy in step * copies_a_step..(step + 1) * copies_a_step {
                                    copies.copy(copy, true);
                                }
                            } else if step == 0 && copies.has_next() {
                                copies.copy_all(false);
                            }
                        }
                    }
                    for i in 0..DOWN {
                        // Up and down in turn: an element of `a` stays in the operand cache from column to column.
                        let i = if j % 2 == 0 { i } else { DOWN - 1 - i };
                        sums[i][j] = GpuFloat::mul_add(fragments.a[i], fragments.b[j], sums[i][j]);
                    }
                }
                if step == DEPTH - 2 {
                    copies.advance();
                }
                fragments = next;
            }
        }
        tile.for_each_four(product, part, &sums, write);
    }

    /// Reads the part of the next fragments whose turn comes before the multiplications of column `j`.
    ///
    /// # Safety
    /// `pair` points to a pair of tiles, aligned to 16 bytes, that no thread writes meanwhile.
    #[inline(always)]
    unsafe fn read_in_turn(&self, pair: *const f32, step: usize, j: usize, next: &mut Fragments<DOWN, ALONG>) {
        let (of_a, of_b) = (DOWN / 4, ALONG / 4);
        for read in 0..of_a + of_b {
            if read * ALONG / (of_a + of_b) == j {
                // SAFETY: as the caller promises.
                unsafe {
                    if read < of_a {
                        next.a[read * 4..][..4].copy_from_slice(&self.four_of_a(pair, step, read));
                    } else {
                        let four = read - of_a;
                        next.b[four * 4..][..4].copy_from_slice(&self.four_of_b(pair, step, four));
                    }
                }
            }
        }
    }
}
