//! How the blocks of a cluster wait for each other: whether all lanes of a warp come to the same instruction, and whether a
//! block may end before others have done with its shared memory.
//!
//! An access to the shared memory of another block needs something behind it that this block waits for before it ends. Taken
//! for that is the cluster's barrier, and whatever the block has done since that may have waited: a wait for an mbarrier,
//! an atomic, a fence, a load that is not weak.

use std::collections::HashMap;

use crate::facts::LaunchFacts;
use crate::finding::{Findings, RawFinding, ThreadAtSite};
use simt::code::Op;
use simt::memory::Memory;
use simt::observe::{AccessKind, MbarrierUse, Site};
use simt::run::unravel;

/// The clusters that run.
#[derive(Default)]
pub(super) struct Clusters {
    /// By the number of the first block.
    clusters: HashMap<u64, Cluster>,
    /// The first block of each block's cluster; of those that are alone there is none.
    first: HashMap<u64, u64>,
}

#[derive(Default)]
struct Cluster {
    blocks: Vec<u64>,
    /// By rank; empty for a block that is alone.
    members: Vec<Member>,
    /// Lanes that have arrived at the cluster's barrier in its current phase, by block and warp.
    arrived: Vec<(u64, u32, Site, ThreadAtSite)>,
}

/// A block of a cluster.
#[derive(Default)]
struct Member {
    /// The threads that have not ended.
    alive: u32,
    /// The last access of another block to its shared memory that nothing is behind which it may have waited for, what it is, and
    /// whether its warp had arrived at the cluster's barrier already.
    accessed: Option<(ThreadAtSite, &'static str, bool)>,
}

impl Clusters {
    /// Blocks begin as a cluster.
    pub(super) fn begin(&mut self, blocks: &[u64]) {
        let Some(first) = blocks.first() else { return };
        self.first.extend(blocks.iter().map(|block| (*block, *first)));
        let members = blocks.iter().map(|_| Member::default()).collect();
        self.clusters.insert(*first, Cluster { blocks: blocks.to_vec(), members, arrived: Vec::new() });
    }

    pub(super) fn block(&mut self, block: u64, threads: u32) {
        if let Some((cluster, rank)) = self.of(block) {
            cluster.members[rank].alive = threads;
        }
    }

    /// The cluster of a block that is not alone, and the block's rank.
    fn of(&mut self, block: u64) -> Option<(&mut Cluster, usize)> {
        if self.first.is_empty() {
            return None;
        }
        let cluster = self.clusters.get_mut(self.first.get(&block)?)?;
        let rank = cluster.blocks.iter().position(|own| *own == block)?;
        Some((cluster, rank))
    }

    /// A thread accesses memory, perhaps the shared memory of the block with this rank.
    pub(super) fn accesses(&mut self, facts: &LaunchFacts, party: ThreadAtSite, kind: AccessKind, of: Option<u32>) {
        let Some((cluster, rank)) = self.of(party.block) else { return };
        let Some(of) = of.map(|of| of as usize).filter(|of| *of != rank) else {
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
        cluster.touch(of, party, what);
    }

    /// A thread does something with an mbarrier of the block with this rank.
    pub(super) fn uses_object(&mut self, party: ThreadAtSite, what: MbarrierUse, of: u32) {
        let Some((cluster, rank)) = self.of(party.block) else { return };
        match what {
            MbarrierUse::Wait { over: true, .. } => cluster.members[rank].accessed = None,
            MbarrierUse::Arrive if of as usize != rank => {
                cluster.touch(of as usize, party, "an arrival at an mbarrier in");
            }
            _ => {}
        }
    }

    /// A thread of a block may have waited for others.
    pub(super) fn may_have_waited(&mut self, block: u64) {
        if let Some((cluster, rank)) = self.of(block) {
            cluster.members[rank].accessed = None;
        }
    }

    /// Lanes of a warp arrive at the cluster's barrier.
    pub(super) fn arrives(&mut self, facts: &LaunchFacts, party: ThreadAtSite, findings: &mut Findings) {
        let ThreadAtSite { site, block, thread } = party;
        let warp = thread / 32;
        let first = self.first.get(&block).copied().unwrap_or(block);
        let cluster = self.clusters.entry(first).or_default();
        let aligned = |site: Site| {
            let op = &facts.function.program().functions[site.function as usize].code[site.pc as usize].op;
            matches!(op, Op::ClusterBarrier { aligned: true, .. })
        };
        let mut own = cluster.arrived.iter().filter(|(of, number, ..)| (*of, *number) == (block, warp));
        let other = own.find(|(_, _, earlier, _)| *earlier != site && (aligned(site) || aligned(*earlier)));
        if let Some((_, _, earlier, other)) = other {
            findings.add("divergent cluster barrier", site, Some(*earlier), 1, || RawFinding {
                what: "the cluster's barrier in divergent code: lanes of a warp arrive here and others at another instruction"
                    .to_owned(),
                action: None,
                help: "move {sync_cluster} out of the branches: all threads of a warp reach it at the same instruction".into(),
                party,
                address: None,
                place: None,
                other: Some(("arrives".to_owned(), *other)),
            });
        }
        cluster.arrived.push((block, warp, site, party));
    }

    /// All threads have arrived at the barrier of the cluster that begins with this block.
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

    /// Threads of a block end; the first of them is `party`.
    pub(super) fn exited(&mut self, facts: &LaunchFacts, party: ThreadAtSite, threads: u32, findings: &mut Findings) {
        let Some((cluster, rank)) = self.of(party.block) else { return };
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
                    "{what} the shared memory of block ({x}, {y}, {z}) of the cluster, and nothing keeps that block from \
                     ending before"
                ),
                action: None,
                help: "let all blocks wait for each other after the access: {sync_cluster}".into(),
                party: accessor,
                address: None,
                place: None,
                other: Some(("ends, the last of its block".to_owned(), party)),
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
    /// A thread of another block does something with the shared memory of the block with this rank.
    fn touch(&mut self, of: usize, party: ThreadAtSite, what: &'static str) {
        let key = (party.block, party.thread / 32);
        let late = self.arrived.iter().any(|(block, warp, ..)| (*block, *warp) == key);
        if let Some(member) = self.members.get_mut(of)
            && (late || member.accessed.is_none_or(|(.., before)| !before))
        {
            member.accessed = Some((party, what, late));
        }
    }
}

/// Whether a load is one that may wait for another thread.
fn is_strong_load(facts: &LaunchFacts, site: Site) -> bool {
    let op = &facts.function.program().functions[site.function as usize].code[site.pc as usize].op;
    matches!(op, Op::Memory(Memory::Load(load)) if load.order.is_strong())
}
