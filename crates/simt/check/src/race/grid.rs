//! The numbers of a launch's threads, and their distances.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use simt::observe::Scope;

/// The number of a group of 32 lanes in the tree of clocks: a warp's threads, or an agent for its asynchronous
/// operations. The warps of a block have consecutive numbers, and 32 numbers are reserved for the warps of each block.
pub(super) type WarpNumber = u32;

/// The actors that access memory for a warp: its threads, and an agent for each kind of asynchronous operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    /// The warp's threads.
    Threads,
    /// The `cp.async` operations of each lane.
    Copies,
    /// The reads of each lane's bulk copies that belong to groups.
    BulkReads,
    /// The writes of each lane's bulk copies that belong to groups.
    BulkWrites,
    /// Operations that signal mbarriers. One lane represents all operations of an mbarrier.
    Signaled,
    /// The reads of a warp's `wgmma.mma_async`, all represented by lane 0.
    Products,
}

impl Agent {
    /// The number of agent slots of each warp if the program has asynchronous operations.
    const SLOTS: u32 = 8;
}

/// The smallest group that contains two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Nearness {
    Warp,
    Block,
    Cluster,
    Grid,
}

impl Nearness {
    /// Returns whether the scope of a thread's operation includes another thread at this distance.
    #[inline]
    pub(super) fn is_in(self, scope: Scope) -> bool {
        match self {
            Self::Warp | Self::Block => true,
            Self::Cluster => scope >= Scope::Cluster,
            Self::Grid => scope >= Scope::Gpu,
        }
    }
}

#[derive(Debug)]
pub(super) struct Grid {
    /// The number of levels of the tree of clocks above the lanes.
    pub(super) levels: u32,
    /// The number of slots for 32 warps in each block.
    slots: u32,
    /// For each block of a cluster, the number of the cluster's first block.
    clusters: HashMap<u32, u32, FxBuildHasher>,
}

impl Grid {
    /// Creates a grid of `blocks` blocks, with agents if `asynchronous`. Returns `None` if the grid is too large.
    pub(super) fn new(blocks: u64, asynchronous: bool) -> Option<Self> {
        let slots = if asynchronous { Agent::SLOTS } else { 1 };
        let all = blocks.checked_mul(slots.into()).filter(|all| *all <= 1 << 27)?;
        let height = (1..).find(|level| 1u64 << (5 * level) >= all)?;
        Some(Self { levels: 1 + height, slots, clusters: HashMap::default() })
    }

    pub(super) fn add_cluster(&mut self, blocks: &[u64]) {
        for block in blocks {
            self.clusters.insert(*block as u32, blocks[0] as u32);
        }
    }

    pub(super) fn warp(&self, block: u64, warp: u32) -> WarpNumber {
        block as u32 * self.slots * 32 + warp
    }

    /// Returns the number of an agent of a warp.
    pub(super) fn agent(&self, warp: WarpNumber, agent: Agent) -> WarpNumber {
        warp + agent as u32 * 32
    }

    #[inline]
    pub(super) fn block(&self, warp: WarpNumber) -> u32 {
        warp / 32 / self.slots
    }

    /// Returns whether `warp` represents a warp's threads instead of an agent for asynchronous operations.
    #[inline]
    pub(super) fn is_threads(&self, warp: WarpNumber) -> bool {
        warp / 32 % self.slots == Agent::Threads as u32
    }

    /// Returns whether `warp` is the agent whose operations signal mbarriers.
    pub(super) fn is_signaled(&self, warp: WarpNumber) -> bool {
        warp / 32 % self.slots == Agent::Signaled as u32
    }

    /// Returns the index of `agent` among the agents of a warp, if it is one of them.
    #[inline]
    pub(super) fn agent_of(&self, warp: WarpNumber, agent: WarpNumber) -> Option<usize> {
        let distance = agent.wrapping_sub(warp);
        (distance.is_multiple_of(32) && distance / 32 < self.slots).then_some(distance as usize / 32)
    }

    #[inline]
    pub(super) fn nearness(&self, one: WarpNumber, other: WarpNumber) -> Nearness {
        let blocks = (self.block(one), self.block(other));
        let cluster = |block| self.clusters.get(&block);
        if blocks.0 == blocks.1 {
            if one % 32 == other % 32 { Nearness::Warp } else { Nearness::Block }
        } else if !self.clusters.is_empty() && cluster(blocks.0).is_some() && cluster(blocks.0) == cluster(blocks.1) {
            Nearness::Cluster
        } else {
            Nearness::Grid
        }
    }
}
