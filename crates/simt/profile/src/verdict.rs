//! The verdict: the resource that bounds a rung, and the optimization that addresses it.

use serde::Deserialize;

use crate::checklist::Optimization;

/// The share of each of a device's limits that a launch reaches, from 0 to 1, and the numbers that explain these
/// shares. An unknown number is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Utilization {
    /// DRAM bandwidth.
    pub dram: Option<f64>,
    /// L2 bandwidth.
    pub l2: Option<f64>,
    /// Atomics on global memory, in the busiest slice of the L2.
    pub l2_atomics: Option<f64>,
    /// The L1 cache, which includes shared memory.
    pub l1: Option<f64>,
    /// Wavefronts of shared memory.
    pub shared: Option<f64>,
    /// Issue slots of the schedulers.
    pub issue: Option<f64>,
    /// The pipe for floating-point multiplications and additions.
    pub fma: Option<f64>,
    /// The pipes for special functions and for doubles.
    pub special: Option<f64>,
    /// The tensor pipe.
    pub tensor: Option<f64>,
    /// Achieved occupancy: active warps, as a share of the maximum.
    pub warps_active: Option<f64>,
    /// Theoretical occupancy: the occupancy that the kernel's registers, shared memory and blocks allow.
    pub warps_possible: Option<f64>,
    /// The number of waves: how many times the launch's blocks fill the device.
    pub waves: Option<f64>,
    /// The share of the warps' time spent at barriers.
    pub barrier: Option<f64>,
    /// The share of used bytes in the sectors moved to and from global memory.
    pub used: Option<f64>,
    /// The share of a warp's threads that participate in an instruction.
    pub lanes: Option<f64>,
    /// The share of wavefronts that bank conflicts cause.
    pub conflicts: Option<f64>,
    /// The share of wavefronts that atomics on shared memory cause.
    pub shared_atomics: Option<f64>,
    /// The average number of times that a byte of the problem's data moves between global memory and the
    /// multiprocessors.
    pub moved: Option<f64>,
    /// The time in nanoseconds, if the utilization is predicted and not measured.
    pub predicted_ns: Option<f64>,
}

impl Utilization {
    /// Returns the utilization of the L1 and of shared memory, which is a part of the L1. If most of the L1's traffic
    /// is shared-memory traffic, the L1's time is attributed to shared memory.
    fn l1_or_shared(&self) -> (Option<f64>, Option<f64>) {
        match (self.l1, self.shared) {
            (Some(l1), Some(shared)) if shared >= l1 * MOSTLY => (None, Some(l1.max(shared))),
            other => other,
        }
    }

    /// Returns the share of the time in which shared memory is busy with wavefronts due to bank conflicts. Returns
    /// `None` if most wavefronts are due to atomics.
    fn bank_conflicts(&self) -> Option<f64> {
        let (shared, conflicts) = self.shared.zip(self.conflicts)?;
        (!is_above(self.shared_atomics, MANY_ATOMICS)).then_some(shared * conflicts)
    }
}

/// The resource that bounds a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// DRAM bandwidth.
    Dram,
    /// L2 bandwidth.
    L2,
    /// Atomics on a few words of global memory, which one slice of the L2 performs one after another.
    Atomics,
    /// The L1 cache: sectors of global memory that pass through it.
    L1,
    /// Wavefronts of shared memory.
    Shared,
    /// Wavefronts of shared memory that bank conflicts add.
    BankConflicts,
    /// Issue slots.
    Issue,
    /// The FP32 pipe.
    Fma,
    /// The pipes for special functions and for doubles.
    Special,
    /// The tensor pipe, which multiplies matrices.
    Tensor,
    /// Latency: there are too few warps to hide it.
    Warps,
    /// Latency: the problem does not have enough blocks for the device.
    Size,
    /// Latency: warps wait at barriers.
    Barriers,
    /// Latency: there are enough warps, but each warp waits for its data.
    Latency,
}

impl Resource {
    /// Returns the name of the resource.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dram => "DRAM bandwidth",
            Self::L2 => "L2 bandwidth",
            Self::Atomics => "L2 atomics",
            Self::L1 => "L1 cache",
            Self::Shared => "shared memory",
            Self::BankConflicts => "bank conflicts",
            Self::Issue => "issue slots",
            Self::Fma => "FP32 pipe",
            Self::Special => "special functions and FP64",
            Self::Tensor => "tensor pipe",
            Self::Warps => "too few warps",
            Self::Size => "too few blocks",
            Self::Barriers => "barriers",
            Self::Latency => "latency",
        }
    }

    /// Returns the names of the metrics that show this bound. A device may lack some of them.
    pub fn evidence(self) -> &'static [&'static str] {
        match self {
            Self::Dram => &["dram__throughput.avg.pct_of_peak_sustained_elapsed", USED[0], USED[1], BYTES[0], BYTES[1]],
            Self::L2 => &["lts__throughput.avg.pct_of_peak_sustained_elapsed", USED[0], USED[1], BYTES[0], BYTES[1]],
            Self::L1 => &[SECTORS[0], SECTORS[1], USED[0], USED[1]],
            Self::Atomics => &[
                "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed",
                "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
                "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
            ],
            Self::Shared | Self::BankConflicts => &[
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
            ],
            Self::Issue => &["smsp__issue_active.avg.pct_of_peak_sustained_active", INSTRUCTIONS, LANES],
            Self::Fma => &["sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", INSTRUCTIONS],
            Self::Special => &[
                "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
                "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
                INSTRUCTIONS,
            ],
            Self::Tensor => &["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", INSTRUCTIONS],
            Self::Warps | Self::Size => &[
                "sm__warps_active.avg.pct_of_peak_sustained_active",
                "sm__ctas_launched.sum",
                "smsp__warps_launched.sum",
            ],
            Self::Barriers => {
                &["smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "ptx_barriers_per_warp.ratio"]
            }
            Self::Latency => &[
                "smsp__average_warp_latency_per_inst_issued.ratio",
                "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
                INSTRUCTIONS,
                SECTORS[0],
                SECTORS[1],
            ],
        }
    }

    /// Returns the kind of figure that shows this bound: the name of a [`Drawing`](crate::figures::Drawing).
    pub fn figure(self) -> &'static str {
        match self {
            Self::Dram | Self::L2 | Self::L1 | Self::Atomics => "access",
            Self::Shared | Self::BankConflicts => "banks",
            Self::Warps | Self::Size | Self::Barriers | Self::Latency => "timeline",
            Self::Issue | Self::Fma | Self::Special | Self::Tensor => "source",
        }
    }
}

const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";
const LANES: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";
/// Sectors per request, of loads and of stores.
const SECTORS: [&str; 2] = [
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
];
/// The used share of sectors, for loads and stores.
const USED: [&str; 2] = [
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
];
/// The bytes of sectors, for loads and stores.
const BYTES: [&str; 2] =
    ["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum"];

/// The verdict about a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundVerdict {
    /// The resource that bounds the launch.
    pub bound: Resource,
    /// The utilization of the bounding resource, from 0 to 1. For [`Resource::Warps`] and [`Resource::Size`] it is the
    /// occupancy. For [`Resource::Barriers`] and [`Resource::BankConflicts`] it is the share of the time lost there.
    /// For [`Resource::Latency`] it is the highest utilization of any resource.
    pub share: f64,
    /// The optimization that addresses the bound; `None` if the launch is at the limit of the memory or the arithmetic.
    pub helps: Option<Optimization>,
    /// The time in nanoseconds, if the time is predicted and not measured.
    pub predicted_ns: Option<f64>,
}

/// The minimum utilization at which a resource bounds a kernel. If the utilization of every resource is lower, latency
/// bounds the kernel. Nsight Compute's section "GPU Speed Of Light Throughput" also uses 60 %.
pub const NEAR: f64 = 0.6;
/// Barriers bound a kernel whose warps wait at them for more than this share of their time.
const MANY_BARRIERS: f64 = 0.25;
/// Below this occupancy there are too few warps.
const FEW_WARPS: f64 = 0.5;
/// If the possible occupancy exceeds the achieved occupancy by this factor, blocks finish faster than new blocks
/// replace them.
const SHORT_BLOCKS: f64 = 1.5;
/// Shared memory is reported as the resource if it causes at least this share of the L1's traffic.
const MOSTLY: f64 = 0.5;
/// Sectors are wasted when less than this share of their bytes is used.
const WASTED: f64 = 0.6;
/// Warps are diverged when less than this share of their lanes is active.
const PARTED: f64 = 0.75;
/// Utilizations that differ by no more than this factor count as equal.
const ALIKE: f64 = 1.05;
/// Accesses to a memory are considered the cause of latency if the memory's utilization is at least this high.
const AT_WORK: f64 = 0.5;
/// Bank conflicts bound a kernel whose shared memory is busy with them for more than this share of the time.
const MANY_CONFLICTS: f64 = 0.25;
/// If more than this share of wavefronts is due to atomics, there are many atomics.
const MANY_ATOMICS: f64 = 0.5;
/// Data that moves more often than this number of times could be kept on chip.
const MOVED_AGAIN: f64 = 2.0;

/// Returns the resource that bounds a launch. Returns `None` if the utilization of every resource is unknown.
///
/// The bounding resource is the resource nearest to its limit, if its utilization reaches [`NEAR`]. If several
/// resources are about equally near to their limits, the first one in this order is reported: DRAM, L2, the L2's
/// atomics, tensor pipe, L1, shared memory, special functions and FP64, FP32 pipe, issue slots. FP32 instructions take
/// issue slots too, so the FP32 pipe is reported if both are near their limits. The tensor pipe precedes shared memory,
/// which supplies its operands. Shared memory is a part of the L1, and is reported if it causes most of the L1's
/// traffic. If no resource reaches [`NEAR`], latency bounds the launch. The cause is barriers if warps spend their time
/// there, too few warps if the occupancy is low, and otherwise each warp's accesses.
///
/// Bank conflicts take precedence over shared memory and latency under two conditions: shared memory spends a quarter
/// of the time on them, and warps do not spend more time at barriers. A warp waits for all wavefronts of its request,
/// even if shared memory itself is not always busy.
pub fn verdict(shares: &Utilization) -> Option<BoundVerdict> {
    let (l1, shared) = shares.l1_or_shared();
    let resources = [
        (Resource::Dram, shares.dram),
        (Resource::L2, shares.l2),
        (Resource::Atomics, shares.l2_atomics),
        (Resource::Tensor, shares.tensor),
        (Resource::L1, l1),
        (Resource::Shared, shared),
        (Resource::Special, shares.special),
        (Resource::Fma, shares.fma),
        (Resource::Issue, shares.issue),
    ];
    let known = resources.into_iter().filter_map(|(resource, share)| Some((resource, share?)));
    // Takes the first of nearly equal resources, because data from DRAM passes through the L2 as well.
    let is_nearer = |best: f64, other: f64| other > best * ALIKE;
    let (nearest, most) = known.reduce(|best, other| if is_nearer(best.1, other.1) { other } else { best })?;
    // If arithmetic fills the issue slots, the arithmetic is the bound.
    let (nearest, most) = match (nearest, shares.fma) {
        (Resource::Issue, Some(fma)) if fma >= NEAR => (Resource::Fma, fma),
        _ => (nearest, most),
    };
    let conflicts = shares.bank_conflicts().filter(|lost| *lost >= MANY_CONFLICTS);
    let is_filled = shares.waves.is_none_or(|waves| waves >= 1.0);
    let (bound, share) = match (conflicts, shares.barrier, shares.warps_active) {
        _ if most >= NEAR && nearest != Resource::Shared => (nearest, most),
        (Some(lost), barrier, _) if most >= NEAR || !is_above(barrier, lost) => (Resource::BankConflicts, lost),
        _ if most >= NEAR => (nearest, most),
        (_, Some(barrier), _) if barrier >= MANY_BARRIERS => (Resource::Barriers, barrier),
        (_, _, Some(warps)) if warps < FEW_WARPS && is_filled => (Resource::Warps, warps),
        (_, _, Some(warps)) if warps < FEW_WARPS => (Resource::Size, warps),
        _ => (Resource::Latency, most),
    };
    Some(BoundVerdict { bound, share, helps: helps(bound, shares), predicted_ns: shares.predicted_ns })
}

fn is_above(share: Option<f64>, limit: f64) -> bool {
    share.is_some_and(|share| share > limit)
}

fn is_below(share: Option<f64>, limit: f64) -> bool {
    share.is_some_and(|share| share < limit)
}

/// Returns the optimization that addresses a bound.
fn helps(bound: Resource, shares: &Utilization) -> Option<Optimization> {
    match bound {
        Resource::Dram | Resource::L2 | Resource::L1 | Resource::Shared => traffic(bound, shares),
        Resource::BankConflicts => Some(Optimization::BankConflicts),
        Resource::Issue | Resource::Fma | Resource::Special if is_below(shares.lanes, PARTED) => {
            Some(Optimization::Divergence)
        }
        Resource::Fma | Resource::Special | Resource::Tensor | Resource::Size => None,
        // Each block adds its private copy to global memory. Fewer blocks with more work per block have fewer copies.
        Resource::Atomics if is_above(shares.shared_atomics, 0.0) => Some(Optimization::Coarsening),
        Resource::Atomics => Some(Optimization::Privatization),
        Resource::Issue | Resource::Barriers => Some(Optimization::Coarsening),
        Resource::Warps => match (shares.warps_possible, shares.warps_active) {
            // More blocks fit, but they finish too soon to fill the device.
            (Some(possible), Some(active)) if possible >= active * SHORT_BLOCKS => Some(Optimization::Coarsening),
            _ => Some(Optimization::Occupancy),
        },
        // Reduce the accesses if there are more than necessary; otherwise, have more accesses in flight. A diverged
        // warp executes its paths one after another.
        Resource::Latency => waited_for(shares).and_then(|memory| traffic(memory, shares)).or_else(|| {
            Some(if is_below(shares.lanes, PARTED) { Optimization::Divergence } else { Optimization::Coarsening })
        }),
    }
}

/// Returns the memory whose accesses the warps wait for: the memory nearest to its limit, if its utilization reaches
/// [`AT_WORK`]. Shared memory is not considered, because its number of wavefronts is minimal if there are few bank
/// conflicts.
fn waited_for(shares: &Utilization) -> Option<Resource> {
    let (l1, _) = shares.l1_or_shared();
    let memories = [(Resource::Dram, shares.dram), (Resource::L2, shares.l2), (Resource::L1, l1)];
    let known = memories.into_iter().filter_map(|(memory, share)| Some((memory, share?)));
    let (busiest, share) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share >= AT_WORK).then_some(busiest)
}

/// Returns the optimization that reduces the traffic of a memory; `None` if the traffic is already minimal.
fn traffic(memory: Resource, shares: &Utilization) -> Option<Optimization> {
    let is_wasted = is_below(shares.used, WASTED);
    Some(match memory {
        Resource::Dram | Resource::L2 | Resource::L1 if is_wasted => Optimization::Coalescing,
        Resource::L2 | Resource::L1 if is_above(shares.moved, MOVED_AGAIN) => Optimization::Tiling,
        Resource::Shared if is_above(shares.shared_atomics, MANY_ATOMICS) => Optimization::Privatization,
        // Keep more of the reused data in registers.
        Resource::Shared => Optimization::Tiling,
        _ => return None,
    })
}
