//! From what there is and what is taken to how many fit.

use serde::Serialize;
use toolkit::Usage;

use super::limits::{Limits, WARP};
use engine::launch::Launch;

/// What a kernel takes of a multiprocessor, whatever its launch.
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

/// What a launch says of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its threads.
    pub threads: u32,
    /// Bytes of shared memory that the launch asks for. More than [`Limits::shared_per_block`] are taken to be
    /// allowed before, as [`Device::launch`](crate::Device::launch) does.
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

impl Limiter {
    const ALL: [Self; 5] = [
        Self::Warps,
        Self::Blocks,
        Self::Registers,
        Self::SharedMemory,
        Self::Barriers,
    ];
}

/// How many blocks of a kernel a multiprocessor holds at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks; 0 where not even one fits, and then the launch fails.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// Warps that the multiprocessor has room for.
    pub most_warps: u32,
    /// Registers that a block is given.
    pub registers_per_block: u32,
    /// Bytes of shared memory that a block is given, with those that the driver keeps in it.
    pub shared_per_block: u32,
    /// How many blocks there would be if this resource alone were limited; `None` where the kernel takes
    /// nothing of it.
    bounds: [Option<u32>; Limiter::ALL.len()],
}

impl Occupancy {
    /// Warps that there are, of those that there is room for: 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps)
    }

    /// How many blocks there would be if this resource alone were limited; `None` where nothing is taken of it.
    pub fn bound(&self, limiter: Limiter) -> Option<u32> {
        self.bounds[limiter as usize]
    }

    /// What is used up by so many blocks: one at least, and more where several end at the same number.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> {
        Limiter::ALL
            .into_iter()
            .filter(|&limiter| self.bound(limiter) == Some(self.blocks))
    }
}

/// How many blocks a multiprocessor holds at once, by the rules of NVIDIA's occupancy calculator
/// (`cuda_occupancy.h` of the CUDA toolkit 13.5), with the largest carveout for shared memory, which is what the
/// driver takes where nobody asks for another.
pub fn of(limits: &Limits, resources: impl Into<Resources>, block: impl Into<Block>) -> Occupancy {
    let (resources, block) = (resources.into(), block.into());
    let warps = block.threads.div_ceil(WARP).max(1);
    let registers = warp_registers(limits, resources);
    let shared = block_shared(limits, resources, block);
    let bounds = [
        Some(by_warps(limits, block, warps)),
        Some(limits.blocks),
        by_registers(limits, resources, registers, warps),
        by_shared(limits, shared),
        limits
            .barriers
            .and_then(|barriers| barriers.checked_div(resources.barriers)),
    ];
    let blocks = bounds.iter().flatten().copied().min().unwrap_or(0);
    let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
    Occupancy {
        blocks,
        warps: narrow(u64::from(blocks) * u64::from(warps)),
        most_warps: limits.warps,
        registers_per_block: narrow(registers * u64::from(warps)),
        shared_per_block: narrow(shared),
        bounds,
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
