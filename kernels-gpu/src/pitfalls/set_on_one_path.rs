//! A variable that only one side of a branch sets.
//!
//! In CUDA C++, this bug is `int best; if (i < n) best = …;`, followed by code in which all threads use `best`. The
//! register holds an arbitrary value. Rust rejects such code, except with `MaybeUninit` or inline PTX, as here.
//!
//! The fixed version sets the variable on every path.

use cuda_std::{kernel, thread};

pitfall! { set_on_one_path: Init, 1 x 64 {
    lesson: "a variable needs a value on every path to its use, even for threads without work",
    on_gpu: "threads that skipped the branch write the register's old contents: 0, an address, or any other value",
    arguments: [Input(64), Output(64)],
    right: |input, at| if at < 40 { input[at] } else { 0 },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn set_on_one_path(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (value, exists) = (*input.add(i), u32::from(i < 40));
        let mut best = 0;
        ptx!(
            "{{ .reg .pred p; setp.ne.u32 p, {2}, 0; @p mov.u32 {0}, {1}; }}",
            out(reg32) best, in(reg32) value, in(reg32) exists
        );
        *output.add(i) = best; // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn set_on_one_path_fixed(input: *const u32, output: *mut u32) {
    // SAFETY: i < 64, because the block has 64 threads. Each thread writes one element of `output`.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let (value, exists) = (*input.add(i), i < 40);
        let best = if exists { value } else { 0 };
        *output.add(i) = best;
    }
}
