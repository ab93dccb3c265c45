//! Where a thread is in its launch, and how the threads of a block wait for each other.
//!
//! A launch is a **grid** of blocks; a **block** is up to 1024 threads that run on one
//! multiprocessor, share its shared memory and can wait for each other; threads run 32 at a time in
//! **warps** (see [`warp`](crate::warp)). Grid and block have three dimensions, `x` counting fastest.
//!
//! Indices and dimensions are special registers (PTX ISA §10: `%tid`, `%ntid`, `%ctaid`,
//! `%nctaid`), counted in threads and blocks. LLVM knows their ranges, so conversions to `usize`
//! need no sign extension and comparisons fold.

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

/// One function for each special register.
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
    thread_idx_x = _thread_idx_x, "This thread's index in its block along x: 0 to [`block_dim_x`] - 1 (`%tid.x`).";
    thread_idx_y = _thread_idx_y, "This thread's index in its block along y: 0 to [`block_dim_y`] - 1 (`%tid.y`).";
    thread_idx_z = _thread_idx_z, "This thread's index in its block along z: 0 to [`block_dim_z`] - 1 (`%tid.z`).";
    block_idx_x = _block_idx_x, "This block's index in the grid along x: 0 to [`grid_dim_x`] - 1 (`%ctaid.x`).";
    block_idx_y = _block_idx_y, "This block's index in the grid along y: 0 to [`grid_dim_y`] - 1 (`%ctaid.y`).";
    block_idx_z = _block_idx_z, "This block's index in the grid along z: 0 to [`grid_dim_z`] - 1 (`%ctaid.z`).";
    block_dim_x = _block_dim_x, "Threads a block along x: 1 to 1024 (`%ntid.x`).";
    block_dim_y = _block_dim_y, "Threads a block along y: 1 to 1024 (`%ntid.y`).";
    block_dim_z = _block_dim_z, "Threads a block along z: 1 to 64 (`%ntid.z`).";
    grid_dim_x = _grid_dim_x, "Blocks in the grid along x: 1 to 2^31 - 1 (`%nctaid.x`).";
    grid_dim_y = _grid_dim_y, "Blocks in the grid along y: 1 to 65535 (`%nctaid.y`).";
    grid_dim_z = _grid_dim_z, "Blocks in the grid along z: 1 to 65535 (`%nctaid.z`).";
}

/// This thread's index in its block (`%tid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// This block's index in the grid (`%ctaid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// Threads a block in each dimension (`%ntid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// Blocks in the grid in each dimension (`%nctaid`).
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// This thread's number in the whole launch, whatever the dimensions: different for every thread, 0
/// to threads - 1. Blocks are numbered x first, and threads x first in their block.
///
/// Wraps in a launch of 2^32 threads or more. [`index_1d`] is cheaper where the launch has one
/// dimension.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let block = position(position(block_idx_z(), grid_dim_y(), block_idx_y()), grid_dim_x(), block_idx_x());
    let thread = (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x();
    position(block, block_dim_x() * block_dim_y() * block_dim_z(), thread)
}

/// This thread's number along x in the launch: `block_idx_x * block_dim_x + thread_idx_x`.
///
/// Unique for each thread only where the launch has one dimension. Wraps at 2^32.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    position(block_idx_x(), block_dim_x(), thread_idx_x())
}

/// This thread's position in the launch along x and y, counted in threads.
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), position(block_idx_y(), block_dim_y(), thread_idx_y()))
}

/// This thread's position in the launch along x, y and z, counted in threads.
#[cfg(feature = "glam")]
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, position(block_idx_z(), block_dim_z(), thread_idx_z()))
}

/// Only along x can it pass 2^32; wrapping there costs nothing and, unlike an overflow check, keeps
/// debug builds free of panics in every kernel.
#[inline(always)]
fn position(block: u32, threads: u32, thread: u32) -> u32 {
    block.wrapping_mul(threads).wrapping_add(thread)
}

/// Whether this is thread (0, 0, 0) of block (0, 0, 0): true in exactly one thread of a launch,
/// which need not be the one that runs first.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    let numbers = [block_idx_x(), block_idx_y(), block_idx_z(), thread_idx_x(), thread_idx_y(), thread_idx_z()];
    numbers == [0; 6]
}

/// Threads in a warp: 32 on every GPU so far (`WARP_SZ`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    llvm_warpsize()
}

/// Waits until every thread of the block is here: `bar.sync 0` (PTX ISA §9.7.13.1).
///
/// After the barrier, every thread of the block sees what the block's threads wrote to shared or global
/// memory before it.
///
/// All threads of the block that have not ended must call it, and the same call: in a branch that
/// some threads do not take, the block hangs or goes on with memory half written.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    llvm_barrier(0);
}

/// [`sync_threads`], and in how many threads of the block `predicate` was not 0: `bar.red.popc`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    llvm_barrier_popc(0, predicate != 0)
}

/// [`sync_threads`], and 1 if `predicate` was not 0 in every thread of the block, else 0:
/// `bar.red.and`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(llvm_barrier_and(0, predicate != 0))
}

/// [`sync_threads`], and 1 if `predicate` was not 0 in at least one thread of the block, else 0:
/// `bar.red.or`.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(llvm_barrier_or(0, predicate != 0))
}

/// A memory fence for all threads of the launch: `membar.gl` (PTX ISA §9.7.13.4).
///
/// A thread that sees a write made by this thread after the fence also sees the writes made before it.
/// The fence orders memory and waits for no other thread. The launch's threads are all on one device, so
/// this is [`device_fence`].
#[gpu_only]
#[inline(always)]
pub fn grid_fence() {
    llvm_membar_gl();
}

/// A memory fence for all threads on the device: `membar.gl`; CUDA C++ calls it `__threadfence`.
#[gpu_only]
#[inline(always)]
pub fn device_fence() {
    llvm_membar_gl();
}

/// A memory fence for the whole system, host and other devices too: `membar.sys`; CUDA C++ calls it
/// `__threadfence_system`.
#[gpu_only]
#[inline(always)]
pub fn system_fence() {
    llvm_membar_sys();
}

/// Suspends the thread for about `nanos` nanoseconds, between 0 and twice that, at most 1 ms:
/// `nanosleep.u32` (PTX ISA §9.7.19.2, sm_70 and newer). For back-off in a spin loop.
#[gpu_only]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    llvm_nanosleep(nanos);
}
