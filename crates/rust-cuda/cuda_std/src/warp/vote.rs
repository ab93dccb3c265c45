//! Votes: one bit from each lane, distributed to all lanes (PTX ISA §9.7.13.9, `vote.sync`).

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

/// Returns whether `predicate` is true in every lane in `mask`: `vote.sync.all.pred`.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_vote_all(mask, predicate) }
}

/// Returns whether `predicate` is true in at least one lane in `mask`: `vote.sync.any.pred`.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_vote_any(mask, predicate) }
}

/// Returns a bit mask of the lanes in `mask` whose `predicate` is true: `vote.sync.ballot.b32`.
///
/// # Safety
/// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
/// All lanes in `mask` must make this call with the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe { llvm_vote_ballot(mask, predicate) }
}
