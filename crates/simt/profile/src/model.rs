//! The model: computes a launch's time from its use of resources.
//!
//! Each resource of the device has a time, which the launch would take if all other resources were unlimited.
//!
//! | resource | time |
//! |---|---|
//! | memory | sectors that the blocks touch, each buffer's at most once, × 32 bytes over the achievable bandwidth; the L2 fetches two sectors at once |
//! | L2 | sectors that miss the L1 over the L2's bandwidth, or over that of the multiprocessors that have blocks; a sector that is written takes [`Constants::write_cost`] times one that is read; one that is alone in its line takes more |
//! | atomics | passes through sectors of the L2, over its slices' passes a clock; or those through the slice with the most of them, over that slice's; additions of floats take 2.4 passes |
//! | shared memory and L1 | wavefronts and tags, one a clock of a multiprocessor; more for a load of one line; or the words of divergent reads of constants |
//! | issue | instructions over four schedulers × [`Constants::issue_share`] |
//! | pipes | instructions of integers, floats, doubles, special functions over the lanes for them |
//! | tensor cores | products of matrices, as so many of halves, over the products a clock; `mma` reaches a share of them |
//! | latency | waves of resident blocks × (a block's critical path + [`Constants::start_cycles`]), or the longest of these, or the time until the last block has begun and one more; and the stores that are under way at the end |
//!
//! Those times overlap, but not wholly: together they take the root of the sum of their powers with the
//! exponent [`Constants::norm`], which is their maximum where one is far larger and more where several are alike.
//! Latency is hidden by the other blocks of a multiprocessor, and by the groups of asynchronous copies that each has under way:
//! where there are `r` of them together, its exponent against the rest is `r / (r + 1)` of that. A block that has a
//! multiprocessor for itself waits for tensor cores, bulk copies and its way to the L2 in its critical path, which has them in
//! their order; they are not added to it. An empty kernel's time comes on top. Constants are calibrated on the reduction ladder
//! on one H100 and used for everything else.

use serde::Serialize;
use simt_timing::{CONSTANT_CYCLES, Pipe};

use crate::geometry::is_alone;
use crate::sample::{SECTOR, Sample};
use devices::Description;

/// How near predicted times come to measured ones, of the ordinary kernels in `crates/ladder/analysis/tests/kernels`.
pub const ACCURACY: &str = "median error 9 %, above 30 % for 5 of 72 kernels, worst 138 %, measured on an H100";

/// Instructions that a multiprocessor can issue in a clock: one for each of its four schedulers.
const SCHEDULERS: f64 = 4.0;
/// Bytes of a word.
const WORD: f64 = 4.0;
/// Threads of a warp.
const LANES: f64 = 32.0;
/// What a sector takes of the L2 that is the only one of its line in a request, as one of several takes 1
/// (`transpose_naive` on an H100).
const LONE_COST: f64 = 1.45;
/// Clocks that a load of one line takes of the L1 in addition to that for its tag (`matmul_naive` on an H100).
const ONE_LINE_CLOCKS: f64 = 0.75;
/// Cycles of the device from the start of one block to that of the next, at least (`reduce_smem` on an H100).
const CYCLES_PER_BLOCK: f64 = 1.2;
/// Waves up to which the last, partly filled one takes as long as the others. With more, blocks have drifted apart.
const FEW_WAVES: f64 = 8.0;

/// The constants of the model, which are calibrated and not derived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constants {
    /// The share of the memory's peak that a kernel can reach.
    pub memory_share: f64,
    /// The share of the schedulers' slots that can be used.
    pub issue_share: f64,
    /// The L2 bandwidth that a written sector takes, relative to a sector that is read.
    pub write_cost: f64,
    /// Cycles from the start of a block to its first instruction, and from its last instruction until another block
    /// takes its place. They include the latency that a loaded memory system adds.
    pub start_cycles: f64,
    /// The exponent of the norm that combines the resources' times.
    pub norm: f64,
}

impl Constants {
    /// Near those that `lab predict reduce --against results/h100/run.jsonl --calibrate` finds, on the times of 2026-11-22; its share of
    /// issue slots fits the other ladders less.
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
    /// The tensor cores; only of launches that use them.
    Matrix,
    /// The time that one block takes, and the number of blocks that run at once.
    Latency,
}

impl Resource {
    /// Its name in a table.
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
    /// The time.
    pub us: f64,
    /// The time that each resource alone would take, in the order of [`Resource`].
    pub alone: Vec<(Resource, f64)>,
    /// Blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// Microseconds that a multiprocessor's warps wait at barriers, on average.
    pub at_barriers: f64,
}

impl Estimate {
    /// The resource with the longest time.
    pub fn bound(&self) -> (Resource, f64) {
        let longest = self.alone.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        // There is one for each resource.
        longest.copied().unwrap_or((Resource::Latency, 0.0))
    }

    /// The time that a resource alone would take, as a share of the predicted time.
    pub fn share(&self, resource: Resource) -> f64 {
        let mut all = self.alone.iter();
        let time = all.find(|(own, _)| *own == resource);
        time.map_or(0.0, |(_, time)| time / self.us)
    }
}

/// The time of a sampled launch of `blocks` blocks, of which a multiprocessor holds `resident`.
pub fn estimate(device: &Description, constants: &Constants, sample: &Sample, blocks: u64, resident: u32) -> Estimate {
    let Sample { resource_use: demand, scale, .. } = sample;
    let all = |count: u64| sample.all(count);
    let multiprocessors = f64::from(device.multiprocessors);
    let blocks_each = blocks as f64 / multiprocessors;
    let whole_if_few = |waves: f64| {
        if waves < FEW_WAVES { waves.ceil() } else { waves }
    };
    // Blocks of the multiprocessor that has the most: with few, some have one more than others.
    let most_each = whole_if_few(blocks_each);
    // Microseconds for so many cycles of one multiprocessor, of work that all blocks ask for together.
    let spread = |cycles: f64| cycles / blocks as f64 * most_each / device.clock_mhz;

    let one = &device.multiprocessor;
    let read = sample.touched(&demand.read);
    let memory_bandwidth = device.memory.gb_per_s * 1e3 * constants.memory_share;
    let memory = sample.memory_bytes() / memory_bandwidth;
    // A sector that is alone in its line takes longer.
    let [reads, writes] = [(demand.l2_reads, demand.l2_lone[0]), (demand.l2_writes, demand.l2_lone[1])]
        .map(|(sectors, lone)| all(sectors) + all(lone) * (LONE_COST - 1.0));
    let l2 = (reads + writes * constants.write_cost) * SECTOR / (device.l2.gb_per_s * 1e3);
    let way = spread((all(demand.l2_reads) * SECTOR / one.loads) + demand.port_writes * scale * SECTOR / one.stores);
    let each = demand.atomics / f64::from(device.l2.slices);
    let atomics = each.max(demand.hottest) * scale / (device.l2.atomics_per_clock * device.clock_mhz);

    let issued = |pipe: Pipe| demand.issued[pipe as usize] * scale;
    let slots: f64 = demand.issued.iter().sum::<f64>() * scale;
    let pipe = |pipe: Pipe, lanes: f64| spread(issued(pipe) * LANES / lanes);
    let shared =
        spread((all(demand.tags + demand.wavefronts) + all(demand.one_line) * ONE_LINE_CLOCKS) * LANES / one.words)
            .max(pipe(Pipe::Memory, one.words));
    let shared = shared.max(spread((demand.constants * CONSTANT_CYCLES) as f64 * scale));
    let engines = spread(demand.engine_bytes * scale / (one.words * WORD));
    let special = pipe(Pipe::Special, one.special).max(pipe(Pipe::Fp64, one.fp64));

    let held = f64::from(resident.max(1)) * multiprocessors;
    let waves = whole_if_few(blocks as f64 / held);
    // Of the loads that miss the L1, only the first one of each sector goes to memory.
    let from_memory = (read / all(demand.l2_reads).max(1.0)).min(1.0);
    let ran = demand.blocks.max(1) as f64;
    let [near, far] = demand.cycles.map(|cycles| cycles as f64 / ran);
    let path = near + (far - near) * from_memory;
    let longest = demand.longest[0] as f64 + (demand.longest[1] - demand.longest[0]) as f64 * from_memory;
    let latency = (waves * (path + constants.start_cycles)).max(longest + constants.start_cycles);
    // The last block begins after all others.
    let latency = latency.max(blocks as f64 * CYCLES_PER_BLOCK + path + constants.start_cycles);
    let latency = (latency + demand.drain as f64) / device.clock_mhz;

    // The critical path of a block that has a multiprocessor for itself waits for tensor cores, for bulk copies and for
    // its way to the L2. Otherwise blocks contend for them.
    let there = f64::from(resident.max(1)).min(blocks_each.ceil());
    let is_alone = is_alone(device, blocks, resident);
    let products = demand.products + demand.warp_products / one.mma_share;
    let matrix = if one.matrix > 0.0 { spread(products * scale / one.matrix) } else { 0.0 };
    let plain = |resource: Resource, time: f64| (resource, time, time);
    // The second time is that of what the critical path of a lone block does not have.
    let mut others = vec![
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
        others.push((Resource::Matrix, 0.0, matrix));
    }
    let beside = others.iter().map(|(_, beside, whole)| if is_alone { *beside } else { *whole });
    let powers: f64 = beside.map(|time| time.powf(constants.norm)).sum();
    let busy = powers.powf(constants.norm.recip());
    // Asynchronous copies hide latency as other blocks do.
    let there = there * demand.under_way.max(1) as f64;
    let hidden = (constants.norm * there / (there + 1.0)).max(1.0);
    let together = (busy.powf(hidden) + latency.powf(hidden)).powf(hidden.recip());
    // An empty kernel has a block that starts and ends.
    let launch = (device.launch_us - constants.start_cycles / device.clock_mhz).max(0.0);
    Estimate {
        us: launch + together,
        alone: others.into_iter().map(|(own, _, whole)| (own, whole)).chain([(Resource::Latency, latency)]).collect(),
        resident,
        at_barriers: waves.ceil() * demand.at_barriers as f64 / demand.warps.max(1) as f64 / device.clock_mhz,
    }
}
