//! An mbarrier that is told to expect more arrivals than come.
//!
//! The count is given when the barrier is initialized. Here it has one for the thread that would issue a copy, and
//! that thread was left out, or arrives as one of the 64 already. The phase never ends.
//!
//! The cure counts the arrivals that the code makes.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { mbarrier_count_too_high: Sync, 1 x 64 {
    lesson: "an mbarrier expects as many arrivals as it was initialized with: count those that the code makes",
    on_gpu: "the block stops for ever, and the launch with it",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn mbarrier_count_too_high(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let barrier = Shared::of(shared_array![u64; 1]).0;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 65;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i);
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        let mut over = 0u32;
        while over == 0 {
            ptx!("{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], 0; selp.u32 {0}, 1, 0, p; }}", out(reg32) over, in(reg32) barrier); // fault
        }
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn mbarrier_count_too_high_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let barrier = Shared::of(shared_array![u64; 1]).0;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 64;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i);
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        let mut over = 0u32;
        while over == 0 {
            ptx!("{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], 0; selp.u32 {0}, 1, 0, p; }}", out(reg32) over, in(reg32) barrier);
        }
        *output.add(i) = *tile.add(63 - i);
    }
}
