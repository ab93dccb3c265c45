//! A buffer that the host frees before it launches the kernel that reads it.
//!
//! The buffer's owner on the host went out of scope, but the buffer's address was kept. Freed memory often stays mapped
//! and keeps its values until it is allocated again. The two kernels are the same. The host frees the table before it
//! launches the faulty kernel, but only after it has launched the fixed kernel.
//!
//! In the fixed version, the buffer's owner lives until the last launch that uses it is complete.

use cuda_std::{kernel, thread};

pitfall! { use_after_free: Memory, 1 x 32 {
    lesson: "a launch only stores addresses: the buffers' owner must live until the kernel is complete",
    on_gpu: "often right, because freed memory keeps its values for a while; otherwise an error or wrong values",
    arguments: [Freed(32), Output(32)],
    right: |input, at| input[at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn use_after_free(table: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *table.add(i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn use_after_free_fixed(table: *const u32, output: *mut u32) {
    // SAFETY: i < 32, because the block has 32 threads, and the host frees `table` only after the launch.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *table.add(i);
    }
}
