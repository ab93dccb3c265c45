//! Wide accesses: four words with one instruction.
//!
//! A thread can read or write up to 16 bytes with one instruction, if the address is a multiple of 16. With 16 bytes
//! per access, a kernel needs a quarter of the instructions and requests to move the same bytes.
//!
//! Each thread doubles 4 neighboring floats. Use `wide::load` and `wide::store` if all 4 elements exist. If a thread at
//! the end has fewer elements, it still processes them one by one, as all threads do at present.
//!
//! `let four: [f32; 4] = wide::load(pointer);` reads 4 floats, and `wide::store(pointer, four)` writes them.

use cuda_std::prelude::*;

// `use crate::wide;` imports `wide::load` and `wide::store`.

/// # Safety
/// `input` and `output` are aligned to 16 bytes and point to `n` elements each. The grid has at least one thread for
/// every 4 elements.
#[kernel]
pub unsafe fn vector_load(input: *const f32, output: *mut f32, n: u32) {
    let (first, n) = (4 * thread::index_1d() as usize, n as usize);
    // SAFETY: the code below checks the bounds. Each thread writes separate elements.
    unsafe {
        // TODO: use one wide load and one wide store if all four elements exist.
        for i in first..n.min(first + 4) {
            *output.add(i) = 2.0 * *input.add(i);
        }
    }
}
