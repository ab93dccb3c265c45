//! Scatter: keys of one digit, next to each other.
//!
//! In a pass of a radix sort, a block of 256 threads writes each key to its place in the output. All keys with the same
//! digit go to neighboring places (a *run*), but neighboring threads have different digits. So the stores of a warp
//! touch many sectors.
//!
//! `places` holds the place of each key in the block, with the keys ordered by digit. `starts` holds a number for each
//! digit of the block: a key's place in the output is this number plus its place in the block. Sort the keys in shared
//! memory first: write each key to its place in the block. Then thread `t` writes the key at place `t` to the output.

use cuda_std::prelude::*;

/// # Safety
/// `input`, `places` and `output` point to 256 elements for each block of 256 threads, and `starts` to 16. The places
/// of a block are 0 to 255, and no two keys have the same place in the output.
#[kernel]
pub unsafe fn scatter_in_order(input: *const u32, places: *const u32, starts: *const u32, output: *mut u32) {
    let i = thread::index_1d() as usize;
    let starts = starts.wrapping_add(16 * thread::block_idx_x() as usize);
    // SAFETY: the arrays have an element for each thread, a digit is below 16, and each place has one writer.
    unsafe {
        let (key, place) = (*input.add(i), *places.add(i));
        // TODO: sort the keys in shared memory first.
        let digit = key % 16;
        *output.add((*starts.add(digit as usize)).wrapping_add(place) as usize) = key;
    }
}
