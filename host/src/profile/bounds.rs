//! How near a launch is to its device's limits: as Nsight Compute measured it, or by a bound from what the
//! simulator counted.

use super::Numbers;
use super::verdict::Shares;
use crate::launch::Launch;
use crate::registry::Rung;

/// What Nsight Compute is asked for besides the metrics that are shown. What a chip does not have is left out of
/// the verdict.
pub const METRICS: &[&str] = &[
    DRAM,
    L2,
    WAVES,
    ISSUE,
    FMA,
    WARPS,
    WAVES_OF_BLOCKS,
    BARRIER,
    CYCLES,
    LANES,
    LD_SECTORS,
    ST_SECTORS,
    ATOM_SECTORS,
    RED_SECTORS,
    USED_LD,
    USED_ST,
    SHARED_LD,
    SHARED_ST,
    SHARED_ATOM,
    CONFLICTS_LD,
    CONFLICTS_ST,
];

const DRAM: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
const L2: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
const WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed";
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";
const FMA: &str = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active";
const WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
const WAVES_OF_BLOCKS: &str = "launch__waves_per_multiprocessor";
const BARRIER: &str = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
const CYCLES: &str = "smsp__average_warp_latency_per_inst_issued.ratio";
const LANES: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";
const LD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const ST_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const ATOM_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum";
const RED_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum";
const USED_LD: &str = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct";
const USED_ST: &str = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct";
const SHARED_LD: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const SHARED_ST: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const SHARED_ATOM: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
const CONFLICTS_LD: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const CONFLICTS_ST: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";

/// A sector in bytes.
const SECTOR: f64 = 32.0;

/// The H100 SXM5 that bounds are for. SMs, schedulers and their width: NVIDIA H100 Tensor Core GPU Architecture,
/// "H100 SM Architecture" and table 2; the clock is its highest, which Nsight Compute saw in a matrix product; the
/// memory's bandwidth is what its driver says of clock and bus.
mod h100 {
    pub(super) const SMS: f64 = 132.0;
    pub(super) const HZ: f64 = 1.98e9;
    pub(super) const DRAM_BYTES_PER_S: f64 = 3352e9;
    /// NVIDIA A100 Tensor Core GPU Architecture, "A100 L2 Cache": 5120 bytes a clock. None is published for the
    /// H100, whose cache is of the same build.
    pub(super) const L2_BYTES_PER_CYCLE: f64 = 5120.0;
    pub(super) const SCHEDULERS: f64 = 4.0;
    pub(super) const WARPS_PER_SM: f64 = 64.0;
    pub(super) const BLOCKS_PER_SM: f64 = 32.0;
    pub(super) const SHARED_PER_SM: f64 = 228.0 * 1024.0;
    /// What a block takes of it besides its own.
    pub(super) const SHARED_PER_BLOCK: f64 = 1024.0;
    /// A barrier of a block: taken to be as long as a load of shared memory (Luo et al., "Benchmarking and
    /// Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024: 29 cycles).
    pub(super) const BARRIER_CYCLES: f64 = 29.0;
    /// A load that comes from DRAM (the same: 479 cycles).
    pub(super) const DRAM_CYCLES: f64 = 479.0;
}

/// The sum of those that were counted; `None` where none was.
fn sum(numbers: &Numbers, names: &[&str]) -> Option<f64> {
    names
        .iter()
        .filter_map(|name| numbers.get(name))
        .reduce(|a, b| a + b)
}

fn quotient(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0.0).then(|| part / whole)
}

/// What both devices count: how the bytes, lanes and wavefronts are used.
fn common(numbers: &Numbers, lanes: &str, problem_bytes: u64) -> Shares {
    let get = |name| numbers.get(name);
    let sectors = |names: &[&str]| sum(numbers, names);
    let used = |name, sectors| Some(get(name)? / 100.0 * get(sectors)?);
    let moved = sectors(&[LD_SECTORS, ST_SECTORS]);
    let used = [used(USED_LD, LD_SECTORS), used(USED_ST, ST_SECTORS)]
        .into_iter()
        .flatten()
        .reduce(|a, b| a + b);
    let all_sectors = sectors(&[LD_SECTORS, ST_SECTORS, ATOM_SECTORS, RED_SECTORS]);
    let atomic_sectors = sectors(&[ATOM_SECTORS, RED_SECTORS]);
    let waves = sum(numbers, &[SHARED_LD, SHARED_ST, SHARED_ATOM]);
    Shares {
        used: quotient(used, moved),
        lanes: get(lanes).map(|threads| threads / 32.0),
        conflicts: quotient(sum(numbers, &[CONFLICTS_LD, CONFLICTS_ST]), waves),
        atomics: quotient(atomic_sectors, all_sectors),
        shared_atomics: quotient(get(SHARED_ATOM), waves),
        moved: quotient(
            moved.map(|sectors| sectors * SECTOR),
            Some(problem_bytes as f64),
        ),
        ..Shares::default()
    }
}

impl Shares {
    /// As Nsight Compute measured them, of a launch whose problem has this many bytes.
    pub fn from_ncu(numbers: &Numbers, problem_bytes: u64) -> Self {
        let share = |name| numbers.get(name).map(|percent| percent / 100.0);
        Self {
            dram: share(DRAM),
            l2: share(L2),
            shared: share(WAVES),
            issue: share(ISSUE),
            fma: share(FMA),
            warps_active: share(WARPS),
            waves: numbers.get(WAVES_OF_BLOCKS),
            barrier: quotient(numbers.get(BARRIER), numbers.get(CYCLES)),
            ..common(numbers, LANES, problem_bytes)
        }
    }

    /// By a bound, from what the simulator counted: on an H100 the launch takes at least as long as each of its
    /// resources alone, and as the longest chain of a warp's instructions, and each share is of the longest of
    /// those times.
    ///
    /// - DRAM moves the problem's bytes once.
    /// - L2 moves every sector that loads and stores touch, for there is no L1 here, and each sector of an atomic
    ///   as often as it is changed.
    /// - Shared memory takes a wavefront a cycle and SM.
    /// - The schedulers issue an instruction a cycle each; they are the PTX's, and of those the arithmetic of floats
    ///   goes through a pipe as wide as they are.
    /// - The warps that are resident by their number and their shared memory (registers are `ptxas`'s to say) take
    ///   turns, and in each turn one load from DRAM, the barriers, and a cycle for each instruction of a warp.
    pub fn from_sim(numbers: &Numbers, rung: &Rung, launch: &Launch, problem_bytes: u64) -> Self {
        let own = common(
            numbers,
            "ptx_thread_inst_executed_per_inst_executed.ratio",
            problem_bytes,
        );
        let (Some(instructions), Some(warps)) = (
            numbers.get("ptx_inst_executed.sum"),
            numbers
                .get("smsp__warps_launched.sum")
                .filter(|&warps| warps > 0.0),
        ) else {
            return own;
        };
        let cycles = |seconds: f64| seconds * h100::HZ;
        let sectors = sum(
            numbers,
            &[LD_SECTORS, ST_SECTORS, ATOM_SECTORS, RED_SECTORS],
        );
        let waves = sum(numbers, &[SHARED_LD, SHARED_ST, SHARED_ATOM]);
        let floats = numbers.get("ptx_inst_executed_float.sum").unwrap_or(0.0);
        let barriers = numbers.get("ptx_barriers.sum").unwrap_or(0.0) / warps;

        let dram = cycles(problem_bytes as f64 / h100::DRAM_BYTES_PER_S);
        let l2 = sectors.unwrap_or(0.0) * SECTOR / h100::L2_BYTES_PER_CYCLE;
        let shared = waves.unwrap_or(0.0) / h100::SMS;
        let width = h100::SMS * h100::SCHEDULERS;
        let (issue, fma) = (instructions / width, floats / width);
        let resident = resident_blocks(rung, launch);
        let waves_of_blocks = launch.blocks() as f64 / (resident * h100::SMS);
        let turns = waves_of_blocks.ceil();
        let waiting = turns * barriers * h100::BARRIER_CYCLES;
        let chain = instructions / warps + h100::DRAM_CYCLES;
        let longest = [dram, l2, shared, issue, fma, turns * chain + waiting]
            .into_iter()
            .fold(0.0, f64::max);
        let share = |cycles: f64| Some(cycles / longest);
        let there = warps.min(resident * h100::SMS * warps / launch.blocks() as f64);
        Self {
            dram: share(dram),
            l2: share(l2),
            shared: share(shared),
            issue: share(issue),
            fma: share(fma),
            warps_active: Some(there / (h100::SMS * h100::WARPS_PER_SM)),
            waves: Some(waves_of_blocks),
            barrier: share(waiting),
            bound_ns: Some(longest / h100::HZ * 1e9),
            ..own
        }
    }
}

/// Blocks that are on a multiprocessor at a time, as far as their threads and their shared memory say.
fn resident_blocks(rung: &Rung, launch: &Launch) -> f64 {
    let warps = launch.threads().div_ceil(32) as f64;
    let shared = f64::from(rung.shared.bytes(launch.block)) + h100::SHARED_PER_BLOCK;
    (h100::WARPS_PER_SM / warps)
        .min(h100::SHARED_PER_SM / shared)
        .min(h100::BLOCKS_PER_SM)
        .floor()
        .max(1.0)
}
