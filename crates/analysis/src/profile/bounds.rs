//! The utilization of a device's limits by a launch, as measured by Nsight Compute or as predicted by
//! [`predict`](crate::predict).

use super::verdict::Utilization;
use crate::counters::Numbers;
use crate::occupancy::Limits;
use crate::predict::Description;
use crate::predict::model::{Estimate, Resource};
use engine::launch::Launch;

/// The metrics that Nsight Compute collects in addition to those that are shown. A metric that the chip does not have
/// is left out of the verdict.
pub const METRICS: &[&str] = &[
    DRAM,
    L2,
    L2_ATOMICS,
    L1,
    WAVES,
    ISSUE,
    FMA,
    WARPS,
    POSSIBLE_WARPS,
    WAVES_OF_BLOCKS,
    BARRIER,
    CYCLES,
    LANES,
    LD_SECTORS,
    ST_SECTORS,
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
/// Of the slice with the most: words that many threads change lie in few slices.
const L2_ATOMICS: &str = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed";
const L1: &str = "l1tex__throughput.avg.pct_of_peak_sustained_elapsed";
const WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed";
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";
const FMA: &str = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active";
const WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
const POSSIBLE_WARPS: &str = "sm__maximum_warps_per_active_cycle_pct";
const WAVES_OF_BLOCKS: &str = "launch__waves_per_multiprocessor";
const BARRIER: &str = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
const CYCLES: &str = "smsp__average_warp_latency_per_inst_issued.ratio";
const LANES: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";
const LD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const ST_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const USED_LD: &str = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct";
const USED_ST: &str = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct";
const SHARED_LD: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const SHARED_ST: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const SHARED_ATOM: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
const CONFLICTS_LD: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const CONFLICTS_ST: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";

/// A sector in bytes.
const SECTOR: f64 = 32.0;

/// The sum of those metrics that were counted; `None` when none was.
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

/// The utilization that both devices count: how the bytes, lanes and wavefronts are used.
fn common(numbers: &Numbers, lanes: &str, problem_bytes: u64) -> Utilization {
    let get = |name| numbers.get(name);
    let used = |name, sectors| Some(get(name)? / 100.0 * get(sectors)?);
    let moved = sum(numbers, &[LD_SECTORS, ST_SECTORS]);
    let used = [used(USED_LD, LD_SECTORS), used(USED_ST, ST_SECTORS)]
        .into_iter()
        .flatten()
        .reduce(|a, b| a + b);
    let waves = sum(numbers, &[SHARED_LD, SHARED_ST, SHARED_ATOM]);
    Utilization {
        used: quotient(used, moved),
        lanes: get(lanes).map(|threads| threads / 32.0),
        conflicts: quotient(sum(numbers, &[CONFLICTS_LD, CONFLICTS_ST]), waves),
        shared_atomics: quotient(get(SHARED_ATOM), waves),
        moved: quotient(
            moved.map(|sectors| sectors * SECTOR),
            Some(problem_bytes as f64),
        ),
        ..Utilization::default()
    }
}

impl Utilization {
    /// The utilization as Nsight Compute measured it, for a launch whose problem has this many bytes.
    pub fn from_ncu(numbers: &Numbers, problem_bytes: u64) -> Self {
        let share = |name| numbers.get(name).map(|percent| percent / 100.0);
        Self {
            dram: share(DRAM),
            l2: share(L2),
            l2_atomics: share(L2_ATOMICS),
            l1: share(L1),
            shared: share(WAVES),
            issue: share(ISSUE),
            fma: share(FMA),
            warps_active: share(WARPS),
            warps_possible: share(POSSIBLE_WARPS),
            waves: numbers.get(WAVES_OF_BLOCKS),
            barrier: quotient(numbers.get(BARRIER), numbers.get(CYCLES)),
            ..common(numbers, LANES, problem_bytes)
        }
    }

    /// The utilization from the model's prediction for a device and from the simulator's counters: each resource's
    /// share is the time that it alone would take, divided by the predicted time. The model treats L1 and shared
    /// memory as one resource; its time is attributed to shared memory if there are wavefronts of it, and else to L1.
    /// The pipe of integers counts among the issue slots.
    pub fn from_model(
        device: &Description,
        estimate: &Estimate,
        numbers: &Numbers,
        launch: &Launch,
        problem_bytes: u64,
    ) -> Self {
        let share = |resources: &[Resource]| {
            let shares = resources.iter().map(|&resource| estimate.share(resource));
            Some(shares.fold(0.0, f64::max))
        };
        let multiprocessors = f64::from(device.multiprocessors);
        let blocks = launch.blocks() as f64;
        let warps_of_block = launch.threads().div_ceil(32) as f64;
        let waves = blocks / (f64::from(estimate.resident.max(1)) * multiprocessors);
        let there = f64::from(estimate.resident.max(1)).min(blocks / multiprocessors);
        let most = Limits::named(&device.arch).map(|limits| f64::from(limits.warps));
        let barriers = quotient(
            numbers.get("ptx_barriers.sum"),
            numbers.get("smsp__warps_launched.sum"),
        );
        let waiting = barriers.map(|barriers| {
            let cycles = waves.ceil() * barriers * f64::from(device.latency.barrier);
            cycles / device.clock_mhz / estimate.us
        });
        let common = common(
            numbers,
            "ptx_thread_inst_executed_per_inst_executed.ratio",
            problem_bytes,
        );
        let has_shared =
            sum(numbers, &[SHARED_LD, SHARED_ST, SHARED_ATOM]).is_some_and(|all| all > 0.0);
        let of_l1 = share(&[Resource::Shared]);
        let [l1, shared] = if has_shared {
            [None, of_l1]
        } else {
            [of_l1, None]
        };
        Self {
            dram: share(&[Resource::Memory]),
            l2: share(&[Resource::L2]),
            l2_atomics: share(&[Resource::Atomics]),
            l1,
            shared,
            issue: share(&[Resource::Issue, Resource::Integers]),
            fma: share(&[Resource::Floats]),
            warps_active: most.ok().map(|most| there * warps_of_block / most),
            waves: Some(waves),
            barrier: waiting,
            predicted_ns: Some(estimate.us * 1e3),
            ..common
        }
    }
}
