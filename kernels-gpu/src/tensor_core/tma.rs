//! `cp.async.bulk.tensor`: the Tensor Memory Accelerator (TMA) copies boxes of a matrix between global and shared
//! memory.
//!
//! The TMA is a copy engine in each multiprocessor of a Hopper GPU. The host describes a matrix and the size of its
//! boxes in a [`TensorMap`]. One thread then starts a copy with the coordinates of a box's first element. The engine
//! computes the addresses and swizzles the box in shared memory. Outside the matrix, the engine reads zeros and does
//! not write.
//!
//! The threads that use a box wait for its bytes at an [`Mbarrier`] in shared memory. The numbered barriers of a block
//! ([`barrier_sync`]) and the barrier of a cluster ([`cluster_sync`]) order the threads around the copies. The blocks
//! of a cluster run at the same time on neighboring multiprocessors and can access each other's shared memory.
//!
//! (CUDA C++ Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator"; PTX ISA, "Data Movement
//! and Conversion Instructions: cp.async.bulk.tensor"; "Parallel Synchronization and Communication Instructions":
//! "mbarrier", "barrier", "barrier.cluster"; "Special Registers: %cluster_ctarank".)

#![cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use super::Shared;

/// The description of a matrix and its boxes, encoded by the driver (`CUtensorMap`). A kernel takes the map as a
/// parameter with `#[grid_constant]`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

impl TensorMap {
    /// Starts a copy of the box at this column and row to shared memory. The copied bytes count as arrived at
    /// `barrier`.
    ///
    /// # Safety
    /// The caller must ensure that the map describes a matrix that nothing writes during the launch. `to` must have the
    /// size of a box, and be aligned to 1024 bytes for a box with a 128-byte swizzle. No thread may access the box at
    /// `to` before the barrier's phase ends. A thread must have announced the bytes in this phase.
    #[inline(always)]
    pub unsafe fn load(&self, column: u32, row: u32, to: Shared, barrier: Mbarrier) {
        ptx!("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) barrier.0.0,
            options(nostack, preserves_flags));
    }

    /// Starts a copy like [`TensorMap::load`], but from matrix number `matrix` of a map with three dimensions.
    ///
    /// # Safety
    /// See [`TensorMap::load`]. The caller must also ensure that the map has three dimensions.
    #[inline(always)]
    pub unsafe fn load_3d(&self, [column, row, matrix]: [u32; 3], to: Shared, barrier: Mbarrier) {
        ptx!("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}, {}}}], [{}];",
            in(reg32) to.0, in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) matrix,
            in(reg32) barrier.0.0, options(nostack, preserves_flags));
    }

    /// Starts a copy like [`TensorMap::load`], but to the same address in several blocks of the cluster. `blocks` has
    /// one bit for each rank. The bytes count as arrived at the barrier with the same address in each of these blocks.
    ///
    /// # Safety
    /// See [`TensorMap::load`], for each of these blocks.
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
    /// The caller must ensure that the map describes a matrix and that no other thread accesses the box in the matrix.
    /// `from` must have the size of a box, with the alignment of [`TensorMap::load`]. [`fence_shared`] and a barrier
    /// must separate the writes of the box from this call. No thread may write the box at `from` before [`wait_read`].
    #[inline(always)]
    pub unsafe fn store(&self, column: u32, row: u32, from: Shared) {
        ptx!("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{}, {{{}, {}}}], [{}];",
            in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) from.0,
            options(nostack, preserves_flags));
    }

    /// Starts a copy like [`TensorMap::store`], but to matrix number `matrix` of a map with three dimensions.
    ///
    /// # Safety
    /// See [`TensorMap::store`]. The caller must also ensure that the map has three dimensions.
    #[inline(always)]
    pub unsafe fn store_3d(&self, [column, row, matrix]: [u32; 3], from: Shared) {
        ptx!("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [{}, {{{}, {}, {}}}], [{}];",
            in(reg64) core::ptr::from_ref(self), in(reg32) column, in(reg32) row, in(reg32) matrix, in(reg32) from.0,
            options(nostack, preserves_flags));
    }
}

/// Starts a copy of `bytes` contiguous bytes from global to shared memory (`cp.async.bulk`). The copied bytes count as
/// arrived at `barrier`.
///
/// # Safety
/// The caller must ensure that `from`, `to` and `bytes` are multiples of 16, and that nothing writes the bytes at
/// `from` during the launch. No thread may access the bytes at `to` before the barrier's phase ends. A thread must have
/// announced the bytes in this phase.
#[inline(always)]
pub unsafe fn load_row<T>(from: *const T, bytes: u32, to: Shared, barrier: Mbarrier) {
    ptx!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
        in(reg32) to.0, in(reg64) from, in(reg32) bytes, in(reg32) barrier.0.0, options(nostack, preserves_flags));
}

/// Prefetches the tensor maps before the first copies need them (`prefetch.tensormap`).
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

/// Waits until all groups of this thread's stores, except the last `PENDING`, have read shared memory, so that it can
/// be overwritten (`cp.async.bulk.wait_group.read`).
#[inline(always)]
pub fn wait_read<const PENDING: u32>() {
    ptx!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags));
}

/// Waits until all groups of this thread's stores, except the last `PENDING`, have written the matrix
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

/// Orders accesses to global memory by threads and by tensor copies (`fence.proxy.async`). A thread that has written
/// data needs this fence before it synchronizes with the thread that starts the copies. The copying thread needs the
/// fence after this synchronization.
#[inline(always)]
pub fn fence_global() {
    ptx!("fence.proxy.async.global;", options(nostack, preserves_flags));
}

/// The address of an `mbarrier`, a barrier in shared memory that counts arriving threads and arriving bytes. It is 8
/// bytes long and aligned to 8 bytes.
///
/// A phase of the barrier ends when the expected number of threads has arrived and all announced bytes have been
/// copied. A waiting thread specifies the phase by the phase's parity. The first phase has parity 0, the second has
/// parity 1, and the third has parity 0 again.
#[derive(Clone, Copy)]
pub struct Mbarrier(pub Shared);

impl Mbarrier {
    /// The size of a barrier in bytes.
    pub const BYTES: u32 = 8;

    /// Initializes the barrier for this number of arrivals in each phase (`mbarrier.init`).
    ///
    /// # Safety
    /// The caller must ensure that the address is in this block's shared memory and that nothing else uses it. Other
    /// threads may arrive or wait only after [`fence_mbarrier_init`] and a barrier of the block or of the cluster.
    #[inline(always)]
    pub unsafe fn init(self, arrivals: u32) {
        ptx!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) self.0.0, in(reg32) arrivals,
            options(nostack, preserves_flags));
    }

    /// Arrives at the barrier (`mbarrier.arrive`). Threads that wait for the end of the phase then see this thread's
    /// earlier writes.
    ///
    /// # Safety
    /// The caller must ensure that the barrier is initialized and that its current phase still expects an arrival.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        ptx!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) self.0.0, options(nostack, preserves_flags));
    }

    /// Arrives at the barrier with the same address in block `rank` of the cluster (`mapa`, `mbarrier.arrive`).
    ///
    /// # Safety
    /// See [`Mbarrier::arrive`]. The caller must also ensure that the cluster has a block of this rank, and that the
    /// block has not ended.
    #[inline(always)]
    pub unsafe fn arrive_remote(self, rank: u32) {
        ptx!("{{ .reg .b32 r; mapa.shared::cluster.u32 r, {}, {}; mbarrier.arrive.shared::cluster.b64 _, [r]; }}",
            in(reg32) self.0.0, in(reg32) rank, options(nostack, preserves_flags));
    }

    /// Arrives and announces the number of bytes that copies will write in this phase (`mbarrier.arrive.expect_tx`).
    ///
    /// # Safety
    /// See [`Mbarrier::arrive`].
    #[inline(always)]
    pub unsafe fn arrive_expect_tx(self, bytes: u32) {
        ptx!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) self.0.0, in(reg32) bytes,
            options(nostack, preserves_flags));
    }

    /// Waits for the end of the phase with this parity (`mbarrier.try_wait.parity`). Returns at once if the barrier is
    /// already in the following phase.
    ///
    /// # Safety
    /// The caller must ensure that the barrier is initialized and that it is in the phase with this parity or in the
    /// following phase.
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
pub fn fence_mbarrier_init() {
    ptx!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags));
}

/// Waits at barrier `index`, 1 to 15, until `threads` threads have arrived (`barrier.sync`).
///
/// A block has 16 numbered barriers. `thread::sync_threads` uses number 0, and the other barriers synchronize some of
/// the block's warps.
///
/// # Safety
/// The caller must ensure that `threads` is a multiple of 32, and that whole warps with a total of `threads` threads
/// call [`barrier_sync`] or [`barrier_arrive`] for the barrier.
#[inline(always)]
pub unsafe fn barrier_sync(index: u32, threads: u32) {
    ptx!("barrier.sync {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}

/// Arrives at barrier `index` without waiting (`barrier.arrive`). Other warps wait there with [`barrier_sync`].
///
/// # Safety
/// See [`barrier_sync`].
#[inline(always)]
pub unsafe fn barrier_arrive(index: u32, threads: u32) {
    ptx!("barrier.arrive {}, {};", in(reg32) index, in(reg32) threads, options(nostack, preserves_flags));
}

/// Returns this block's rank in its cluster (`%cluster_ctarank`).
#[inline(always)]
#[must_use]
pub fn cluster_rank() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let rank: u32;
        ptx!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack, preserves_flags));
        rank
    }
    #[cfg(not(target_arch = "nvptx64"))]
    0
}

/// Waits for all threads of the cluster (`barrier.cluster.arrive`, `barrier.cluster.wait`).
///
/// # Safety
/// The caller must ensure that all threads of the cluster call the function.
#[inline(always)]
pub unsafe fn cluster_sync() {
    // SAFETY: all threads of the cluster arrive, and then wait.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
}

/// Arrives at the barrier of the cluster (`barrier.cluster.arrive`). Threads that have waited at the barrier see this
/// thread's earlier writes.
///
/// # Safety
/// The caller must ensure that all threads of the cluster call the function, and then [`cluster_wait`], before any
/// thread calls the function again.
#[inline(always)]
pub unsafe fn cluster_arrive() {
    ptx!("barrier.cluster.arrive.release.aligned;", options(nostack, preserves_flags));
}

/// Waits until all threads of the cluster have arrived (`barrier.cluster.wait`).
///
/// # Safety
/// The caller must ensure that this thread has called [`cluster_arrive`] since it last waited.
#[inline(always)]
pub unsafe fn cluster_wait() {
    ptx!("barrier.cluster.wait.acquire.aligned;", options(nostack, preserves_flags));
}

impl Shared {
    /// Stores a word at the same address in block `rank` of the cluster (`mapa`, `st.shared::cluster`).
    ///
    /// # Safety
    /// The caller must ensure that the address points to 8 bytes, aligned to 8, which no other thread accesses until a
    /// barrier of the cluster. The cluster must have a block of this rank, and that block must have started and not
    /// ended.
    #[inline(always)]
    pub unsafe fn store_remote(self, rank: u32, word: u64) {
        ptx!("{{ .reg .b32 r; mapa.shared::cluster.u32 r, {}, {}; st.shared::cluster.u64 [r], {}; }}",
            in(reg32) self.0, in(reg32) rank, in(reg64) word, options(nostack, preserves_flags));
    }
}
