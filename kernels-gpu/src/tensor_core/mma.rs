//! `mma.sync` and `ldmatrix`: products of fragments in the registers of one warp (compute capability 8.0 and newer).
//!
//! A *fragment* is a piece of a matrix that is spread over the registers of a warp's 32 lanes. Here a fragment has 16
//! rows of `a`, or 16 columns of `b`, and 16 elements along `k`. It consists of four 8 × 8 *matrices*. Each matrix
//! takes one register per lane. In each matrix, lane `l` holds two elements of row `l / 4` (of `a`) or column `l / 4`
//! (of `b`). They are elements `l % 4 * 2` and `l % 4 * 2 + 1` along `k`. The first of these two elements is in the
//! register's lower half. [`halves`] returns the order of the four matrices. (PTX ISA, "Warp-Level Matrix
//! Instructions", in particular "Matrix Fragments for mma.m16n8k16 with floating point type".)
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use core::mem;

use cuda_std::thread;

use super::{Bf16, Element, F16, Output, Shared};

/// The number of lanes in a warp.
const WARP_SIZE: u32 = 32;
/// The number of rows in a fragment of `a`, the number of columns in a fragment of `b`, and the number of elements
/// along `k` in both.
pub const SIDE: u32 = 16;

/// Eight 16-bit elements that are neighbors in memory: a row of an 8 × 8 matrix. With a 16-byte alignment, one
/// instruction loads or stores the row.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Chunk(pub [u32; 4]);

/// The registers that hold a fragment: four per lane, with two elements each.
pub type Fragment = [u32; 4];

/// The sums of `M` · 16 rows and `N` · 16 columns. A fragment of `a` times a fragment of `b` takes two `mma.sync`
/// instructions, which compute 8 columns each and have separate accumulators.
pub type Sums<const M: usize, const N: usize> = [[[[f32; 4]; 2]; N]; M];

/// A 16-bit element that `mma.sync` multiplies.
pub trait MmaElement: Element {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`: adds the products of 16 rows of `a` and 8 columns of `b`, over
    /// 16 elements along `k`, to `sums`. (PTX ISA, "Multiply-and-Accumulate Instruction: mma".)
    ///
    /// # Safety
    /// The caller must ensure that all lanes of the warp execute the call together.
    unsafe fn mma(a: Fragment, b: [u32; 2], sums: &mut [f32; 4]);
}

macro_rules! mma_element {
    ($element:ty, $name:literal) => {
        impl MmaElement for $element {
            #[inline(always)]
            unsafe fn mma(a: Fragment, b: [u32; 2], sums: &mut [f32; 4]) {
                let [s0, s1, s2, s3] = sums;
                ptx!(
                    concat!(
                        "mma.sync.aligned.m16n8k16.row.col.f32.", $name, ".", $name, ".f32 ",
                        "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"
                    ),
                    inout(reg32) *s0, inout(reg32) *s1, inout(reg32) *s2, inout(reg32) *s3,
                    in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
        }
    };
}

mma_element!(Bf16, "bf16");
mma_element!(F16, "f16");

/// Loads the chunk of a row that begins at `from`. `left` is the number of elements left in the row; if there are fewer
/// than eight, the remaining elements are 0. For a chunk outside the matrix, `left` is 0 or negative.
///
/// # Safety
/// The caller must ensure that the matrix is row-major, that its rows have `columns` elements, and that `from` is a
/// multiple of 8 elements after the start of a row.
#[inline(always)]
#[must_use]
pub unsafe fn load_chunk(matrix: *const u16, columns: u32, from: *const u16, left: i32) -> Chunk {
    let is_aligned = (matrix as u32 | (columns * 2)).is_multiple_of(16);
    if is_aligned && left <= 0 {
        return Chunk([0; 4]);
    }
    if is_aligned {
        // SAFETY: rows are multiples of eight elements, so a chunk that begins in the matrix lies entirely in the
        // matrix.
        return unsafe { *from.cast() };
    }
    // Missing elements are replaced by existing elements, so the eight loads need no branch and are in flight at the
    // same time.
    let (from, last) = if left > 0 { (from, left - 1) } else { (matrix, 0) };
    Chunk([0, 2, 4, 6].map(|pair| {
        let [low, high] = [pair, pair + 1].map(|i: i32| {
            // SAFETY: element `last` of this row exists, and so does the first element of the matrix.
            let element = unsafe { *from.wrapping_add(i.min(last) as usize) };
            u32::from(element) & if i < left { 0xffff } else { 0 }
        });
        low | high << 16
    }))
}

/// Returns the position of 8 × 8 matrix number `matrix` in a fragment. The position is a half of the 16 rows (of `a`)
/// or columns (of `b`), and a half along `k`.
///
/// For `a`, the second matrix has the next 8 rows. For `b`, the second matrix has the next 8 elements along `k`,
/// because `mma.sync` takes 8 columns of `b` in two registers. The first two registers hold the first 8 columns.
#[inline(always)]
#[must_use]
pub const fn halves<const IS_B: bool>(matrix: u32) -> (u32, u32) {
    if IS_B { (matrix / 2, matrix % 2) } else { (matrix % 2, matrix / 2) }
}

/// `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: loads the four 8 × 8 matrices of a fragment from shared memory. (PTX
/// ISA, "Warp-level matrix load instruction: ldmatrix".)
///
/// Lane `l` provides the address of row `l % 8` of matrix `l / 8`: 8 elements (16 bytes). With `TRANSPOSED`, the rows
/// in memory run perpendicular to `k`, and `.trans` transposes each matrix during the load.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together, and that `row` is the address of a
/// [`Chunk`], which no thread writes at the same time.
#[inline(always)]
#[must_use]
pub unsafe fn ldmatrix<const TRANSPOSED: bool>(row: Shared) -> Fragment {
    let mut fragment = [0; 4];
    let [first, second, third, fourth] = &mut fragment;
    macro_rules! ldmatrix {
        ($form:literal) => {
            ptx!(
                concat!("ldmatrix.sync.aligned.m8n8.x4", $form, ".shared.b16 {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) *first, out(reg32) *second, out(reg32) *third, out(reg32) *fourth,
                in(reg32) row.0, options(readonly, nostack, preserves_flags)
            )
        };
    }
    if TRANSPOSED {
        ldmatrix!(".trans");
    } else {
        ldmatrix!("");
    }
    fragment
}

/// Adds the products of `M` fragments of `a` and `N` fragments of `b` to `sums`, with 2 · `M` · `N` `mma.sync`
/// instructions.
///
/// # Safety
/// The caller must ensure that all lanes of the warp execute the call together.
#[inline(always)]
pub unsafe fn multiply_add<E: MmaElement, const M: usize, const N: usize>(
    sums: &mut Sums<M, N>,
    a: &[Fragment; M],
    b: &[Fragment; N],
) {
    for (&a, sums) in a.iter().zip(sums) {
        for (&[b0, b1, b2, b3], [left, right]) in b.iter().zip(sums) {
            // SAFETY: all lanes execute this call together, so they execute the calls of `mma` together.
            unsafe {
                E::mma(a, [b0, b1], left);
                E::mma(a, [b2, b3], right);
            }
        }
    }
}

/// The epilogue: rounds a warp's sums and stores them in `c` (`m` × `n`), starting at `row` and `col`.
///
/// Lane `l` holds sums `l % 4 * 2` and `l % 4 * 2 + 1` of row `l / 4` of each 8 × 8 matrix. If the rows of `c` are
/// aligned for pairs, the lane stores both sums at once.
///
/// # Safety
/// The caller must ensure that `c` points to `m * n` elements, and that no other thread accesses this warp's elements
/// of `c`.
#[inline(always)]
pub unsafe fn store_sums<C: Output, const M: usize, const N: usize>(
    sums: &Sums<M, N>,
    c: *mut C,
    [m, n]: [u32; 2],
    row: u32,
    col: u32,
) {
    let lane = thread::thread_idx_x() % WARP_SIZE;
    let (row, col) = (row + lane / 4, col + lane % 4 * 2);
    let has_pairs = n.is_multiple_of(2) && (c as usize).is_multiple_of(size_of::<C::Pair>());
    for (i, sums) in sums.iter().enumerate() {
        for row_half in 0..2 {
            let row = row + i as u32 * SIDE + 8 * row_half as u32;
            if row >= m {
                continue;
            }
            let to = c.wrapping_add((row * n + col) as usize);
            for (j, sums) in sums.iter().enumerate() {
                for (col_half, sums) in sums.iter().enumerate() {
                    let offset = j * SIDE as usize + 8 * col_half;
                    // The number of elements in the row from this pair on, which is even if `n` is even.
                    let left = n as i32 - (col + offset as u32) as i32;
                    let pair = C::pair(sums[2 * row_half], sums[2 * row_half + 1]);
                    // SAFETY: row < m, and `left` elements of this row exist. Pairs are aligned: `n` and `col` are
                    // even.
                    unsafe { store_pair(to.wrapping_add(offset), pair, left, has_pairs) };
                }
            }
        }
    }
}

/// Stores two neighbors, or only the first `left` of them. If `has_pairs`, one store writes both neighbors. Otherwise
/// each neighbor has a separate store.
///
/// # Safety
/// The caller must ensure that `to` points to `left` elements, which no other thread accesses. With `has_pairs`, `to`
/// is aligned as a pair and `left` is even.
#[inline(always)]
unsafe fn store_pair<C: Output>(to: *mut C, pair: C::Pair, left: i32, has_pairs: bool) {
    const { assert!(size_of::<C::Pair>() == 2 * size_of::<C>()) };
    // SAFETY: only elements that exist are written. A pair has the size of two elements, as asserted above.
    unsafe {
        if has_pairs {
            if left > 0 {
                *to.cast() = pair;
            }
        } else {
            let [first, second]: [C; 2] = mem::transmute_copy(&pair);
            if left > 0 {
                *to = first;
            }
            if left > 1 {
                *to.wrapping_add(1) = second;
            }
        }
    }
}
