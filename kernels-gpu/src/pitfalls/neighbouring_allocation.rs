//! Two allocations that are used as one, because they happen to be adjacent.
//!
//! Two buffers were allocated one after the other, and the code reads past the end of the first buffer into the second.
//! A tool that checks only addresses reports nothing, because every address belongs to an allocation. With a different
//! driver, a different order of allocations, or padding between them, the second half of the result is garbage.
//!
//! The fixed version uses each pointer only for its buffer. (Alternatively, the host allocates once and computes both
//! pointers.)

use cuda_std::{kernel, thread};

pitfall! { neighbouring_allocation: Memory, 1 x 256 {
    lesson: "a pointer is valid only for its allocation, even if another allocation follows",
    on_gpu: "often right: the driver places small allocations next to each other, but does not guarantee it",
    arguments: [Input(128), Input(128), Output(256)],
    right: |input, at| input[at % 128],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn neighbouring_allocation(first: *const u32, second: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *first.add(i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn neighbouring_allocation_fixed(first: *const u32, second: *const u32, output: *mut u32) {
    // SAFETY: i < 256, because the block has 256 threads. Both inputs have 128 elements, and each index is below 128.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = if i < 128 { *first.add(i) } else { *second.add(i - 128) };
    }
}
