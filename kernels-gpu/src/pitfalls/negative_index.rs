//! An index computed as a 32-bit product that overflows into the sign bit.
//!
//! A multiplication hashes a key, and a remainder of the hash is the slot in a table. In signed 32-bit arithmetic, the
//! product is negative for half of all keys, and so is the remainder. A negative slot lies before the table. The
//! expression `row * pitch` has the same problem for a matrix of more than 2^31 bytes.
//!
//! The fixed version computes the index with unsigned numbers. A product that can exceed 32 bits needs 64 bits.

use cuda_std::{kernel, thread};

pitfall! { negative_index: Memory, 1 x 64 {
    lesson: "32-bit products overflow: compute indices unsigned, and products of sizes in 64 bits",
    on_gpu: "wrong values from memory before the table; an error if no memory is mapped there",
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

/// The fixed version.
#[kernel]
pub unsafe fn negative_index_fixed(keys: *const u32, table: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads. `slot` is an unsigned remainder below 64.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let hash = (*keys.add(i)).wrapping_mul(0x9e37_79b1);
        let slot = hash % 64;
        *output.add(i) = *table.add(slot as usize);
    }
}
