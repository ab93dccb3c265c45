//! The check `race`: accesses to the same byte, one of them a write, that nothing orders (PTX ISA, "Memory Consistency
//! Model").
//!
//! Each warp has a clock, and each thread knows up to which clock the accesses of each other thread happened before what it
//! does now. Barriers, `__syncwarp()`, releases and acquires hand this knowledge over ([`threads`], [`clocks`],
//! [`locations`]); for each byte the accesses since then are kept ([`shadow`]), and each access is compared with those of
//! whom its thread does not know ([`actor`]). So what is found does not depend on what comes first by chance: two accesses
//! race if nothing that the kernel did orders them.
//!
//! A launch begins with nothing: what was done before it happened before it.
//!
//! Of the order of all `fence.sc` that part counts only which the kernel has seen to, by what it reads: which of two others
//! comes first is chance.

mod actor;
mod asynchronous;
mod clocks;
mod grid;
mod hash;
mod locations;
mod pairs;
mod shadow;
mod sites;
mod threads;

use std::collections::HashMap;
use std::sync::Arc;

use super::finding::{Findings, Party, in_words};
use super::observer::{Checker, LaunchFacts};
use crate::memory::Place;
use crate::observe::{
    Access, AccessKind, AsyncGroup, BarrierArrival, FenceKind, Issue, MbarrierEvent, MbarrierUse, Order, Places, Scope,
    Site, Space, StoredValues, WarpId,
};
use crate::regs::{ALL, lanes};
use crate::run::{Machine, available_memory};
use actor::{Actor, Hit};
use asynchronous::{Objects, object};
use clocks::Node;
use grid::{Agent, Grid, WarpNumber};
use hash::Quick;
use locations::{Locations, acquire_pending};
use pairs::Pairs;
use shadow::{LINE, Run, Shadow};
use sites::{PRODUCT, Sites};
use threads::{Release, Tree, WarpState};

/// The check of one launch.
pub(super) struct Race {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    sites: Sites,
    /// `None` if it is too large to be checked.
    grid: Option<Grid>,
    /// The blocks that run.
    blocks: HashMap<u64, Block, Quick>,
    global: Shadow,
    locations: Locations,
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

/// An access to memory.
struct Touch<'a, 'p> {
    site: Site,
    warp_id: WarpId,
    agent: Agent,
    /// The lane that has issued it, if that of the access stands for something else.
    issuer: Option<u32>,
    space: Space,
    /// The block whose shared memory it is.
    whose: u64,
    writes: bool,
    /// The time, if it is not that of the threads.
    clock: Option<u32>,
    stored: StoredValues,
    places: &'a Places<'p>,
}

/// The most bytes that are taken for what is known of memory, whatever there is.
const MOST: u64 = 2 << 30;

impl Race {
    pub(super) fn new(_: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let sites = Sites::new(facts.function.program());
        let blocks = facts.grid.iter().map(|side| u64::from(*side)).product();
        Self {
            findings: Findings::default(),
            grid: Grid::new(blocks, sites.are_asynchronous()),
            sites,
            blocks: HashMap::default(),
            global: Shadow::default(),
            locations: Locations::default(),
            objects: Objects::default(),
            issuers: HashMap::new(),
            pairs: Pairs::default(),
            most: available_memory().map_or(MOST, |bytes| MOST.min(bytes / 4)),
            taken: 0,
            is_full: false,
            cluster: Arc::new([]),
            hits: Vec::new(),
            facts,
        }
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

    /// Compares an access with those before it, in runs.
    fn touch(&mut self, touch: &Touch<'_, '_>, each_run: impl FnOnce(&Run, &mut dyn FnMut(u64, &Run))) {
        let Touch { site, warp_id, space, whose, places, .. } = *touch;
        let number = self.sites.number(site);
        let order = self.sites.info(number).order;
        // The state of the warp is put aside while the shadow of its block is changed.
        let Some((warp, _)) = self.warp(warp_id) else { return };
        let classes = std::mem::take(&mut warp.classes);
        let waited = warp.issued.as_ref().map(|issued| issued.waited.clone());
        let (home, clock) = (warp.number, touch.clock.unwrap_or(warp.clock));
        let full = self.is_full;
        let Self { grid: Some(grid), blocks, global, sites, issuers, pairs, hits, facts, .. } = self else { return };
        let agent = grid.agent(home, touch.agent);
        let actor = Actor {
            warp: agent,
            home,
            issuer: touch.issuer,
            by_proxy: !matches!(touch.agent, Agent::Threads | Agent::Copies),
            site: number,
            writes: touch.writes,
            is_strong: order.is_strong(),
            classes: &classes,
            waited: waited.as_ref(),
            sites,
            grid,
        };
        let shadow = match space {
            Space::Shared => blocks.get_mut(&whose).map(|block| &mut block.shared),
            _ => Some(global),
        };
        let mut taken = 0;
        if let Some(shadow) = shadow {
            let before = shadow.bytes;
            let base = Run { warp: agent, clock, site: number, ..Run::default() };
            each_run(&base, &mut |line, run| {
                if !run.is_of_same_bytes() {
                    sites.set_of_many(number);
                }
                if actor.writes && !run.lanes.is_power_of_two() && run.is_of_same_bytes() && !actor.is_strong {
                    hits.push(actor.collision(run));
                }
                shadow.access(line, run, full, &actor, hits);
                for hit in hits.drain(..) {
                    let party = |warp: WarpNumber, lane: u32, site| {
                        let lane = match grid.is_signalled(warp) {
                            true => issuers.get(&(warp, lane)).copied().unwrap_or(0),
                            false => lane,
                        };
                        Party { site, block: u64::from(grid.block(warp)), thread: warp % 32 * 32 + lane }
                    };
                    let (earlier, later) = hit.lanes;
                    let later = Party { thread: home % 32 * 32 + later, ..party(home, 0, site) };
                    let earlier = party(hit.earlier.warp, earlier, actor.sites.site(hit.earlier.site));
                    let address = line * LINE + u64::from(hit.byte);
                    let place = || Some(in_words(facts, space, &places.find(space, address)?, address));
                    // By one instruction, or by one that wrote what this one has found.
                    let at_once = (hit.earlier.warp, hit.earlier.clock, hit.earlier.site) == (agent, clock, number);
                    let same_value = match at_once {
                        true => touch.stored.alike,
                        false => hit.wrote && touch.stored.unchanged >> hit.lanes.1 & 1 != 0,
                    };
                    pairs.add(&hit, same_value, (number, later, earlier), address, place);
                }
            });
            taken = shadow.bytes - before;
        }
        self.taken += taken;
        self.is_full |= self.taken > self.most;
        if let Some((warp, _)) = self.warp(warp_id) {
            warp.classes = classes;
        }
    }

    /// Bytes are accessed by one lane of an agent.
    fn bytes(&mut self, touch: &Touch<'_, '_>, lane: u32, at: u64, bytes: u32) {
        self.touch(touch, |base, act| {
            let (mut at, end) = (at, at + u64::from(bytes));
            while at < end {
                let lo = (at % LINE) as u8;
                let hi = (end - (at - u64::from(lo))).min(LINE) as u8;
                act(at / LINE, &Run { lo, hi, size: hi - lo, first: lane as u8, lanes: 1 << lane, ..*base });
                at += u64::from(hi - lo);
            }
        });
    }

    /// Strong accesses of lanes: what they hand over and get.
    fn strong(&mut self, warp_id: WarpId, (kind, order, mask): (AccessKind, Order, u32), at: impl Fn(usize) -> u64) {
        let Self { blocks, locations, grid: Some(grid), .. } = self else { return };
        let warp = blocks.get_mut(&warp_id.block).and_then(|own| own.warps.get_mut(warp_id.warp as usize));
        if let Some(warp) = warp {
            locations.access(warp, (kind, order, mask), at, grid);
        }
    }

    /// Lanes do something with an mbarrier, or its phase ends.
    fn object(&mut self, site: Site, warp_id: WarpId, event: &MbarrierEvent) {
        let MbarrierEvent { rank, at, what, lanes: mask } = *event;
        let whose = self.of_rank(warp_id.block, rank);
        let relaxed = self.sites.info(self.sites.number(site)).relaxed;
        let name = object(whose, at);
        if what == MbarrierUse::PhaseEnds {
            self.objects.ends(name);
            return;
        }
        let touch = Touch {
            site,
            warp_id,
            agent: Agent::Threads,
            issuer: None,
            space: Space::Shared,
            whose,
            writes: true,
            clock: None,
            stored: StoredValues::default(),
            places: &Places(&|_, _| None),
        };
        // `inval` is left out: it concerns the object, and libcu++'s pipelines invalidate theirs by one lane for all of its warp
        // behind `match.sync`, which waits for the lanes and orders no memory.
        if what != MbarrierUse::Inval {
            lanes(mask).for_each(|lane| self.bytes(&touch, lane as u32, at, 8));
        }
        let Self { blocks, objects, grid: Some(grid), .. } = self else { return };
        let warp = blocks.get_mut(&warp_id.block).and_then(|block| block.warps.get_mut(warp_id.warp as usize));
        let Some(warp) = warp else { return };
        match what {
            MbarrierUse::Init | MbarrierUse::Inval => objects.begin(name),
            MbarrierUse::Arrive | MbarrierUse::Bytes if relaxed || what == MbarrierUse::Bytes => {
                let fences = warp.fenced.iter().filter(|fence| fence.lanes & mask != 0);
                let fences = fences.fold(Tree::NONE, |all, fence| {
                    all.join(&Release { lanes: fence.lanes & mask, ..fence.clone() }.tree(grid))
                });
                objects.arrive(name, &fences, true);
            }
            MbarrierUse::Arrive => {
                let release = Release { snapshot: warp.release(mask), lanes: mask, scope: Scope::Cluster };
                objects.arrive(name, &release.tree(grid), true);
            }
            MbarrierUse::CopiesArrive => {
                let issued = warp.issued.get_or_insert_default();
                let copies = Node::lanes(mask, issued.clock());
                let copies = Node::NONE.join_at(grid.levels, grid.agent(warp.number, Agent::Copies), &copies);
                objects.arrive(name, &Tree { known: copies, ..Tree::NONE }, false);
            }
            MbarrierUse::Wait { over: true, .. } => warp.learn(mask, &objects.over(name), grid),
            MbarrierUse::Wait { over: false, .. } | MbarrierUse::Bytes | MbarrierUse::PhaseEnds => {}
        }
    }

    /// A lane has issued a copy.
    fn copy(
        &mut self,
        (site, warp_id, places): (Site, WarpId, &Places<'_>),
        lane: u32,
        (from, to, bytes): (Option<Place>, Option<Place>, u32),
        mbarrier: Option<(u32, u64)>,
    ) {
        let whose = mbarrier.map(|(rank, at)| object(self.of_rank(warp_id.block, rank), at));
        let Some((warp, _)) = self.warp(warp_id) else { return };
        let number = warp.number;
        let clock = warp.issued.get_or_insert_default().issue();
        // Of all that tell an mbarrier one lane stands; those of a phase are done before those of the next one.
        let slot = whose.map(|name| ((name / 8) ^ (name >> 24)) as u32 % 32);
        let is_product = self.sites.info(self.sites.number(site)).name == Some(PRODUCT);
        for (place, writes) in [(from, false), (to, true)] {
            let Some(place) = place else { continue };
            let (space, rank, at) = match place {
                Place::Shared(rank, at) => (Space::Shared, rank, at),
                Place::Global(at) => (Space::Global, 0, at),
            };
            let agent = match (slot, writes) {
                (Some(_), _) => Agent::Signalled,
                (None, _) if is_product => Agent::Products,
                (None, false) => Agent::BulkReads,
                (None, true) => Agent::BulkWrites,
            };
            let touch = Touch {
                site,
                warp_id,
                agent,
                issuer: Some(lane),
                space,
                whose: self.of_rank(warp_id.block, rank),
                writes,
                clock: Some(clock),
                stored: StoredValues::default(),
                places,
            };
            self.bytes(&touch, slot.unwrap_or(lane), at, bytes);
        }
        let Self { objects, grid: Some(grid), issuers, .. } = self else { return };
        if let (Some(slot), Some(name)) = (slot, whose) {
            let agent = grid.agent(number, Agent::Signalled);
            issuers.insert((agent, slot), lane);
            let done = Node::NONE.join_at(grid.levels, agent, &Node::lanes(1 << slot, clock));
            objects.arrive(name, &Tree { known: done, ..Tree::NONE }, false);
        }
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
            warps.iter_mut().for_each(|warp| warp.meet_block(clock, &others));
            return;
        }
        let all = arrivals.iter().fold(Tree::NONE, |all, arrival| all.join(&arrival.release.tree(grid)));
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            warps[arrival.warp as usize].learn(arrival.release.lanes, &all, grid);
        }
    }

    /// Lanes execute a fence that orders memory.
    fn fence_of(&mut self, warp_id: WarpId, mask: u32, scope: Scope, kind: FenceKind) {
        let Some((warp, grid)) = self.warp(warp_id) else { return };
        acquire_pending(warp, mask, scope, grid);
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

/// Divides an access into runs, and calls `act` with the line of each.
fn each_run(base: &Run, access: &Access<'_>, act: &mut dyn FnMut(u64, &Run)) {
    let mut current: Option<(u64, Run)> = None;
    let size = access.bytes as u8;
    for lane in lanes(access.mask) {
        let at = access.addresses[lane];
        let (line, lo) = (at / LINE, (at % LINE) as u8);
        if let Some((_, run)) = current.as_mut().filter(|(its, _)| *its == line) {
            let single = run.is_of_same_bytes();
            let follows = lo == run.hi && lane > 0 && run.lanes >> (lane - 1) & 1 != 0;
            if follows && (!single || run.lanes.is_power_of_two()) {
                run.hi += size;
                run.lanes |= 1 << lane;
                continue;
            }
            if single && lo == run.lo {
                run.lanes |= 1 << lane;
                continue;
            }
        }
        if let Some((its, run)) = &current {
            act(*its, run);
        }
        current = Some((line, Run { lo, hi: lo + size, size, first: lane as u8, lanes: 1 << lane, ..*base }));
    }
    if let Some((line, run)) = &current {
        act(*line, run);
    }
}

impl Checker for Race {
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
        let whose = match (access.space, access.rank) {
            (Space::Global | Space::Shared, None) => warp_id.block,
            (Space::Shared, Some(rank)) => self.of_rank(warp_id.block, rank),
            _ => return,
        };
        let order = self.sites.info(self.sites.number(site)).order;
        let Some((warp, _)) = self.warp(warp_id) else { return };
        let (agent, clock) = match access.kind {
            AccessKind::AsyncCopy => (Agent::Copies, warp.issued.get_or_insert_default().issue()),
            // What is released by this very access belongs to what was before.
            _ => (Agent::Threads, warp.clock),
        };
        if order.is_strong() {
            let at = |lane: usize| match access.space {
                Space::Shared => 1 << 63 | object(whose, access.addresses[lane]),
                _ => access.addresses[lane],
            };
            self.strong(warp_id, (access.kind, order, access.mask), at);
        }
        let writes = match access.kind {
            AccessKind::Load => false,
            AccessKind::AsyncCopy => access.space == Space::Shared,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => true,
        };
        let (space, clock) = (access.space, Some(clock));
        let stored = access.stored;
        let touch = Touch { site, warp_id, agent, issuer: None, space, whose, writes, clock, stored, places };
        self.touch(&touch, |base, act| each_run(base, access, act));
    }

    fn given(&mut self, address: u64, bytes: u64) {
        self.global.forget(address, bytes);
    }

    fn issued(&mut self, site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>) {
        let Issue { lane, from, to, bytes, mbarrier, .. } = *issue;
        self.copy((site, warp_id, places), lane, (from, to, bytes), mbarrier);
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
        let BarrierArrival { warp_id, id, lanes, waits, .. } = *arrival;
        let Some(block) = self.blocks.get_mut(&warp_id.block) else { return };
        let Some(warp) = block.warps.get_mut(warp_id.warp as usize) else { return };
        let release = Release { snapshot: warp.release(lanes), lanes, scope: Scope::Cta };
        block.barriers[id as usize].push(Arrival { warp: warp_id.warp, waits, release });
    }

    fn released(&mut self, block: u64, id: u32) {
        self.release(block, id as usize);
    }

    fn warp_barrier(&mut self, _: Site, warp_id: WarpId, lanes: u32) {
        if let Some((warp, grid)) = self.warp(warp_id) {
            warp.meet(lanes, grid);
        }
    }

    fn fence(&mut self, site: Site, warp_id: WarpId, lanes: u32, scope: Scope) {
        let kind = self.sites.info(self.sites.number(site)).fence;
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
        let Some((warp, _)) = self.warp(warp_id) else { return };
        if !waits {
            warp.in_cluster |= lanes;
            // With `.relaxed`, what was before a fence is released.
            let released = match relaxed {
                true => warp.fenced.iter().map(|own| Release { lanes: own.lanes & lanes, ..own.clone() }).collect(),
                false => vec![Release { snapshot: warp.release(lanes), lanes, scope: Scope::Cluster }],
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
        self.pairs.tell(&self.sites, &mut self.findings);
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
