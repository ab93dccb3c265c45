//! Warp tiles fed by a pipeline of asynchronous copies: the body of the fastest rungs.
//!
//! What is added to [`register_tile`](super::register_tile):
//! - **three stages**: while a block multiplies one pair of tiles, the next two are on their way from global to
//!   shared memory, past the registers ([`copy_async`]), so nobody waits for memory and nothing is stored by
//!   hand;
//! - **larger tiles of registers**: 8 × 16 elements of `c` a thread, and a square of 64 × 64 a warp: 128
//!   multiplications for 6 wide reads of shared memory;
//! - **two sets of fragments**: what step i + 1 multiplies is read from shared memory while step i multiplies,
//!   also across the barrier between two tiles;
//! - **pacing**: those reads and the next tiles' copies are spread evenly over the multiplications. The compiler
//!   of the driver would gather them at the top of the loop, where they queue and the multipliers starve: a
//!   warp's barrier in each step keeps it from that. It costs one issue slot of 134.
//!
//! One SM's schedulers issue 4 instructions a cycle, and each multiplication of a warp takes a slot: what is not
//! a multiplication is lost. The loop here has 2048 of them in 2190 instructions.
// An index is a place among registers here, and so a constant once the loop is written out.
#![allow(clippy::needless_range_loop)]

use core::array;

use cuda_std::{GpuFloat, thread, warp};

use crate::copy_async::{self, Shared, copy_four, copy_one};
use crate::warp::{FULL_MASK, WARP_SIZE};
use crate::wide;

/// Columns of `a`, rows of `b`, of a tile.
pub(super) const DEPTH: usize = 16;
/// Pairs of tiles in shared memory.
pub(super) const STAGES: usize = 3;
/// Lanes of a warp down and along its square of `c`.
const LANES: (usize, usize) = (8, 4);
/// Words behind each row of the turned tile of `a`, which keep the 4-byte copies of a warp in different banks.
const PAD: usize = 4;
/// Rows of tiles that are taken together, so that the blocks that run at a time share what they read in the L2.
const BAND: u32 = 8;
/// The most copies of a thread for one tile of `a`, and of `b`.
const MOST_COPIES: (usize, usize) = (8, 16);

/// Elements of `c`, down and along, that a block takes whose warps stand `warps` down and along and whose
/// threads take `each`.
#[must_use]
pub(super) const fn tile(warps: (usize, usize), each: (usize, usize)) -> (usize, usize) {
    (warps.0 * LANES.0 * each.0, warps.1 * LANES.1 * each.1)
}

/// Bytes of shared memory that such a block needs.
#[must_use]
pub(super) const fn shared_bytes(warps: (usize, usize), each: (usize, usize)) -> usize {
    let (rows, columns) = tile(warps, each);
    STAGES * DEPTH * (rows + PAD + columns) * size_of::<f32>()
}

/// The matrices, as the kernel has them.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) a: *const f32,
    pub(super) b: *const f32,
    pub(super) c: *mut f32,
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) k: u32,
}

/// Where a block works.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its tile's first row and column in `c`.
    top: u32,
    pub(super) left: u32,
    /// The columns of `a`, the rows of `b`, that it multiplies: from the first on, and up to the last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Part {
    /// The tile of the block at `index`: bands of [`BAND`] rows of tiles, and within a band down the columns.
    #[inline(always)]
    pub(super) fn of(index: u32, (rows, columns): (usize, usize), product: &Product) -> Self {
        let (down, along) = (
            product.m.div_ceil(rows as u32),
            product.n.div_ceil(columns as u32),
        );
        let band = index / (BAND * along);
        let in_band = index % (BAND * along);
        let height = (down - band * BAND).min(BAND);
        Self {
            top: (band * BAND + in_band % height) * rows as u32,
            left: in_band / height * columns as u32,
            from: 0,
            to: product.k,
        }
    }
}

/// The copies of a block's tiles, tile after tile into one stage after the other.
///
/// With `WIDE`, a row of `b` is copied four columns at a time. A row or column beyond the matrix is copied as the
/// last one is: it has a place in memory, and what it gives is not written to `c`.
struct Feed<const ROWS: usize, const COLUMNS: usize, const THREADS: usize, const WIDE: bool> {
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
}

impl<const ROWS: usize, const COLUMNS: usize, const THREADS: usize, const WIDE: bool>
    Feed<ROWS, COLUMNS, THREADS, WIDE>
{
    const PITCH: usize = ROWS + PAD;
    /// Floats of a stage.
    const STAGE: usize = DEPTH * (Self::PITCH + COLUMNS);
    /// Elements of `b` in one copy.
    const WIDTH: usize = if WIDE { 4 } else { 1 };
    /// Copies of a thread for a tile of `a`, and of `b`.
    const COPIES_A: usize = ROWS * DEPTH / THREADS;
    const COPIES_B: usize = DEPTH * COLUMNS / Self::WIDTH / THREADS;
    /// Rows of `b` between two copies of a thread. A thread's copies may lie in one row, too.
    const ROWS_B: usize = THREADS * Self::WIDTH / COLUMNS;

    #[inline(always)]
    fn new(stages: *mut f32, product: &Product, part: &Part) -> Self {
        const {
            assert!(Self::COPIES_A <= MOST_COPIES.0 && Self::COPIES_B <= MOST_COPIES.1);
            assert!(Self::ROWS_B > 0 && THREADS.is_multiple_of(DEPTH));
        }
        let thread = thread::thread_idx_x();
        let (row_a, column_a) = (thread / DEPTH as u32, thread % DEPTH as u32);
        let across = (COLUMNS / Self::WIDTH) as u32;
        let (row_b, column_b) = (thread / across, thread % across * Self::WIDTH as u32);
        let last = product.n - Self::WIDTH as u32;
        let shared = Shared::of(stages);
        let word = |index: u32| shared.byte_add(index * 4);
        Self {
            // SAFETY: inside of the matrices, or behind their last element where nothing is copied.
            a: product.a.wrapping_add(part.from as usize),
            b: product.b.wrapping_add((part.from * product.n) as usize),
            of_a: array::from_fn(|copy| {
                let row = part.top + row_a + (copy * THREADS / DEPTH) as u32;
                row.min(product.m - 1) * product.k + column_a
            }),
            of_b: row_b * product.n + (part.left + column_b).min(last),
            step_b: Self::ROWS_B as u32 * product.n,
            to_a: word(column_a * Self::PITCH as u32 + row_a),
            to_b: word((DEPTH * Self::PITCH) as u32 + row_b * COLUMNS as u32 + column_b),
            column_a,
            row_b,
            next: part.from,
            end: part.to,
            tile_b: DEPTH as u32 * product.n,
            stage: 0,
        }
    }

    /// Whether the next tile is there in all its depth.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.next + DEPTH as u32 <= self.end
    }

    /// Starts this thread's copy number `copy` of the next tile, of those of `a` and then of `b`. Unless it
    /// `is_whole`, what is beyond the depth is zero.
    ///
    /// # Safety
    /// The matrices are there; the next tile is; its stage is not read any more.
    #[inline(always)]
    unsafe fn copy(&self, copy: usize, is_whole: bool) {
        // SAFETY: the caller's.
        unsafe {
            if copy < Self::COPIES_A {
                let exists = is_whole || self.next + self.column_a < self.end;
                let to = (copy * THREADS / DEPTH * 4) as u32;
                copy_one(
                    self.to_a.byte_add(self.stage + to),
                    self.a.wrapping_add(self.of_a[copy] as usize),
                    exists,
                );
            } else if copy < Self::COPIES_A + Self::COPIES_B {
                let copy = copy - Self::COPIES_A;
                let row = (copy * Self::ROWS_B) as u32;
                let exists = is_whole || self.next + self.row_b + row < self.end;
                let to = self.to_b.byte_add(self.stage + row * COLUMNS as u32 * 4);
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

    /// Starts all of this thread's copies of the next tile.
    ///
    /// # Safety
    /// As [`Feed::copy`].
    #[inline(always)]
    unsafe fn copy_all(&self, is_whole: bool) {
        for copy in 0..Self::COPIES_A + Self::COPIES_B {
            // SAFETY: the caller's.
            unsafe { self.copy(copy, is_whole) };
        }
    }

    /// Goes on to the tile after the next.
    #[inline(always)]
    fn advance(&mut self) {
        if self.next < self.end {
            self.next += DEPTH as u32;
            self.a = self.a.wrapping_add(DEPTH);
            self.b = self.b.wrapping_add(self.tile_b as usize);
            self.stage = Self::following(self.stage, 4);
        }
        copy_async::commit();
    }

    /// The stage after `stage`, where each is [`STAGE`](Self::STAGE) times `unit`.
    #[inline(always)]
    fn following(stage: u32, unit: usize) -> u32 {
        if stage == ((STAGES - 1) * Self::STAGE * unit) as u32 {
            0
        } else {
            stage + (Self::STAGE * unit) as u32
        }
    }
}

/// Multiplies a block's part and gives each element and its place in `c` to `write`: four neighbouring columns,
/// the row and the first column.
///
/// `DOWN` × `ALONG` are the elements of a thread, `ROWS` × `COLUMNS` those of the block, as [`tile`] has them.
///
/// # Safety
/// As [`matmul`](super::super::matmul) says; all threads of the block call it; `stages` are [`shared_bytes`],
/// aligned to 16. With `WIDE`, `n` is a multiple of 4.
#[inline(always)]
pub(super) unsafe fn multiply<
    const ROWS: usize,
    const COLUMNS: usize,
    const THREADS: usize,
    const DOWN: usize,
    const ALONG: usize,
    const WIDE: bool,
>(
    stages: *mut f32,
    product: &Product,
    part: &Part,
    mut write: impl FnMut(u32, u32, [f32; 4]),
) {
    let mut feed = Feed::<ROWS, COLUMNS, THREADS, WIDE>::new(stages, product, part);
    let pitch = Feed::<ROWS, COLUMNS, THREADS, WIDE>::PITCH;
    let copies = const {
        let (a, b) = (
            Feed::<ROWS, COLUMNS, THREADS, WIDE>::COPIES_A,
            Feed::<ROWS, COLUMNS, THREADS, WIDE>::COPIES_B,
        );
        assert!(
            THREADS * DOWN * ALONG == ROWS * COLUMNS
                && DOWN.is_multiple_of(4)
                && ALONG.is_multiple_of(4)
        );
        (a + b).div_ceil(DEPTH - 2)
    };

    // This thread's place in its warp's square, and the square's in the block's tile.
    let (lane, warp) = (
        thread::thread_idx_x() % WARP_SIZE,
        thread::thread_idx_x() / WARP_SIZE,
    );
    let (down, along) = (lane % LANES.0 as u32, lane / LANES.0 as u32);
    let warps_down = (ROWS / (LANES.0 * DOWN)) as u32;
    let row = warp % warps_down * (LANES.0 * DOWN) as u32 + down * 4;
    let column = warp / warps_down * (LANES.1 * ALONG) as u32 + along * 4;

    // Four elements of this thread's rows, or columns, in step `step` of the tile in a stage.
    let of_a = |stage: u32, step: usize, four: usize| {
        let at = stage as usize + step * pitch + row as usize + four * 4 * LANES.0;
        // SAFETY: in the stage's tile of `a`, which has arrived.
        unsafe { wide::load(stages.add(at)) }
    };
    let of_b = |stage: u32, step: usize, four: usize| {
        let at = stage as usize + DEPTH * pitch + step * COLUMNS;
        // SAFETY: in the stage's tile of `b`, which has arrived.
        unsafe { wide::load(stages.add(at + column as usize + four * 4 * LANES.1)) }
    };

    for _ in 0..STAGES - 1 {
        if feed.next < feed.end {
            // SAFETY: the caller's; nothing has been read yet.
            unsafe { feed.copy_all(feed.is_whole()) };
        }
        feed.advance();
    }
    copy_async::wait::<{ STAGES as u32 - 2 }>();
    thread::sync_threads();

    let mut sums = [[0.0; ALONG]; DOWN];
    let mut stage = 0;
    // As many as the largest thread has.
    let mut a: [[f32; 4]; 4] = [[0.0; 4]; 4];
    let mut b = a;
    for four in 0..DOWN / 4 {
        a[four] = of_a(stage, 0, four);
    }
    for four in 0..ALONG / 4 {
        b[four] = of_b(stage, 0, four);
    }
    let reads = DOWN / 4 + ALONG / 4;
    for _ in 0..(part.to - part.from).div_ceil(DEPTH as u32) {
        let is_whole = feed.is_whole();
        for step in 0..DEPTH {
            if step == DEPTH - 1 {
                // The next tile has arrived, and nobody reads this one any more after its last fragments.
                copy_async::wait::<{ STAGES as u32 - 2 }>();
                thread::sync_threads();
                stage = Feed::<ROWS, COLUMNS, THREADS, WIDE>::following(stage, 1);
            } else {
                // SAFETY: no lane leaves the loop alone.
                unsafe { warp::sync_warp(FULL_MASK) };
            }
            let (mut next_a, mut next_b) = (a, b);
            for j in 0..ALONG {
                // What else there is to do, spread over the multiplications.
                for read in 0..reads {
                    if read * ALONG / reads == j {
                        let step = (step + 1) % DEPTH;
                        if read < DOWN / 4 {
                            next_a[read] = of_a(stage, step, read);
                        } else {
                            next_b[read - DOWN / 4] = of_b(stage, step, read - DOWN / 4);
                        }
                    }
                }
                if j == ALONG / 2 {
                    // SAFETY: the caller's; the stage of the next tile was read to its end before the barrier.
                    unsafe {
                        if is_whole {
                            for copy in step * copies..(step + 1) * copies {
                                feed.copy(copy, true);
                            }
                        } else if step == 0 && feed.next < feed.end {
                            feed.copy_all(false);
                        }
                    }
                }
                for i in 0..DOWN {
                    // Up and down in turn: an element of `a` stays in the operand cache from column to column.
                    let i = if j % 2 == 0 { i } else { DOWN - 1 - i };
                    sums[i][j] = GpuFloat::mul_add(a[i / 4][i % 4], b[j / 4][j % 4], sums[i][j]);
                }
            }
            if step == DEPTH - 2 {
                feed.advance();
            }
            (a, b) = (next_a, next_b);
        }
    }

    for i in 0..DOWN {
        let row = part.top + row + ((i / 4) * 4 * LANES.0 + i % 4) as u32;
        for four in 0..ALONG / 4 {
            let column = part.left + column + (four * 4 * LANES.1) as u32;
            if row < product.m && column < product.n {
                write(row, column, array::from_fn(|j| sums[i][four * 4 + j]));
            }
        }
    }
}
