//! A barrier for all blocks of a grid.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_device, atomic_load_32_device, atomic_store_32_device, device_thread_fence,
};
use cuda_std::thread;

/// The barriers of a launch in which all blocks are resident at the same time.
pub(crate) struct GridBarrier {
    /// The number of arrivals in this launch.
    counter: *mut u32,
    /// The number of arrivals after which the next barrier is complete.
    target: u32,
}

impl GridBarrier {
    /// Returns the barriers that count their arrivals in `counter`.
    ///
    /// # Safety
    /// `counter` is 0, and only these barriers use it.
    #[inline(always)]
    pub(crate) unsafe fn new(counter: *mut u32) -> Self {
        Self { counter, target: 0 }
    }

    /// Waits until all blocks have arrived. Their writes before the barrier are visible after it.
    ///
    /// # Safety
    /// All threads of all blocks call the function, and all blocks are resident.
    #[inline(always)]
    pub(crate) unsafe fn wait(&mut self) {
        self.target += thread::grid_dim_x();
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            // SAFETY: the counter is accessed with atomics only.
            unsafe {
                atomic_fetch_add_u32_device(self.counter, Release, 1);
                while atomic_load_32_device(self.counter, Relaxed) < self.target {}
            }
            device_thread_fence(Acquire);
        }
        thread::sync_threads();
    }

    /// Resets the counter for the next launch: the last block that calls this function sets the counter to 0.
    ///
    /// # Safety
    /// Each block calls the function once, after its last barrier.
    #[inline(always)]
    pub(crate) unsafe fn finish(self) {
        if thread::thread_idx_x() == 0 {
            // SAFETY: the counter is accessed with atomics only, and no block waits for it anymore.
            unsafe {
                let arrived = atomic_fetch_add_u32_device(self.counter, Relaxed, 1) + 1;
                if arrived == self.target + thread::grid_dim_x() {
                    atomic_store_32_device(self.counter, Relaxed, 0);
                }
            }
        }
    }
}
