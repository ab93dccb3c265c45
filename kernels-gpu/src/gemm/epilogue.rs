//! The epilogue: the sums of a warp group go from its registers to the product in global memory.

use cuda_std::thread;

use crate::copy_async::Shared;
use crate::tensor_core::barrier;
use crate::tensor_core::element::{Bf16, F16, Output};
use crate::tensor_core::stmatrix::{store_two_floats, store_x4};
use crate::tensor_core::tma::{self, TensorMap};
use crate::tensor_core::wgmma::{BOX_BYTES, BOX_ROWS, ROW_BYTES, swizzled_offset};

/// The threads of a warp group.
pub(super) const WARP_GROUP: u32 = 128;

/// The numbered barrier of the first consumer; the next consumer has the next one. Number 0 is that of
/// `thread::sync_threads`.
pub(super) const CONSUMER_BARRIER: u32 = 1;

/// The product in global memory: a row-major matrix.
#[derive(Clone, Copy)]
pub(super) struct OutputMatrix<'a, C> {
    /// The map of the matrix, which is used only if its rows are a multiple of 16 bytes.
    pub(super) map: &'a TensorMap,
    pub(super) data: *mut C,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

/// Stores a warp group's 64 rows of sums straight from registers: pairs of neighbors, or single elements where pairs
/// are not aligned.
///
/// # Safety
/// The caller must ensure that `c` points to `m` × `n` elements, that no other thread writes the 64 rows and `2 * N`
/// columns from `row` and `column` on, and that the sums are those of [`Sums`](crate::tensor_core::wgmma::Sums).
#[inline(always)]
pub(super) unsafe fn store_from_registers<C: Output, const N: usize>(
    sums: &[f32; N],
    [row, column]: [u32; 2],
    c: *mut C,
    [m, n]: [u32; 2],
) {
    let t = thread::thread_idx_x() % WARP_GROUP;
    let (row, column) = (row + t / 32 * 16 + t % 32 / 4, column + t % 4 * 2);
    let has_pairs = n % 2 == 0 && c.cast::<C::Pair>().is_aligned();
    for (second_row, row) in [(0, row), (1, row + 8)] {
        if row >= m {
            continue;
        }
        let to = c.wrapping_add((row * n) as usize);
        for i in 0..N / 4 {
            let column = column + 8 * i as u32;
            let (first, second) = (sums[4 * i + 2 * second_row], sums[4 * i + 2 * second_row + 1]);
            if has_pairs && column < n {
                // SAFETY: the row and the column exist. Both are even numbers of elements, so the next column exists
                // too and the pair is aligned.
                unsafe { *to.add(column as usize).cast() = C::pair(first, second) };
            }
        }
        if has_pairs {
            continue;
        }
        for i in 0..N / 4 {
            for j in 0..2 {
                let column = column + (8 * i + j) as u32;
                if column < n {
                    // SAFETY: the row and the column exist.
                    unsafe { *to.add(column as usize) = C::from_f32(sums[4 * i + 2 * second_row + j]) };
                }
            }
        }
    }
}

/// An element of the product whose boxes a warp group can write to shared memory.
pub(super) trait Staged: Output {
    /// Writes the sums of box number `index`, 64 rows × 128 bytes, swizzled by 128 bytes.
    ///
    /// # Safety
    /// The caller must ensure that all threads of the warp group call it, and that `to` is a box of shared memory that
    /// nothing else accesses.
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared);
}

/// Elements of 16 bits: `stmatrix` stores four matrices of 8 × 8 at a time, which are 16 rows × 16 columns.
macro_rules! staged_by_stmatrix {
    ($element:ty) => {
        impl Staged for $element {
            #[inline(always)]
            unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
                let (warp, lane) = (thread::thread_idx_x() % WARP_GROUP / 32, thread::thread_idx_x() % 32);
                // A box has 64 columns: eight times 8, each of which is four sums of a thread.
                for quarter in 0..4 {
                    let first = (index * 8 + quarter * 2) * 4;
                    let fragments = core::array::from_fn(|i| Self::pair(sums[first + 2 * i], sums[first + 2 * i + 1]));
                    let (row, chunk) = (warp * 16 + lane % 16, quarter as u32 * 2 + lane / 16);
                    // SAFETY: the row and the chunk are in the box, and each lane has another one.
                    unsafe { store_x4(to.byte_add(swizzled_offset(row, chunk)), fragments) };
                }
            }
        }
    };
}

staged_by_stmatrix!(Bf16);
staged_by_stmatrix!(F16);

impl Staged for f32 {
    #[inline(always)]
    unsafe fn write_box<const N: usize>(sums: &[f32; N], index: usize, to: Shared) {
        let (warp, lane) = (thread::thread_idx_x() % WARP_GROUP / 32, thread::thread_idx_x() % 32);
        // A box has 32 columns: four times 8, each of which is four sums of a thread.
        for quarter in 0..4 {
            let first = (index * 4 + quarter) * 4;
            for second_row in 0..2 {
                let row = warp * 16 + lane / 4 + 8 * second_row as u32;
                let offset = swizzled_offset(row, quarter as u32 * 2 + lane % 4 / 2) + lane % 2 * 8;
                let pair = [sums[first + 2 * second_row], sums[first + 2 * second_row + 1]];
                // SAFETY: the row and the chunk are in the box, and each lane has other 8 bytes.
                unsafe { store_two_floats(to.byte_add(offset), pair) };
            }
        }
    }
}

/// Stores a warp group's 64 rows of sums through shared memory: one box after another is written there and copied to
/// the product. The last copies are still under way afterwards.
///
/// # Safety
/// The caller must ensure that all threads of the warp group `consumer` call it, that no other thread writes these
/// elements of the product, and that `slots` points to `SLOTS` boxes, one or two, that only this warp group uses.
#[inline(always)]
pub(super) unsafe fn store_through_shared<C: Staged, const N: usize, const SLOTS: u32>(
    sums: &[f32; N],
    [row, column]: [u32; 2],
    output: &OutputMatrix<'_, C>,
    slots: *mut u8,
    consumer: u32,
) {
    let columns = ROW_BYTES / size_of::<C>() as u32;
    let starts_copies = thread::thread_idx_x().is_multiple_of(WARP_GROUP);
    for index in 0..2 * N as u32 / columns {
        let slot = slots.wrapping_add((index % SLOTS * BOX_BYTES) as usize);
        if starts_copies {
            // Until the last copy from this slot has read it.
            match SLOTS {
                1 => tma::wait_read::<0>(),
                _ => tma::wait_read::<1>(),
            }
        }
        // SAFETY: the first barrier separates the slot's last copy from the threads that write it again, and the second
        // one separates these from the thread that starts the next copy.
        unsafe {
            barrier::sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
            C::write_box(sums, index as usize, Shared::of(slot));
            tma::fence_shared();
            barrier::sync(CONSUMER_BARRIER + consumer, WARP_GROUP);
            copy_box(slot, [row, column + index * columns], output);
        }
    }
}

/// Copies a box from shared memory to the product: by a tensor copy, which is under way afterwards, if the product's
/// rows are a multiple of 16 bytes, else element by element.
///
/// # Safety
/// The caller must ensure that all threads of the warp group call it, after [`tma::fence_shared`] and a barrier of
/// those that wrote the box, and that no other thread writes these elements of the product.
#[inline(always)]
pub(super) unsafe fn copy_box<C: Copy>(slot: *mut u8, [row, column]: [u32; 2], output: &OutputMatrix<'_, C>) {
    if !(output.columns * size_of::<C>() as u32).is_multiple_of(16) {
        // SAFETY: the box is written, and only this warp group writes its elements of the product.
        unsafe { copy_elements(slot.cast(), [row, column], output) };
    } else if thread::thread_idx_x().is_multiple_of(WARP_GROUP) {
        // SAFETY: the map describes the product. The box is written, and it is written again only after a wait.
        unsafe { output.map.store(column, row, Shared::of(slot)) };
        tma::commit_stores();
    }
}

/// Copies a box from shared memory to the product element by element. Neighboring threads copy neighboring elements.
///
/// # Safety
/// As for [`copy_box`].
#[inline(always)]
unsafe fn copy_elements<C: Copy>(from: *const C, [row, column]: [u32; 2], output: &OutputMatrix<'_, C>) {
    let size = size_of::<C>() as u32;
    let columns = ROW_BYTES / size;
    let t = thread::thread_idx_x() % WARP_GROUP;
    let box_column = t % columns;
    let rows = BOX_ROWS.min(output.rows.saturating_sub(row));
    let mut box_row = t / columns;
    while box_row < rows && column + box_column < output.columns {
        let offset = swizzled_offset(box_row, box_column * size / 16) + box_column * size % 16;
        let index = (row + box_row) * output.columns + column + box_column;
        // SAFETY: the offset is in the box, and the row and the column exist in the product.
        unsafe { *output.data.add(index as usize) = *from.add((offset / size) as usize) };
        box_row += WARP_GROUP / columns;
    }
}
