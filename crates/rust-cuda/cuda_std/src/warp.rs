//! Operations that the 32 threads of a warp do together, register to register.
//!
//! A thread's place in its warp is its **lane**, 0 to 31. A `mask` names lanes by bits: bit 0 is lane
//! 0. All operations with a mask first wait until every lane in it is there; each of those lanes must
//! call with the same mask.

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

/// This thread's lane, 0 to 31: `%laneid` (PTX ISA §10.3).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    llvm_laneid()
}

/// The lanes that execute this call together: `activemask.b32` (PTX ISA §9.7.13.11).
///
/// Threads on the same path need not run together, so this does not tell which lanes take a branch.
/// [`warp_vote_ballot`] before the branch does.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    llvm_activemask()
}

/// Waits until every lane in `mask` is here: `bar.warp.sync` (PTX ISA §9.7.13.2).
///
/// After the call, every lane in `mask` sees what the lanes in `mask` wrote to memory before it.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has ended, and all of them call with the same
/// `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the same contract.
    unsafe { llvm_bar_warp_sync(mask) };
}
