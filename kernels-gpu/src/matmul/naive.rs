//! Each thread by itself: a row of `a` times a column of `b`, read from global memory.

use cuda_std::{GpuFloat, kernel, thread};
use rung::{Form, Rung};

use super::{Place, SQUARE};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_NAIVE, MATMUL_UNCOALESCED];

/// The sum of a thread's `k` products; `b` is read from `first` on, every `stride` elements.
///
/// # Safety
/// As [`matmul`](super) says.
#[inline(always)]
unsafe fn dot(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    (m, n, k): (u32, u32, u32),
    column_of_b: impl FnOnce(u32) -> (u32, u32),
) {
    let place = Place::of_this_thread(thread::block_dim_y(), thread::block_dim_x());
    let (row, column) = (place.top + place.down, place.left + place.along);
    if row < m && column < n {
        let (first, stride) = column_of_b(column);
        let mut sum = 0.0;
        for i in 0..k {
            // SAFETY: in bounds of both.
            let (a, b) = unsafe {
                let a = *a.add((row * k + i) as usize);
                (a, *b.add((first + i * stride) as usize))
            };
            sum = GpuFloat::mul_add(a, b, sum);
        }
        // SAFETY: in bounds, and this thread's own.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}

rung! { matmul_naive: SQUARE {
    lesson: "a thread an element: coalesced, and two loads from memory for each multiplication",
} }

/// Neighbouring threads take neighbouring columns.
///
/// In each step a warp reads 32 neighbouring elements of `b`'s row, 4 sectors, and one element of `a`, which all its
/// lanes share. The reads are coalesced, but there are two for each multiplication: the warp waits for memory and its
/// caches. (Section 6.1, figure 6.2.)
///
/// # Safety
/// As [`matmul`](super) says.
#[kernel]
pub unsafe fn matmul_naive(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    // SAFETY: the body has the kernel's contract.
    unsafe { dot(a, b, c, (m, n, k), |column| (column, n)) }
}

rung! { matmul_uncoalesced: SQUARE {
    lesson: "the second matrix column after column, read as it lies: 32 sectors for 32 elements",
    form: Form::ColumnMajor,
} }

/// The same with `b` column after column, read as it lies.
///
/// Neighbouring threads read elements `k` apart: 32 sectors where there were 4. Each sector holds the column's next
/// seven elements too, and the cache may keep it until they are wanted. (Section 6.1, figure 6.3.)
///
/// # Safety
/// As [`matmul`](super) says, with `b` column after column.
#[kernel]
pub unsafe fn matmul_uncoalesced(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    // SAFETY: the body has the kernel's contract.
    unsafe { dot(a, b, c, (m, n, k), |column| (column * k, 1)) }
}
