//! A transpose through a tile: bring 32 sectors a store down to 4.
//!
//! The transpose of a matrix has its rows as columns. A warp that reads a row has to write a column, and each of its words
//! falls into a sector of its own: 32 sectors for 128 bytes.
//!
//! The way out is shared memory. A block of 32 x 32 threads reads a tile of 32 x 32, row by row, into shared memory. After a
//! barrier each warp takes a *column* of the tile and writes it as a *row* of the output. So both the loads and the stores
//! take neighbouring words.
//!
//! Declare the tile as in the exercise `shared_static`: a static of 1024 words, and a pointer to its first element.
//!
//! `n` is the side of the matrix, and a multiple of 32.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n * n` elements, where `n` is a multiple of 32. Blocks have 32 x 32 threads, and the grid
/// `n / 32` of them in x and in y.
#[kernel]
pub unsafe fn transpose_tile(input: *const u32, output: *mut u32, n: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    // TODO: through a tile.
    // SAFETY: in bounds; each element has one writer.
    unsafe {
        let element = *input.add(((top + y) * n + left + x) as usize);
        *output.add(((left + x) * n + top + y) as usize) = element;
    }
}
