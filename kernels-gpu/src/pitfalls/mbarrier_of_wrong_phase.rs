//! A wait for the wrong phase of an mbarrier.
//!
//! The first phase of an mbarrier has parity 0. A wait for parity 1 refers to the phase before the first phase, which
//! counts as complete, so the wait returns at once. In a pipeline that alternates between barriers, one extra flip of
//! the parity causes this bug.
//!
//! The fixed version waits for parity 0 first. A loop would flip the parity after each wait.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use core::mem::MaybeUninit;

use cuda_std::{address_space, kernel, thread};

use super::shared_address;

pitfall! { mbarrier_of_wrong_phase: Race, 1 x 64 {
    lesson: "the first phase of an mbarrier has parity 0: a wait for parity 1 returns at once",
    on_gpu: "the first warp reads too early; the last warp completes the phase, and then waits forever",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn mbarrier_of_wrong_phase(input: *const u32, output: *mut u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();
    #[address_space(shared)]
    static mut BARRIER: MaybeUninit<u64> = MaybeUninit::uninit();
    let (tile, barrier) = ((&raw mut TILE).cast::<u32>(), shared_address(&raw mut BARRIER));
    unsafe {
        let i = thread::thread_idx_x() as usize;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 64;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i); // other
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        while !is_complete(barrier, 1) {}
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The fixed version.
#[kernel]
pub unsafe fn mbarrier_of_wrong_phase_fixed(input: *const u32, output: *mut u32) {
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
        while !is_complete(barrier, 0) {}
        *output.add(i) = *tile.add(63 - i);
    }
}

/// Returns whether the phase with this parity is complete.
///
/// # Safety
/// `barrier` is the shared address of an initialized mbarrier.
#[inline(always)]
unsafe fn is_complete(barrier: u32, parity: u32) -> bool {
    let mut complete = 1u32;
    // SAFETY: `barrier` is initialized, and the instruction only reads it.
    unsafe {
        ptx!(
            "{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
            out(reg32) complete, in(reg32) barrier, in(reg32) parity
        );
    }
    complete != 0
}
