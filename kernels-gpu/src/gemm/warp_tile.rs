//! A warp's part of a block's tile of the product, for the rungs with `mma.sync`.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem;

use cuda_std::thread;

use super::Product;
use super::tiles::Corner;
use crate::tensor_core::element::Output;
use crate::tensor_core::mma::{FragmentA, FragmentB, MmaElement, SIDE, Sums};
use crate::warp::WARP_SIZE;

/// Warps of a block, below each other and side by side.
const WARPS: [u32; 2] = [2, 4];

/// Rows of the tile of a block whose warps' parts are `down` fragments high.
pub(super) const fn rows(down: usize) -> u32 {
    WARPS[0] * (down * SIDE) as u32
}

/// Columns of the tile of a block whose warps' parts are `along` fragments wide.
pub(super) const fn columns(along: usize) -> u32 {
    WARPS[1] * (along * SIDE) as u32
}

/// The sums of a warp's part: 16 · `DOWN` rows and 16 · `ALONG` columns.
pub(super) struct WarpTile<const DOWN: usize, const ALONG: usize> {
    /// The part's place in the block's tile.
    pub(super) row: u32,
    pub(super) column: u32,
    sums: [[Sums; ALONG]; DOWN],
}

impl<const DOWN: usize, const ALONG: usize> WarpTile<DOWN, ALONG> {
    /// This warp's part, all sums zero.
    #[inline(always)]
    pub(super) fn of_this_warp() -> Self {
        let warp = thread::thread_idx_x() / WARP_SIZE;
        let (down, along) = (warp % WARPS[0], warp / WARPS[0]);
        Self {
            row: down * (DOWN * SIDE) as u32,
            column: along * (ALONG * SIDE) as u32,
            sums: [[Sums::ZERO; ALONG]; DOWN],
        }
    }

    /// Adds the products of the part's rows of `a` and columns of `b`, 16 deep: `DOWN` · `ALONG` · 2 `mma.sync`.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub(super) unsafe fn multiply_add<E: MmaElement>(&mut self, a: &[FragmentA<E>; DOWN], b: &[FragmentB<E>; ALONG]) {
        for (a, sums) in a.iter().zip(&mut self.sums) {
            for (b, sums) in b.iter().zip(sums) {
                // SAFETY: as the caller promises.
                unsafe { sums.multiply_add(a, b) };
            }
        }
    }

    /// Rounds the sums and writes them to `c`, for a block whose tile lies at `corner`: pairs of neighbours at once
    /// where rows are aligned for it.
    ///
    /// # Safety
    /// `c` is valid for writes, and no other thread accesses this part of it.
    #[inline(always)]
    pub(super) unsafe fn write<A, C: Output>(&self, corner: Corner, product: &Product<A, C>) {
        let &Product { c, m, n, .. } = product;
        let (row, column) = Sums::place();
        let (row, column) = (corner.row + self.row + row, corner.column + self.column + column);
        let has_pairs = n.is_multiple_of(2) && (c as usize).is_multiple_of(size_of::<C::Pair>());
        for (i, sums) in self.sums.iter().enumerate() {
            for down in 0..2 {
                let row = row + (i * SIDE + 8 * down) as u32;
                if row < m {
                    let to = c.wrapping_add((row * n + column) as usize);
                    for (j, sums) in sums.iter().enumerate() {
                        for along in 0..2 {
                            let right = j * SIDE + 8 * along;
                            let left = n as i32 - (column + right as u32) as i32;
                            // SAFETY: so many elements are left in the row of `c`; with pairs, an even number.
                            unsafe { write_pair(to.wrapping_add(right), sums.pair(down, along), left, has_pairs) };
                        }
                    }
                }
            }
        }
    }
}

/// Rounds two sums and writes them, or as many of them as there are elements left.
///
/// # Safety
/// Nothing else accesses these elements; with `has_pairs`, `to` is aligned as a pair, and `left` is no odd number.
#[inline(always)]
unsafe fn write_pair<C: Output>(to: *mut C, [first, second]: [f32; 2], left: i32, has_pairs: bool) {
    const { assert!(size_of::<C::Pair>() == 2 * size_of::<C>()) };
    let pair = C::pair(first, second);
    // SAFETY: as the caller promises; a pair is two elements.
    unsafe {
        if has_pairs {
            if left > 0 {
                *to.cast() = pair;
            }
        } else {
            let pair: [C; 2] = mem::transmute_copy(&pair);
            if left > 0 {
                *to = pair[0];
            }
            if left > 1 {
                *to.wrapping_add(1) = pair[1];
            }
        }
    }
}
