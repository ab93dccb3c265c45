//! A tile of 128 × 256 elements for two warp groups: its stages in shared memory, filled by tensor copies and
//! multiplied by warp-group products.

use super::TensorProduct;
use super::tiles::Corner;
use crate::copy_async::Shared;
use crate::tensor_core::barrier::Barrier;
use crate::tensor_core::element::Element;
use crate::tensor_core::wgmma::{self, BOX_BYTES, BOX_ROWS, Boxes, ROW_BYTES, STEPS, Sums, Tile};

/// The rows and columns of the tile.
pub(super) const ROWS: u32 = 128;
pub(super) const COLUMNS: u32 = 256;
/// The warp groups that multiply, 64 rows each.
pub(super) const CONSUMERS: u32 = 2;
/// Registers of a thread with sums.
pub(super) const SUMS: usize = 128;

/// The boxes of a stage that hold rows of `a`; those of `b` follow.
pub(super) const A_BOXES: u32 = ROWS / BOX_ROWS;
pub(super) const B_BOXES: u32 = COLUMNS / BOX_ROWS;
/// The bytes of a stage.
pub(super) const STAGE_BYTES: u32 = (A_BOXES + B_BOXES) * BOX_BYTES;

/// How many elements along k a stage holds: a row of a box.
pub(super) const fn depth<A>() -> u32 {
    ROW_BYTES / size_of::<A>() as u32
}

/// How many stages are needed for the whole of k.
#[inline(always)]
pub(super) fn stages<A>(k: u32) -> u32 {
    k.div_ceil(depth::<A>())
}

/// Starts the copies that fill a stage with the part of both factors that begins at `k`.
///
/// # Safety
/// The maps describe the factors as the [ladder](super) says; the stage is aligned to 1024, nothing reads or writes it
/// until the phase of `full` ends, and this is the only thread that arrives there.
#[inline(always)]
pub(super) unsafe fn fill<A, C, const COLUMN_MAJOR: bool>(
    &TensorProduct { a, b, .. }: &TensorProduct<'_, A, C>,
    Corner { row, column }: Corner,
    k: u32,
    stage: Shared,
    full: Barrier,
) {
    // SAFETY: as the caller promises; the boxes are the stage's.
    unsafe {
        full.arrive_expecting(STAGE_BYTES);
        for i in 0..A_BOXES {
            a.load(k, row + i * BOX_ROWS, stage.byte_add(i * BOX_BYTES), full);
        }
        for i in 0..B_BOXES {
            let (to, column) = (stage.byte_add((A_BOXES + i) * BOX_BYTES), column + i * BOX_ROWS);
            let [x, y] = if COLUMN_MAJOR { [k, column] } else { [column, k] };
            b.load(x, y, to, full);
        }
    }
}

/// Starts the products of a full stage for the 64 rows of a consumer, in one group, and adds them to the sums. Unless
/// `is_added`, the first of them replaces the sums.
///
/// # Safety
/// All threads of the warp group come; the stage is full and stays so until the products are waited for, and so do the
/// sums.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool>(
    sums: &mut [f32; SUMS],
    consumer: u32,
    stage: Shared,
    is_added: bool,
) where
    [f32; SUMS]: Sums<A>,
{
    // SAFETY: as the caller promises.
    unsafe {
        let a = Tile::<A, Boxes<true>>::at(stage.byte_add(consumer * BOX_BYTES));
        let b = Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(A_BOXES * BOX_BYTES));
        wgmma::fence();
        for step in 0..STEPS {
            sums.multiply(a.step(step), b.step(step), is_added || step > 0);
        }
        wgmma::commit();
    }
}
