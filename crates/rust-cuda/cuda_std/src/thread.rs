//! Thread indices, and synchronization of the threads of a block.
//!
//! A launch is a **grid** of blocks. A **block** has up to 1024 threads that run on one multiprocessor, share its
//! shared memory and can wait for each other. Threads run in **warps** of 32 (see [`warp`](crate::warp)). The grid and
//! the blocks have three dimensions; `x` varies fastest.
//!
//! Indices and dimensions are special registers (PTX ISA §10: `%tid`, `%ntid`, `%ctaid`, `%nctaid`), counted in threads
//! and blocks. LLVM knows their ranges, so conversions to `usize` need no sign extension, and some comparisons are
//! folded.

use crate::gpu_only;
#[cfg(feature = "glam")]
use glam::{UVec2, UVec3};

#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

#[cfg(target_arch = "nvptx64")]
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.warpsize"]
    safe fn llvm_warpsize() -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    safe fn llvm_barrier(barrier: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    safe fn llvm_barrier_popc(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    safe fn llvm_barrier_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    safe fn llvm_barrier_or(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.membar.gl"]
    safe fn llvm_membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    safe fn llvm_membar_sys();
    #[link_name = "llvm.nvvm.nanosleep"]
    safe fn llvm_nanosleep(nanos: u32);
}

/// Defines one function for each special register.
macro_rules! special_registers {
    ($($name:ident = $intrinsic:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no preconditions.
            unsafe { nvptx::$intrinsic() as u32 }
        }
    )*};
}

special_registers! {
    thread_idx_x = _thread_idx_x, "Returns this thread's x index in its block: 0 to [`block_dim_x`] - 1 (`%tid.x`).";
    thread_idx_y = _thread_idx_y, "Returns this thread's y index in its block: 0 to [`block_dim_y`] - 1 (`%tid.y`).";
    thread_idx_z = _thread_idx_z, "Returns this thread's z index in its block: 0 to [`block_dim_z`] - 1 (`%tid.z`).";
    block_idx_x = _block_idx_x, "Returns this block's x index in the grid: 0 to [`grid_dim_x`] - 1 (`%ctaid.x`).";
    block_idx_y = _block_idx_y, "Returns this block's y index in the grid: 0 to [`grid_dim_y`] - 1 (`%ctaid.y`).";
    block_idx_z = _block_idx_z, "Returns this block's z index in the grid: 0 to [`grid_dim_z`] - 1 (`%ctaid.z`).";
    block_dim_x = _block_dim_x, "Returns the number of threads per block in x: 1 to 1024 (`%ntid.x`).";
    block_dim_y = _block_dim_y, "Returns the number of threads per block in y: 1 to 1024 (`%ntid.y`).";
    block_dim_z = _block_dim_z, "Returns the number of threads per block in z: 1 to 64 (`%ntid.z`).";
    grid_dim_x = _grid_dim_x, "Returns the number of blocks in the grid in x: 1 to 2^31 - 1 (`%nctaid.x`).";
    grid_dim_y = _grid_dim_y, "Returns the number of blocks in the grid in y: 1 to 65535 (`%nctaid.y`).";
    grid_dim_z = _grid_dim_z, "Returns the number of blocks in the grid in z: 1 to 65535 (`%nctaid.z`).";
}

/// Returns this thread's index in its block (`%tid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// Returns this block's index in the grid (`%ctaid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// Returns the number of threads per block in each dimension (`%ntid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// Returns the number of blocks in the grid in each dimension (`%nctaid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// Returns this thread's linear index in the launch, for any number of dimensions. Every thread has a different index,
/// from 0 to the number of threads - 1. Both the blocks and the threads of a block are numbered with x varying fastest.
///
/// The index wraps in a launch of more than 2^32 threads. [`index_1d`] is cheaper in a one-dimensional launch.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let block = position(position(block_idx_z(), grid_dim_y(), block_idx_y()), grid_dim_x(), block_idx_x());
    let thread = (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x();
    position(block, block_dim_x() * block_dim_y() * block_dim_z(), thread)
}

/// Returns this thread's x position in the launch: `block_idx_x * block_dim_x + thread_idx_x`.
///
/// The position is unique to each thread only in a one-dimensional launch. It wraps at 2^32.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    position(block_idx_x(), block_dim_x(), thread_idx_x())
}

/// Returns this thread's x and y position in the launch, in threads.
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), position(block_idx_y(), block_dim_y(), thread_idx_y()))
}

/// Returns this thread's x, y and z position in the launch, in threads.
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, position(block_idx_z(), block_dim_z(), thread_idx_z()))
}

/// Only the x position can exceed 2^32. Wrapping at 2^32 costs nothing and, unlike an overflow check, keeps debug
/// builds of all kernels free of panics.
#[inline(always)]
fn position(block: u32, threads: u32, thread: u32) -> u32 {
    block.wrapping_mul(threads).wrapping_add(thread)
}

/// Returns whether this is thread (0, 0, 0) of block (0, 0, 0). Exactly one thread of a launch returns true; it need
/// not be the thread that runs first.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    let numbers = [block_idx_x(), block_idx_y(), block_idx_z(), thread_idx_x(), thread_idx_y(), thread_idx_z()];
    numbers == [0; 6]
}

/// Returns the number of threads per warp: 32 on every GPU so far (`WARP_SZ`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    llvm_warpsize()
}

/// Waits until every thread of the block reaches the barrier: `bar.sync 0` (PTX ISA §9.7.13.1).
///
/// After the barrier, every thread of the block sees the writes to shared and global memory that the block's threads
/// made before it.
///
/// All threads of the block that have not exited must reach the same call. If only some of them take a branch that
/// contains the call, the block hangs or continues with partially written memory.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    llvm_barrier(0);
}

/// Works like [`sync_threads`] and returns the number of threads of the block whose `predicate` is not 0:
/// `bar.red.popc`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    llvm_barrier_popc(0, predicate != 0)
}

/// Works like [`sync_threads`] and returns 1 if `predicate` is not 0 in every thread of the block, otherwise 0:
/// `bar.red.and`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(llvm_barrier_and(0, predicate != 0))
}

/// Works like [`sync_threads`] and returns 1 if `predicate` is not 0 in at least one thread of the block, otherwise 0:
/// `bar.red.or`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(llvm_barrier_or(0, predicate != 0))
}

/// Executes a memory fence for all threads of the launch: `membar.gl` (PTX ISA §9.7.13.4).
///
/// A thread that sees a write that this thread made after the fence also sees the writes before the fence. The fence
/// orders memory and does not wait for other threads. All threads of a launch run on one device, so this function is
/// the same as [`device_fence`].
#[gpu_only]
#[inline(always)]
pub fn grid_fence() {
    llvm_membar_gl();
}

/// Executes a memory fence for all threads on the device: `membar.gl`; CUDA C++ calls it `__threadfence`.
#[gpu_only]
#[inline(always)]
pub fn device_fence() {
    llvm_membar_gl();
}

/// Executes a memory fence for the whole system, including the host and other devices: `membar.sys`; CUDA C++ calls it
/// `__threadfence_system`.
#[gpu_only]
#[inline(always)]
pub fn system_fence() {
    llvm_membar_sys();
}

/// Suspends the thread for about `nanos` nanoseconds (between 0 and twice `nanos`, at most 1 ms): `nanosleep.u32` (PTX
/// ISA §9.7.19.2, sm_70 and newer). Use it for back-off in a spin loop.
#[gpu_only]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    llvm_nanosleep(nanos);
}
