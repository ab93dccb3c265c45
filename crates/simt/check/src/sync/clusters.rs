//! Checks how the blocks of a cluster wait for each other. All lanes of a warp must reach the same instruction, and a
//! block must not end before other blocks have finished with its shared memory.
//!
//! After each access of another block to a block's shared memory, the block must wait before it ends. The check accepts
//! the cluster barrier and any operation with which the block may have waited. Such operations are mbarrier waits,
//! atomics, fences, and loads that are not weak.

use std::collections::HashMap;

use crate::facts::LaunchFacts;
use crate::finding::{Findings, RawFinding, ThreadAtSite};
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{AccessKind, MbarrierUse, Site};
use simt::run::unravel;

/// The running clusters.
#[derive(Default)]
pub(super) struct Clusters {
    /// The clusters, by the number of their first block.
    clusters: HashMap<u64, Cluster>,
    /// The first block of each block's cluster; no entry for a block outside a cluster.
    first: HashMap<u64, u64>,
}

#[derive(Default)]
struct Cluster {
    blocks: Vec<u64>,
    /// The blocks of the cluster, by rank; empty for a block outside a cluster.
    members: Vec<Member>,
    /// Lanes that have arrived at the cluster barrier in its current phase, by block and warp.
    arrived: Vec<(u64, u32, Site, ThreadAtSite)>,
}

/// A block of a cluster.
#[derive(Default)]
struct Member {
    /// The threads that have not ended.
    alive: u32,
    /// The last access of another block to this block's shared memory, as long as this block has not waited since.
    /// Contains the accessing thread, a description, and whether its warp had already arrived at the cluster barrier.
    accessed: Option<(ThreadAtSite, &'static str, bool)>,
}

impl Clusters {
    /// Records that blocks begin as a cluster.
    pub(super) fn begin(&mut self, blocks: &[u64]) {
        let Some(first) = blocks.first() else { return };
        self.first.extend(blocks.iter().map(|block| (*block, *first)));
        let members = blocks.iter().map(|_| Member::default()).collect();
        self.clusters.insert(*first, Cluster { blocks: blocks.to_vec(), members, arrived: Vec::new() });
    }

    pub(super) fn block(&mut self, block: u64, threads: u32) {
        if let Some((cluster, rank)) = self.cluster_of(block) {
            cluster.members[rank].alive = threads;
        }
    }

    /// Returns the cluster of a block and the block's rank, or `None` for a block outside a cluster.
    fn cluster_of(&mut self, block: u64) -> Option<(&mut Cluster, usize)> {
        if self.first.is_empty() {
            return None;
        }
        let cluster = self.clusters.get_mut(self.first.get(&block)?)?;
        let rank = cluster.blocks.iter().position(|member| *member == block)?;
        Some((cluster, rank))
    }

    /// Records an access of a thread. `owner_rank` is the rank of the block whose shared memory it accesses, if any.
    pub(super) fn accesses(
        &mut self,
        facts: &LaunchFacts,
        party: ThreadAtSite,
        kind: AccessKind,
        owner_rank: Option<u32>,
    ) {
        let Some((cluster, rank)) = self.cluster_of(party.block) else { return };
        let Some(owner_rank) =
            owner_rank.map(|owner_rank| owner_rank as usize).filter(|owner_rank| *owner_rank != rank)
        else {
            let waits = match kind {
                AccessKind::Atomic => true,
                AccessKind::Load => is_strong_load(facts, party.site),
                _ => false,
            };
            if waits {
                cluster.members[rank].accessed = None;
            }
            return;
        };
        let what = match kind {
            AccessKind::Load => "a read of",
            AccessKind::Store => "a write to",
            AccessKind::Atomic | AccessKind::Reduction => "an atomic on",
            AccessKind::AsyncCopy => "an asynchronous copy to",
        };
        cluster.touch(owner_rank, party, what);
    }

    /// Records that a thread uses an mbarrier of the block with this rank.
    pub(super) fn uses_object(&mut self, party: ThreadAtSite, what: MbarrierUse, owner_rank: u32) {
        let Some((cluster, rank)) = self.cluster_of(party.block) else { return };
        match what {
            MbarrierUse::Wait { over: true, .. } => cluster.members[rank].accessed = None,
            MbarrierUse::Arrive if owner_rank as usize != rank => {
                cluster.touch(owner_rank as usize, party, "an arrival at an mbarrier in");
            }
            _ => {}
        }
    }

    /// Records that a thread of a block may have waited for other threads.
    pub(super) fn may_have_waited(&mut self, block: u64) {
        if let Some((cluster, rank)) = self.cluster_of(block) {
            cluster.members[rank].accessed = None;
        }
    }

    /// Records that lanes of a warp arrive at the cluster barrier.
    pub(super) fn arrives(&mut self, facts: &LaunchFacts, party: ThreadAtSite, findings: &mut Findings) {
        let ThreadAtSite { site, block, thread } = party;
        let warp = thread / 32;
        let first = self.first.get(&block).copied().unwrap_or(block);
        let cluster = self.clusters.entry(first).or_default();
        let aligned = |site: Site| {
            let op = &facts.function.program().functions[site.function as usize].code[site.pc as usize].op;
            matches!(op, Op::ClusterBarrier { aligned: true, .. })
        };
        let mut same_warp =
            cluster.arrived.iter().filter(|(arrived_block, number, ..)| (*arrived_block, *number) == (block, warp));
        let other = same_warp.find(|(_, _, earlier, _)| *earlier != site && (aligned(site) || aligned(*earlier)));
        if let Some((_, _, earlier, other)) = other {
            findings.add("divergent cluster barrier", site, Some(*earlier), 1, || RawFinding {
                what:
                    "cluster barrier in divergent code: some lanes of a warp arrive here, others at another instruction"
                        .to_owned(),
                action: None,
                help: "move {sync_cluster} out of the branches: all threads of a warp reach it at the same instruction"
                    .into(),
                party,
                address: None,
                place: None,
                other: Some(("arrives".to_owned(), *other)),
            });
        }
        cluster.arrived.push((block, warp, site, party));
    }

    /// Records that all threads have arrived at the barrier of the cluster that begins with this block.
    pub(super) fn released(&mut self, first: u64) {
        let Some(cluster) = self.clusters.get_mut(&first) else { return };
        cluster.arrived.clear();
        for member in &mut cluster.members {
            member.accessed = match member.accessed {
                Some((party, what, true)) => Some((party, what, false)),
                _ => None,
            };
        }
    }

    /// Records that threads of a block end; the first of them is `party`.
    pub(super) fn exited(&mut self, facts: &LaunchFacts, party: ThreadAtSite, threads: u32, findings: &mut Findings) {
        let Some((cluster, rank)) = self.cluster_of(party.block) else { return };
        let member = &mut cluster.members[rank];
        member.alive = member.alive.saturating_sub(threads);
        if member.alive > 0 {
            return;
        }
        let Some((accessor, what, _)) = member.accessed.take() else { return };
        findings.add("block ends", accessor.site, Some(party.site), 1, || {
            let [x, y, z] = unravel(party.block, facts.grid);
            RawFinding {
                what: format!(
                    "{what} the shared memory of block ({x}, {y}, {z}) of the cluster, but nothing keeps that block from \
                     ending first"
                ),
                action: None,
                help: "let all blocks wait for each other after the access: {sync_cluster}".into(),
                party: accessor,
                address: None,
                place: None,
                other: Some(("is the last thread of its block to end".to_owned(), party)),
            }
        });
    }

    pub(super) fn block_ended(&mut self, block: u64) {
        let first = self.first.remove(&block).unwrap_or(block);
        if first == block {
            self.clusters.remove(&first);
        }
    }
}

impl Cluster {
    /// Records that a thread of another block uses the shared memory of the block with this rank.
    fn touch(&mut self, owner_rank: usize, party: ThreadAtSite, what: &'static str) {
        let key = (party.block, party.thread / 32);
        let late = self.arrived.iter().any(|(block, warp, ..)| (*block, *warp) == key);
        if let Some(member) = self.members.get_mut(owner_rank)
            && (late || member.accessed.is_none_or(|(.., before)| !before))
        {
            member.accessed = Some((party, what, late));
        }
    }
}

/// Returns whether a load may wait for another thread.
fn is_strong_load(facts: &LaunchFacts, site: Site) -> bool {
    let op = &facts.function.program().functions[site.function as usize].code[site.pc as usize].op;
    matches!(op, Op::Memory(Memory::Load(load)) if load.order.is_strong())
}
