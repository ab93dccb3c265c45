//! Shared code of the rungs with register tiles: 16-byte accesses, the shape and order of large tiles, and the edges of
//! `b` and `c`.

use core::array;

use cuda_std::{GpuFloat, thread};

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
use crate::tensor_core::{
    Shared,
    cp_async::{copy_four, copy_one},
};

/// Four neighboring elements, aligned for a 16-byte access (PTX ISA §5.4.2, "Vectors"): the counterpart of CUDA C++'s
/// `float4`.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Float4(pub [f32; 4]);

/// The number of columns of `a`, and the number of rows of `b`, in a pair of tiles in shared memory.
pub const DEPTH: u32 = 16;

/// The number of pairs of tiles in shared memory in rungs with asynchronous copies: one pair is multiplied while the
/// next two are copied.
pub const STAGES: u32 = 3;

/// The distance in rows between a thread's groups of four rows of a tile: a warp has 8 lanes along a column.
pub const ROW_GROUP: u32 = 8 * 4;

/// The distance in columns between a thread's groups of four columns of a tile: a warp has 4 lanes along a row.
pub const COL_GROUP: u32 = 4 * 4;

/// The number of rows of tiles in a band.
const BAND: u32 = 8;

/// Returns the stride of the transposed tile of `a` with `rows` rows: the number of words from one column of `a` to the
/// next.
///
/// A warp writes 2 rows and 16 columns. With four words of padding, such a write takes two wavefronts. The stride is a
/// multiple of 4, because rows are read four at a time.
#[must_use]
pub const fn a_stride(rows: u32) -> u32 {
    rows + 4
}

/// Returns the number of words of a pair of tiles in shared memory: the transposed tile of `a`, then the tile of `b`.
#[must_use]
pub const fn pair_len(rows: u32, cols: u32) -> u32 {
    DEPTH * (a_stride(rows) + cols)
}

/// Returns the first row and column of this block's tile of `rows` × `cols` elements in a product of `m` × `n`.
///
/// The grid's x numbers the tiles in bands of 8 rows of tiles, in column-major order within a band. So the blocks that
/// run at the same time share rows of `a` and columns of `b` in the L2 cache.
#[inline(always)]
#[must_use]
pub fn tile_of_block(m: u32, n: u32, rows: u32, cols: u32) -> (u32, u32) {
    let (tile_rows, tile_cols) = (m.div_ceil(rows), n.div_ceil(cols));
    let index = thread::block_idx_x();
    let (band, in_band) = (index / (BAND * tile_cols), index % (BAND * tile_cols));
    let height = (tile_rows - band * BAND).min(BAND);
    ((band * BAND + in_band % height) * rows, in_band / height * cols)
}

/// Loads `N` elements in groups of four, starting at `first`. The distance from one group to the next is `group` words.
///
/// # Safety
/// All groups are in shared memory that no thread writes at the same time, and each group is aligned to 16 bytes.
#[inline(always)]
#[must_use]
pub unsafe fn load_fragment<const N: usize>(first: *const f32, group: u32) -> [f32; N] {
    let mut fragment = [0.0; N];
    for (i, four) in fragment.chunks_exact_mut(4).enumerate() {
        // SAFETY: there are N / 4 groups, each aligned to 16 bytes.
        four.copy_from_slice(&unsafe { *first.add(i * group as usize).cast::<Float4>() }.0);
    }
    fragment
}

/// Adds the product of each element of a column of `a` and each element of a row of `b` to the corresponding sum.
#[inline(always)]
pub fn multiply_add<const ROWS: usize, const COLS: usize>(
    a: &[f32; ROWS],
    b: &[f32; COLS],
    sums: &mut [[f32; COLS]; ROWS],
) {
    for (x, sums) in a.iter().zip(sums) {
        for (y, sum) in b.iter().zip(sums) {
            *sum = GpuFloat::mul_add(*x, *y, *sum);
        }
    }
}

/// Writes a thread's sums to `c`, which has `m` rows and `n` columns. The first sum belongs to the element in row
/// `first_row` and column `first_col`.
///
/// # Safety
/// `c` points to `m * n` elements. No other thread accesses this thread's elements. `first_col` is a multiple of 4.
#[inline(always)]
pub unsafe fn write_sums<const ROWS: usize, const COLS: usize>(
    sums: &[[f32; COLS]; ROWS],
    c: *mut f32,
    (m, n): (u32, u32),
    (first_row, first_col): (u32, u32),
) {
    for (i, sums) in (0..).zip(sums) {
        for four in 0..COLS / 4 {
            let (row, col) = (first_row + i / 4 * ROW_GROUP + i % 4, first_col + four as u32 * COL_GROUP);
            if row < m && col < n {
                // SAFETY: the first of the four elements is in `c`, and its column is a multiple of 4.
                unsafe { write_four(array::from_fn(|j| sums[four * 4 + j]), c, n, (row, col)) };
            }
        }
    }
}

/// Adds a thread's elements of `c`, which has `m` rows and `n` columns, to the thread's sums. The first sum belongs to
/// the element in row `first_row` and column `first_col`.
///
/// # Safety
/// `c` points to `m * n` elements. No other thread writes this thread's elements. `first_col` is a multiple of 4.
#[inline(always)]
pub unsafe fn add_elements<const ROWS: usize, const COLS: usize>(
    sums: &mut [[f32; COLS]; ROWS],
    c: *const f32,
    (m, n): (u32, u32),
    (first_row, first_col): (u32, u32),
) {
    for (i, sums) in (0..).zip(sums) {
        for four in 0..COLS / 4 {
            let (row, col) = (first_row + i / 4 * ROW_GROUP + i % 4, first_col + four as u32 * COL_GROUP);
            if row < m && col < n {
                // SAFETY: the first of the four elements is in `c`, and its column is a multiple of 4.
                let elements = unsafe { read_four(c, n, (row, col)) };
                for (j, element) in elements.iter().enumerate() {
                    sums[four * 4 + j] += element;
                }
            }
        }
    }
}

/// Writes four neighboring elements of `c`, which has `n` columns. Skips elements that do not exist.
///
/// # Safety
/// The first element is in `c`, and its column is a multiple of 4. No other thread accesses the four elements.
#[inline(always)]
pub unsafe fn write_four(elements: [f32; 4], c: *mut f32, n: u32, (row, col): (u32, u32)) {
    let first = c.wrapping_add((row * n + col) as usize);
    if n.is_multiple_of(4) {
        // SAFETY: n and the column are multiples of 4, so all four elements exist and are at a multiple of 16 bytes.
        unsafe { *first.cast::<Float4>() = Float4(elements) };
        return;
    }
    for (j, element) in elements.iter().enumerate() {
        if col + (j as u32) < n {
            // SAFETY: the column exists.
            unsafe { *first.add(j) = *element };
        }
    }
}

/// Reads four neighboring elements of `c`, which has `n` columns. Returns 0 for elements that do not exist.
///
/// # Safety
/// The first element is in `c`, and its column is a multiple of 4. No other thread writes the four elements.
#[inline(always)]
#[must_use]
pub unsafe fn read_four(c: *const f32, n: u32, (row, col): (u32, u32)) -> [f32; 4] {
    let first = c.wrapping_add((row * n + col) as usize);
    if n.is_multiple_of(4) {
        // SAFETY: n and the column are multiples of 4, so all four elements exist and are at a multiple of 16 bytes.
        return unsafe { *first.cast::<Float4>() }.0;
    }
    // SAFETY: only columns that exist are read.
    array::from_fn(|j| if col + (j as u32) < n { unsafe { *first.add(j) } } else { 0.0 })
}

/// Starts a thread's copies of four elements of a row of `b`, which has `n` columns. If the row does not exist, copies
/// zeros.
///
/// This thread is number `quad` of the `quads` threads that copy a row of a tile, and `col` is the tile's first column
/// plus `quad` * 4. If `n` is a multiple of 4, rows begin at multiples of 16 bytes, and the thread copies four
/// neighboring elements. Otherwise it copies single words, and neighboring threads copy neighboring words. For columns
/// outside `b`, the thread copies the last columns instead. The products of these duplicates are not written to `c`.
///
/// # Safety
/// `to` points to the word for column `col` in a row of a tile in shared memory, and is aligned to 16 bytes. No thread
/// accesses the row before the copies have arrived. If `exists` is true, the row is within the matrix at `b`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[inline(always)]
pub unsafe fn copy_four_of_row(
    to: Shared,
    (b, n): (*const f32, u32),
    (row, col): (u32, u32),
    (quad, quads): (u32, u32),
    exists: bool,
) {
    if n.is_multiple_of(4) {
        // SAFETY: the four columns are in the row, and the address is a multiple of 16 bytes.
        unsafe { copy_four(to, b.wrapping_add((row * n + col.min(n - 4)) as usize).cast(), exists) };
        return;
    }
    for j in 0..4 {
        // The distance from the first of the thread's four elements to its j-th single word.
        let distance = (j * quads + quad).wrapping_sub(quad * 4);
        let from = b.wrapping_add((row * n + col.wrapping_add(distance).min(n - 1)) as usize);
        // SAFETY: the column is in the row.
        unsafe { copy_one(to.byte_add(distance.wrapping_mul(4)), from, exists) };
    }
}
