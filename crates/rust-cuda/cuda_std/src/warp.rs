//! Collective operations of the 32 threads of a warp, which move data from register to register.
//!
//! A thread's index in its warp is its **lane**, 0 to 31. Bit `i` of a `mask` stands for lane `i`. An operation with a
//! mask first waits until every lane in the mask reaches it. All these lanes must call it with the same mask.

use crate::gpu_only;

mod matching;
mod reduce;
mod shuffle;
mod vote;

pub use matching::{WarpMatchValue, warp_match_all, warp_match_any};
pub use reduce::{WarpReduceValue, WarpReductionOp, warp_reduce};
pub use shuffle::{
    WarpShuffleMode, WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};
pub use vote::{warp_vote_all, warp_vote_any, warp_vote_ballot};

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn llvm_laneid() -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    safe fn llvm_activemask() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn llvm_bar_warp_sync(mask: u32);
}

/// Returns this thread's lane, 0 to 31: `%laneid` (PTX ISA §10.3).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    llvm_laneid()
}

/// Returns the lanes that execute this call together: `activemask.b32` (PTX ISA §9.7.13.11).
///
/// Threads on the same path need not run together, so the mask does not show which lanes take a branch. To find those
/// lanes, call [`warp_vote_ballot`] before the branch.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    llvm_activemask()
}

/// Waits until every lane in `mask` reaches the call: `bar.warp.sync` (PTX ISA §9.7.13.2).
///
/// After the call, every lane in `mask` sees the memory writes that the lanes in `mask` made before it.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_bar_warp_sync(mask) };
}
