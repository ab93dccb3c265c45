//! Wide accesses on both sides: squares turned in registers, and a swizzle in the place of padding.
// The indices select registers: they are constants once the loops are unrolled.
#![allow(clippy::needless_range_loop)]

use core::array;

use cuda_std::thread;
use rung::{BlockCount, Geometry, Rung};

use super::TILED;
use super::aligned::{self, aligned};
use crate::wide::{self, Wide};

/// This file's rungs.
pub const RUNGS: &[Rung] = &[TRANSPOSE_VECTOR];

/// Rows of a tile.
const ROWS: usize = 64;
/// Columns of a tile.
const COLUMNS: usize = 128;
/// Threads of a block: one for each square of the tile.
pub const THREADS: usize = ROWS / SIDE * (COLUMNS / SIDE);
/// The side of the square that a thread turns: the elements of a wide access.
const SIDE: usize = 4;
/// Squares one above the other: wide words of a row of the tile's transpose.
const DOWN: usize = ROWS / SIDE;
/// Squares side by side.
const ACROSS: usize = COLUMNS / SIDE;
/// Wide words that one wavefront of shared memory takes.
const WAVE: u32 = 8;
/// Wide words of shared memory: enough for either way to transpose.
const LEN: usize = if ROWS * COLUMNS > aligned::WORDS { ROWS * COLUMNS / SIDE } else { aligned::WORDS.div_ceil(SIDE) };

/// Bytes of shared memory of a block.
pub const SHARED_BYTES: usize = LEN * 16;

/// Whether rows of both matrices begin at multiples of 16 bytes.
const fn is_wide(rows: u32, cols: u32) -> bool {
    rows.is_multiple_of(SIDE as u32) && cols.is_multiple_of(SIDE as u32)
}

/// Blocks that transpose a matrix.
#[must_use]
pub const fn blocks(rows: u32, cols: u32) -> u32 {
    if is_wide(rows, cols) {
        rows.div_ceil(ROWS as u32) * cols.div_ceil(COLUMNS as u32)
    } else {
        aligned::blocks(rows, cols)
    }
}

entries! {
    /// A tile of 64 rows and 128 columns, read and written by 16 bytes: where both sides of the matrix are
    /// multiples of 4. Every other shape goes the way of `transpose_aligned`, by a question that all threads
    /// answer alike.
    ///
    /// A thread reads four wide words one below the other, a square of 4 × 4, all in flight, and turns the
    /// square in registers: that costs nothing but the choice of which register is which word of a store. So
    /// shared memory, too, is read and written by wide words. A warp's wide access is four wavefronts of 8
    /// lanes, and each is free of conflicts when its 8 wide words lie in different places modulo 8. Padding
    /// cannot give that without breaking the alignment of 16 bytes; an exclusive or of the word's place in its
    /// row with the square's column can, and takes no memory. The tiles are counted down the columns:
    /// blocks that run together write neighbouring parts of the same output rows.
    ///
    /// Prediction: a quarter of the instructions for each byte, and 32 KB in flight for each block; what is left
    /// is what memory takes for a read and a write, as in a copy. Measured on an H100 80GB HBM3 for 16384 × 16384:
    /// 732 µs, 2933 GB/s, where the device's own copy takes 713 µs; 735 with tiles of 64 × 64; tiles counted
    /// along the rows are 1 to 2 % slower.
    ///
    /// # Safety
    /// As [`transpose`](super) says, but the block has one dimension, and the grid [`blocks`]; `input` is a
    /// multiple of 16, `output` of 32.
    transpose_vector(input: *const f32, output: *mut f32, rows: u32, cols: u32) for BLOCK in [512];
    shared tile: [Wide<f32, SIDE>; LEN];
    rung TILED {
        lesson: "16 bytes an access on both sides: squares turned in registers, a swizzle instead of padding",
        geometry: Geometry::Own {
            elements: (ROWS * COLUMNS) as u32,
            blocks: BlockCount(|shape| blocks(shape[0] as u32, shape[1] as u32)),
        },
        default_block: [THREADS as u32, 1, 1],
    };
    // SAFETY: the bodies have the kernel's contract; the tile has words enough for either.
    => unsafe {
        const { assert!(BLOCK == THREADS && BLOCK == aligned::THREADS) };
        if is_wide(rows, cols) {
            vector(tile.cast(), input, output, rows, cols);
        } else {
            aligned(tile.cast(), input, output, rows, cols);
        }
    }
}

/// # Safety
/// The contract of `transpose_vector`, for sides that are multiples of 4; `tile` is `ROWS * COLUMNS` words of shared
/// memory from a multiple of 16 on.
#[inline(always)]
unsafe fn vector(tile: *mut f32, input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let (index, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    let tiles_down = rows.div_ceil(ROWS as u32);
    let top = index % tiles_down * ROWS as u32;
    let left = index / tiles_down * COLUMNS as u32;
    let side = SIDE as u32;

    let (down, across) = (tid / ACROSS as u32, tid % ACROSS as u32);
    let (row, column) = (top + down * side, left + across * side);
    // A square is in the matrix or is not, as the sides are multiples of its own.
    if row < rows && column < cols {
        // SAFETY: in bounds, at multiples of 16 bytes; every thread has its own wide words of the tile.
        unsafe {
            let from = input.add((row * cols + column) as usize);
            let square: [[f32; SIDE]; SIDE] = array::from_fn(|k| wide::load(from.add(k * cols as usize)));
            let turned: [[f32; SIDE]; SIDE] = array::from_fn(|column| array::from_fn(|row| square[row][column]));
            for (k, turned) in turned.into_iter().enumerate() {
                let to = tile.add(place(across * side + k as u32, down));
                wide::store(to, turned);
            }
        }
    }

    thread::sync_threads();

    for step in 0..SIDE {
        let at = tid + (step * THREADS) as u32;
        let (across, down) = (at / DOWN as u32, at % DOWN as u32);
        let (row, column) = (top + down * side, left + across);
        if row < rows && column < cols {
            // SAFETY: in bounds, at multiples of 16 bytes; what is in the matrix was written before the barrier.
            unsafe {
                let turned: [f32; SIDE] = wide::load(tile.add(place(across, down)));
                wide::store(output.add((column * rows + row) as usize), turned);
            }
        }
    }
}

/// Where the tile has wide word `down` of column `column`: the index of its first element.
#[inline(always)]
fn place(column: u32, down: u32) -> usize {
    let swizzled = down ^ (column / SIDE as u32 % WAVE);
    ((column * DOWN as u32 + swizzled) * SIDE as u32) as usize
}
