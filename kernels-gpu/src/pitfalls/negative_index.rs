//! A 32-bit product that overflows into the sign, and the index that is made of it.
//!
//! A key is hashed by a multiplication, and the remainder is the slot of a table. In signed 32-bit numbers the
//! product of half of all keys is negative, and so is the remainder: the slot lies before the table. It is the same
//! with `row * pitch` of a matrix of more than 2^31 bytes.
//!
//! The cure computes indices in unsigned numbers, and in 64 bits where a product can have more than 32.

use cuda_std::{kernel, thread};

pitfall! { negative_index: Memory, 1 x 64 {
    lesson: "32 bits overflow: what becomes an index is computed unsigned, and products of sizes in 64 bits",
    on_gpu: "wrong values, read from whatever lies before the table; an error where nothing does",
    arguments: [Input(64), Input(64), Output(64)],
    right: |input, at| input[(input[at].wrapping_mul(0x9e37_79b1) % 64) as usize],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn negative_index(keys: *const u32, table: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let hash = (*keys.add(i)).wrapping_mul(0x9e37_79b1).cast_signed();
        let slot = hash % 64;
        *output.add(i) = *table.offset(slot as isize); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn negative_index_cured(keys: *const u32, table: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let hash = (*keys.add(i)).wrapping_mul(0x9e37_79b1);
        let slot = hash % 64;
        *output.add(i) = *table.add(slot as usize);
    }
}
