//! The sanitizer `race`: unordered conflicting accesses to the same byte (PTX ISA, "Memory Consistency Model").
//!
//! # Algorithm
//!
//! The check computes happens-before with vector clocks, as FastTrack (Flanagan and Freund, PLDI 2009) and
//! ThreadSanitizer do. Each warp has a clock. Each thread knows a clock of every other thread: accesses of the other
//! thread up to that clock happened before the next access of this thread. Barriers, `__syncwarp()`, releases and
//! acquires transfer this knowledge ([`threads`], [`clocks`], [`locations`]), limited by their scopes. The last
//! accesses to each byte are recorded ([`shadow`], [`words`]). A new access is compared with the recorded accesses that
//! its thread does not know about ([`actor`]). The findings therefore do not depend on which of two unordered accesses
//! runs first.
//!
//! Two rules go beyond the memory model of PTX. Volatile accesses are not atomic unless threads spin on the memory
//! ([`patterns`]). Critical sections are compared in both orders ([`locks`]). docs/sanitizers.md describes these rules.
//!
//! # What it can miss
//!
//! - Races on paths that this run does not take.
//! - Races that the order of this run hides, because a lock (except as described in [`locks`]) or an atomic operation
//!   happens to run first.
//! - Some races on a word with more than five readers or writers, or on a line with more than four accesses ([`words`],
//!   [`shadow`]).
//! - Accesses through textures and surfaces.
//! - The order of two `fence.sc`, unless the kernel itself orders them.
//!
//! A launch starts without recorded accesses, because everything before the launch happened before all its accesses.

mod accesses;
mod actor;
mod asynchronous;
mod classes;
mod clocks;
mod grid;
mod locations;
mod locks;
mod pairs;
mod patterns;
mod shadow;
mod sites;
mod threads;
pub(super) mod trial;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::Checker;
use super::checks::Extra;
use super::facts::LaunchFacts;
use super::finding::Findings;
use actor::Hit;
use asynchronous::Objects;
use clocks::Node;
use grid::{Agent, Grid, WarpNumber};
use locations::Locations;
use locks::Locks;
use pairs::Pairs;
use rustc_hash::FxBuildHasher;
use shadow::Shadow;
use simt::observe::{Access, AsyncGroup, BarrierArrival, FenceKind, Issue, MbarrierEvent, Places, Scope, Site, WarpId};
use simt::regs::ALL;
use simt::run::{Simulator, available_memory};
use sites::Sites;
use threads::{Knowledge, Release, Tree, WarpState};
use trial::Trial;

/// The state of the check during one launch.
pub(super) struct Race {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    sites: Sites,
    /// `None` if the grid is too large to be checked.
    grid: Option<Grid>,
    /// The running blocks.
    blocks: HashMap<u64, Block, FxBuildHasher>,
    global: Shadow,
    locations: Locations,
    locks: Locks,
    objects: Objects,
    /// The issuing lanes of the last operations that signal mbarriers, by the agent threads that represent these
    /// operations.
    issuers: HashMap<(WarpNumber, u32), u32>,
    pairs: Pairs,
    /// The maximum number of bytes for the state of memory.
    max_bytes: u64,
    /// The number of bytes in use.
    used_bytes: u64,
    /// Whether `max_bytes` has been reached.
    is_full: bool,
    /// The blocks of the cluster that started last.
    cluster: Arc<[u64]>,
    hits: Vec<Hit>,
    /// The state of the trial, if this run is a trial for hints.
    trial: Option<Trial>,
}

/// A running block.
struct Block {
    warps: Vec<WarpState>,
    /// The arrivals at each of the barriers.
    barriers: [Vec<Arrival>; 16],
    shared: Shadow,
    /// The blocks of the cluster by rank; only this block if there is no cluster.
    cluster: Arc<[u64]>,
    cluster_barrier: ClusterBarrier,
}

/// Lanes that have arrived at a barrier.
struct Arrival {
    warp: u32,
    waits: bool,
    /// The accesses and knowledge that the lanes release.
    release: Release,
}

/// A cluster barrier, stored in the first block of the cluster.
struct ClusterBarrier {
    /// The knowledge of the threads that have arrived.
    arrived: Vec<Release>,
    /// The joint knowledge of the threads that arrived in the previous phase.
    over: Tree,
    /// Lanes that wait for the end of the phase.
    waiting: Vec<(WarpId, u32)>,
}

/// The limit for the state of memory in bytes, regardless of the host's memory.
const MAX_BYTES: u64 = 2 << 30;

impl Race {
    /// Creates the check. With [`Extra::PtxVolatile`], volatile accesses are atomic.
    pub(super) fn new(_: &mut Simulator, facts: Arc<LaunchFacts>) -> Self {
        Self::of(facts)
    }

    fn of(facts: Arc<LaunchFacts>) -> Self {
        let program = facts.function.program();
        let sites = Sites::new(program, facts.checks.has_extra(Extra::PtxVolatile));
        let blocks = facts.grid.iter().map(|side| u64::from(*side)).product();
        Self {
            findings: Findings::default(),
            grid: Grid::new(blocks, sites.are_asynchronous()),
            sites,
            blocks: HashMap::default(),
            global: Shadow::default(),
            locations: Locations::default(),
            locks: Locks::default(),
            objects: Objects::default(),
            issuers: HashMap::new(),
            pairs: Pairs::default(),
            max_bytes: available_memory().map_or(MAX_BYTES, |bytes| MAX_BYTES.min(bytes / 4)),
            used_bytes: 0,
            is_full: false,
            cluster: Arc::new([]),
            hits: Vec::new(),
            trial: None,
            facts,
        }
    }

    /// Creates the check for a trial run for hints.
    pub(super) fn of_trial(facts: Arc<LaunchFacts>, trial: Trial) -> Self {
        let mut race = Self::of(facts.clone());
        let program = facts.function.program();
        race.sites.weaken(&trial.weaker, program);
        race.trial = Some(trial);
        race
    }

    /// Returns a warp and the grid.
    fn warp(&mut self, warp_id: WarpId) -> Option<(&mut WarpState, &Grid)> {
        let warp = self.blocks.get_mut(&warp_id.block)?.warps.get_mut(warp_id.warp as usize)?;
        Some((warp, self.grid.as_ref()?))
    }

    /// Returns the block with this rank in the cluster of `block`.
    fn block_of_rank(&self, block: u64, rank: u32) -> u64 {
        let state = self.blocks.get(&block);
        state.and_then(|state| state.cluster.get(rank as usize).copied()).unwrap_or(block)
    }

    /// Completes a barrier after all its threads have arrived.
    fn release(&mut self, block: u64, id: usize) {
        let Self { blocks, grid: Some(grid), .. } = self else { return };
        let Some(block) = blocks.get_mut(&block) else { return };
        let arrivals = std::mem::take(&mut block.barriers[id]);
        let Block { warps, .. } = block;
        let mut arrived_lanes = [0u32; 32];
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            arrived_lanes[arrival.warp as usize] |= arrival.release.lanes;
        }
        let all_wait = arrivals.iter().all(|arrival| arrival.waits);
        if all_wait && warps.iter().zip(&arrived_lanes).all(|(warp, arrived_lanes)| warp.alive & !arrived_lanes == 0) {
            let clock = warps.iter().map(|warp| warp.clock).max().unwrap_or(0);
            let others = warps.iter().fold(Tree::NONE, |all, warp| all.join(&warp.knowledge_of_others(grid)));
            let known = Arc::new(Knowledge::of_block(clock, others));
            warps.iter_mut().for_each(|warp| warp.meet_block(clock, &known));
            return;
        }
        let all = arrivals.iter().fold(Tree::NONE, |all, arrival| all.join(&arrival.release.tree(grid)));
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            warps[arrival.warp as usize].learn(arrival.release.lanes, &all, grid);
        }
    }

    /// Records a fence that orders memory.
    fn fence_of(&mut self, warp_id: WarpId, mask: u32, scope: Scope, kind: FenceKind) {
        let Self { blocks, grid: Some(grid), locks, .. } = self else { return };
        let warp = blocks.get_mut(&warp_id.block).and_then(|block| block.warps.get_mut(warp_id.warp as usize));
        let Some(warp) = warp else { return };
        warp.acquire_pending(mask, scope, grid);
        locks.fence(warp, mask, scope);
        if kind == FenceKind::Sc && scope > Scope::Cta {
            warp.fence_in_order(mask, grid);
        }
        warp.fence(mask, scope);
    }

    /// Returns the block that stores the cluster barrier of a block's cluster.
    fn first_of_cluster(&mut self, block: u64) -> Option<&mut Block> {
        let first = self.blocks.get(&block)?.cluster.first().copied().unwrap_or(block);
        self.blocks.get_mut(&first)
    }
}

impl Checker for Race {
    fn compares_values(&self) -> bool {
        true
    }

    // An access outside its object may race, but that is only a consequence of the error that `memory` reports.
    fn skips_outside(&self) -> bool {
        true
    }

    fn cluster(&mut self, blocks: &[u64]) {
        if let Some(grid) = &mut self.grid {
            grid.add_cluster(blocks);
        }
        self.cluster = blocks.into();
    }

    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        let Some(grid) = &self.grid else { return };
        let warp = |warp: u32| {
            let alive = ALL.checked_shr((warp * 32 + 32).saturating_sub(threads)).unwrap_or(0);
            WarpState::new(grid.warp(block, warp), alive)
        };
        let cluster = if self.cluster.contains(&block) { self.cluster.clone() } else { [block].into() };
        self.blocks.insert(
            block,
            Block {
                warps: (0..warps).map(warp).collect(),
                barriers: Default::default(),
                shared: Shadow::default(),
                cluster,
                cluster_barrier: ClusterBarrier { arrived: Vec::new(), over: Tree::NONE, waiting: Vec::new() },
            },
        );
    }

    fn block_ended(&mut self, block: u64) {
        if let Some(block) = self.blocks.remove(&block) {
            self.used_bytes -= block.shared.bytes;
        }
    }

    fn exited(&mut self, _: Site, warp_id: WarpId, lanes: u32) {
        if let Some((warp, _)) = self.warp(warp_id) {
            warp.alive &= !lanes;
        }
    }

    fn located(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>) {
        self.access(site, warp_id, access, places);
    }

    fn given(&mut self, address: u64, bytes: u64) {
        self.global.forget(address, bytes);
    }

    fn issued(&mut self, site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>) {
        self.copy(site, warp_id, issue, places);
    }

    fn mbarrier(&mut self, site: Site, warp_id: WarpId, event: &MbarrierEvent) {
        self.use_mbarrier(site, warp_id, event);
    }

    fn async_group(&mut self, site: Site, warp_id: WarpId, lanes: u32, op: AsyncGroup) {
        let group = self.sites.info(self.sites.number(site)).group;
        let (Some(agents), Some((warp, grid))) = (group, self.warp(warp_id)) else { return };
        let done = warp.issued.get_or_insert_default().group(lanes, agents, op);
        if *agents == [Agent::Products] && op != AsyncGroup::Commit {
            let agent = grid.agent(warp.number, Agent::Products);
            warp.change(lanes, |known| known.grid = known.grid.join_at(grid.levels, agent, &Node::lanes(1, done)));
        }
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        let BarrierArrival { site, warp_id, id, lanes, waits, .. } = *arrival;
        if let Some(trial) = &mut self.trial {
            trial.arrive(arrival);
        }
        if self.ignores(site, warp_id, lanes) {
            return;
        }
        let Some(block) = self.blocks.get_mut(&warp_id.block) else { return };
        let Some(warp) = block.warps.get_mut(warp_id.warp as usize) else { return };
        let release = Release { snapshot: warp.release(lanes), lanes, scope: Scope::Cta, by_volatile: false };
        block.barriers[id as usize].push(Arrival { warp: warp_id.warp, waits, release });
    }

    fn released(&mut self, block: u64, id: u32) {
        if let Some(trial) = &mut self.trial {
            trial.release(block, id);
        }
        self.release(block, id as usize);
    }

    fn warp_barrier(&mut self, site: Site, warp_id: WarpId, lanes: u32) {
        if let Some(trial) = &mut self.trial {
            trial.meet(site, warp_id);
        }
        if self.ignores(site, warp_id, lanes) {
            return;
        }
        if let Some((warp, grid)) = self.warp(warp_id) {
            warp.meet(lanes, grid);
        }
    }

    fn fence(&mut self, site: Site, warp_id: WarpId, lanes: u32, scope: Scope) {
        let number = self.sites.number(site);
        let kind = self.sites.info(number).fence;
        if self.ignores(site, warp_id, lanes) {
            return;
        }
        let scope = self.sites.weaker(number).flatten().map_or(scope, |weaker| scope.min(weaker));
        match kind {
            Some(kind @ (FenceKind::Sc | FenceKind::AcqRel | FenceKind::MbarrierInit)) => {
                self.fence_of(warp_id, lanes, scope, kind);
            }
            Some(FenceKind::ProxyAsync) => {
                if let Some((warp, grid)) = self.warp(warp_id) {
                    warp.proxy_fence(lanes, grid);
                }
            }
            Some(FenceKind::Proxy) | None => {}
        }
    }

    fn cluster_barrier(&mut self, site: Site, warp_id: WarpId, lanes: u32, waits: bool) {
        let relaxed = self.sites.info(self.sites.number(site)).relaxed;
        if self.ignores(site, warp_id, lanes) {
            return;
        }
        let Some((warp, _)) = self.warp(warp_id) else { return };
        if !waits {
            warp.in_cluster |= lanes;
            // A `.relaxed` arrival releases only what happened before an earlier fence.
            let released = match relaxed {
                true => warp
                    .fenced
                    .iter()
                    .map(|release| Release { lanes: release.lanes & lanes, ..release.clone() })
                    .collect(),
                false => {
                    vec![Release { snapshot: warp.release(lanes), lanes, scope: Scope::Cluster, by_volatile: false }]
                }
            };
            if let Some(first) = self.first_of_cluster(warp_id.block) {
                first.cluster_barrier.arrived.extend(released);
            }
            return;
        }
        let (now, later) = (lanes & !warp.in_cluster, lanes & warp.in_cluster);
        let Some(first) = self.first_of_cluster(warp_id.block) else { return };
        if later != 0 {
            first.cluster_barrier.waiting.push((warp_id, later));
        }
        let over = first.cluster_barrier.over.clone();
        if let Some((warp, grid)) = self.warp(warp_id).filter(|_| now != 0) {
            warp.learn(now, &over, grid);
        }
    }

    fn cluster_released(&mut self, block: u64) {
        let Some(first) = self.first_of_cluster(block) else { return };
        let ClusterBarrier { arrived, waiting, .. } = &mut first.cluster_barrier;
        let (arrived, waiting) = (std::mem::take(arrived), std::mem::take(waiting));
        let cluster = first.cluster.clone();
        let Some(grid) = &self.grid else { return };
        let all = arrived.iter().fold(Tree::NONE, |all, release| all.join(&release.tree(grid)));
        for block in cluster.iter() {
            for warp in self.blocks.get_mut(block).into_iter().flat_map(|block| &mut block.warps) {
                warp.in_cluster = 0;
            }
        }
        if let Some(first) = self.first_of_cluster(block) {
            first.cluster_barrier.over = all.clone();
        }
        for (warp_id, lanes) in waiting {
            if let Some((warp, grid)) = self.warp(warp_id) {
                warp.learn(lanes, &all, grid);
            }
        }
    }

    fn end(&mut self, _: bool) {
        if self.end_of_trial() {
            return;
        }
        self.pairs.report(&self.sites, &self.locations.flags, &mut self.findings);
        let what = match (&self.grid, self.is_full) {
            (None, _) => "the grid has more blocks than the check supports",
            (_, true) => "the limit on the memory state was reached, so memory accessed later was not checked",
            _ => return,
        };
        self.findings.note = Some(format!("race: the check is incomplete: {what}"));
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
