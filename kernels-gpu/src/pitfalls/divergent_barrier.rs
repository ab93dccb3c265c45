//! A barrier inside of a branch that only some threads of a warp take.
//!
//! The work is guarded, and the barrier went into the guard with it. The threads that skip the branch do not come to
//! this barrier. The hardware counts warps and may go on with some of the threads missing, or stop.
//!
//! The cure guards the work, and leaves the barrier to all.

use cuda_std::{kernel, shared_array, thread};

pitfall! { divergent_barrier: Sync, 1 x 64 {
    lesson: "a barrier stands where all threads of the block come by: guards go around the work, not around the barrier",
    on_gpu: "undefined: on many GPUs it goes well, as a warp arrives as a whole; on others the block stops",
    arguments: [Input(64), Output(64)],
    right: |input, at| if at < 40 { input[39 - at] } else { input[at] },
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn divergent_barrier(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let mut value = *input.add(i);
        if i < 40 {
            *tile.add(i) = value;
            thread::sync_threads(); // fault
            value = *tile.add(39 - i);
        }
        *output.add(i) = value;
    }
}

/// The cure.
#[kernel]
pub unsafe fn divergent_barrier_cured(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let mut value = *input.add(i);
        if i < 40 {
            *tile.add(i) = value;
        }
        thread::sync_threads();
        if i < 40 {
            value = *tile.add(39 - i);
        }
        *output.add(i) = value;
    }
}
