//! Barriers in shared memory that count threads and bytes (`mbarrier`).
//!
//! A barrier's phase ends when as many threads have arrived as it was initialized for, and all bytes that they
//! announced have been copied. Phases are told apart by their parity: the first is 0. (PTX ISA, "Parallel
//! Synchronization and Communication Instructions: mbarrier".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use crate::copy_async::Shared;

/// A barrier's place in shared memory: 8 bytes, aligned to 8.
#[derive(Clone, Copy)]
pub struct Barrier(pub Shared);

impl Barrier {
    /// The bytes of a barrier.
    pub const BYTES: u32 = 8;

    /// Makes a barrier for so many arrivals in each phase (`mbarrier.init`).
    ///
    /// # Safety
    /// The place is this block's, nothing else uses it, and other threads arrive or wait only behind a barrier of the
    /// block or cluster that follows [`publish`].
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        ptx!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) self.0.0, in(reg32) arrivals,
            options(nostack, preserves_flags));
    }

    /// Arrives, and lets what waits for the phase see what this thread did before (`mbarrier.arrive`).
    ///
    /// # Safety
    /// The barrier is initialized, and the phase has not had all its arrivals.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        ptx!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) self.0.0, options(nostack, preserves_flags));
    }

    /// Arrives at the barrier that lies at the same place in another block of the cluster (`mapa`, `mbarrier.arrive`).
    ///
    /// # Safety
    /// As for [`Barrier::arrive`]; the cluster has a block of this rank, and it has not ended.
    #[inline(always)]
    pub unsafe fn arrive_in_block(self, rank: u32) {
        ptx!("{{ .reg .b32 r; mapa.shared::cluster.u32 r, {}, {}; mbarrier.arrive.shared::cluster.b64 _, [r]; }}",
            in(reg32) self.0.0, in(reg32) rank, options(nostack, preserves_flags));
    }

    /// Arrives, and announces so many bytes that will be copied before the phase ends (`mbarrier.arrive.expect_tx`).
    ///
    /// # Safety
    /// As for [`Barrier::arrive`].
    #[inline(always)]
    pub unsafe fn arrive_expecting(self, bytes: u32) {
        ptx!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) self.0.0, in(reg32) bytes,
            options(nostack, preserves_flags));
    }

    /// Waits for the end of the phase of this parity (`mbarrier.try_wait.parity`).
    ///
    /// # Safety
    /// The barrier is initialized, and it is in this phase or the one after.
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

/// Makes this thread's initialized barriers known to the cluster and to bulk copies (`fence.mbarrier_init`). A barrier
/// of the block, or of the cluster, follows.
#[inline(always)]
pub fn publish() {
    ptx!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags));
}

/// Lets bulk copies that are started later see what this thread has written to shared memory before
/// (`fence.proxy.async`).
#[inline(always)]
pub fn fence_for_bulk_copies() {
    ptx!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags));
}

/// The same, of global memory. Who starts the copies, in another block too, needs it as well, behind what it waited for.
#[inline(always)]
pub fn fence_for_bulk_copies_of_global() {
    ptx!("fence.proxy.async.global;", options(nostack, preserves_flags));
}

/// A barrier of the first `threads` threads that come to the barrier `index`, 1 to 15 (`barrier.sync`).
///
/// # Safety
/// `threads` is a multiple of 32, and as many threads come, whole warps of them.
#[inline(always)]
pub unsafe fn sync_some(index: u32, threads: u32) {
    ptx!("barrier.sync {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}

/// Arrives at the barrier that other threads wait at by [`sync_some`], without waiting (`barrier.arrive`).
///
/// # Safety
/// As for [`sync_some`]; those who wait and those who arrive are `threads` together.
#[inline(always)]
pub unsafe fn arrive_some(index: u32, threads: u32) {
    ptx!("barrier.arrive {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}
