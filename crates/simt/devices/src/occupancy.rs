//! The occupancy calculation: how many blocks fit, given the resources of a multiprocessor and the resources that a
//! block uses.

use serde::Serialize;

use crate::{Limits, WARP};

/// The resources of a multiprocessor that a kernel uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: u32,
    /// Named barriers.
    pub barriers: u32,
}

/// The resources that a launch determines for each of its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The number of threads.
    pub threads: u32,
    /// Bytes of dynamic shared memory. More than [`Limits::shared_per_block`] bytes imply an opt-in.
    pub dynamic_shared: u32,
}

/// A resource of a multiprocessor that can limit the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The warp slots, and with them the threads.
    Warps,
    /// The block slots.
    Blocks,
    /// The registers of the multiprocessor, or the limit for one block or thread.
    Registers,
    /// The shared memory of the multiprocessor, or the limit for one block.
    SharedMemory,
    /// The barriers of the multiprocessor.
    Barriers,
}

/// The number of blocks of a kernel that a multiprocessor holds at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    /// The number of blocks. It is 0 if no block fits; the launch then fails.
    pub blocks: u32,
    /// The number of warps of these blocks.
    pub warps: u32,
    /// The fraction of the multiprocessor's warp slots that these warps fill: 0 to 1.
    #[serde(rename = "occupancy")]
    pub fraction: f64,
    /// The resources that limit the number of blocks: at least one, and several if they allow the same number.
    pub limited_by: Vec<Limiter>,
    /// The number of registers that are allocated for a block.
    #[serde(skip)]
    pub registers_per_block: u32,
    /// The bytes of shared memory that are allocated for a block, including the bytes that the driver reserves.
    #[serde(skip)]
    pub shared_per_block: u32,
}

/// Computes the number of blocks that a multiprocessor holds at once, by the rules of NVIDIA's occupancy calculator
/// (`cuda_occupancy.h` of the CUDA toolkit 13.5). Shared memory has the largest carveout, which is the driver's
/// default.
///
/// ```
/// use devices::Limits;
/// use devices::occupancy::{self, Block, Usage};
///
/// let hopper = Limits::named("sm_90").unwrap();
/// let kernel = Usage { registers: 40, barriers: 1, ..Usage::default() };
/// let found = occupancy::of(hopper, kernel, Block { threads: 256, dynamic_shared: 0 });
/// assert_eq!((found.blocks, found.warps), (6, 48));
/// assert_eq!(found.limited_by, [occupancy::Limiter::Registers]);
/// ```
pub fn of(limits: &Limits, usage: Usage, block: Block) -> Occupancy {
    let warps = block.threads.div_ceil(WARP).max(1);
    let registers = (u64::from(usage.registers) * u64::from(WARP)).next_multiple_of(u64::from(limits.register_unit));
    let shared = [usage.shared_bytes, block.dynamic_shared, limits.shared_reserved];
    let shared = shared.into_iter().map(u64::from).sum::<u64>();
    let shared = shared.next_multiple_of(u64::from(limits.shared_unit));
    // Each of these is the number of blocks if only that resource were limited; `None` if the kernel does not use it.
    let by_warps = match block.threads > limits.threads_per_block {
        true => 0,
        false => limits.warps / warps,
    };
    let by_shared = match shared > u64::from(limits.shared_opt_in + limits.shared_reserved) {
        true => Some(0),
        false => u64::from(limits.shared).checked_div(shared).and_then(|all| all.try_into().ok()),
    };
    let barriers = limits.barriers;
    let by_barriers = barriers.and_then(|all| all.checked_div(usage.barriers));
    let bounds = [
        (Limiter::Warps, Some(by_warps)),
        (Limiter::Blocks, Some(limits.blocks)),
        (Limiter::Registers, by_registers(limits, usage, registers, warps)),
        (Limiter::SharedMemory, by_shared),
        (Limiter::Barriers, by_barriers),
    ];
    let bound = bounds.iter().filter_map(|(_, bound)| *bound).min();
    let limited_by = bounds.iter().filter(|(_, limit)| *limit == bound);
    let blocks = bound.unwrap_or(0);
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

/// Returns the number of blocks that fit into the registers, if each warp is allocated `registers` registers.
fn by_registers(limits: &Limits, usage: Usage, registers: u64, warps: u32) -> Option<u32> {
    if registers == 0 {
        return None;
    }
    // The hardware rounds a block's number of warps up to a multiple of the number of partitions.
    let assumed = registers * u64::from(warps).next_multiple_of(u64::from(limits.partitions));
    if usage.registers > limits.registers_per_thread || assumed > u64::from(limits.registers_per_block) {
        return Some(0);
    }
    // All registers of a warp are in one partition.
    let partition = u64::from(limits.registers / limits.partitions);
    let held = partition / registers * u64::from(limits.partitions);
    u32::try_from(held / u64::from(warps)).ok()
}

#[cfg(test)]
mod tests;
