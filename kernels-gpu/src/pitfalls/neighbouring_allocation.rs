//! Two allocations that are taken for one, because they happen to lie side by side.
//!
//! Two buffers were allocated one after the other, and code reads through the first into the second. Checks of
//! addresses alone are content: every address is one of an allocation. Another driver, another order of allocations
//! or a debugger that puts a gap between them, and the second half is nonsense.
//!
//! The cure uses each pointer for its own buffer. (Or allocates once, and computes both pointers from that one.)

use cuda_std::{kernel, thread};

pitfall! { neighbouring_allocation: Memory, 1 x 256 {
    lesson: "a pointer reaches its own allocation only, whatever lies behind it today",
    on_gpu: "often right: the driver puts small allocations side by side, and promises nothing",
    arguments: [Input(128), Input(128), Output(256)],
    right: |input, at| input[at % 128],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn neighbouring_allocation(first: *const u32, second: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = *first.add(i); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn neighbouring_allocation_cured(first: *const u32, second: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *output.add(i) = if i < 128 { *first.add(i) } else { *second.add(i - 128) };
    }
}
