//! A launch that asks for elements of dynamic shared memory where bytes are meant.
//!
//! The third argument of a launch is a number of bytes. `64` for 64 words is a quarter of what the block uses. The
//! kernels are the same; the launch of the faulty one asks for 64 bytes, that of the cure for 256.
//!
//! The cure multiplies by the size of an element.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};

pitfall! { shared_bytes_as_elements: Memory, 1 x 64 {
    lesson: "a launch asks for dynamic shared memory in bytes: the number of elements times their size",
    on_gpu: "often right, for a block gets more than it asks for; with more shared memory in use, an error or wrong values",
    arguments: [Input(64), Output(64)],
    shared: (64, 256),
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn shared_bytes_as_elements(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = dynamic_shared_mem::<u32>();
        *tile.add(i) = *input.add(i); // fault
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn shared_bytes_as_elements_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = dynamic_shared_mem::<u32>();
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
