//! `barrier.sync` and `barrier.arrive`: the numbered barriers of a block.
//!
//! A block has 16 of them. `thread::sync_threads` uses number 0, and the others synchronize some of the block's warps.
//!
//! (PTX ISA, "Parallel Synchronization and Communication Instructions: barrier".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Waits at the barrier `index`, 1 to 15, until `threads` threads have arrived (`barrier.sync`).
///
/// # Safety
/// The caller must ensure that `threads` is a multiple of 32, and that whole warps with this number of threads in all
/// call [`sync`] or [`arrive`] for the barrier.
#[inline(always)]
pub unsafe fn sync(index: u32, threads: u32) {
    ptx!("barrier.sync {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}

/// Arrives at the barrier `index` without waiting (`barrier.arrive`). Other warps wait there with [`sync`].
///
/// # Safety
/// As for [`sync`].
#[inline(always)]
pub unsafe fn arrive(index: u32, threads: u32) {
    ptx!("barrier.arrive {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}
