//! Flags: how the blocks of a group, one of each rank, wait for each other.
//!
//! A flag is a 32-bit word in the memory of the rank that waits for it. Waiting there is a read of local memory, and only
//! the setting of the flag crosses a link. Each flag has one writer and one waiter:
//! - The writer's block writes its data. After a barrier of the block, one thread stores 1 to the flag (`Flags::set`).
//! - One thread of the waiter's block reads the flag until it is 1, stores 0 for the next use, and then a barrier of the
//!   block lets the other threads read the data (`Flags::wait_and_clear`).
//!
//! # Memory order
//! PTX ISA, chapter "Memory Consistency Model". The store of 1 is a *release* and the read of 1 is followed by an
//! *acquire* fence, so the two form a release-acquire pattern. The barriers of the two blocks extend it to all threads:
//! everything that the writer's block wrote before the flag happens before everything that the waiter's block reads after
//! it. The scope is `.sys`, because the two threads may run on different devices.
//!
//! The reads of the flag and the store of 0 are relaxed. One fence after the last read is enough, and an acquire at every
//! read would be a fence in every iteration of the loop.
//!
//! # Why stores are enough
//! A flag is set again only after its waiter has cleared it: between two uses of a flag, its writer has waited for a
//! later flag of its waiter. So no atomic read-modify-write crosses a link, which would have to wait for an answer.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_system, atomic_store_32_system, system_thread_fence};
use cuda_std::thread;

use super::{MAX_RANKS, Table};

/// The barrier of the ranks at the start of a launch.
pub const START: usize = 0;
/// The barrier of the ranks at the end of a launch.
pub const END: usize = 1;
/// The number of barriers. Successive barriers use different flags, also from one launch to the next: a rank can be one
/// barrier ahead of another rank, but not two.
const BARRIERS: usize = 2;

/// The maximum number of steps of a launch: a ring has `2 * (ranks - 1)`.
const MAX_STEPS: usize = 2 * MAX_RANKS;

/// The flags of a block: one for each barrier and rank, then one for each step.
pub const FLAGS_PER_BLOCK: usize = BARRIERS * MAX_RANKS + MAX_STEPS;

/// The flags of all ranks, from the view of one rank.
pub struct Flags<'a> {
    /// The address of each rank's flags.
    pub table: &'a Table<u32>,
    /// This block's rank.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
}

impl Flags<'_> {
    /// Waits for the blocks of this group on all ranks. What they wrote before the barrier is visible after it.
    ///
    /// # Safety
    /// All threads of the block call it. All ranks call the same barriers in the same order, and never the same one twice in
    /// succession.
    #[inline(always)]
    pub unsafe fn barrier(&self, barrier: usize) {
        thread::sync_threads();
        let peer = thread::thread_idx_x();
        if peer < self.ranks {
            // SAFETY: thread `peer` alone sets this rank's flag in the peer's memory and waits for the peer's flag in this rank's
            // memory. Both were cleared before the barrier in between, which has other flags.
            unsafe {
                self.set(peer, barrier * MAX_RANKS + self.rank as usize);
                self.wait_and_clear(barrier * MAX_RANKS + peer as usize);
            }
        }
        thread::sync_threads();
    }

    /// Signals to a rank that this block has done a step: what the block wrote is visible to the peer after its
    /// [`wait`](Self::wait) for the step.
    ///
    /// # Safety
    /// All threads of the block call it. In a launch, a rank gets at most one signal for each step below `MAX_STEPS`, and
    /// waits for it. The launch ends with a [`barrier`](Self::barrier).
    #[inline(always)]
    pub unsafe fn signal(&self, peer: u32, step: usize) {
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            // SAFETY: the peer cleared the flag in the previous launch, before the barrier at the end of that launch.
            unsafe { self.set(peer, BARRIERS * MAX_RANKS + step) };
        }
    }

    /// Waits for the [`signal`](Self::signal) of a step.
    ///
    /// # Safety
    /// All threads of the block call it, once for the step, and one rank signals the step to this rank.
    #[inline(always)]
    pub unsafe fn wait(&self, step: usize) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: a rank signals the step, so the loop ends.
            unsafe { self.wait_and_clear(BARRIERS * MAX_RANKS + step) };
        }
        thread::sync_threads();
    }

    /// Sets a flag of a rank, ordered after everything that the block has done before its last barrier.
    ///
    /// # Safety
    /// The flag is 0, and this thread is the only one that sets it.
    #[inline(always)]
    unsafe fn set(&self, peer: u32, flag: usize) {
        // SAFETY: the flag is among the peer's, and every access to it is atomic.
        unsafe { atomic_store_32_system(self.address(peer, flag), Release, 1) };
    }

    /// Waits until a flag of this rank is set, clears it, and orders everything that follows after it.
    ///
    /// # Safety
    /// Another thread sets the flag, and no other thread clears it.
    #[inline(always)]
    unsafe fn wait_and_clear(&self, flag: usize) {
        let flag = self.address(self.rank, flag);
        // SAFETY: the flag is among this rank's, and every access to it is atomic.
        unsafe {
            while atomic_load_32_system(flag, Relaxed) == 0 {}
            atomic_store_32_system(flag, Relaxed, 0);
        }
        system_thread_fence(Acquire);
    }

    /// Returns the address of a flag of this group in a rank's memory.
    #[inline(always)]
    fn address(&self, rank: u32, flag: usize) -> *mut u32 {
        self.table.of(rank).wrapping_add(thread::block_idx_x() as usize * FLAGS_PER_BLOCK + flag)
    }
}
