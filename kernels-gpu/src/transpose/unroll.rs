//! Two tiles a block: twice the loads and stores in flight.

use cuda_std::thread;
use rung::{Geometry, PublishedSpeedup, Rung};

use super::{Place, TILED};
use crate::tile::padding;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[TRANSPOSE_SMEM_UNROLL_PAD, TRANSPOSE_SMEM_UNROLL_PAD_DYN];

/// A rung that takes two tiles.
const UNROLLED: Rung = Rung { geometry: Geometry::Tiles { columns_per_thread: 2 }, ..TILED };

/// A block takes `2 * X` columns: each thread moves two elements, `X` columns apart.
///
/// # Safety
/// As [`transpose`](super) says, with blocks of `X` × `Y`; `tile` is `Y * (2 * X + PAD)` elements of
/// shared memory.
#[inline(always)]
unsafe fn unroll<const X: usize, const Y: usize, const PAD: usize>(
    tile: *mut f32,
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    let width = X as u32;
    let pitch = (2 * X + PAD) as u32;
    let place = Place::<X, Y, 2>::of_this_thread();

    // Both loads before either store: they are in flight together.
    let (down, along) = place.thread;
    let (row, column) = (place.origin.0 + down, place.origin.1 + along);
    let (mut first, mut second) = (0.0, 0.0);
    // Both questions before either load: so ptxas makes them conditions of the loads and not of branches, behind
    // the first of which the second load would wait.
    let has_first = (row < rows) & (column < cols);
    let has_second = (row < rows) & (column + width < cols);
    // SAFETY: in bounds, by the two questions.
    unsafe {
        let from = input.wrapping_add((row * cols + column) as usize);
        if has_first {
            first = *from;
        }
        if has_second {
            second = *from.add(X);
        }
    }
    // SAFETY: every thread has its own two elements of the tile.
    unsafe {
        let to = tile.add((down * pitch + along) as usize);
        *to = first;
        *to.add(X) = second;
    }

    thread::sync_threads();

    let (down, along) = place.transposed();
    let (row, column) = (place.origin.0 + along, place.origin.1 + down);
    // SAFETY: in bounds, by the two questions; all of the tile was written before the barrier.
    unsafe {
        let from = tile.add((along * pitch + down) as usize);
        let to = output.wrapping_add((column * rows + row) as usize);
        if row < rows && column < cols {
            *to = *from;
        }
        if row < rows && column + width < cols {
            *to.wrapping_add((width * rows) as usize) = *from.add(X);
        }
    }
}

entries! {
    /// Two tiles side by side, in one padded tile of one dimension: half the blocks, and two loads and
    /// two stores of a thread in flight, which hide each other's latency.
    ///
    /// The article measures 1.13 times the memory throughput of `transpose_smem_pad`. ("Matrix Transpose with
    /// Unrolling", `transposeSmemUnrollPad`, which is wrong at the edges.)
    ///
    /// # Safety
    /// As [`transpose`](super) says.
    transpose_smem_unroll_pad(input: *const f32, output: *mut f32, rows: u32, cols: u32)
    for X x Y in [32 x 16, 32 x 32, 16 x 16];
    shared tile: [f32; Y * (2 * X + padding(2 * X, Y))];
    rung UNROLLED {
        lesson: "two tiles a block: each thread has two loads and two stores in flight",
        published: Some(PublishedSpeedup { factor: 1.13, over: "transpose_smem_pad" }),
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { unroll::<X, Y, { padding(2 * X, Y) }>(tile, input, output, rows, cols) }
}

entries! {
    /// The same with dynamic shared memory, whose size the launch chooses. ("Matrix Transpose with Unrolling" names it
    /// beside `transposeSmemUnrollPad`.)
    ///
    /// # Safety
    /// As [`transpose`](super) says, launched with `4 * Y * (2 * X + padding(2 * X, Y))` bytes of shared
    /// memory.
    transpose_smem_unroll_pad_dyn(input: *const f32, output: *mut f32, rows: u32, cols: u32)
    for X x Y in [32 x 16, 32 x 32, 16 x 16];
    dynamic tile: [f32; Y * (2 * X + padding(2 * X, Y))];
    rung UNROLLED {
        lesson: "the same with shared memory sized by the launch",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        unroll::<X, Y, { padding(2 * X, Y) }>(tile, input, output, rows, cols);
    }
}
