//! Through a tile in shared memory: coalesced on both sides.

use rung::Rung;

use super::{Place, TILED};
use crate::tile::{TileWriter, padding};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[TRANSPOSE_SMEM, TRANSPOSE_SMEM_PAD];

/// The block reads its tile of the matrix row by row, and writes the tile's transpose row by row. The strided
/// accesses are those to shared memory, which has no sectors.
///
/// # Safety
/// As [`transpose`](super) says, with blocks of `X` × `Y`; `tile` is `Y * (X + PAD)` elements of shared
/// memory.
#[inline(always)]
unsafe fn smem<const X: usize, const Y: usize, const PAD: usize>(
    tile: *mut f32,
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    // SAFETY: as the caller promises.
    let mut tile = unsafe { TileWriter::<f32, X, PAD>::new(tile) };
    let place = Place::<X, Y, 1>::of_this_thread();

    let (down, along) = place.thread;
    let (row, column) = (place.origin.0 + down, place.origin.1 + along);
    if row < rows && column < cols {
        // SAFETY: in bounds; every thread has its own element of the tile.
        unsafe { tile.set(down, along, *input.add((row * cols + column) as usize)) };
    }

    let tile = tile.sync();

    let (down, along) = place.transposed();
    let (row, column) = (place.origin.0 + along, place.origin.1 + down);
    if row < rows && column < cols {
        // SAFETY: in bounds; the thread whose element that is has written it, before the barrier.
        unsafe { *output.add((column * rows + row) as usize) = tile.get(along, down) };
    }
}

entries! {
    /// Reads and writes of global memory both coalesced, 4 sectors a request; in between a tile.
    ///
    /// Its columns are read down: for 32 × 16 a warp's 32 words lie in two banks, 16 words each, and come one after
    /// the other, in 16 wavefronts where a write is one. The article counts 8 to 1. ("Matrix Transpose with Shared
    /// Memory", `transposeSmem`.)
    ///
    /// # Safety
    /// As [`transpose`](super) says.
    transpose_smem(input: *const f32, output: *mut f32, rows: u32, cols: u32)
    for X x Y in [32 x 16, 32 x 32, 16 x 16];
    shared tile: [f32; X * Y];
    rung TILED {
        lesson: "a tile in shared memory: coalesced both ways, but its columns lie in one bank or two",
        published_count: "waves 8 : 1",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<X, Y, 0>(tile, input, output, rows, cols) }
}

entries! {
    /// The same with unused words behind each row of the tile, as many as put the words of a column into
    /// different banks: [`padding`] says which number that is, 2 for 32 × 16, and why.
    ///
    /// A read is one wavefront then, as a write is. ("Matrix Transpose with Padded Shared Memory",
    /// `transposeSmemPad`.)
    ///
    /// # Safety
    /// As [`transpose`](super) says.
    transpose_smem_pad(input: *const f32, output: *mut f32, rows: u32, cols: u32)
    for X x Y in [32 x 16, 32 x 32, 16 x 16];
    shared tile: [f32; Y * (X + padding(X, Y))];
    rung TILED {
        lesson: "unused words behind each row put a column into different banks: 2 for 32x16",
        published_count: "waves 1 : 1",
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe { smem::<X, Y, { padding(X, Y) }>(tile, input, output, rows, cols) }
}
