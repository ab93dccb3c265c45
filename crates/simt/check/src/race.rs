//! The sanitizer `race`: conflicting accesses to the same byte that nothing orders (PTX ISA, "Memory Consistency Model").
//!
//! # Algorithm
//!
//! Happens-before by vector clocks, as in FastTrack (Flanagan and Freund, PLDI 2009) and in ThreadSanitizer. Each warp has a clock.
//! Each thread knows, for every other thread, the clock up to which that thread's accesses happened before the thread's next access.
//! Barriers, `__syncwarp()`, releases and acquires transfer this knowledge ([`threads`], [`clocks`], [`locations`]), limited by
//! their scopes. For each byte the last accesses are kept ([`shadow`], [`words`]). A new access is compared with those of which its
//! thread does not know ([`actor`]). So a finding does not depend on which of two unordered accesses comes first.
//!
//! Two rules go beyond the memory model of PTX: volatile accesses are not atomic unless threads spin on the memory ([`patterns`]),
//! and critical sections are compared in both orders ([`locks`]). docs/sanitizers.md describes them.
//!
//! # What it can miss
//!
//! - Races on paths that this run does not take, and races that an order of this run hides: a lock, other than in [`locks`], or an
//!   atomic operation that happens to come first.
//! - One of more than five readers or writers of a word, and one of more than four accesses to a line ([`words`], [`shadow`]).
//! - Accesses through textures and surfaces.
//! - The order of two `fence.sc`, unless the kernel itself makes one of them come first.
//!
//! A launch starts without knowledge: everything before the launch happened before it.

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

/// The check of one launch.
pub(super) struct Race {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    sites: Sites,
    /// `None` if it is too large to be checked.
    grid: Option<Grid>,
    /// The blocks that run.
    blocks: HashMap<u64, Block, FxBuildHasher>,
    global: Shadow,
    locations: Locations,
    locks: Locks,
    objects: Objects,
    /// The lanes that have issued the last operations of which mbarriers are told, by the threads that stand for these.
    issuers: HashMap<(WarpNumber, u32), u32>,
    pairs: Pairs,
    /// The most bytes that are taken for what is known of memory.
    most: u64,
    /// Those that are taken.
    taken: u64,
    /// Whether that was too much.
    is_full: bool,
    /// The blocks of the cluster that has begun last.
    cluster: Arc<[u64]>,
    hits: Vec<Hit>,
    /// If it is a run for hints, what this run does and counts.
    trial: Option<Trial>,
}

/// A block that runs.
struct Block {
    warps: Vec<WarpState>,
    /// Who has arrived at each of the barriers.
    barriers: [Vec<Arrival>; 16],
    shared: Shadow,
    /// The blocks of the cluster by their ranks; itself only, if there is none.
    cluster: Arc<[u64]>,
    cluster_barrier: ClusterBarrier,
}

/// Lanes that have arrived at a barrier.
struct Arrival {
    warp: u32,
    waits: bool,
    /// What they have done and know.
    release: Release,
}

/// A cluster's barrier, as the cluster's first block has it.
struct ClusterBarrier {
    /// What those know that have arrived.
    arrived: Vec<Release>,
    /// What those knew that arrived in the phase before.
    over: Tree,
    /// Lanes that wait for the phase to end.
    waiting: Vec<(WarpId, u32)>,
}

/// The most bytes that are taken for what is known of memory, whatever there is.
const MOST: u64 = 2 << 30;

impl Race {
    /// The check. With `by_ptx`, volatile accesses are atomic ones.
    pub(super) fn new(_: &mut Simulator, facts: Arc<LaunchFacts>) -> Self {
        Self::of(facts)
    }

    fn of(facts: Arc<LaunchFacts>) -> Self {
        let program = facts.function.program();
        let sites = Sites::new(program, facts.checks.looks_for(Extra::PtxVolatile));
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
            most: available_memory().map_or(MOST, |bytes| MOST.min(bytes / 4)),
            taken: 0,
            is_full: false,
            cluster: Arc::new([]),
            hits: Vec::new(),
            trial: None,
            facts,
        }
    }

    /// A run for hints.
    pub(super) fn of_trial(facts: Arc<LaunchFacts>, trial: Trial) -> Self {
        let mut race = Self::of(facts.clone());
        let program = facts.function.program();
        race.sites.weaken(&trial.weaker, program);
        race.trial = Some(trial);
        race
    }

    /// A warp and the grid.
    fn warp(&mut self, warp_id: WarpId) -> Option<(&mut WarpState, &Grid)> {
        let warp = self.blocks.get_mut(&warp_id.block)?.warps.get_mut(warp_id.warp as usize)?;
        Some((warp, self.grid.as_ref()?))
    }

    /// The block of a cluster with this rank.
    fn of_rank(&self, block: u64, rank: u32) -> u64 {
        let own = self.blocks.get(&block);
        own.and_then(|own| own.cluster.get(rank as usize).copied()).unwrap_or(block)
    }

    /// All that a barrier waits for have come.
    fn release(&mut self, block: u64, id: usize) {
        let Self { blocks, grid: Some(grid), .. } = self else { return };
        let Some(block) = blocks.get_mut(&block) else { return };
        let arrivals = std::mem::take(&mut block.barriers[id]);
        let Block { warps, .. } = block;
        let mut here = [0u32; 32];
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            here[arrival.warp as usize] |= arrival.release.lanes;
        }
        let all_wait = arrivals.iter().all(|arrival| arrival.waits);
        if all_wait && warps.iter().zip(&here).all(|(warp, here)| warp.alive & !here == 0) {
            let clock = warps.iter().map(|warp| warp.clock).max().unwrap_or(0);
            let others = warps.iter().fold(Tree::NONE, |all, warp| all.join(&warp.of_others(grid)));
            let known = Arc::new(Knowledge::of_block(clock, others));
            warps.iter_mut().for_each(|warp| warp.meet_block(clock, &known));
            return;
        }
        let all = arrivals.iter().fold(Tree::NONE, |all, arrival| all.join(&arrival.release.tree(grid)));
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            warps[arrival.warp as usize].learn(arrival.release.lanes, &all, grid);
        }
    }

    /// Lanes execute a fence that orders memory.
    fn fence_of(&mut self, warp_id: WarpId, mask: u32, scope: Scope, kind: FenceKind) {
        let Self { blocks, grid: Some(grid), locks, .. } = self else { return };
        let warp = blocks.get_mut(&warp_id.block).and_then(|own| own.warps.get_mut(warp_id.warp as usize));
        let Some(warp) = warp else { return };
        warp.acquire_pending(mask, scope, grid);
        locks.fence(warp, mask, scope);
        if kind == FenceKind::Sc && scope > Scope::Cta {
            warp.fence_in_order(mask, grid);
        }
        warp.fence(mask, scope);
    }

    /// The block that keeps the state of the barrier of a block's cluster.
    fn first_of_cluster(&mut self, block: u64) -> Option<&mut Block> {
        let first = self.blocks.get(&block)?.cluster.first().copied().unwrap_or(block);
        self.blocks.get_mut(&first)
    }
}

impl Checker for Race {
    fn compares_values(&self) -> bool {
        true
    }

    // Races of an access outside of its object are a consequence of the finding of `memory`.
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
            self.taken -= block.shared.bytes;
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
        self.object(site, warp_id, event);
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
            // With `.relaxed`, what was before a fence is released.
            let released = match relaxed {
                true => warp.fenced.iter().map(|own| Release { lanes: own.lanes & lanes, ..own.clone() }).collect(),
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
        self.pairs.tell(&self.sites, &self.locations.flags, &mut self.findings);
        let what = match (&self.grid, self.is_full) {
            (None, _) => "the grid has more blocks than the check has room for",
            (_, true) => "what is known of memory has taken all room, and memory accessed later was not looked at",
            _ => return,
        };
        self.findings.note = Some(format!("race: not all was checked: {what}"));
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}
