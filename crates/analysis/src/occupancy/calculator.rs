//! The calculation: from what a multiprocessor has and a block takes to how many blocks fit.

use serde::Serialize;
use toolkit::Usage;

use super::limits::{Limits, WARP};
use engine::launch::Launch;

/// What a kernel takes of a multiprocessor with any launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory that the kernel declares for a block.
    pub static_shared: u32,
    /// Barriers of a block.
    pub barriers: u32,
}

impl From<Usage> for Resources {
    fn from(usage: Usage) -> Self {
        Self {
            registers: usage.registers,
            static_shared: usage.shared_bytes,
            barriers: usage.barriers,
        }
    }
}

/// What a launch adds for each of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its threads.
    pub threads: u32,
    /// Bytes of dynamic shared memory. More than [`Limits::shared_per_block`] are taken to be allowed before the launch, as
    /// [`Device::launch`](engine::Device::launch) does.
    pub dynamic_shared: u32,
}

impl From<&Launch> for Block {
    fn from(launch: &Launch) -> Self {
        Self {
            threads: u32::try_from(launch.threads()).unwrap_or(u32::MAX),
            dynamic_shared: launch.shared_bytes,
        }
    }
}

/// A resource of a multiprocessor that can be the first to be used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Its warps, which are its threads.
    Warps,
    /// Its blocks.
    Blocks,
    /// Its registers, or those that one block or thread can have.
    Registers,
    /// Its shared memory, or that which one block can have.
    SharedMemory,
    /// Its barriers.
    Barriers,
}

/// How many blocks of a kernel a multiprocessor holds at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks; 0 where not even one fits, and then the launch fails.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// Those warps, of the ones that the multiprocessor has room for: 0 to 1.
    #[serde(rename = "occupancy")]
    pub fraction: f64,
    /// What is used up by so many blocks: one resource at least, and more where several end at the same number.
    pub limited_by: Vec<Limiter>,
    /// Registers that a block is given.
    #[serde(skip)]
    pub registers_per_block: u32,
    /// Bytes of shared memory that a block is given, with those that the driver keeps in it.
    #[serde(skip)]
    pub shared_per_block: u32,
}

/// How many blocks a multiprocessor holds at once, by the rules of NVIDIA's occupancy calculator
/// (`cuda_occupancy.h` of the CUDA toolkit 13.5), with the largest carveout for shared memory, which is what the
/// driver takes where nobody asks for another.
pub fn of(limits: &Limits, resources: impl Into<Resources>, block: impl Into<Block>) -> Occupancy {
    let (resources, block) = (resources.into(), block.into());
    let warps = block.threads.div_ceil(WARP).max(1);
    let registers = warp_registers(limits, resources);
    let shared = block_shared(limits, resources, block);
    // How many blocks there would be if one resource alone were limited; `None` where nothing is taken of it.
    let barriers = limits.barriers;
    let bounds = [
        (Limiter::Warps, Some(by_warps(limits, block, warps))),
        (Limiter::Blocks, Some(limits.blocks)),
        (
            Limiter::Registers,
            by_registers(limits, resources, registers, warps),
        ),
        (Limiter::SharedMemory, by_shared(limits, shared)),
        (
            Limiter::Barriers,
            barriers.and_then(|all| all.checked_div(resources.barriers)),
        ),
    ];
    let blocks = bounds.iter().filter_map(|(_, bound)| *bound).min();
    let limited_by = bounds.iter().filter(|(_, bound)| *bound == blocks);
    let blocks = blocks.unwrap_or(0);
    let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
    let warps_in_all = narrow(u64::from(blocks) * u64::from(warps));
    Occupancy {
        blocks,
        warps: warps_in_all,
        fraction: f64::from(warps_in_all) / f64::from(limits.warps),
        limited_by: limited_by.map(|(limiter, _)| *limiter).collect(),
        registers_per_block: narrow(registers * u64::from(warps)),
        shared_per_block: narrow(shared),
    }
}

fn by_warps(limits: &Limits, block: Block, warps: u32) -> u32 {
    if block.threads > limits.threads_per_block {
        0
    } else {
        limits.warps / warps
    }
}

/// Registers that a warp is given.
fn warp_registers(limits: &Limits, resources: Resources) -> u64 {
    (u64::from(resources.registers) * u64::from(WARP))
        .next_multiple_of(u64::from(limits.register_unit))
}

fn by_registers(limits: &Limits, resources: Resources, registers: u64, warps: u32) -> Option<u32> {
    if registers == 0 {
        return None;
    }
    // The hardware counts a block's warps as if they filled all partitions evenly.
    let assumed = registers * u64::from(warps).next_multiple_of(u64::from(limits.partitions));
    if resources.registers > limits.registers_per_thread
        || assumed > u64::from(limits.registers_per_block)
    {
        return Some(0);
    }
    // A warp has all its registers in one partition.
    let partition = u64::from(limits.registers / limits.partitions);
    let held = partition / registers * u64::from(limits.partitions);
    u32::try_from(held / u64::from(warps)).ok()
}

/// Bytes of shared memory that a block is given.
fn block_shared(limits: &Limits, resources: Resources, block: Block) -> u64 {
    let parts = [
        resources.static_shared,
        block.dynamic_shared,
        limits.shared_reserved,
    ];
    let all: u64 = parts.into_iter().map(u64::from).sum();
    all.next_multiple_of(u64::from(limits.shared_unit))
}

fn by_shared(limits: &Limits, shared: u64) -> Option<u32> {
    let most = u64::from(limits.shared_opt_in + limits.shared_reserved);
    if shared > most {
        return Some(0);
    }
    let blocks = u64::from(limits.shared).checked_div(shared)?;
    u32::try_from(blocks).ok()
}

#[cfg(test)]
mod tests;
