//! A grid-stride loop whose stride is the size of the block.
//!
//! The stride must be the number of threads of the whole grid. With the block's size instead, every block also
//! processes the elements of later blocks, so elements are processed several times.
//!
//! The fixed version multiplies by the number of blocks.

use cuda_std::{kernel, thread};

pitfall! { wrong_grid_stride: Race, 2 x 32 {
    lesson: "the stride of a grid-stride loop is the number of threads of the grid: blocks times block size",
    on_gpu: "some elements are changed twice; a loop that only copies is merely slower",
    arguments: [InPlace(128)],
    right: |input, at| input[at].wrapping_add(1),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn wrong_grid_stride(data: *mut u32) {
    unsafe {
        let mut i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        while i < 128 {
            let element = data.add(i as usize);
            *element = (*element).wrapping_add(1); // fault
            i += thread::block_dim_x();
        }
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn wrong_grid_stride_fixed(data: *mut u32) {
    // SAFETY: i < 128, the length of `data`. The stride is the grid's number of threads, so only one thread accesses
    // each element.
    unsafe {
        let mut i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        while i < 128 {
            let element = data.add(i as usize);
            *element = (*element).wrapping_add(1);
            i += thread::grid_dim_x() * thread::block_dim_x();
        }
    }
}
