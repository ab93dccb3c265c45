//! A thread-local array with unwritten elements at its end.
//!
//! Each thread writes up to eight values into an array and then adds up all eight elements. The array is in local
//! memory, where the unwritten elements hold values that an earlier thread left.
//!
//! The fixed version adds up only the elements that were written.

use core::mem::MaybeUninit;

use cuda_std::{kernel, thread};

pitfall! { local_array_half_filled: Init, 1 x 32 {
    lesson: "a thread's array is uninitialized: read only the elements that were written",
    on_gpu: "wrong values in most threads, different in each run",
    arguments: [Input(32), Output(32)],
    right: |input, at| input[at].wrapping_mul(1 + at as u32 % 7),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn local_array_half_filled(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut values = MaybeUninit::<[u32; 8]>::uninit();
        let values = values.as_mut_ptr().cast::<u32>();
        let count = 1 + i % 7;
        for k in 0..count {
            values.add(k).write_volatile(*input.add(i));
        }
        let mut sum = 0u32;
        for k in 0..8 {
            sum = sum.wrapping_add(values.add(k).read_volatile());
        }
        *output.add(i) = sum; // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn local_array_half_filled_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 32, because the block has 32 threads, and count <= 7. Only array elements below `count` are read, and
    // all these elements were written.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut values = MaybeUninit::<[u32; 8]>::uninit();
        let values = values.as_mut_ptr().cast::<u32>();
        let count = 1 + i % 7;
        for k in 0..count {
            values.add(k).write_volatile(*input.add(i));
        }
        let mut sum = 0u32;
        for k in 0..count {
            sum = sum.wrapping_add(values.add(k).read_volatile());
        }
        *output.add(i) = sum;
    }
}
