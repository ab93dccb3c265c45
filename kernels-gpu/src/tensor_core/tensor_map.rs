//! Copies of tiles between tensors in global memory and shared memory, which one thread starts (the Tensor Memory
//! Accelerator).
//!
//! The host describes a matrix and its tiles by a [`TensorMap`]. A copy takes the coordinates of a tile's first
//! element; what lies outside of the matrix is read as zeros and not written. (PTX ISA, "Data Movement and Conversion
//! Instructions: cp.async.bulk.tensor"; CUDA C++ Programming Guide, "Tensor Memory Accelerator".)

#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use super::barrier::Barrier;
use crate::copy_async::Shared;

/// A description of a tensor and its tiles that the driver has encoded (`CUtensorMap`): a parameter of a kernel with
/// `#[grid_constant]`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

impl TensorMap {
    /// Fetches the description ahead of the first copy (`prefetch.tensormap`).
    #[inline(always)]
    pub fn prefetch(&self) {
        ptx!("prefetch.tensormap [{}];", in(reg64) core::ptr::from_ref(self), options(nostack, preserves_flags));
    }

    /// Starts a copy of the tile at this column and row to shared memory, which completes its bytes at the barrier.
    ///
    /// # Safety
    /// The map describes a matrix that nothing writes during the launch; `to` has the tile's bytes, aligned to 128 (to
    /// 1024 for a tile swizzled by 128 bytes), which no thread accesses before the barrier's phase ends; the barrier
    /// expects the bytes in this phase.
    #[inline(always)]
    pub unsafe fn load(&self, column: u32, row: u32, to: Shared, barrier: Barrier) {
        ptx!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) barrier.0.0,
            options(nostack, preserves_flags));
    }

    /// Starts a copy like [`TensorMap::load`] to the same place in all blocks of the cluster whose bits are set in
    /// `blocks`, where it completes its bytes at the barrier at the same place.
    ///
    /// # Safety
    /// As for [`TensorMap::load`], in each of these blocks.
    #[inline(always)]
    pub unsafe fn load_for_blocks(&self, column: u32, row: u32, to: Shared, barrier: Barrier, blocks: u16) {
        ptx!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
              [{}], [{}, {{{}, {}}}], [{}], {};",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) barrier.0.0,
            in(reg16) blocks, options(nostack, preserves_flags));
    }

    /// Starts a copy of a tile from shared memory to this column and row of the matrix.
    ///
    /// # Safety
    /// The map describes a matrix, where no other thread accesses the tile; `from` has its bytes, aligned like those of
    /// [`TensorMap::load`], behind a [fence](super::barrier::fence_for_bulk_copies) of those who wrote them; nobody
    /// writes them before the copy has been [waited for](wait_for_stores).
    #[inline(always)]
    pub unsafe fn store(&self, column: u32, row: u32, from: Shared) {
        ptx!("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{}, {{{}, {}}}], [{}];",
            in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) from.0,
            options(nostack, preserves_flags));
    }
}

/// Ends a group of this thread's stores (`cp.async.bulk.commit_group`).
#[inline(always)]
pub fn commit_stores() {
    ptx!("cp.async.bulk.commit_group;", options(nostack, preserves_flags));
}

/// Waits until all but the last `PENDING` groups of this thread's stores have read shared memory
/// (`cp.async.bulk.wait_group.read`).
#[inline(always)]
pub fn wait_for_stores<const PENDING: u32>() {
    ptx!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags));
}

/// Waits until all but the last `PENDING` groups of this thread's stores have written the matrix (`cp.async.bulk.wait_group`).
#[inline(always)]
pub fn wait_for_written<const PENDING: u32>() {
    ptx!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags));
}
