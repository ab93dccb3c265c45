//! Two warps that wait for each other at different barriers.
//!
//! Two named barriers, one for each direction between two warps, and the warps take them in different orders: each
//! waits at the one that the other comes to next.
//!
//! The cure has both come to the barriers in the same order.

use cuda_std::{kernel, shared_array, thread};

pitfall! { crossed_barriers: Sync, 1 x 64 {
    lesson: "barriers are come to in the same order by all, like locks: crossed, each side waits for the other",
    on_gpu: "the block stops for ever, and the launch with it",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn crossed_barriers(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        if i < 32 {
            ptx!("bar.sync 1, 64;"); // fault
            ptx!("bar.sync 2, 64;");
        } else {
            ptx!("bar.sync 2, 64;"); // other
            ptx!("bar.sync 1, 64;");
        }
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The cure.
#[kernel]
pub unsafe fn crossed_barriers_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        *tile.add(i) = *input.add(i);
        if i < 32 {
            ptx!("bar.sync 1, 64;");
            ptx!("bar.sync 2, 64;");
        } else {
            ptx!("bar.sync 1, 64;");
            ptx!("bar.sync 2, 64;");
        }
        *output.add(i) = *tile.add(63 - i);
    }
}
