//! An atomic addition with block scope to a word that all blocks add to.
//!
//! The scope of an atomic specifies the threads for which it is atomic. With block scope (`.cta`, CUDA C++'s
//! `atomicAdd_block`), there is no guarantee for other blocks. The multiprocessor may execute the atomic in a private
//! cache.
//!
//! The fixed version uses a scope that includes all participating threads: the device.

use cuda_std::{kernel, thread};

pitfall! { atomic_of_narrow_scope: Race, 4 x 32 {
    lesson: "the scope of an atomic must include every thread that uses the memory: for several blocks, the device",
    on_gpu: "right on many GPUs, which execute all global atomics in the L2 cache; no document guarantees it",
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

/// The fixed version.
#[kernel]
pub unsafe fn atomic_of_narrow_scope_fixed(input: *const u32, sum: *mut u32) {
    // SAFETY: i < 128, because four blocks have 32 threads each. The scope of the addition includes all blocks.
    unsafe {
        let i = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        ptx!("red.relaxed.gpu.global.add.u32 [{}], {};", in(reg64) sum, in(reg32) *input.add(i as usize));
    }
}
