//! How the threads of a launch are numbered, and how near to each other they are.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use simt::observe::Scope;

/// 32 lanes of the tree of clocks: a warp's threads, or those that do its asynchronous operations. Warps of one block follow
/// each other, of which there is room for 32.
pub(super) type WarpNumber = u32;

/// Who accesses memory for a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    /// Its threads.
    Threads,
    /// `cp.async` of each lane.
    Copies,
    /// The reads of each lane's bulk copies that belong to groups.
    BulkReads,
    /// Their writes.
    BulkWrites,
    /// Operations of which mbarriers are told: those of an mbarrier are one lane.
    Signalled,
    /// The reads of a warp's `wgmma.mma_async`, all as lane 0.
    Products,
}

impl Agent {
    /// Room for so many, if there are any but threads.
    const ROOM: u32 = 8;
}

/// How near to each other two threads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Nearness {
    Warp,
    Block,
    Cluster,
    Grid,
}

impl Nearness {
    /// Whether a scope of one has the other in it.
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
    /// Levels of the tree of clocks above the lanes.
    pub(super) levels: u32,
    /// Rooms for 32 warps that each block has.
    rooms: u32,
    /// The blocks of each cluster: by the number of a block, that of the cluster's first one.
    clusters: HashMap<u32, u32, FxBuildHasher>,
}

impl Grid {
    /// A grid of so many blocks, which begin asynchronous operations or do not. `None` if it is too large.
    pub(super) fn new(blocks: u64, asynchronous: bool) -> Option<Self> {
        let rooms = if asynchronous { Agent::ROOM } else { 1 };
        let all = blocks.checked_mul(rooms.into()).filter(|all| *all <= 1 << 27)?;
        let above = (1..).find(|level| 1u64 << (5 * level) >= all)?;
        Some(Self { levels: 1 + above, rooms, clusters: HashMap::default() })
    }

    pub(super) fn add_cluster(&mut self, blocks: &[u64]) {
        for block in blocks {
            self.clusters.insert(*block as u32, blocks[0] as u32);
        }
    }

    pub(super) fn warp(&self, block: u64, warp: u32) -> WarpNumber {
        block as u32 * self.rooms * 32 + warp
    }

    /// Who works for a warp.
    pub(super) fn agent(&self, warp: WarpNumber, agent: Agent) -> WarpNumber {
        warp + agent as u32 * 32
    }

    #[inline]
    pub(super) fn block(&self, warp: WarpNumber) -> u32 {
        warp / 32 / self.rooms
    }

    /// Whether it is a warp's threads, and not another agent.
    #[inline]
    pub(super) fn is_threads(&self, warp: WarpNumber) -> bool {
        warp / 32 % self.rooms == Agent::Threads as u32
    }

    /// Whether operations of which mbarriers are told are done there.
    pub(super) fn is_signalled(&self, warp: WarpNumber) -> bool {
        warp / 32 % self.rooms == Agent::Signalled as u32
    }

    /// Which agent of a warp it is, if it is one.
    #[inline]
    pub(super) fn agent_of(&self, warp: WarpNumber, agent: WarpNumber) -> Option<usize> {
        let far = agent.wrapping_sub(warp);
        (far.is_multiple_of(32) && far / 32 < self.rooms).then_some(far as usize / 32)
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
