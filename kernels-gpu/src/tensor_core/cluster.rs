//! `%cluster_ctarank` and `barrier.cluster`: clusters are blocks that run at the same time on neighboring
//! multiprocessors and access each other's shared memory.
//!
//! (PTX ISA, "Special Registers: %cluster_ctarank"; "Parallel Synchronization and Communication Instructions:
//! barrier.cluster".)

/// Returns this block's rank in its cluster (`%cluster_ctarank`).
#[inline(always)]
#[must_use]
pub fn rank() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let rank: u32;
        ptx!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack, preserves_flags));
        rank
    }
    #[cfg(not(target_arch = "nvptx64"))]
    0
}

/// Waits for all threads of the cluster (`barrier.cluster.arrive`, `barrier.cluster.wait`).
///
/// # Safety
/// The caller must ensure that all threads of the cluster call it.
#[inline(always)]
pub unsafe fn sync() {
    ptx!(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
        options(nostack, preserves_flags)
    );
}
