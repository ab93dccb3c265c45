//! Stages of tensor copies: boxes of `a`, and behind them boxes of `b`, for the same part of k.

use super::TensorProduct;
use super::tiles::Corner;
use crate::copy_async::Shared;
use crate::tensor_core::barrier::Barrier;
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, ROW_BYTES};

/// How many elements along k a stage holds: a row of a box.
pub(super) const fn depth<A>() -> u32 {
    ROW_BYTES / size_of::<A>() as u32
}

/// How many stages are needed for the whole of k.
#[inline(always)]
pub(super) fn stages<A>(k: u32) -> u32 {
    k.div_ceil(depth::<A>())
}

/// Starts the copies that fill a stage of so many boxes of each factor with the part of both that begins at `k`.
///
/// # Safety
/// The maps describe the factors as the [ladder](super) says; the stage is aligned to 1024, nothing reads or writes it
/// until the phase of `full` ends, and this is the only thread that arrives there.
#[inline(always)]
pub(super) unsafe fn fill<A, C, const COLUMN_MAJOR: bool, const A_BOXES: u32, const B_BOXES: u32>(
    &TensorProduct { a, b, .. }: &TensorProduct<'_, A, C>,
    Corner { row, column }: Corner,
    k: u32,
    stage: Shared,
    full: Barrier,
) {
    // SAFETY: as the caller promises; the boxes are the stage's.
    unsafe {
        full.arrive_expecting((A_BOXES + B_BOXES) * BOX_BYTES);
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
