//! Asynchronous copies of pairs of tiles into stages of shared memory, one pair after the other.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::array;
use core::marker::PhantomData;

use cuda_std::thread;

use super::block_tile::{DEPTH, Part, Product, TileSizes};
use crate::copy_async::{self, Shared, copy_four, copy_one};

/// Pairs of tiles in shared memory: one is multiplied while the next two are on their way.
pub(super) const STAGES: usize = 3;
/// The most copies of a thread for one tile of `a`, and of `b`.
const MOST_COPIES: (usize, usize) = (8, 16);

/// Floats of all stages.
pub(super) const fn stages_len<S: TileSizes>() -> usize {
    STAGES * S::PAIR
}

/// The stage after `stage`. Both are distances from the first stage, in parts of a float: 1 of them or 4, its bytes.
pub(super) const fn stage_after<S: TileSizes>(stage: u32, parts: usize) -> u32 {
    if stage == ((STAGES - 1) * S::PAIR * parts) as u32 { 0 } else { stage + (S::PAIR * parts) as u32 }
}

/// Waits until the pair of tiles that is multiplied next has arrived, for all threads of the block.
#[inline(always)]
pub(super) fn wait_for_next_pair() {
    copy_async::wait::<{ STAGES as u32 - 2 }>();
    thread::sync_threads();
}

/// A thread's copies of a block's tiles.
///
/// With `WIDE`, a row of `b` is copied four columns at a time, and `n` is a multiple of 4. A row or column beyond the
/// matrix is copied as the last one is: it has a place in memory, and its products are not written to `c`.
pub(super) struct CopyPipeline<S: TileSizes, const WIDE: bool> {
    /// The tiles' first column of `a` and row of `b`.
    a: *const f32,
    b: *const f32,
    /// The elements of `a` that this thread copies, relative to it.
    of_a: [u32; MOST_COPIES.0],
    /// The first element of `b` that it copies, and how far it is to its next.
    of_b: u32,
    step_b: u32,
    /// Where they go in the first stage.
    to_a: Shared,
    to_b: Shared,
    /// This thread's column of `a` and row of `b` in a tile.
    column_a: u32,
    row_b: u32,
    /// The next tile's first column of `a`; the last.
    next: u32,
    end: u32,
    /// Elements from one tile of `b` to the next.
    tile_b: u32,
    /// Bytes to the stage of the next tile.
    stage: u32,
    sizes: PhantomData<S>,
}

impl<S: TileSizes, const WIDE: bool> CopyPipeline<S, WIDE> {
    /// Elements of `b` in one copy.
    const WIDTH: usize = if WIDE { 4 } else { 1 };
    /// Copies of a thread for a tile of `a`.
    const COPIES_A: usize = S::ROWS * DEPTH / S::THREADS;
    /// Copies of a thread for a tile of `b`.
    const COPIES_B: usize = DEPTH * S::COLUMNS / Self::WIDTH / S::THREADS;
    /// Copies of a thread for a pair of tiles.
    pub(super) const COPIES: usize = Self::COPIES_A + Self::COPIES_B;
    /// Rows of `b` between two copies of a thread. A thread's copies may lie in one row, too.
    const ROWS_B: usize = S::THREADS * Self::WIDTH / S::COLUMNS;

    /// The copies of this thread, of which none has been started.
    #[inline(always)]
    pub(super) fn new(stages: *mut f32, product: &Product, part: &Part) -> Self {
        const {
            assert!(Self::COPIES_A <= MOST_COPIES.0 && Self::COPIES_B <= MOST_COPIES.1);
            assert!(Self::ROWS_B > 0 && S::THREADS.is_multiple_of(DEPTH));
        }
        let thread = thread::thread_idx_x();
        let (row_a, column_a) = (thread / DEPTH as u32, thread % DEPTH as u32);
        let across = (S::COLUMNS / Self::WIDTH) as u32;
        let (row_b, column_b) = (thread / across, thread % across * Self::WIDTH as u32);
        let last = product.n - Self::WIDTH as u32;
        let shared = Shared::of(stages);
        let word = |index: u32| shared.byte_add(index * 4);
        Self {
            a: product.a.wrapping_add(part.from as usize),
            b: product.b.wrapping_add((part.from * product.n) as usize),
            of_a: array::from_fn(|copy| {
                let row = part.top + row_a + (copy * S::THREADS / DEPTH) as u32;
                row.min(product.m - 1) * product.k + column_a
            }),
            of_b: row_b * product.n + (part.left + column_b).min(last),
            step_b: Self::ROWS_B as u32 * product.n,
            to_a: word(column_a * S::PITCH as u32 + row_a),
            to_b: word((DEPTH * S::PITCH) as u32 + row_b * S::COLUMNS as u32 + column_b),
            column_a,
            row_b,
            next: part.from,
            end: part.to,
            tile_b: DEPTH as u32 * product.n,
            stage: 0,
            sizes: PhantomData,
        }
    }

    /// Whether there is a next pair of tiles.
    #[inline(always)]
    pub(super) fn has_next(&self) -> bool {
        self.next < self.end
    }

    /// Whether the next pair of tiles is there in all its depth.
    #[inline(always)]
    pub(super) fn is_whole(&self) -> bool {
        self.next + DEPTH as u32 <= self.end
    }

    /// Starts this thread's copy number `copy` of the next pair of tiles, of those of `a` and then of `b`. Unless it
    /// `is_whole`, what is beyond the depth is zero.
    ///
    /// # Safety
    /// The matrices are valid for reads, there is a next pair, and no thread reads its stage any more.
    #[inline(always)]
    pub(super) unsafe fn copy(&self, copy: usize, is_whole: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            if copy < Self::COPIES_A {
                let exists = is_whole || self.next + self.column_a < self.end;
                let to = (copy * S::THREADS / DEPTH * 4) as u32;
                copy_one(self.to_a.byte_add(self.stage + to), self.a.wrapping_add(self.of_a[copy] as usize), exists);
            } else if copy < Self::COPIES {
                let copy = copy - Self::COPIES_A;
                let row = (copy * Self::ROWS_B) as u32;
                let exists = is_whole || self.next + self.row_b + row < self.end;
                let to = self.to_b.byte_add(self.stage + row * S::COLUMNS as u32 * 4);
                let from = self.of_b + copy as u32 * self.step_b;
                let from = self.b.wrapping_add(from as usize);
                if WIDE {
                    copy_four(to, from.cast(), exists);
                } else {
                    copy_one(to, from, exists);
                }
            }
        }
    }

    /// Starts all of this thread's copies of the next pair of tiles.
    ///
    /// # Safety
    /// The matrices are valid for reads, there is a next pair, and no thread reads its stage any more.
    #[inline(always)]
    pub(super) unsafe fn copy_all(&self, is_whole: bool) {
        for copy in 0..Self::COPIES {
            // SAFETY: as the caller promises.
            unsafe { self.copy(copy, is_whole) };
        }
    }

    /// Ends the group of copies of the next pair of tiles and goes on to the pair after it.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        if self.has_next() {
            self.next += DEPTH as u32;
            self.a = self.a.wrapping_add(DEPTH);
            self.b = self.b.wrapping_add(self.tile_b as usize);
            self.stage = stage_after::<S>(self.stage, 4);
        }
        copy_async::commit();
    }

    /// Starts the copies of the next pair of tiles, if there is one, and goes on to the pair after it.
    ///
    /// # Safety
    /// The matrices are valid for reads, and no thread reads the stage of the next pair any more.
    #[inline(always)]
    pub(super) unsafe fn start_next(&mut self) {
        if self.has_next() {
            // SAFETY: as the caller promises.
            unsafe { self.copy_all(self.is_whole()) };
        }
        self.advance();
    }
}
