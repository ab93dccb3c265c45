//! `mbarrier`: a barrier in shared memory that counts arriving threads and arriving bytes.
//!
//! A phase of the barrier ends when the number of threads that it was initialized for have arrived, and all bytes that
//! they announced have been copied. A thread that waits names the phase by its parity: the first phase has parity 0,
//! the second has parity 1, the third has parity 0 again.
//!
//! (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use crate::copy_async::Shared;

/// The address of a barrier in shared memory: 8 bytes, aligned to 8.
#[derive(Clone, Copy)]
pub struct Mbarrier(pub Shared);

impl Mbarrier {
    /// The size of a barrier in bytes.
    pub const BYTES: u32 = 8;

    /// Initializes the barrier for this number of arrivals in each phase (`mbarrier.init`).
    ///
    /// # Safety
    /// The caller must ensure that the address is in this block's shared memory and that nothing else uses it. Other
    /// threads may arrive or wait only after [`fence_init`] and a barrier of the block or of the cluster.
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        ptx!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) self.0.0, in(reg32) arrivals,
            options(nostack, preserves_flags));
    }

    /// Arrives. Threads that wait for the end of the phase then see what this thread did before (`mbarrier.arrive`).
    ///
    /// # Safety
    /// The caller must ensure that the barrier is initialized and that its phase still lacks an arrival.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        ptx!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) self.0.0, options(nostack, preserves_flags));
    }

    /// Arrives at the barrier with the same address in the block `rank` of the cluster (`mapa`, `mbarrier.arrive`).
    ///
    /// # Safety
    /// As for [`Mbarrier::arrive`]. The caller must also ensure that the cluster has a block of this rank, and that the
    /// block has not ended.
    #[inline(always)]
    pub unsafe fn arrive_remote(self, rank: u32) {
        ptx!("{{ .reg .b32 r; mapa.shared::cluster.u32 r, {}, {}; mbarrier.arrive.shared::cluster.b64 _, [r]; }}",
            in(reg32) self.0.0, in(reg32) rank, options(nostack, preserves_flags));
    }

    /// Arrives and announces the number of bytes that copies will write in this phase (`mbarrier.arrive.expect_tx`).
    ///
    /// # Safety
    /// As for [`Mbarrier::arrive`].
    #[inline(always)]
    pub unsafe fn arrive_expect_tx(self, bytes: u32) {
        ptx!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) self.0.0, in(reg32) bytes,
            options(nostack, preserves_flags));
    }

    /// Waits for the end of the phase with this parity (`mbarrier.try_wait.parity`). Returns at once if the barrier is
    /// in the phase after it.
    ///
    /// # Safety
    /// The caller must ensure that the barrier is initialized and that it is in the named phase or in the next one.
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        loop {
            let is_over: u32;
            ptx!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{}], {}; selp.b32 {}, 1, 0, p; }}",
                in(reg32) self.0.0, in(reg32) parity, lateout(reg32) is_over, options(nostack, preserves_flags));
            if is_over != 0 {
                break;
            }
        }
    }
}

/// Makes this thread's initialized barriers visible to the cluster and to tensor copies (`fence.mbarrier_init`). A
/// barrier of the block or of the cluster must follow.
#[inline(always)]
pub fn fence_init() {
    ptx!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags));
}
