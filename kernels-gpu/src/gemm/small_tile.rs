//! A tile of 128 rows for one warp group, 128 columns wide or wider: the products of a stage in shared memory.

use crate::copy_async::Shared;
use crate::tensor_core::element::Element;
use crate::tensor_core::wgmma::{self, BOX_BYTES, Boxes, STEPS, Sums, Tile};

/// The rows and columns of the tile.
pub(super) const SIDE: u32 = 128;
/// Registers of a thread with sums, in each half of the rows.
pub(super) const SUMS: usize = 64;
/// The boxes of either factor in a stage of a tile with as many columns as rows.
pub(super) const BOXES: u32 = 2;
/// The bytes of a stage: the boxes of `a`, then those of `b`.
pub(super) const STAGE_BYTES: u32 = 2 * BOXES * BOX_BYTES;

/// Starts the products of a full stage, in one group, and adds them to the sums of both halves of the rows. Unless
/// `is_added`, the first of them replaces the sums.
///
/// # Safety
/// All threads of the warp group come; the stage is full and stays so until the products are waited for, and so do the
/// sums.
#[inline(always)]
pub(super) unsafe fn multiply<A: Element, const COLUMN_MAJOR: bool, const N: usize>(
    [upper, lower]: &mut [[f32; N]; 2],
    stage: Shared,
    is_added: bool,
) where
    [f32; N]: Sums<A>,
{
    // SAFETY: as the caller promises.
    unsafe {
        let a = Tile::<A, Boxes<true>>::at(stage);
        let below = Tile::<A, Boxes<true>>::at(stage.byte_add(BOX_BYTES));
        let b = Tile::<A, Boxes<COLUMN_MAJOR>>::at(stage.byte_add(BOXES * BOX_BYTES));
        wgmma::fence();
        for step in 0..STEPS {
            upper.multiply(a.step(step), b.step(step), is_added || step > 0);
            lower.multiply(below.step(step), b.step(step), is_added || step > 0);
        }
        wgmma::commit();
    }
}
