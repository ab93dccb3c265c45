//! Which tile of the product a block takes, and how sums get from registers to it.
#![cfg_attr(
    all(target_arch = "nvptx64", not(target_feature = "sm_90a")),
    allow(dead_code, reason = "the rungs without tensor maps use a part of it")
)]

use cuda_std::thread;

use super::Matrix;
use crate::tensor_core::element::Output;

/// The first row and the first column of a tile.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Corner {
    /// The corner so many rows further down.
    #[inline(always)]
    pub(super) fn down(self, rows: u32) -> Self {
        Self { row: self.row + rows, ..self }
    }
}

/// The number of tiles of a product's shape.
pub(super) const fn tiles<const ROWS: u32, const COLUMNS: u32>(shape: &[u64]) -> u64 {
    shape[0].div_ceil(ROWS as u64) * shape[1].div_ceil(COLUMNS as u64)
}

/// Tile number `index` of tiles of `ROWS` × `COLUMNS`, counted along bands of `BAND` rows of tiles, down within a band.
///
/// The blocks that run at a time then share a few rows of `a`'s tiles and a few columns of `b`'s, which stay in the L2
/// cache, where row after row they would go through all of `b` for one row.
#[inline(always)]
pub(super) fn corner<const ROWS: u32, const COLUMNS: u32, const BAND: u32>(index: u32, m: u32, n: u32) -> Corner {
    // At least one, so that the divisions below need no check.
    let (down, along) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS).max(1));
    let in_band = BAND * along;
    let first = index / in_band * BAND;
    let (rows, rest) = ((down - first).clamp(1, BAND), index % in_band);
    Corner { row: (first + rest % rows) * ROWS, column: rest / rows * COLUMNS }
}

/// Writes the 64 rows of a warp group's sums to the product as they lie in registers: pairs of neighbours, or single
/// elements where pairs would not be aligned.
///
/// # Safety
/// The product exists, and no other thread writes these elements of it. The sums are those of
/// [`Sums`](crate::tensor_core::wgmma::Sums) in this thread of the warp group.
#[inline(always)]
pub(super) unsafe fn write_sums<C: Output, const N: usize>(
    sums: &[f32; N],
    Corner { row, column }: Corner,
    Matrix { data: c, rows: m, columns: n }: Matrix<C>,
) {
    let t = thread::thread_idx_x() % 128;
    let (row, column) = (row + t / 32 * 16 + t % 32 / 4, column + t % 4 * 2);
    let has_pairs = n % 2 == 0 && c.cast::<C::Pair>().is_aligned();
    for (lower, row) in [(0, row), (1, row + 8)] {
        if row >= m {
            continue;
        }
        // SAFETY: the row exists, and so do the columns that are compared with `n`; pairs are aligned when rows are
        // even.
        unsafe {
            let to = c.add((row * n) as usize);
            for i in 0..N / 4 {
                let column = column + 8 * i as u32;
                let (first, second) = (sums[4 * i + 2 * lower], sums[4 * i + 2 * lower + 1]);
                if has_pairs && column < n {
                    *to.add(column as usize).cast() = C::pair(first, second);
                }
            }
            if has_pairs {
                continue;
            }
            for i in 0..N / 4 {
                for j in 0..2 {
                    let column = column + (8 * i + j) as u32;
                    if column < n {
                        *to.add(column as usize) = C::from_f32(sums[4 * i + 2 * lower + j]);
                    }
                }
            }
        }
    }
}
