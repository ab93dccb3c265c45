//! A buffer that the host frees before the kernel that reads it is launched.
//!
//! The buffer belonged to an object of the host that went out of scope, and its address was kept. Freed memory often
//! stays mapped, and keeps its values until somebody else gets it. The kernels are the same; the host frees the table
//! before it launches the faulty one, and after the cure.
//!
//! The cure has the owner of the buffer live until the last launch that uses it is over.

use cuda_std::{kernel, thread};

pitfall! { use_after_free: Memory, 1 x 32 {
    lesson: "a kernel uses the addresses that it is given later than the host gives them: their owner has to live as long",
    on_gpu: "often right, as freed memory keeps its values for a while; else an error, or the values of its next owner",
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

/// The cure.
#[kernel]
pub unsafe fn use_after_free_cured(table: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *table.add(i);
    }
}
