//! Occupancy: the number of a kernel's blocks that fit on a multiprocessor, from the calculator in `devices`.

use devices::occupancy::{self, Block, Usage};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::Handle;
use crate::gpu::device::Device;
use crate::gpu::function::Function;
use crate::gpu::launch_attributes::LaunchConfig;
use crate::gpu::library;

/// Returns the dynamic shared memory in bytes that a block of this many threads needs.
type SharedBytes = unsafe extern "C" fn(i32) -> usize;

/// `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE`, which has no effect on GPUs whose L1 caches global memory.
const FLAGS: u32 = 1;

/// The maximum number of blocks in clusters that a multiprocessor holds at once, as an H200's driver reports it.
const CLUSTER_BLOCKS: u32 = 8;

/// Returns the number of a kernel's blocks that are resident on a multiprocessor. Returns 0 when no block fits, or when
/// the dynamic shared memory exceeds the limit.
pub(crate) fn blocks(device: &Device, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
    if dynamic_shared > function.max_dynamic_shared() {
        return 0;
    }
    let shared_bytes = function.kernel.program().shared_bytes;
    let usage = Usage { registers: function.registers(), shared_bytes, barriers: 1 };
    occupancy::of(device.limits, usage, Block { threads, dynamic_shared }).blocks
}

/// Returns the number of a kernel's blocks that are resident on a whole device.
pub(crate) fn blocks_of_device(device: &Device, function: &Function, threads: u32, dynamic_shared: u32) -> u64 {
    u64::from(blocks(device, function, threads, dynamic_shared)) * u64::from(device.multiprocessors)
}

/// Returns the function, and the checked number of threads per block.
fn checked(function: Handle, threads: i32) -> Result<(std::sync::Arc<Function>, u32)> {
    let function = library::get(function)?;
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
    Ok((function, threads.ok_or(Code::INVALID_VALUE)?))
}

/// Writes the number of blocks of `threads` threads that are resident on a multiprocessor.
fn active_blocks(count: Out<i32>, function: Handle, threads: i32, shared_bytes: usize, flags: u32) -> Result<()> {
    count.check()?;
    if flags & !FLAGS != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let (function, threads) = checked(function, threads)?;
    let shared_bytes = u32::try_from(shared_bytes).unwrap_or(u32::MAX);
    count.set(blocks(function.device()?, &function, threads, shared_bytes) as i32)
}

/// The input of [`potential_block`].
struct BlockSizeQuery {
    function: Handle,
    shared_bytes_of: Option<SharedBytes>,
    shared_bytes: usize,
    /// The maximum number of threads per block; 0 for the kernel's maximum.
    limit: i32,
    flags: u32,
}

/// Finds the block size with the most resident threads per multiprocessor, and the grid size that fills the device. As
/// in NVIDIA's calculator, block sizes are tried in whole warps from the largest down, and the largest of several
/// equally good sizes is chosen.
fn potential_block(grid: Out<i32>, block: Out<i32>, query: &BlockSizeQuery) -> Result<()> {
    grid.check()?;
    block.check()?;
    let limit = u32::try_from(query.limit).map_err(|_| Code::INVALID_VALUE)?;
    if query.flags & !FLAGS != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    let function = library::get(query.function)?;
    let device = function.device()?;
    let kernel_max = function.max_threads();
    let kernel_max = if limit == 0 { kernel_max } else { kernel_max.min(limit) };
    let (mut best_blocks, mut best_threads) = (0, 0);
    for warps in (1..=kernel_max.div_ceil(devices::WARP)).rev() {
        let threads = kernel_max.min(warps * devices::WARP);
        let shared_bytes = match query.shared_bytes_of {
            // SAFETY: the program passes this function so that the driver calls it with a number of threads.
            Some(of) => unsafe { of(threads as i32) },
            None => query.shared_bytes,
        };
        let blocks = blocks(device, &function, threads, u32::try_from(shared_bytes).unwrap_or(u32::MAX));
        if blocks * threads > best_blocks * best_threads {
            (best_blocks, best_threads) = (blocks, threads);
        }
        if best_blocks * best_threads == device.limits.threads() {
            break;
        }
    }
    grid.set((best_blocks * device.multiprocessors) as i32)?;
    block.set(best_threads as i32)
}

functions! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        count: Out<i32>, function: Handle, threads: i32, shared_bytes: usize,
    ) {
        active_blocks(count, function, threads, shared_bytes, 0)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: Out<i32>, function: Handle, threads: i32, shared_bytes: usize, flags: u32,
    ) {
        active_blocks(count, function, threads, shared_bytes, flags)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_bytes_of: Option<SharedBytes>, shared_bytes: usize,
        limit: i32,
    ) {
        potential_block(grid, block, &BlockSizeQuery { function, shared_bytes_of, shared_bytes, limit, flags: 0 })
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, function: Handle, shared_bytes_of: Option<SharedBytes>, shared_bytes: usize,
        limit: i32, flags: u32,
    ) {
        potential_block(grid, block, &BlockSizeQuery { function, shared_bytes_of, shared_bytes, limit, flags })
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: Handle, count: i32, threads: i32) {
        bytes.check()?;
        let (function, threads) = checked(function, threads)?;
        let count = u32::try_from(count).ok().filter(|count| *count > 0).ok_or(Code::INVALID_VALUE)?;
        let device = function.device()?;
        if count > blocks(device, &function, threads, 0) {
            return Err(Code::INVALID_VALUE.into());
        }
        // As in the real driver, the result ignores the bytes that the driver reserves in each block.
        let share = device.limits.shared / count / device.limits.shared_unit * device.limits.shared_unit;
        let share = share.saturating_sub(function.kernel.program().shared_bytes);
        bytes.set(share.min(function.max_dynamic_shared()) as usize)
    }

    fn cuOccupancyMaxPotentialClusterSize(blocks_of_cluster: Out<i32>, function: Handle, config: In<LaunchConfig>) {
        blocks_of_cluster.check()?;
        let config = config.get()?;
        let function = library::get(function)?;
        if let Some(cluster) = config.cluster()? {
            function.check_cluster(config.grid, cluster)?;
        }
        let fits = blocks(function.device()?, &function, config.threads()?, config.shared_bytes) > 0;
        blocks_of_cluster.set(if fits { function.limits()?.cluster_blocks as i32 } else { 0 })
    }

    /// Writes the number of resident clusters. A real GPU may hold fewer, because a cluster must fit in one graphics
    /// processing cluster (GPC), and some GPCs are incomplete.
    fn cuOccupancyMaxActiveClusters(count: Out<i32>, function: Handle, config: In<LaunchConfig>) {
        count.check()?;
        let config = config.get()?;
        let function = library::get(function)?;
        let Some(cluster) = config.cluster()?.or(function.kernel.program().required_cluster) else {
            return count.set(0);
        };
        function.check_cluster(config.grid, cluster)?;
        let device = function.device()?;
        let resident = blocks(device, &function, config.threads()?, config.shared_bytes).min(CLUSTER_BLOCKS);
        let places = device.multiprocessors / cluster.iter().product::<u32>();
        count.set((places * resident) as i32)
    }
}
