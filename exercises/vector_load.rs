//! Wide accesses: four words with one instruction.
//!
//! A thread can read or write up to 16 bytes with one instruction, if the address is a multiple of 16. The same bytes then
//! take a quarter of the instructions and of the requests.
//!
//! Each thread doubles 4 neighbouring floats. Where all 4 exist, use `wide::load` and `wide::store`; a thread at the end
//! that has fewer takes them one by one, as all do now. 1024 floats are 32 requests now, and can be 8.
//!
//! `let four: [f32; 4] = wide::load(pointer);` reads, and `wide::store(pointer, four)` writes.

use cuda_std::prelude::*;

// `use crate::wide;` brings `wide::load` and `wide::store`.

/// # Safety
/// `input` and `output` are multiples of 16 and point to `n` elements each. The grid has a thread for every 4 of them, or
/// more.
#[kernel]
pub unsafe fn vector_load(input: *const f32, output: *mut f32, n: u32) {
    let (first, n) = (4 * thread::index_1d() as usize, n as usize);
    // SAFETY: in bounds; each thread has elements of its own.
    unsafe {
        // TODO: one wide load and one wide store, where all four exist.
        for i in first..n.min(first + 4) {
            *output.add(i) = 2.0 * *input.add(i);
        }
    }
}
