//! Two warps that wait for each other at different barriers.
//!
//! Two warps use two named barriers, one for each direction of communication, but in different orders. Each warp waits
//! at a barrier that the other warp reaches only later.
//!
//! In the fixed version, both warps use the barriers in the same order.

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

pitfall! { crossed_barriers: Sync, 1 x 64 {
    lesson: "all warps must reach named barriers in the same order, like locks; otherwise they deadlock",
    on_gpu: "the block never finishes, so the launch hangs",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn crossed_barriers(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    unsafe {
        let i = thread::thread_idx_x() as usize;
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

/// The fixed version.
#[kernel]
pub unsafe fn crossed_barriers_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<u32>();
    // SAFETY: i < 64, because the block has 64 threads. All of them reach both barriers, which separate the tile's
    // writes from its reads.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        *tile.add(i) = *input.add(i);
        ptx!("bar.sync 1, 64;");
        ptx!("bar.sync 2, 64;");
        *output.add(i) = *tile.add(63 - i);
    }
}
