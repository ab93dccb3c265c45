//! The way of sums to the product through shared memory: fragments become boxes, and tensor copies take the boxes away.

use cuda_std::thread;

use super::tiles::Corner;
use super::{Matrix, TensorProduct};
use crate::copy_async::Shared;
use crate::tensor_core::barrier::{fence_for_bulk_copies, sync_some};
use crate::tensor_core::element::{Bf16, F16, Output};
use crate::tensor_core::stmatrix::{store_four, store_two};
use crate::tensor_core::tensor_map::{commit_stores, wait_for_stores};
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, ROW_BYTES, place_in_box};

/// An element whose boxes a warp group can write.
pub(super) trait Staged: Output {
    /// Writes the sums of box number `index`, 64 rows × 128 bytes, swizzled by 128 bytes.
    ///
    /// # Safety
    /// All threads of the warp group come; the box is aligned to 1024, and nothing else accesses it.
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared);
}

/// Fragments of 8 × 8 elements of 16 bits, four at a time: those of 16 rows and 16 columns.
macro_rules! staged_by_fragments {
    ($element:ty) => {
        impl Staged for $element {
            #[inline(always)]
            unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
                let (warp, lane) = (thread::thread_idx_x() % 128 / 32, thread::thread_idx_x() % 32);
                for pair in 0..4 {
                    let first = (index * 8 + pair * 2) * 4;
                    let fragments = core::array::from_fn(|i| Self::pair(sums[first + 2 * i], sums[first + 2 * i + 1]));
                    let place = to.byte_add(place_in_box(warp * 16 + lane % 16, pair as u32 * 2 + lane / 16));
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
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
        let (warp, lane) = (thread::thread_idx_x() % 128 / 32, thread::thread_idx_x() % 32);
        for eighth in 0..4 {
            let first = (index * 4 + eighth) * 4;
            for lower in 0..2 {
                let row = warp * 16 + lane / 4 + 8 * lower as u32;
                let place = to.byte_add(place_in_box(row, eighth as u32 * 2 + lane % 4 / 2) + lane % 2 * 8);
                // SAFETY: as the caller promises; each thread has 8 bytes of its own.
                unsafe { store_two(place, [sums[first + 2 * lower], sums[first + 2 * lower + 1]]) };
            }
        }
    }
}

/// Writes a warp group's 64 rows of sums, box after box: by tensor copies where the product's rows are multiples of 16
/// bytes, else by all threads, element by element. The last copies are still under way afterwards.
///
/// # Safety
/// All threads of the warp group `consumer` come; no other thread writes these elements of the product; `staging`
/// points to `SLOTS` boxes of shared memory, one or two, that are this warp group's alone, aligned to 1024.
#[inline(always)]
pub(super) unsafe fn store_sums<A, C: Staged, const N: usize, const SLOTS: u32>(
    sums: &[f32; N],
    Corner { row, column }: Corner,
    product: &TensorProduct<'_, A, C>,
    staging: *mut u8,
    consumer: u32,
) {
    let columns = ROW_BYTES / size_of::<C>() as u32;
    let is_first = thread::thread_idx_x().is_multiple_of(128);
    for index in 0..2 * N as u32 / columns {
        // SAFETY: the thread that has started all copies waits until the last one from this box has read it, and the
        // others wait for that thread.
        unsafe {
            let slot = staging.add((index % SLOTS * BOX_BYTES) as usize);
            let corner = Corner { row, column: column + index * columns };
            if is_first {
                match SLOTS {
                    1 => wait_for_stores::<0>(),
                    _ => wait_for_stores::<1>(),
                }
            }
            sync_some(1 + consumer, 128);
            C::write_box(sums, index as usize, Shared::of(slot));
            fence_for_bulk_copies();
            sync_some(1 + consumer, 128);
            copy_box(slot, corner, product);
        }
    }
}

/// Copies a written box to the product: by a tensor copy, which is under way afterwards, where the product's rows are
/// multiples of 16 bytes, else by all threads, element by element.
///
/// # Safety
/// All threads of the warp group come, behind a barrier of them and a fence for bulk copies; no other thread writes
/// these elements of the product.
#[inline(always)]
pub(super) unsafe fn copy_box<A, C: Copy>(slot: *mut u8, corner: Corner, product: &TensorProduct<'_, A, C>) {
    // SAFETY: as the caller promises.
    unsafe {
        if !(product.n * size_of::<C>() as u32).is_multiple_of(16) {
            write_elements(slot.cast(), corner, product.c());
        } else if thread::thread_idx_x().is_multiple_of(128) {
            product.c_map.store(corner.column, corner.row, Shared::of(slot));
            commit_stores();
        }
    }
}

/// Writes a box to the product element by element, neighbours by neighbouring threads.
///
/// # Safety
/// All threads of the warp group come; the box is written, and no other thread writes its elements of the product.
#[inline(always)]
unsafe fn write_elements<C: Copy>(from: *const C, Corner { row, column }: Corner, c: Matrix<C>) {
    let size = size_of::<C>() as u32;
    let columns = ROW_BYTES / size;
    let t = thread::thread_idx_x() % 128;
    let along = t % columns;
    // A length that the compiler does not know, so that the loop stays a loop.
    let rows = BOX_ROWS.min(c.rows.saturating_sub(row));
    let mut down = t / columns;
    while down < rows && column + along < c.columns {
        let place = place_in_box(down, along * size / 16) + along * size % 16;
        // SAFETY: the place is in the box; the row and the column exist.
        unsafe {
            *c.data.add(((row + down) * c.columns + column + along) as usize) = *from.add((place / size) as usize);
        };
        down += 128 / columns;
    }
}
