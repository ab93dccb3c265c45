//! Large tiles of `c`: how the rungs from `matmul_large_register_tile` on divide them over warps and threads.

use core::array;

use cuda_std::{GpuFloat, thread};

use crate::warp::WARP_SIZE;
use crate::wide;

/// Columns of `a`, and rows of `b`, of a pair of tiles in shared memory.
pub(super) const DEPTH: usize = 16;
/// Lanes of a warp down and along its part of the tile of `c`.
const LANES: (usize, usize) = (8, 4);
/// Words behind each row of the turned tile of `a`: four words of eight rows, one below the other, are then in different
/// banks. It is a multiple of 4, because rows are read four words at a time.
const PAD: usize = 4;
/// Rows of tiles that are taken together, so that the blocks that run at a time share what they read in the L2.
const BAND: u32 = 8;

/// The matrices and their sizes, as the kernel gets them.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) a: *const f32,
    pub(super) b: *const f32,
    pub(super) c: *mut f32,
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) k: u32,
}

/// The sizes of a block's tile of `c`, as a type.
pub(super) trait TileSizes {
    /// Rows of the tile of `c`, and of the tile of `a`.
    const ROWS: usize;
    /// Columns of the tile of `c`, and of the tile of `b`.
    const COLUMNS: usize;
    /// Threads of the block.
    const THREADS: usize;

    /// Words from one row of the turned tile of `a` to the next.
    const PITCH: usize = Self::ROWS + PAD;
    /// Floats of a pair of tiles in shared memory: that of `a`, turned, and then that of `b`.
    const PAIR: usize = DEPTH * (Self::PITCH + Self::COLUMNS);
}

/// Where a block works.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Its tile's first row and column in `c`.
    pub(super) top: u32,
    pub(super) left: u32,
    /// The columns of `a`, the rows of `b`, that it multiplies: from the first on, and up to the last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Part {
    /// The tile of this block, by its index in the grid's x: bands of [`BAND`] rows of tiles, and within a band down
    /// the columns.
    #[inline(always)]
    pub(super) fn of_this_block<S: TileSizes>(product: &Product) -> Self {
        let (down, along) = (product.m.div_ceil(S::ROWS as u32), product.n.div_ceil(S::COLUMNS as u32));
        let index = thread::block_idx_x();
        let band = index / (BAND * along);
        let in_band = index % (BAND * along);
        let height = (down - band * BAND).min(BAND);
        Self {
            top: (band * BAND + in_band % height) * S::ROWS as u32,
            left: in_band / height * S::COLUMNS as u32,
            from: 0,
            to: product.k,
        }
    }
}

/// A thread's elements of a tile of `c` that `WARPS_DOWN` × `WARPS_ALONG` warps take: `DOWN` × `ALONG` of them, in
/// groups of 4 × 4, because four neighbours are one read of shared memory. The groups of a warp's lanes lie side by
/// side, 8 down and 4 along, and a thread's next group is a whole warp's groups further: so a warp's reads have no bank
/// conflicts.
#[derive(Clone, Copy)]
pub(super) struct ThreadTile<const WARPS_DOWN: usize, const WARPS_ALONG: usize, const DOWN: usize, const ALONG: usize> {
    /// The first element's row and column in the block's tile.
    row: u32,
    column: u32,
}

impl<const WARPS_DOWN: usize, const WARPS_ALONG: usize, const DOWN: usize, const ALONG: usize> TileSizes
    for ThreadTile<WARPS_DOWN, WARPS_ALONG, DOWN, ALONG>
{
    const ROWS: usize = WARPS_DOWN * LANES.0 * DOWN;
    const COLUMNS: usize = WARPS_ALONG * LANES.1 * ALONG;
    const THREADS: usize = WARPS_DOWN * WARPS_ALONG * WARP_SIZE as usize;
}

/// The factors that a thread multiplies in one step: a column of its rows of `a`, and a row of its columns of `b`.
#[derive(Clone, Copy)]
pub(super) struct Fragments<const DOWN: usize, const ALONG: usize> {
    pub(super) a: [f32; DOWN],
    pub(super) b: [f32; ALONG],
}

/// The sums of a thread's elements of `c`, in its registers.
pub(super) type Sums<const DOWN: usize, const ALONG: usize> = [[f32; ALONG]; DOWN];

impl<const WARPS_DOWN: usize, const WARPS_ALONG: usize, const DOWN: usize, const ALONG: usize>
    ThreadTile<WARPS_DOWN, WARPS_ALONG, DOWN, ALONG>
{
    /// The elements of this thread.
    #[inline(always)]
    pub(super) fn of_this_thread() -> Self {
        const { assert!(DOWN.is_multiple_of(4) && ALONG.is_multiple_of(4)) };
        let (lane, warp) = (thread::thread_idx_x() % WARP_SIZE, thread::thread_idx_x() / WARP_SIZE);
        let (down, along) = (lane % LANES.0 as u32, lane / LANES.0 as u32);
        let (warp_down, warp_along) = (warp % WARPS_DOWN as u32, warp / WARPS_DOWN as u32);
        Self {
            row: warp_down * (LANES.0 * DOWN) as u32 + down * 4,
            column: warp_along * (LANES.1 * ALONG) as u32 + along * 4,
        }
    }

    /// Four elements of this thread's rows of `a`, in step `step` of the pair of tiles from `pair` on.
    ///
    /// # Safety
    /// `pair` points to a [`PAIR`](TileSizes::PAIR) of floats, aligned to 16 bytes, that no thread writes meanwhile.
    #[inline(always)]
    pub(super) unsafe fn four_of_a(&self, pair: *const f32, step: usize, four: usize) -> [f32; 4] {
        let at = step * Self::PITCH + self.row as usize + four * 4 * LANES.0;
        // SAFETY: in the tile of `a`.
        unsafe { wide::load(pair.add(at)) }
    }

    /// Four elements of this thread's columns of `b`.
    ///
    /// # Safety
    /// `pair` points to a [`PAIR`](TileSizes::PAIR) of floats, aligned to 16 bytes, that no thread writes meanwhile.
    #[inline(always)]
    pub(super) unsafe fn four_of_b(&self, pair: *const f32, step: usize, four: usize) -> [f32; 4] {
        let at = DEPTH * Self::PITCH + step * Self::COLUMNS;
        // SAFETY: in the tile of `b`.
        unsafe { wide::load(pair.add(at + self.column as usize + four * 4 * LANES.1)) }
    }

    /// The fragments that this thread multiplies in step `step`.
    ///
    /// # Safety
    /// `pair` points to a [`PAIR`](TileSizes::PAIR) of floats, aligned to 16 bytes, that no thread writes meanwhile.
    #[inline(always)]
    pub(super) unsafe fn fragments(&self, pair: *const f32, step: usize) -> Fragments<DOWN, ALONG> {
        let (mut a, mut b) = ([0.0; DOWN], [0.0; ALONG]);
        for (four, a) in a.chunks_exact_mut(4).enumerate() {
            // SAFETY: as the caller promises.
            a.copy_from_slice(&unsafe { self.four_of_a(pair, step, four) });
        }
        for (four, b) in b.chunks_exact_mut(4).enumerate() {
            // SAFETY: as the caller promises.
            b.copy_from_slice(&unsafe { self.four_of_b(pair, step, four) });
        }
        Fragments { a, b }
    }

    /// Writes this thread's elements of `c`.
    ///
    /// # Safety
    /// `c` is valid for writes, and no other thread accesses this thread's elements of it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn write(&self, product: &Product, part: &Part, sums: &Sums<DOWN, ALONG>) {
        // SAFETY: as the caller promises, and by the question.
        unsafe {
            if product.n.is_multiple_of(4) {
                self.for_each_four(product, part, sums, |row, column, four| {
                    write::<true>(product, row, column, four);
                });
            } else {
                self.for_each_four(product, part, sums, |row, column, four| {
                    write::<false>(product, row, column, four);
                });
            }
        }
    }

    /// Gives this thread's elements of `c` to `write`: the row, the first column, and four neighbouring columns.
    #[inline(always)]
    pub(super) fn for_each_four(
        &self,
        product: &Product,
        part: &Part,
        sums: &Sums<DOWN, ALONG>,
        mut write: impl FnMut(u32, u32, [f32; 4]),
    ) {
        for (i, sums) in sums.iter().enumerate() {
            let row = part.top + self.row + ((i / 4) * 4 * LANES.0 + i % 4) as u32;
            for four in 0..ALONG / 4 {
                let column = part.left + self.column + (four * 4 * LANES.1) as u32;
                if row < product.m && column < product.n {
                    write(row, column, array::from_fn(|j| sums[four * 4 + j]));
                }
            }
        }
    }
}

impl<const DOWN: usize, const ALONG: usize> Fragments<DOWN, ALONG> {
    /// Adds every product of an element of `a` and one of `b` to its sum.
    #[inline(always)]
    pub(super) fn multiply_add(&self, sums: &mut Sums<DOWN, ALONG>) {
        for (a, sums) in self.a.iter().zip(sums) {
            for (b, sum) in self.b.iter().zip(sums) {
                *sum = GpuFloat::mul_add(*a, *b, *sum);
            }
        }
    }
}

/// Writes four neighbouring elements of `c`, or those of them that it has.
///
/// # Safety
/// The first of the four is an element of `c`, and its column is a multiple of 4. No other thread accesses these four
/// meanwhile. With `WIDE`, `n` is a multiple of 4.
#[inline(always)]
pub(super) unsafe fn write<const WIDE: bool>(product: &Product, row: u32, column: u32, sums: [f32; 4]) {
    let at = product.c.wrapping_add((row * product.n + column) as usize);
    // SAFETY: inside of `c`; where `n` is a multiple of 4, so is the first element's place.
    unsafe {
        if WIDE {
            wide::store(at, sums);
        } else {
            for (j, sum) in sums.into_iter().enumerate() {
                if column + (j as u32) < product.n {
                    *at.wrapping_add(j) = sum;
                }
            }
        }
    }
}
