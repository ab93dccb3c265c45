//! Votes: one bit of each lane, given to all (PTX ISA §9.7.13.9, `vote.sync`).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn llvm_vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn llvm_vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn llvm_vote_ballot(mask: u32, predicate: bool) -> u32;
}

/// Whether `predicate` is true in every lane in `mask`: `vote.sync.all.pred`.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has ended, and all of them make this call with
/// the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the same contract.
    unsafe { llvm_vote_all(mask, predicate) }
}

/// Whether `predicate` is true in at least one lane in `mask`: `vote.sync.any.pred`.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has ended, and all of them make this call with
/// the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the same contract.
    unsafe { llvm_vote_any(mask, predicate) }
}

/// The lanes in `mask` in which `predicate` is true, a bit for each: `vote.sync.ballot.b32`.
///
/// # Safety
/// The calling lane is in `mask`, no lane in `mask` has ended, and all of them make this call with
/// the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the same contract.
    unsafe { llvm_vote_ballot(mask, predicate) }
}
