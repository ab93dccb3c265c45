//! A grid-stride loop that strides by the block.
//!
//! The step has to be the number of threads of the whole grid. With the size of the block in its place, every block
//! goes over all the elements behind its first ones, and elements are taken several times.
//!
//! The cure multiplies by the number of blocks.

use cuda_std::{kernel, thread};

pitfall! { wrong_grid_stride: Race, 2 x 32 {
    lesson: "a grid-stride loop strides by the grid's threads, blocks times threads of a block",
    on_gpu: "elements that are changed twice; where the loop only copies, nothing but the time tells",
    arguments: [InPlace(128)],
    right: |input, at| input[at].wrapping_add(1),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn wrong_grid_stride(data: *mut u32) {
    unsafe {
        let mut i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        while i < 128 {
            let own = data.add(i as usize);
            *own = (*own).wrapping_add(1); // fault
            i += thread::block_dim_x();
        }
    }
}

/// The cure.
#[kernel]
pub unsafe fn wrong_grid_stride_cured(data: *mut u32) {
    unsafe {
        let mut i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        while i < 128 {
            let own = data.add(i as usize);
            *own = (*own).wrapping_add(1);
            i += thread::grid_dim_x() * thread::block_dim_x();
        }
    }
}
