//! A wait for the wrong phase of an mbarrier.
//!
//! The first phase of a barrier in shared memory has parity 0. A wait for parity 1 asks for the phase before it,
//! which counts as over: it returns at once, as if everybody had arrived. Pipelines that take turns between barriers
//! get there by one flip of the parity too many.
//!
//! The cure waits for parity 0 first, and flips the parity after each wait.
#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]

use cuda_std::{kernel, shared_array, thread};

use crate::copy_async::Shared;

pitfall! { mbarrier_of_wrong_phase: Race, 1 x 64 {
    lesson: "the first phase of an mbarrier has parity 0: a wait for parity 1 returns at once",
    on_gpu: "the first warp does not wait and reads too early; the last one ends the phase, and then waits for ever",
    arguments: [Input(64), Output(64)],
    right: |input, at| input[63 - at],
} }

/// The faulty kernel.
#[kernel]
pub unsafe fn mbarrier_of_wrong_phase(input: *const u32, output: *mut u32) {
    unsafe {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 64];
        let barrier = Shared::of(shared_array![u64; 1]).0;
        if i == 0 {
            ptx!("mbarrier.init.shared.b64 [{}], 64;", in(reg32) barrier);
        }
        thread::sync_threads();
        *tile.add(i) = *input.add(i); // other
        ptx!("{{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [{}]; }}", in(reg32) barrier);
        while !is_over(barrier, 1) {}
        *output.add(i) = *tile.add(63 - i); // fault
    }
}

/// The cure.
#[kernel]
pub unsafe fn mbarrier_of_wrong_phase_cured(input: *const u32, output: *mut u32) {
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
        while !is_over(barrier, 0) {}
        *output.add(i) = *tile.add(63 - i);
    }
}

/// Whether the phase of this parity is over.
#[inline(always)]
unsafe fn is_over(barrier: u32, parity: u32) -> bool {
    let mut over = 1u32;
    // SAFETY: the barrier was initialized.
    unsafe {
        ptx!(
            "{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
            out(reg32) over, in(reg32) barrier, in(reg32) parity
        );
    }
    over != 0
}
