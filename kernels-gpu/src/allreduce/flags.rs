//! Flags with which the blocks of a group, one per rank, wait for each other.
//!
//! A flag is a 32-bit word in the memory of the rank that waits for it. The waiting rank reads local memory, and only
//! the store that sets the flag crosses a link. Each flag has one writer and one waiter:
//! - The writer's block writes its data. After a block barrier, one thread stores 1 to the flag (`Flags::set`).
//! - One thread of the waiter's block polls the flag until it is 1, and stores 0 for the next use. After a block
//!   barrier, the other threads can read the data (`Flags::wait_and_clear`).
//!
//! # Memory order
//! See the PTX ISA, chapter "Memory Consistency Model". The store of 1 is a *release*, and an *acquire* fence follows
//! the read of 1, so the store and the fence form a release-acquire pattern. The barriers of the two blocks extend this
//! order to all threads. So all writes that the writer's block makes before it sets the flag happen before all reads
//! that the waiter's block makes after the wait. The scope is `.sys`, because the two threads may run on different
//! devices.
//!
//! The reads of the flag and the store of 0 are relaxed. One fence after the last read is enough. With an acquire at
//! every read, every iteration of the loop would contain a fence.
//!
//! # Why stores are enough
//! A flag is set again only after its waiter has cleared it: before the next use of the flag, its writer waits for
//! another flag, which the waiter sets after clearing the first. So no atomic read-modify-write crosses a link; it
//! would have to wait for a response.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{atomic_load_32_system, atomic_store_32_system, system_thread_fence};
use cuda_std::thread;

use super::{MAX_RANKS, Table};

/// The barrier of the ranks at the start of a launch.
pub const START: usize = 0;
/// The barrier of the ranks at the end of a launch.
pub const END: usize = 1;
/// The number of barriers. Successive barriers use different flags, even across launches, because a rank can be one
/// barrier ahead of another rank, but not two.
const BARRIERS: usize = 2;

/// The maximum number of steps in a launch. A ring has `2 * (ranks - 1)` steps.
const MAX_STEPS: usize = 2 * MAX_RANKS;

/// The number of flags per block: one for each barrier and rank, then one for each step.
pub const FLAGS_PER_BLOCK: usize = BARRIERS * MAX_RANKS + MAX_STEPS;

/// The flags of all ranks, as seen by one rank.
pub struct Flags<'a> {
    /// The address of each rank's flags.
    pub table: &'a Table<u32>,
    /// This block's rank.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
}

impl Flags<'_> {
    /// Waits for the blocks of this group on all ranks. The blocks' writes before the barrier are visible after it.
    ///
    /// # Safety
    /// All threads of the block call the function. All ranks call the same barriers in the same order, and never the
    /// same barrier twice in succession.
    #[inline(always)]
    pub unsafe fn barrier(&self, barrier: usize) {
        thread::sync_threads();
        let peer = thread::thread_idx_x();
        if peer < self.ranks {
            // SAFETY: only thread `peer` sets this rank's flag in the peer's memory and waits for the peer's flag in
            // this rank's memory. Both flags were cleared before the previous barrier, which uses other flags.
            unsafe {
                self.set(peer, barrier * MAX_RANKS + self.rank as usize);
                self.wait_and_clear(barrier * MAX_RANKS + peer as usize);
            }
        }
        thread::sync_threads();
    }

    /// Signals to a rank that this block has completed a step. The block's earlier writes are visible to the peer after
    /// the peer's [`wait`](Self::wait) for the step.
    ///
    /// # Safety
    /// All threads of the block call the function. In a launch, a rank gets at most one signal for each step below
    /// `MAX_STEPS`, and waits for each signal. The launch ends with a [`barrier`](Self::barrier).
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
    /// All threads of the block call the function, once per step, and one rank signals the step to this rank.
    #[inline(always)]
    pub unsafe fn wait(&self, step: usize) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: a rank signals the step, so the loop ends.
            unsafe { self.wait_and_clear(BARRIERS * MAX_RANKS + step) };
        }
        thread::sync_threads();
    }

    /// Sets a flag of a rank. The store is ordered after all accesses that the block made before its last block
    /// barrier.
    ///
    /// # Safety
    /// The flag is 0, and only this thread sets the flag.
    #[inline(always)]
    unsafe fn set(&self, peer: u32, flag: usize) {
        // SAFETY: the peer's memory has this flag, and every access to the flag is atomic.
        unsafe { atomic_store_32_system(self.address(peer, flag), Release, 1) };
    }

    /// Waits until a flag of this rank is set, and clears the flag. The store that sets the flag happens before all
    /// later accesses of this thread.
    ///
    /// # Safety
    /// Another thread sets the flag, and no other thread clears it.
    #[inline(always)]
    unsafe fn wait_and_clear(&self, flag: usize) {
        let flag = self.address(self.rank, flag);
        // SAFETY: this rank's memory has this flag, and every access to the flag is atomic.
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
