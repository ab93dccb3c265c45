//! Any size by tensor copies: rows that no tensor map describes are copied first, to rows that one does.
//!
//! A tensor map takes rows of multiples of 16 bytes. For others, only the rungs that compute addresses themselves are left
//! (`gemm_small_blocks`, `gemm_wgmma`): at 1000 × 1100 × 1301 these take three times as long as `gemm_ping_pong` for 1104 and 1304.
//!
//! Here the kernel begins by copying such a factor to memory where each row has zeros behind it, up to the next multiple of
//! 16 bytes: 2 bytes read and 2 written for each element, against k multiplications for each element of the product. Blocks
//! take rows from a counter until there are none left. Then each block's producer waits until all rows have been copied, and goes on
//! as `gemm_ping_pong` with maps of the copies. No block waits for one that has not begun: only running blocks take rows, and
//! they copy what they have taken.
//!
//! A thread writes 16 bytes at a time. They begin anywhere in the source, so it reads the two 16 bytes at multiples of 16
//! that they lie in, and shifts.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_device, atomic_load_32_device, atomic_store_32_device, device_thread_fence,
};
use cuda_std::thread;
use rung::{BlockCount, Geometry, MULTIPROCESSORS, Rung};

use super::TensorProduct;
use super::operand::{CHUNK, join, pairs};
use super::ping_pong::{NarrowSums, SHARED_BYTES, TILE, WideSums, multiply_tiles, tiles_of};
use super::staged_output::Staged;
use crate::tensor_core::barrier::fence_for_bulk_copies_of_global;
use crate::tensor_core::element::Element;
use crate::tensor_core::wgmma::Sums;
use crate::warp::WARP_SIZE;
use crate::wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_REPACKED];

/// Rows that a block copies at a time: one for each warp.
const ROWS_AT_A_TIME: u32 = 384 / WARP_SIZE;

/// The words of the workspace: rows that have been taken, rows that have been copied, blocks that have come to their end.
const TAKEN: usize = 0;
const COPIED: usize = 1;
const LEFT: usize = 2;

/// A block for each SM, or fewer where there are neither so many tiles nor so many parts to copy, with B in rows or in columns.
fn blocks(shape: &[u64]) -> u32 {
    let (m, n, k) = (shape[0] as u32, shape[1] as u32, shape[2] as u32);
    let copied = parts(m, k) + parts(k, n).max(parts(n, k));
    tiles_of(shape).max(copied).min(MULTIPROCESSORS)
}

/// How many parts are copied of a factor, of [`ROWS_AT_A_TIME`]: none where a tensor map describes the rows.
#[inline(always)]
fn parts(rows: u32, columns: u32) -> u32 {
    if columns.is_multiple_of(CHUNK) { 0 } else { rows.div_ceil(ROWS_AT_A_TIME) }
}

products! {
    /// `gemm_ping_pong`, after copying the factors whose rows no tensor map describes.
    gemm_repacked for [384] threads;
    shared SHARED_BYTES;
    rung Rung::USUAL {
        geometry: Geometry::Own { elements: TILE, blocks: BlockCount(blocks) },
        lesson: "rows that no tensor map describes are copied first, and then any size goes by tensor copies",
    };
    formats [bf16, f16];
    tensor_maps_of_copies => repacked
}

/// The addresses of both factors, and of their copies.
pub(super) struct Copies {
    pub(super) from: [*const u16; 2],
    pub(super) to: [*mut u16; 2],
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has [`SHARED_BYTES`]; `workspace` has three zeros. A factor whose
/// rows have a multiple of 8 elements is described by its map, any other has a copy, with rows of the next multiple, and
/// the map describes that.
#[inline(always)]
unsafe fn repacked<A: Element, C: Staged, const COLUMN_MAJOR: bool>(
    shared: *mut u8,
    product: &TensorProduct<'_, A, C>,
    workspace: *mut u32,
    copies: &Copies,
) where
    WideSums: Sums<A>,
    NarrowSums: Sums<A>,
{
    let TensorProduct { m, n, k, .. } = *product;
    let sides = [[m, k], if COLUMN_MAJOR { [n, k] } else { [k, n] }];
    let factor = |i: usize| Factor { from: copies.from[i], to: copies.to[i], rows: sides[i][0], columns: sides[i][1] };
    let (a, b) = (factor(0), factor(1));
    let (of_a, all) = (a.parts(), a.parts() + b.parts());
    let counter = |word: usize| workspace.wrapping_add(word);
    let is_first = thread::thread_idx_x() == 0;
    // SAFETY: a part of a factor is copied by the block that has taken it, and read when all have been copied. The last block
    // that has waited for that puts the counters back: nobody reads them any more.
    unsafe {
        if all > 0 {
            let taken = shared.cast::<u32>();
            let mut copied = 0;
            loop {
                if is_first {
                    *taken = atomic_fetch_add_u32_device(counter(TAKEN), Relaxed, 1);
                }
                thread::sync_threads();
                let part = *taken;
                thread::sync_threads();
                if part >= all {
                    break;
                }
                if part < of_a {
                    a.copy(part);
                } else {
                    b.copy(part - of_a);
                }
                copied += 1;
            }
            fence_for_bulk_copies_of_global();
            thread::sync_threads();
            if is_first && copied > 0 {
                device_thread_fence(Release);
                atomic_fetch_add_u32_device(counter(COPIED), Relaxed, copied);
            }
        }
        multiply_tiles::<A, C, COLUMN_MAJOR>(shared, product, || {
            if all > 0 {
                while atomic_load_32_device(counter(COPIED), Relaxed) < all {}
                device_thread_fence(Acquire);
                fence_for_bulk_copies_of_global();
            }
        });
        if is_first && all > 0 {
            let before = atomic_fetch_add_u32_device(counter(LEFT), AcqRel, 1);
            if before + 1 == thread::grid_dim_x() {
                for word in [TAKEN, COPIED, LEFT] {
                    atomic_store_32_device(counter(word), Relaxed, 0);
                }
            }
        }
    }
}

/// A factor as it lies in memory, and the place of its copy.
#[derive(Clone, Copy)]
struct Factor {
    from: *const u16,
    to: *mut u16,
    rows: u32,
    columns: u32,
}

impl Factor {
    /// How many [parts] are copied.
    #[inline(always)]
    fn parts(&self) -> u32 {
        parts(self.rows, self.columns)
    }

    /// Copies a part, a row for each warp.
    ///
    /// # Safety
    /// All threads of the block call it; the factor exists, and the place of the copy is nobody else's.
    #[inline(always)]
    unsafe fn copy(self, part: u32) {
        let (warp, lane) = (thread::thread_idx_x() / WARP_SIZE, thread::thread_idx_x() % WARP_SIZE);
        let row = part * ROWS_AT_A_TIME + warp;
        let chunks = self.columns.div_ceil(CHUNK);
        if row < self.rows {
            let mut chunk = lane;
            while chunk < chunks {
                // SAFETY: as the caller promises.
                unsafe {
                    let words = self.chunk(row, chunk);
                    wide::store(self.to.wrapping_add(((row * chunks + chunk) * CHUNK) as usize).cast::<u32>(), words);
                }
                chunk += WARP_SIZE;
            }
        }
    }

    /// Eight elements of a row, with zeros behind its end.
    ///
    /// # Safety
    /// The factor exists, and the first of the elements.
    #[inline(always)]
    unsafe fn chunk(self, row: u32, chunk: u32) -> [u32; 4] {
        let count = (self.columns - chunk * CHUNK).min(CHUNK);
        let from = self.from.wrapping_add((row * self.columns + chunk * CHUNK) as usize);
        let early = from as u32 % 16;
        let begin = from.wrapping_byte_sub(early as usize).cast::<u32>();
        // Memory is allocated from a multiple of 16 bytes on, but it may end anywhere.
        let end = self.from.wrapping_add((self.rows * self.columns) as usize);
        // SAFETY: 16 bytes with an element of the factor are before its end, or elements are read.
        let words = unsafe {
            if begin.wrapping_byte_add(32) as usize <= end as usize {
                join(wide::load(begin), wide::load(begin.wrapping_add(4)), early)
            } else {
                pairs(|i| if i < count as i32 { u32::from(*from.wrapping_add(i as usize)) } else { 0 })
            }
        };
        // As many elements of a pair as there are.
        let mask = |pair: u32| {
            if count > 2 * pair + 1 {
                u32::MAX
            } else if count > 2 * pair {
                0xffff
            } else {
                0
            }
        };
        core::array::from_fn(|pair| words[pair] & mask(pair as u32))
    }
}
