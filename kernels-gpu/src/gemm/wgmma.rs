//! Warp-group products: the tensor cores read both factors from shared memory by themselves.
//!
//! In `gemm_cp_async` each warp loads fragments into registers before it multiplies: for 64 × 32 elements of the
//! product, 12 KB of shared memory for every 64 along k, and the same rows of `a` again in each warp beside it. On
//! Hopper that way ends at some 60 % of what the tensor cores can do.
//!
//! `wgmma` takes descriptors of whole tiles instead: four warps, a warp group, multiply 64 × 16 by 16 × 128 with one
//! instruction, and no fragment passes through a register. The tiles have to lie as the hardware reads them, in boxes
//! of rows of 128 bytes, whose 16-byte chunks are swizzled: chunk `c` of row `r` lies at `c ^ r % 8`. So eight rows of
//! one chunk fall into different banks. The copies into that layout are `gemm_cp_async`'s, `cp.async` of 16 bytes;
//! behind them stands one more fence, for the tensor cores read shared memory by another way than threads write it
//! ("proxy").
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]

use cuda_std::thread;
use rung::{Geometry, Rung};

use super::Matrix;
use super::Product;
use super::small_tile::{BOXES, SIDE, STAGE_BYTES, SUMS, multiply};
use super::stage::{depth, stages as stages_of};
use super::tiles::{Corner, corner, write_sums};
use crate::copy_async::{self, Shared};
use crate::tensor_core::barrier::fence_for_bulk_copies;
use crate::tensor_core::element::{Element, Output};
use crate::tensor_core::wgmma::{self, BOX_ALIGN, BOX_BYTES, BOX_ROWS, Finish, ROW_BYTES, Sums, place_in_box};
use crate::wide::Wide;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[GEMM_WGMMA];

/// Stages in shared memory.
const STAGES: u32 = 3;
/// The threads of a block.
const THREADS: u32 = 128;
/// The bytes of a copy.
const CHUNK: u32 = 16;

products! {
    /// A warp group for a tile of 128 × 128, filled by asynchronous copies of 16 bytes.
    gemm_wgmma for [128] threads;
    resident 2;
    shared BOX_ALIGN + STAGES * STAGE_BYTES;
    rung Rung::USUAL {
        geometry: Geometry::NumberedTiles { rows: SIDE, columns: SIDE, most_slices: 1 },
        lesson: "a warp group multiplies whole tiles from shared memory: no fragments in registers",
    };
    formats [bf16];
    pointers => wgmma
}

/// # Safety
/// The contract of the ladder's kernels; `shared` has the rung's bytes.
#[inline(always)]
unsafe fn wgmma<A: Element, C: Output, const COLUMN_MAJOR: bool>(shared: *mut u8, product: &Product<A, C>)
where
    [f32; SUMS]: Sums<A>,
{
    let &Product { a, b, c, m, n, k } = product;
    let start = Shared::of(shared);
    let skipped = start.aligned_to(BOX_ALIGN).offset_from(start);
    let place = corner::<SIDE, SIDE, 8>(thread::block_idx_x(), m, n);
    let count = stages_of::<A>(k);
    let factors = Factors::<A, COLUMN_MAJOR> {
        a: Matrix { data: a.cast_mut(), rows: m, columns: k },
        b: match COLUMN_MAJOR {
            true => Matrix { data: b.cast_mut(), rows: n, columns: k },
            false => Matrix { data: b.cast_mut(), rows: k, columns: n },
        },
        place,
    };
    // SAFETY: a stage is filled when the products that used it are over in all warps, behind the barrier; the sums are
    // touched by products only until they are finished.
    unsafe {
        let stages = shared.add(skipped as usize);
        for i in 0..STAGES - 1 {
            if i < count {
                factors.fill(i, stages.add((i * STAGE_BYTES) as usize));
            }
            copy_async::commit();
        }
        let mut sums = [[0.0; SUMS]; 2];
        let (mut used, mut filled) = (0, STAGES - 1);
        for i in 0..count {
            copy_async::wait::<{ STAGES - 2 }>();
            fence_for_bulk_copies();
            thread::sync_threads();
            multiply::<A, COLUMN_MAJOR, _>(&mut sums, start.byte_add(skipped + used * STAGE_BYTES), i > 0);
            // Nothing is copied that nobody waits for; its group is empty then, and the groups can be counted.
            if i + STAGES - 1 < count {
                factors.fill(i + STAGES - 1, stages.add((filled * STAGE_BYTES) as usize));
            }
            copy_async::commit();
            wgmma::wait::<0>();
            used = if used + 1 == STAGES { 0 } else { used + 1 };
            filled = if filled + 1 == STAGES { 0 } else { filled + 1 };
        }
        for (half, sums) in sums.iter_mut().enumerate() {
            sums.finish();
            write_sums(sums, place.down(half as u32 * BOX_ROWS), Matrix { data: c, rows: m, columns: n });
        }
    }
}

/// Both factors, and the tile of the product that they are read for.
struct Factors<A, const COLUMN_MAJOR: bool> {
    a: Matrix<A>,
    /// With `COLUMN_MAJOR` its transpose.
    b: Matrix<A>,
    place: Corner,
}

impl<A: Element, const COLUMN_MAJOR: bool> Factors<A, COLUMN_MAJOR> {
    /// Starts the copies that fill a stage with part `index` along k.
    ///
    /// # Safety
    /// All threads of the block come; the matrices exist, and nothing reads or writes the stage until the copies are
    /// waited for.
    #[inline(always)]
    unsafe fn fill(&self, index: u32, stage: *mut u8) {
        let k = index * depth::<A>();
        let Corner { row, column } = self.place;
        // SAFETY: as the caller promises; the boxes are the stage's.
        unsafe {
            let boxes = stage.add((BOXES * BOX_BYTES) as usize);
            fill_boxes(self.a, Corner { row, column: k }, Corner { row: BOX_ROWS, column: 0 }, stage);
            if COLUMN_MAJOR {
                fill_boxes(self.b, Corner { row: column, column: k }, Corner { row: BOX_ROWS, column: 0 }, boxes);
            } else {
                fill_boxes(self.b, Corner { row: k, column }, Corner { row: 0, column: BOX_ROWS }, boxes);
            }
        }
    }
}

/// Starts the copies of [`BOXES`] boxes of a matrix, the first from the corner `first`, and each other one `next`
/// further. What lies outside of the matrix is zero.
///
/// Rows that are no multiples of 16 bytes are copied element by element, by loads and stores.
///
/// # Safety
/// As for [`Factors::fill`].
#[inline(always)]
unsafe fn fill_boxes<A: Element>(Matrix { data, rows, columns }: Matrix<A>, first: Corner, next: Corner, to: *mut u8) {
    const COPIES: u32 = BOX_BYTES / CHUNK / THREADS;
    let elements = CHUNK / size_of::<A>() as u32;
    let thread = thread::thread_idx_x();
    // The place of a copy in the boxes, and its first element in the matrix.
    let copy = |i: u32| {
        let (index, chunk) = (i / COPIES, thread % (ROW_BYTES / CHUNK));
        let row = i % COPIES * (THREADS * CHUNK / ROW_BYTES) + thread / (ROW_BYTES / CHUNK);
        let place = index * BOX_BYTES + place_in_box(row, chunk);
        let from = Corner {
            row: first.row + index * next.row + row,
            column: first.column + index * next.column + chunk * elements,
        };
        // SAFETY: the place is in the boxes.
        (unsafe { to.add(place as usize) }, from)
    };
    if columns.is_multiple_of(elements) && data.cast::<Wide<f32, 4>>().is_aligned() {
        for i in 0..BOXES * COPIES {
            let (to, Corner { row, column }) = copy(i);
            let exists = row < rows && column < columns;
            let from = if exists { data.wrapping_add((row * columns + column) as usize) } else { data };
            // SAFETY: as the caller promises; 16 bytes of a row of multiples of 16 exist as a whole or not at all.
            unsafe { copy_async::copy_four(Shared::of(to), from.cast(), exists) };
        }
        return;
    }
    // A length that the compiler does not know, so that the loop stays a loop.
    for i in 0..thread::block_dim_x() * BOXES * COPIES / THREADS {
        let (to, Corner { row, column }) = copy(i);
        for element in 0..elements {
            let exists = row < rows && column + element < columns;
            // SAFETY: the place is in the boxes; the element exists, or is not read.
            unsafe {
                let from = data.wrapping_add((row * columns + column + element) as usize);
                *to.cast::<A>().add(element as usize) = if exists { *from } else { A::ZERO };
            }
        }
    }
}
