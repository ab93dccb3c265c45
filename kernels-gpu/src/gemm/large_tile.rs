//! A tile of 128 × 256 elements for two warp groups: its stages in shared memory, filled by tensor copies and
//! multiplied by warp-group products.

use crate::copy_async::Shared;
use crate::tensor_core::element::Element;
use crate::tensor_core::wgmma::{self, BOX_BYTES, BOX_ROWS, Boxes, STEPS, Sums, Tile};

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
