//! An mbarrier that expects more arrivals than the code makes.
//!
//! The number of expected arrivals is set when the barrier is initialized. Here this number includes one arrival for a
//! thread that would issue a copy. But either no such thread exists, or the thread already arrives as one of the 64
//! threads. The phase never completes.
//!
//! The fixed version initializes the barrier with the number of arrivals that the code makes.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { mbarrier_count_too_high: Sync, 1 x 64 {
    lesson: "an mbarrier expects the number of arrivals of its initialization: count the arrivals that the code makes",
    on_gpu: "the block never finishes, so the launch hangs",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn mbarrier_count_too_high(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIER: MaybeUninit<u64> = MaybeUninit::uninit();
    let (tile, barrier) = ((&raw mut TILE).cast::<u32>(), shared_address(&raw mut BARRIER));
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 65;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i);
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        loop {
            let mut is_complete = 1u32;
            ptx!("{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], 0; selp.u32 {0}, 1, 0, p; }}", out(reg32) is_complete, in(reg32) barrier); // fault
            if is_complete != 0 {
                break;
            }
        }
        *output.add(i) = *tile.add(63 - i);
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn mbarrier_count_too_high_fixed(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIER: MaybeUninit<u64> = MaybeUninit::uninit();
    let (tile, barrier) = ((&raw mut TILE).cast::<u32>(), shared_address(&raw mut BARRIER));
    // SAFETY: i < 64, because the block has 64 threads. The barrier is initialized before any thread arrives. All 64
    // threads arrive after their write, so the tile is complete when the phase is complete.
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 64;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i);
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        loop {
            let mut is_complete = 1u32;
            ptx!("{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], 0; selp.u32 {0}, 1, 0, p; }}", out(reg32) is_complete, in(reg32) barrier);
            if is_complete != 0 {
                break;
            }
        }
        *output.add(i) = *tile.add(63 - i);
    }
}
