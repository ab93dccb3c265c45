//! Transpose with a tile: from 32 sectors per store request to 4.
//!
//! The rows of a matrix are the columns of its transpose. A warp that reads a row must write a column. Each word of a
//! column is in a different sector, so a store request needs 32 sectors for 128 bytes.
//!
//! Shared memory solves this problem. A block of 32 x 32 threads reads a tile of 32 x 32 elements into shared memory,
//! in row-major order. After a barrier, each warp reads a *column* of the tile and writes it as a *row* of the output.
//! The loads and the stores then access neighboring words.
//!
//! Declare the tile as in the exercise `shared_static`: a static of 1024 words, and a pointer to its first element. `n`
//! is the side length of the matrix, a multiple of 32.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n * n` elements, where `n` is a multiple of 32. Blocks have 32 x 32 threads, and the
/// grid has `n / 32` blocks in x and in y.
#[kernel]
pub unsafe fn transpose_tile(input: *const u32, output: *mut u32, n: u32) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (left, top) = (thread::block_idx_x() * 32, thread::block_idx_y() * 32);
    // TODO: use a tile.
    // SAFETY: the grid covers the matrix exactly, and each element has one writer.
    unsafe {
        let element = *input.add(((top + y) * n + left + x) as usize);
        *output.add(((left + x) * n + top + y) as usize) = element;
    }
}
