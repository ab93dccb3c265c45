//! The way of sums to the product through shared memory: fragments become boxes, and tensor copies take the boxes away.

use cuda_std::thread;

use super::element::{Bf16, F16, Output};
use super::large_tile::{A_BOXES, B_BOXES, COLUMNS, CONSUMERS, SUMS};
use super::tiles::Corner;
use crate::copy_async::Shared;
use crate::tensor_core::barrier::{fence_for_bulk_copies, sync_some};
use crate::tensor_core::stmatrix::{store_four, store_two};
use crate::tensor_core::tensor_map::{TensorMap, commit_stores, wait_for_stores};
use crate::tensor_core::wgmma::{BOX_BYTES, ROW_BYTES};

/// The boxes of its own that a warp group has.
const OWN: u32 = 2;
/// The bytes of these.
pub(super) const STAGING_BYTES: u32 = OWN * BOX_BYTES;
/// The boxes that it has of a stage that is lent to both.
const LENT: u32 = (A_BOXES + B_BOXES) / CONSUMERS;

/// Where a warp group writes its sums, box after box, before they are copied out.
#[derive(Clone, Copy)]
pub(super) struct Staging {
    own: Shared,
    lent: Shared,
}

impl Staging {
    /// A consumer's boxes: its own, and its part of a stage.
    #[inline(always)]
    pub(super) fn of(consumer: u32, own: Shared, stage: Shared) -> Self {
        Self { own: own.byte_add(consumer * STAGING_BYTES), lent: stage.byte_add(consumer * LENT * BOX_BYTES) }
    }

    /// The place of a box. There are `OWN + LENT`, which are taken in turn.
    #[inline(always)]
    fn place(self, index: u32) -> Shared {
        let index = index % (OWN + LENT);
        if index < OWN { self.own.byte_add(index * BOX_BYTES) } else { self.lent.byte_add((index - OWN) * BOX_BYTES) }
    }
}

/// An element whose boxes a warp group can write.
pub(super) trait Staged: Output {
    /// Writes the sums of box number `index`, 64 rows × 128 bytes, swizzled by 128 bytes.
    ///
    /// # Safety
    /// All threads of the warp group come; the box is aligned to 1024, and nothing else accesses it.
    unsafe fn write_box(sums: &[f32; SUMS], index: usize, to: Shared);
}

/// The place of 16 bytes of a row in a box that is swizzled by 128 bytes.
#[inline(always)]
fn swizzled(to: Shared, row: u32, chunk: u32) -> Shared {
    to.byte_add(row * ROW_BYTES + ((chunk ^ row % 8) << 4))
}

/// Fragments of 8 × 8 elements of 16 bits, four at a time: those of 16 rows and 16 columns.
macro_rules! staged_by_fragments {
    ($element:ty) => {
        impl Staged for $element {
            #[inline(always)]
            unsafe fn write_box(sums: &[f32; SUMS], index: usize, to: Shared) {
                let (warp, lane) = (thread::thread_idx_x() % 128 / 32, thread::thread_idx_x() % 32);
                for pair in 0..4 {
                    let first = (index * 8 + pair * 2) * 4;
                    let fragments = core::array::from_fn(|i| Self::pair(sums[first + 2 * i], sums[first + 2 * i + 1]));
                    let place = swizzled(to, warp * 16 + lane % 16, pair as u32 * 2 + lane / 16);
                    // SAFETY: as the caller promises; each lane has 16 bytes of its own.
                    unsafe { store_four(place, fragments) };
                }
            }
        }
    };
}

staged_by_fragments!(Bf16);
staged_by_fragments!(F16);

impl Staged for f32 {
    #[inline(always)]
    unsafe fn write_box(sums: &[f32; SUMS], index: usize, to: Shared) {
        let (warp, lane) = (thread::thread_idx_x() % 128 / 32, thread::thread_idx_x() % 32);
        for eighth in 0..4 {
            let first = (index * 4 + eighth) * 4;
            for lower in 0..2 {
                let row = warp * 16 + lane / 4 + 8 * lower as u32;
                let place = swizzled(to, row, eighth as u32 * 2 + lane % 4 / 2).byte_add(lane % 2 * 8);
                // SAFETY: as the caller promises; each thread has 8 bytes of its own.
                unsafe { store_two(place, [sums[first + 2 * lower], sums[first + 2 * lower + 1]]) };
            }
        }
    }
}

/// Writes a warp group's 64 rows of sums by tensor copies. They are still under way afterwards, and
/// [`wait_for_stores`] tells the group's first thread when the staging has been read.
///
/// # Safety
/// All threads of the warp group `consumer` come; the map describes the product, where no other thread writes these elements;
/// `staging` is this warp group's alone, aligned to 1024.
#[inline(always)]
pub(super) unsafe fn store_sums<C: Staged>(
    sums: &[f32; SUMS],
    Corner { row, column }: Corner,
    map: &TensorMap,
    staging: Staging,
    consumer: u32,
) {
    let columns = ROW_BYTES / size_of::<C>() as u32;
    let boxes = COLUMNS / columns;
    let is_first = thread::thread_idx_x() % 128 == 0;
    // As many boxes as there is room for, and then the rest.
    for (begin, end) in [(0, boxes.min(OWN + LENT)), (OWN + LENT, boxes)] {
        if begin >= end {
            continue;
        }
        // SAFETY: the thread that starts all copies waits for those out of the boxes that are written next, and the others
        // for it.
        unsafe {
            if is_first {
                wait_for_stores::<0>();
            }
            sync_some(1 + consumer, 128);
            for index in begin..end {
                C::write_box(sums, index as usize, staging.place(index));
            }
            fence_for_bulk_copies();
            sync_some(1 + consumer, 128);
            if is_first {
                for index in begin..end {
                    map.store(column + index * columns, row, staging.place(index));
                }
                commit_stores();
            }
        }
    }
}
