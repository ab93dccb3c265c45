//! An atomic of the block where all blocks add.
//!
//! The scope of an atomic says for whom it is atomic. One of the block (`.cta`, in CUDA C++ `atomicAdd_block`)
//! promises nothing to other blocks, and may be done in the multiprocessor's own cache.
//!
//! The cure is the scope of all who take part: the device.

use cuda_std::{kernel, thread};

pitfall! { atomic_of_narrow_scope: Race, 4 x 32 {
    lesson: "the scope of an atomic spans all threads that use the memory: for several blocks, the device",
    on_gpu: "right on many GPUs, which do all atomics of global memory in the L2 cache; nothing promises it",
    arguments: [Input(128), Sums(1)],
    right: |input, _| input.iter().fold(0, |sum, value| sum.wrapping_add(*value)),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn atomic_of_narrow_scope(input: *const u32, sum: *mut u32) {
    unsafe {
        let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        ptx!("red.relaxed.cta.global.add.u32 [{}], {};", in(reg64) sum, in(reg32) *input.add(i as usize)); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn atomic_of_narrow_scope_cured(input: *const u32, sum: *mut u32) {
    unsafe {
        let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        ptx!("red.relaxed.gpu.global.add.u32 [{}], {};", in(reg64) sum, in(reg32) *input.add(i as usize));
    }
}
