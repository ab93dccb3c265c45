//! A launch that requests dynamic shared memory in elements instead of bytes.
//!
//! The third launch parameter is a number of bytes. For 64 words, `64` is a quarter of the size that the block uses.
//! The two kernels are the same: the launch of the faulty kernel requests 64 bytes, and the launch of the fixed kernel
//! requests 256.
//!
//! The fixed version multiplies by the size of an element.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};

pitfall! { shared_bytes_as_elements: Memory, 1 x 64 {
    lesson: "dynamic shared memory is requested in bytes: the number of elements times the size of an element",
    on_gpu: "often right, because a block gets more than it requests; otherwise an error or wrong values",
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

/// The fixed version.
#[kernel]
pub unsafe fn shared_bytes_as_elements_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads, and the launch provides 256 bytes. The barrier separates the
    // tile's writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = dynamic_shared_mem::<u32>();
        *tile.add(i) = *input.add(i);
        thread::sync_threads();
        *output.add(i) = *tile.add(63 - i);
    }
}
