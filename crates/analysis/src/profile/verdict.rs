//! What bounds a rung, and what is done about it.

use crate::checklist::Optimization;
use engine::registry::{Ladder, Rung};

/// How near a launch is to the limits of a device, from 0 to 1, and what else tells why. `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilization {
    /// DRAM bandwidth.
    pub dram: Option<f64>,
    /// L2 bandwidth.
    pub l2: Option<f64>,
    /// Atomics of global memory, in that slice of the L2 which has the most of them.
    pub l2_atomics: Option<f64>,
    /// The L1 cache, of which shared memory is a part.
    pub l1: Option<f64>,
    /// Wavefronts of shared memory.
    pub shared: Option<f64>,
    /// Issue slots of the schedulers.
    pub issue: Option<f64>,
    /// The pipe of multiplications and additions of floats.
    pub fma: Option<f64>,
    /// Occupancy: warps that are there, of as many as there can be.
    pub warps_active: Option<f64>,
    /// Theoretical occupancy: as many as the kernel's registers, shared memory and blocks leave room for.
    pub warps_possible: Option<f64>,
    /// How often the launch's blocks fill the device.
    pub waves: Option<f64>,
    /// The share of their time that warps wait at barriers.
    pub barrier: Option<f64>,
    /// Bytes used of the sectors moved to and from global memory.
    pub used: Option<f64>,
    /// Threads that take part in an instruction, of 32.
    pub lanes: Option<f64>,
    /// Wavefronts lost to bank conflicts, of all.
    pub conflicts: Option<f64>,
    /// Wavefronts of atomics on shared memory, of all.
    pub shared_atomics: Option<f64>,
    /// How often a byte of the problem's data is moved between global memory and the multiprocessors.
    pub moved: Option<f64>,
    /// The time that all this is of, where it is predicted and not measured, in nanoseconds.
    pub predicted_ns: Option<f64>,
}

impl Utilization {
    /// The L1 and shared memory, which is a part of it: where most of the L1's traffic is shared memory's, the L1's
    /// time is, too.
    fn l1_or_shared(&self) -> (Option<f64>, Option<f64>) {
        match (self.l1, self.shared) {
            (Some(l1), Some(shared)) if shared >= l1 * MOSTLY => (None, Some(l1.max(shared))),
            other => other,
        }
    }
}

/// What bounds a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// DRAM bandwidth.
    Dram,
    /// L2 bandwidth.
    L2,
    /// Atomics on few words of global memory, which one slice of the L2 does one after the other.
    Atomics,
    /// The L1 cache: sectors of global memory that go through it.
    L1,
    /// Wavefronts of shared memory.
    Shared,
    /// Issue slots.
    Issue,
    /// The FP32 pipe.
    Fma,
    /// Latency: too few warps are there to hide it.
    Warps,
    /// Latency: the problem has not enough blocks for the device.
    Size,
    /// Latency: warps wait at barriers.
    Barriers,
    /// Latency: the warps are there, and each waits for its own data.
    Latency,
}

impl Resource {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dram => "DRAM bandwidth",
            Self::L2 => "L2 bandwidth",
            Self::Atomics => "atomics in L2",
            Self::L1 => "L1 cache",
            Self::Shared => "shared-memory wavefronts",
            Self::Issue => "issue slots",
            Self::Fma => "FP32 pipe",
            Self::Warps => "latency, too few warps",
            Self::Size => "latency, too few blocks",
            Self::Barriers => "latency, barriers",
            Self::Latency => "latency",
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What bounds the launch.
    pub bound: Resource,
    /// How near it is to that limit, from 0 to 1. For [`Resource::Warps`] and [`Resource::Size`] it is the occupancy, for
    /// [`Resource::Barriers`] the share of the time that goes there, for [`Resource::Latency`] the most that any
    /// resource is used.
    pub share: f64,
    /// The entry of the checklist that addresses it; none where the limit is the memory's or the arithmetic's own.
    pub helps: Option<Optimization>,
    /// The time, where it is predicted and not measured, in nanoseconds.
    pub predicted_ns: Option<f64>,
}

/// From this share of its limit on a resource bounds a kernel; below it, latency does (the rule behind Nsight
/// Compute's section "GPU Speed Of Light Throughput" has the same 60 %).
pub const NEAR: f64 = 0.6;
/// Warps that wait at barriers for more of their time than this are bound by them.
const MANY_BARRIERS: f64 = 0.25;
/// With less than this occupancy there are too few warps.
const FEW_WARPS: f64 = 0.5;
/// Where this much more occupancy is possible than there is, blocks end sooner than others take their place.
const SHORT_BLOCKS: f64 = 1.5;
/// From this share of the L1's traffic on it is shared memory's.
const MOSTLY: f64 = 0.5;
/// Less of the sectors used than this is waste.
const WASTED: f64 = 0.6;
/// Fewer lanes at work than this is divergence.
const PARTED: f64 = 0.75;
/// Utilization that differ by no more than this factor are nearly alike.
const ALIKE: f64 = 1.05;
/// A memory that is at work for this share of the time is one whose accesses are waited for.
const AT_WORK: f64 = 0.5;
/// More of the wavefronts lost than this are many conflicts.
const CONFLICTS: f64 = 0.25;
/// More of the wavefronts than this are many atomics.
const MANY_ATOMICS: f64 = 0.5;
/// Data moved more often than this could be kept.
const MOVED_AGAIN: f64 = 2.0;

/// What bounds a launch. `None` where no share of a resource is known.
///
/// The resource nearest to its limit does, if it is as near as [`NEAR`]; of those that are nearly as near, the first of
/// DRAM, L2, its atomics, L1, shared memory, FP32 pipe, issue slots. What goes through the pipe takes issue slots too:
/// the pipe it is where both are near. Shared memory is a part of the L1, and is meant where it has most of its
/// traffic. Else it is latency: at barriers, where warps spend their time there; for want of warps, where there are
/// few; of each warp's own accesses otherwise.
pub fn verdict(shares: &Utilization) -> Option<Verdict> {
    let (l1, shared) = shares.l1_or_shared();
    let resources = [
        (Resource::Dram, shares.dram),
        (Resource::L2, shares.l2),
        (Resource::Atomics, shares.l2_atomics),
        (Resource::L1, l1),
        (Resource::Shared, shared),
        (Resource::Fma, shares.fma),
        (Resource::Issue, shares.issue),
    ];
    let known = resources
        .into_iter()
        .filter_map(|(resource, share)| Some((resource, share?)));
    // The first of those that are nearly alike: what comes from DRAM passes the L2 as well.
    let (nearest, most) = known.reduce(|best, other| {
        if other.1 > best.1 * ALIKE {
            other
        } else {
            best
        }
    })?;
    // Slots that hold arithmetic are full of the work itself.
    let (nearest, most) = match (nearest, shares.fma) {
        (Resource::Issue, Some(fma)) if fma >= NEAR => (Resource::Fma, fma),
        _ => (nearest, most),
    };
    let (bound, share) = if most >= NEAR {
        (nearest, most)
    } else {
        match (shares.barrier, shares.warps_active) {
            (Some(barrier), _) if barrier >= MANY_BARRIERS => (Resource::Barriers, barrier),
            (_, Some(warps)) if warps < FEW_WARPS => {
                let is_filled = shares.waves.is_none_or(|waves| waves >= 1.0);
                let why = if is_filled {
                    Resource::Warps
                } else {
                    Resource::Size
                };
                (why, warps)
            }
            _ => (Resource::Latency, most),
        }
    };
    Some(Verdict {
        bound,
        share,
        helps: helps(bound, shares),
        predicted_ns: shares.predicted_ns,
    })
}

/// What addresses a bound.
fn helps(bound: Resource, shares: &Utilization) -> Option<Optimization> {
    let below = |share: Option<f64>, limit| share.is_some_and(|share| share < limit);
    let above = |share: Option<f64>, limit| share.is_some_and(|share| share > limit);
    match bound {
        Resource::Dram | Resource::L2 | Resource::L1 | Resource::Shared => traffic(bound, shares),
        Resource::Fma | Resource::Size => None,
        // What each block adds of its own copy: fewer, larger blocks' work has fewer copies.
        Resource::Atomics if above(shares.shared_atomics, 0.0) => Some(Optimization::Coarsening),
        Resource::Atomics => Some(Optimization::Privatization),
        Resource::Issue if below(shares.lanes, PARTED) => Some(Optimization::Divergence),
        Resource::Issue | Resource::Barriers => Some(Optimization::Coarsening),
        Resource::Warps => {
            let is_possible = shares
                .warps_possible
                .zip(shares.warps_active)
                .is_some_and(|(possible, active)| possible >= active * SHORT_BLOCKS);
            Some(match is_possible {
                // There is room for more, and blocks end too soon to fill it.
                true => Optimization::Coarsening,
                false => Optimization::Occupancy,
            })
        }
        // Fewer accesses to wait for, where they are more than they need be; else more of them at once.
        Resource::Latency => waited_for(shares)
            .and_then(|memory| traffic(memory, shares))
            .or(Some(Optimization::Coarsening)),
    }
}

/// The memory whose accesses are what is waited for, if one is [`AT_WORK`]: the nearest to its limit.
fn waited_for(shares: &Utilization) -> Option<Resource> {
    let (l1, shared) = shares.l1_or_shared();
    // Without conflicts a wavefront is what an access takes at the least.
    let has_conflicts = shares.conflicts.is_some_and(|lost| lost > CONFLICTS);
    let memories = [
        (Resource::Dram, shares.dram),
        (Resource::L2, shares.l2),
        (Resource::L1, l1),
        (Resource::Shared, shared.filter(|_| has_conflicts)),
    ];
    let known = memories
        .into_iter()
        .filter_map(|(memory, share)| Some((memory, share?)));
    let busiest = known.max_by(|a, b| a.1.total_cmp(&b.1));
    busiest
        .filter(|(_, share)| *share >= AT_WORK)
        .map(|(memory, _)| memory)
}

/// What makes less traffic of a kind of memory; nothing where it is as little as it can be.
fn traffic(memory: Resource, shares: &Utilization) -> Option<Optimization> {
    let above = |share: Option<f64>, limit| share.is_some_and(|share| share > limit);
    let is_wasted = shares.used.is_some_and(|used| used < WASTED);
    match memory {
        Resource::Dram | Resource::L2 | Resource::L1 if is_wasted => Some(Optimization::Coalescing),
        Resource::L2 | Resource::L1 if above(shares.moved, MOVED_AGAIN) => {
            Some(Optimization::Tiling)
        }
        Resource::Shared if above(shares.shared_atomics, MANY_ATOMICS) => {
            Some(Optimization::Privatization)
        }
        // Where the words lie is what the checklist calls the layout of the data.
        Resource::Shared if above(shares.conflicts, CONFLICTS) => Some(Optimization::Coalescing),
        // More of what is read again in registers.
        Resource::Shared => Some(Optimization::Tiling),
        _ => None,
    }
}

/// The rung of the ladder that does it next: the one that the checklist pairs with this rung, or else the first of
/// its pairs further up.
pub fn next_rung(ladder: &Ladder, rung: &Rung, optimization: Optimization) -> Option<&'static str> {
    let entry = optimization.entry();
    if let Some(pair) = entry.pair(ladder.name, rung.name) {
        return Some(&pair.after);
    }
    let place = |name: &str| ladder.rungs.iter().position(|other| other.name == name);
    let own = place(rung.name)?;
    let pairs = entry.pairs.iter().filter(|pair| pair.ladder == ladder.name);
    pairs
        .filter(|pair| place(&pair.after).is_some_and(|after| after > own))
        .map(|pair| pair.after.as_str())
        .next()
}
