//! The model, which computes a launch's time from its use of resources.
//!
//! Each resource of the device has a time: the time that the launch would take if all other resources were unlimited.
//!
//! | resource | time |
//! |---|---|
//! | memory | sectors that the blocks touch, at most once per buffer, × 32 bytes over the achievable bandwidth; the L2 fetches two sectors at once |
//! | L2 | sectors that miss the L1 over the L2's bandwidth, or over that of the multiprocessors that have blocks; the cost of a written sector is [`Constants::write_cost`] times that of a read sector; a sector that is alone in its line costs more |
//! | atomics | passes through sectors of the L2 over all slices' passes per clock, or passes through the busiest slice over its passes per clock; a float addition takes 2.4 passes |
//! | shared memory and L1 | wavefronts and tags, one per clock of a multiprocessor; a load of one line takes more; or the words of divergent reads of constants |
//! | issue | instructions over four schedulers × [`Constants::issue_share`] |
//! | pipes | instructions on integers, floats, doubles and special functions over the lanes of their pipe |
//! | tensor cores | matrix products, converted to half-precision products, over the products per clock; `mma` reaches a share of them |
//! | latency | waves of resident blocks × (a block's critical path + [`Constants::start_cycles`]), or the longest of these, or the time until the last block has started plus one block's time; plus the stores that are in flight at the end |
//!
//! These times overlap partly. The combined time is the norm of the times with the exponent [`Constants::norm`]: the
//! maximum if one time is far larger than the others, and more if several are similar. Latency is hidden by the other
//! blocks of a multiprocessor, and by each block's groups of asynchronous copies in flight. Let `r` be the number of
//! blocks of a multiprocessor times the number of groups in flight per block. The exponent that combines latency with
//! the other times is then `r / (r + 1)` times the norm.
//!
//! For a block that has a multiprocessor to itself, the critical path contains the waits for tensor cores, for bulk
//! copies and for the path to the L2. The model does not add these times again. The time of an empty kernel is added at
//! the end. Constants are calibrated on the reduction ladder on one H100 and used for everything else.

use serde::Serialize;
use simt_timing::{CONSTANT_CYCLES, Pipe};

use crate::geometry::is_alone;
use crate::sample::{SECTOR, Sample};
use devices::Description;

/// The accuracy of predicted times for the ordinary kernels in `crates/ladder/analysis/tests/kernels`.
pub const ACCURACY: &str = "median error 9 %, above 30 % for 5 of 72 kernels, worst 138 %, measured on an H100";

/// Instructions that a multiprocessor can issue per clock: one for each of its four schedulers.
const SCHEDULERS: f64 = 4.0;
/// Bytes per word.
const WORD: f64 = 4.0;
/// Threads per warp.
const LANES: f64 = 32.0;
/// The L2 cost of a sector that is the only sector of its line in a request. A sector that shares its line costs 1
/// (`transpose_naive` on an H100).
const LONE_COST: f64 = 1.45;
/// L1 clocks that a load of one line takes in addition to the clock for its tag (`matmul_naive` on an H100).
const ONE_LINE_CLOCKS: f64 = 0.75;
/// The minimum number of cycles between the starts of two blocks on the device (`reduce_smem` on an H100).
const CYCLES_PER_BLOCK: f64 = 1.2;
/// Up to this number of waves, a partly filled last wave takes as long as a full wave. With more waves, blocks drift
/// apart.
const FEW_WAVES: f64 = 8.0;

/// The constants of the model, which are calibrated and not derived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constants {
    /// The share of the memory's peak that a kernel can reach.
    pub memory_share: f64,
    /// The share of the schedulers' issue slots that can be used.
    pub issue_share: f64,
    /// The L2 bandwidth that a written sector takes, relative to a read sector.
    pub write_cost: f64,
    /// Cycles from the start of a block to its first instruction, plus cycles from its last instruction to the start of
    /// the next block. They include the latency that a loaded memory system adds.
    pub start_cycles: f64,
    /// The exponent of the norm that combines the resources' times.
    pub norm: f64,
}

impl Constants {
    /// These constants are close to those found by `lab predict reduce --against results/h100/run.jsonl --calibrate`
    /// for the times of 2026-11-22. The `issue_share` found by this command fits the other ladders less well.
    pub const CALIBRATED: Self =
        Self { memory_share: 0.907, issue_share: 0.905, write_cost: 1.75, start_cycles: 1725.0, norm: 5.2 };
}

/// A resource that can bound a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The memory's bandwidth.
    Memory,
    /// The L2's bandwidth.
    L2,
    /// Atomics in the L2.
    Atomics,
    /// Wavefronts of shared memory and tags of the L1.
    Shared,
    /// The schedulers' issue slots.
    Issue,
    /// The pipe for integers.
    Integers,
    /// The pipe for floats.
    Floats,
    /// The pipes for doubles and special functions.
    Special,
    /// The tensor cores; only for launches that use them.
    Matrix,
    /// The time of one block, and the number of blocks that run at once.
    Latency,
}

impl Resource {
    /// Returns the name of the resource in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::L2 => "L2",
            Self::Atomics => "atomics",
            Self::Shared => "shared/L1",
            Self::Issue => "issue",
            Self::Integers => "integers",
            Self::Floats => "floats",
            Self::Special => "special",
            Self::Matrix => "tensor",
            Self::Latency => "latency",
        }
    }
}

/// A predicted time in microseconds, and the time of each resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The predicted time in microseconds.
    pub us: f64,
    /// The time that each resource alone would take, in the order of [`Resource`].
    pub alone: Vec<(Resource, f64)>,
    /// The number of blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// The average time in microseconds that a multiprocessor's warps wait at barriers.
    pub at_barriers: f64,
}

impl Estimate {
    /// Returns the resource with the longest time.
    pub fn bound(&self) -> (Resource, f64) {
        let longest = self.alone.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        // There is an entry for each resource.
        longest.copied().unwrap_or((Resource::Latency, 0.0))
    }

    /// Returns the time that a resource alone would take, as a share of the predicted time.
    pub fn share(&self, resource: Resource) -> f64 {
        let mut all = self.alone.iter();
        let time = all.find(|(candidate, _)| *candidate == resource);
        time.map_or(0.0, |(_, time)| time / self.us)
    }
}

/// Estimates the time of a sampled launch of `blocks` blocks. A multiprocessor holds `resident` blocks at once.
pub fn estimate(device: &Description, constants: &Constants, sample: &Sample, blocks: u64, resident: u32) -> Estimate {
    let Sample { resource_use: demand, scale, .. } = sample;
    let total = |count: u64| sample.scaled(count);
    let multiprocessors = f64::from(device.multiprocessors);
    let blocks_each = blocks as f64 / multiprocessors;
    let whole_if_few = |waves: f64| {
        if waves < FEW_WAVES { waves.ceil() } else { waves }
    };
    // The number of blocks on the busiest multiprocessor. With few blocks, some multiprocessors run one block more than
    // others.
    let most_each = whole_if_few(blocks_each);
    // Converts a multiprocessor's cycles for the work of all blocks to microseconds.
    let spread = |cycles: f64| cycles / blocks as f64 * most_each / device.clock_mhz;

    let one = &device.multiprocessor;
    let read = sample.touched(&demand.read);
    let memory_bandwidth = device.memory.gb_per_s * 1e3 * constants.memory_share;
    let memory = sample.memory_bytes() / memory_bandwidth;
    // A sector that is alone in its line takes longer.
    let [reads, writes] = [(demand.l2_reads, demand.l2_lone[0]), (demand.l2_writes, demand.l2_lone[1])]
        .map(|(sectors, lone)| total(sectors) + total(lone) * (LONE_COST - 1.0));
    let l2 = (reads + writes * constants.write_cost) * SECTOR / (device.l2.gb_per_s * 1e3);
    let way = spread((total(demand.l2_reads) * SECTOR / one.loads) + demand.port_writes * scale * SECTOR / one.stores);
    let atomics_per_slice = demand.atomics / f64::from(device.l2.slices);
    let atomics = atomics_per_slice.max(demand.hottest) * scale / (device.l2.atomics_per_clock * device.clock_mhz);

    let issued = |pipe: Pipe| demand.issued[pipe as usize] * scale;
    let slots: f64 = demand.issued.iter().sum::<f64>() * scale;
    let pipe = |pipe: Pipe, lanes: f64| spread(issued(pipe) * LANES / lanes);
    let shared =
        spread((total(demand.tags + demand.wavefronts) + total(demand.one_line) * ONE_LINE_CLOCKS) * LANES / one.words)
            .max(pipe(Pipe::Memory, one.words));
    let shared = shared.max(spread((demand.constants * CONSTANT_CYCLES) as f64 * scale));
    let engines = spread(demand.engine_bytes * scale / (one.words * WORD));
    let special = pipe(Pipe::Special, one.special).max(pipe(Pipe::Fp64, one.fp64));

    let resident_blocks = f64::from(resident.max(1)) * multiprocessors;
    let waves = whole_if_few(blocks as f64 / resident_blocks);
    // Of the loads that miss the L1, only the first load of each sector goes to memory.
    let from_memory = (read / total(demand.l2_reads).max(1.0)).min(1.0);
    let ran = demand.blocks.max(1) as f64;
    let [near, far] = demand.cycles.map(|cycles| cycles as f64 / ran);
    let path = near + (far - near) * from_memory;
    let longest = demand.longest[0] as f64 + (demand.longest[1] - demand.longest[0]) as f64 * from_memory;
    let latency = (waves * (path + constants.start_cycles)).max(longest + constants.start_cycles);
    // The last block starts after all others.
    let latency = latency.max(blocks as f64 * CYCLES_PER_BLOCK + path + constants.start_cycles);
    let latency = (latency + demand.drain as f64) / device.clock_mhz;

    // If a block has a multiprocessor to itself, its critical path includes the waits for tensor cores, bulk copies and
    // the path to the L2. Otherwise, blocks contend for these resources.
    let blocks_at_once = f64::from(resident.max(1)).min(blocks_each.ceil());
    let is_alone = is_alone(device, blocks, resident);
    let products = demand.products + demand.warp_products / one.mma_share;
    let matrix = if one.matrix > 0.0 { spread(products * scale / one.matrix) } else { 0.0 };
    let plain = |resource: Resource, time: f64| (resource, time, time);
    // The second element is the time that a lone block's critical path does not include; the third is the whole time.
    let mut resource_times = vec![
        plain(Resource::Memory, memory),
        (Resource::L2, l2, l2.max(way)),
        plain(Resource::Atomics, atomics),
        (Resource::Shared, shared, shared + engines),
        plain(Resource::Issue, spread(slots / (SCHEDULERS * constants.issue_share))),
        plain(Resource::Integers, pipe(Pipe::Alu, one.int32)),
        plain(Resource::Floats, pipe(Pipe::Fma, one.fp32)),
        plain(Resource::Special, special),
    ];
    if matrix > 0.0 {
        resource_times.push((Resource::Matrix, 0.0, matrix));
    }
    let times = resource_times.iter().map(|(_, lone, whole)| if is_alone { *lone } else { *whole });
    let powers: f64 = times.map(|time| time.powf(constants.norm)).sum();
    let busy = powers.powf(constants.norm.recip());
    // Asynchronous copies hide latency in the same way as other blocks.
    let blocks_at_once = blocks_at_once * demand.copy_groups_in_flight.max(1) as f64;
    let hidden = (constants.norm * blocks_at_once / (blocks_at_once + 1.0)).max(1.0);
    let together = (busy.powf(hidden) + latency.powf(hidden)).powf(hidden.recip());
    // An empty kernel also starts and ends a block.
    let launch = (device.launch_us - constants.start_cycles / device.clock_mhz).max(0.0);
    Estimate {
        us: launch + together,
        alone: resource_times
            .into_iter()
            .map(|(resource, _, whole)| (resource, whole))
            .chain([(Resource::Latency, latency)])
            .collect(),
        resident,
        at_barriers: waves.ceil() * demand.at_barriers as f64 / demand.warps.max(1) as f64 / device.clock_mhz,
    }
}
