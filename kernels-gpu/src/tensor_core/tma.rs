//! `cp.async.bulk.tensor`: the Tensor Memory Accelerator (TMA) copies boxes of a matrix between global and shared
//! memory.
//!
//! The TMA is a copy engine in each multiprocessor of a Hopper GPU. The host describes a matrix and the size of its
//! boxes in a [`TensorMap`]. One thread then starts a copy with the coordinates of a box's first element. The engine
//! computes the addresses, swizzles the box in shared memory, reads zeros where the box is outside of the matrix, and
//! does not write there.
//!
//! (PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor"; CUDA C++ Programming Guide,
//! "Asynchronous Data Copies using the Tensor Memory Accelerator".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use super::mbarrier::Mbarrier;
use crate::copy_async::Shared;

/// The description of a matrix and its boxes that the driver has encoded (`CUtensorMap`). A kernel takes it as a
/// parameter with `#[grid_constant]`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

impl TensorMap {
    /// Starts a copy of the box at this column and row to shared memory. Its bytes count as arrived at `barrier`.
    ///
    /// # Safety
    /// The caller must ensure that the map describes a matrix that nothing writes during the launch; that `to` has the
    /// bytes of a box, aligned to 1024 for a box that is swizzled by 128 bytes; that no thread accesses them before the
    /// barrier's phase ends; and that a thread has announced the bytes in this phase.
    #[inline(always)]
    pub unsafe fn load(&self, column: u32, row: u32, to: Shared, barrier: Mbarrier) {
        ptx!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) barrier.0.0,
            options(nostack, preserves_flags));
    }

    /// Starts a copy like [`TensorMap::load`] to the same address in several blocks of the cluster: a bit of `blocks`
    /// for each rank. The bytes count as arrived at the barrier with the same address in each of these blocks.
    ///
    /// # Safety
    /// As for [`TensorMap::load`], in each of these blocks.
    #[inline(always)]
    pub unsafe fn load_multicast(&self, column: u32, row: u32, to: Shared, barrier: Mbarrier, blocks: u16) {
        ptx!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
              [{}], [{}, {{{}, {}}}], [{}], {};",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) barrier.0.0,
            in(reg16) blocks, options(nostack, preserves_flags));
    }

    /// Starts a copy of a box from shared memory to this column and row of the matrix.
    ///
    /// # Safety
    /// The caller must ensure that the map describes a matrix and that no other thread accesses the box there; that
    /// `from` has the bytes of a box, aligned as for [`TensorMap::load`]; that [`fence_shared`] and a barrier separate
    /// the threads that wrote them from this call; and that no thread writes them before [`wait_read`].
    #[inline(always)]
    pub unsafe fn store(&self, column: u32, row: u32, from: Shared) {
        ptx!("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{}, {{{}, {}}}], [{}];",
            in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) from.0,
            options(nostack, preserves_flags));
    }
}

/// Fetches the descriptions before the first copies need them (`prefetch.tensormap`).
#[inline(always)]
pub fn prefetch([first, second, third]: [&TensorMap; 3]) {
    // A loop would put the references into local memory.
    ptx!("prefetch.tensormap [{}];", in(reg64) core::ptr::from_ref(first), options(nostack, preserves_flags));
    ptx!("prefetch.tensormap [{}];", in(reg64) core::ptr::from_ref(second), options(nostack, preserves_flags));
    ptx!("prefetch.tensormap [{}];", in(reg64) core::ptr::from_ref(third), options(nostack, preserves_flags));
}

/// Ends a group of this thread's stores (`cp.async.bulk.commit_group`).
#[inline(always)]
pub fn commit_stores() {
    ptx!("cp.async.bulk.commit_group;", options(nostack, preserves_flags));
}

/// Waits until all but the last `PENDING` groups of this thread's stores have read shared memory, so that it may be
/// overwritten (`cp.async.bulk.wait_group.read`).
#[inline(always)]
pub fn wait_read<const PENDING: u32>() {
    ptx!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags));
}

/// Waits until all but the last `PENDING` groups of this thread's stores have written the matrix
/// (`cp.async.bulk.wait_group`).
#[inline(always)]
pub fn wait_written<const PENDING: u32>() {
    ptx!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags));
}

/// Makes this thread's earlier writes to shared memory visible to tensor copies and tensor cores, which access it
/// through the async proxy (`fence.proxy.async`; PTX ISA, "Memory Consistency Model: Proxies").
#[inline(always)]
pub fn fence_shared() {
    ptx!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags));
}

/// Orders accesses to global memory by threads and by tensor copies (`fence.proxy.async`). Threads that wrote need it
/// before they synchronize, and the thread that starts the copies needs it after it has synchronized with them.
#[inline(always)]
pub fn fence_global() {
    ptx!("fence.proxy.async.global;", options(nostack, preserves_flags));
}
