//! An array of the thread of which only the first elements are filled.
//!
//! Each thread collects up to eight values, fewer if there are fewer, and then adds up all eight. The array is in
//! local memory, where the thread finds what an earlier one has left.
//!
//! The cure adds up as many as there are.

use core::mem::MaybeUninit;

use cuda_std::{kernel, thread};

pitfall! { local_array_half_filled: Init, 1 x 32 {
    lesson: "a thread's array has no contents before they are written: use as many elements as were filled",
    on_gpu: "wrong values in most threads, others in each run",
    arguments: [Input(32), Output(32)],
    right: |input, at| input[at].wrapping_mul(1 + at as u32 % 7),
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn local_array_half_filled(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut own = MaybeUninit::<[u32; 8]>::uninit();
        let own = own.as_mut_ptr().cast::<u32>();
        let count = 1 + i % 7;
        for k in 0..count {
            own.add(k).write_volatile(*input.add(i));
        }
        let mut sum = 0u32;
        for k in 0..8 {
            sum = sum.wrapping_add(own.add(k).read_volatile());
        }
        *output.add(i) = sum; // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn local_array_half_filled_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let mut own = MaybeUninit::<[u32; 8]>::uninit();
        let own = own.as_mut_ptr().cast::<u32>();
        let count = 1 + i % 7;
        for k in 0..count {
            own.add(k).write_volatile(*input.add(i));
        }
        let mut sum = 0u32;
        for k in 0..count {
            sum = sum.wrapping_add(own.add(k).read_volatile());
        }
        *output.add(i) = sum;
    }
}
