//! Blocks that run together on neighbouring multiprocessors and reach each other's shared memory (clusters).

/// This block's rank in its cluster (`%cluster_ctarank`; PTX ISA, "Special Registers").
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

/// A barrier of all threads of the cluster (`barrier.cluster`; PTX ISA, "Parallel Synchronization and Communication
/// Instructions").
///
/// # Safety
/// All threads of the cluster come.
#[inline(always)]
pub unsafe fn sync() {
    ptx!(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
        options(nostack, preserves_flags)
    );
}
