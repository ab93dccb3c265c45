//! Tiles: an element that many threads of a block read is fetched by one of them.

use cuda_std::GpuFloat;
use rung::{Form, Rung};

use super::{Matrix, Place, SQUARE};
use crate::tile::{TileReader, TileWriter, padding};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[MATMUL_TILED, MATMUL_CORNER_TURNING];

/// Adds the products of a row of one tile and a column of another to a sum.
///
/// # Safety
/// Both tiles have `T` × `T` elements, and all of them have been written.
#[inline(always)]
pub(super) unsafe fn row_times_column<const T: usize, const PAD: usize>(
    a: &TileReader<f32, T, 0>,
    b: &TileReader<f32, T, PAD>,
    row: u32,
    column: u32,
    sum: f32,
) -> f32 {
    // In two loops, because LLVM writes out the inner one whole, and not one of 32 steps.
    const STEPS: u32 = 16;
    let mut sum = sum;
    for first in (0..T as u32).step_by(STEPS as usize) {
        for i in first..first + STEPS {
            // SAFETY: inside of both tiles.
            let (a, b) = unsafe { (a.get(row, i), b.get(i, column)) };
            sum = GpuFloat::mul_add(a, b, sum);
        }
    }
    sum
}

/// A tile of `c` for each block, from pairs of tiles of `a` and `b`.
///
/// `load_b` puts an element of `b` into its tile, given the tile's first row and column.
///
/// # Safety
/// As [`matmul`](super) says, with blocks of `T` × `T`; `tiles` are `T * T` and `T * (T + PAD)` elements
/// of shared memory; `load_b` writes one element of the tile for each thread, all of them.
#[inline(always)]
unsafe fn tiled<const T: usize, const PAD: usize>(
    tiles: (*mut f32, *mut f32),
    a: *const f32,
    c: *mut f32,
    (m, n, k): (u32, u32, u32),
    load_b: impl Fn(&mut TileWriter<f32, T, PAD>, &Place, u32),
) {
    let side = T as u32;
    // SAFETY: as the caller promises.
    let (mut tile_a, mut tile_b) = unsafe { (TileWriter::new(tiles.0), TileWriter::new(tiles.1)) };
    let a = Matrix { data: a, rows: m, columns: k };
    let place = Place::of_this_thread(side, side);
    let (row, column) = (place.top + place.down, place.left + place.along);
    let mut sum = 0.0;
    for first in (0..k).step_by(T) {
        // SAFETY: every thread writes its own element of each tile.
        unsafe { tile_a.set(place.down, place.along, a.get(row, first + place.along)) };
        load_b(&mut tile_b, &place, first);
        let (written_a, written_b) = tile_a.sync_with(tile_b);
        // SAFETY: all of both tiles is written.
        sum = unsafe { row_times_column(&written_a, &written_b, place.down, place.along, sum) };
        (tile_a, tile_b) = written_a.sync_with(written_b);
    }
    if row < m && column < n {
        // SAFETY: in bounds, and this thread's own.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}

entries! {
    /// The block's threads together load a tile of `a` and one of `b` into shared memory, multiply them, and
    /// go on to the next pair.
    ///
    /// Each element is read from global memory once a block instead of once a thread: with 32 × 32 tiles a 32nd of the
    /// reads. What lies outside of a matrix is loaded as 0. (Chapter 5, and figure 6.10.)
    ///
    /// # Safety
    /// As [`matmul`](super) says.
    matmul_tiled(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for T x _H in [16 x 16, 32 x 32];
    shared tile_a: [f32; T * T];
    shared tile_b: [f32; T * T];
    rung SQUARE {
        lesson: "tiles in shared memory: an element is read once a block instead of once a thread",
    };
    // SAFETY: the body has the kernel's contract; each thread loads its own element.
    => unsafe {
        let b = Matrix { data: b, rows: k, columns: n };
        tiled::<T, 0>((tile_a, tile_b), a, c, (m, n, k), |tile, place, first| {
            let element = b.get(first + place.down, place.left + place.along);
            tile.set(place.down, place.along, element);
        });
    }
}

entries! {
    /// `b` column after column again, and a tile that puts it right: when it is loaded, the roles of a
    /// thread's x and y are exchanged.
    ///
    /// Neighbouring threads read neighbouring elements of a column of `b`, which is coalesced, and write them down a
    /// column of the tile, which is padded for it. From there the product goes on as before: how `b` lies costs
    /// nothing any more. (Section 6.1, corner turning, figure 6.4.)
    ///
    /// # Safety
    /// As [`matmul`](super) says, with `b` column after column.
    matmul_corner_turning(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32)
    for T x _H in [16 x 16, 32 x 32];
    shared tile_a: [f32; T * T];
    shared tile_b: [f32; T * (T + padding(T, T))];
    rung SQUARE {
        lesson: "column after column, but x and y change roles while a tile is loaded: coalesced",
        form: Form::ColumnMajor,
    };
    // SAFETY: the body has the kernel's contract; each thread loads its own element.
    => unsafe {
        // Column after column is the transpose, row after row.
        let turned = Matrix { data: b, rows: n, columns: k };
        tiled::<T, { padding(T, T) }>((tile_a, tile_b), a, c, (m, n, k), |tile, place, first| {
            let element = turned.get(place.left + place.down, first + place.along);
            tile.set(place.along, place.down, element);
        });
    }
}
