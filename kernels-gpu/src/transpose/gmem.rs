//! Through registers: the copy that no transpose outruns, and the two transposes that are strided on one side.

use cuda_std::{kernel, thread};
use rung::{PublishedSpeedup, Rung};

use super::{Place, TILED};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[COPY_GMEM, TRANSPOSE_NAIVE, TRANSPOSE_NAIVE_STRIDED_READS];

/// The row and the column of this thread's element, for a block of any shape.
#[inline(always)]
fn element() -> (u32, u32) {
    let tile_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    (
        tile_row * thread::block_dim_y() + thread::thread_idx_y(),
        thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x(),
    )
}

rung! { copy_gmem: TILED {
    lesson: "the upper bound: a copy, coalesced both ways; no transpose moves fewer bytes",
    is_bound: true,
} }

/// Copies and does not transpose: the upper bound.
///
/// Neighbouring threads read and write neighbouring elements, so a warp's 32 floats are 4 sectors each way. No
/// transpose moves fewer bytes. ("Baseline Transpose Kernel", `copyGmem`.)
///
/// # Safety
/// As [`transpose`](super) says.
#[kernel]
pub unsafe fn copy_gmem(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let (row, column) = element();
    if row < rows && column < cols {
        let index = (row * cols + column) as usize;
        // SAFETY: in bounds of both.
        unsafe { *output.add(index) = *input.add(index) };
    }
}

rung! { transpose_naive: TILED {
    lesson: "the lower bound: a warp's writes lie a row apart and touch 32 sectors for 32 words",
    published: Some(PublishedSpeedup { factor: 1.0 / 3.0, over: "copy_gmem" }),
    published_count: "32 sectors a store",
} }

/// Element by element: reads along a row, writes down a column. The lower bound.
///
/// A warp's writes are `rows` elements apart and touch a sector each, 32 for its 32 floats: seven eighths of what
/// moves is not asked for, unless the cache keeps a sector until its other elements come. The article measures a third
/// of the copy's speed. ("Baseline Transpose Kernel", `naiveGmem`.)
///
/// # Safety
/// As [`transpose`](super) says.
#[kernel]
pub unsafe fn transpose_naive(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let (row, column) = element();
    if row < rows && column < cols {
        // SAFETY: in bounds of both.
        unsafe {
            *output.add((column * rows + row) as usize) = *input.add((row * cols + column) as usize);
        }
    }
}

entries! {
    /// The other way round: threads are laid out over the tile's transpose, so the writes are coalesced
    /// and the reads strided.
    ///
    /// The sectors are as scattered as before. But a load that misses brings a sector that stays in the
    /// SM's own cache until the neighbouring column is read, where a store goes through to L2: strided
    /// reads should cost less than strided writes. The next rung is this one with the tile put in between.
    ///
    /// # Safety
    /// As [`transpose`](super) says.
    transpose_naive_strided_reads(input: *const f32, output: *mut f32, rows: u32, cols: u32)
    for X x Y in [32 x 16, 32 x 32, 16 x 16];
    rung TILED {
        lesson: "strided reads instead: a cache keeps their sectors for the neighbouring column",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { strided_reads::<X, Y>(input, output, rows, cols) }
}

/// # Safety
/// As [`transpose`](super) says, with blocks of `X` × `Y`.
#[inline(always)]
unsafe fn strided_reads<const X: usize, const Y: usize>(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let place = Place::<X, Y, 1>::of_this_thread();
    let (down, along) = place.transposed();
    let (row, column) = (place.origin.0 + along, place.origin.1 + down);
    if row < rows && column < cols {
        // SAFETY: in bounds of both.
        unsafe {
            *output.add((column * rows + row) as usize) = *input.add((row * cols + column) as usize);
        }
    }
}
