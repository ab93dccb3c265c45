//! Checks memory accesses by threads and by asynchronous operations: each access is compared with earlier accesses.

use std::cell::Cell;

use super::Race;
use super::actor::Actor;
use super::asynchronous::object;
use super::clocks::Node;
use super::grid::{Agent, WarpNumber};
use super::shadow::{LINE, Run};
use super::sites::{Info, PRODUCT};
use super::threads::{Release, Tree};
use crate::finding::{ThreadAtSite, describe_memory};
use simt::memory::Place;
use simt::observe::{
    Access, AccessKind, Issue, MbarrierEvent, MbarrierUse, Places, Scope, Site, Space, StoredValues, WarpId,
};
use simt::regs::lanes;

/// An access to memory.
struct Touch<'a, 'p> {
    site: Site,
    warp_id: WarpId,
    agent: Agent,
    /// The lane that issued the operation, if the lane of the access represents something else.
    issuer: Option<u32>,
    space: Space,
    /// The block whose shared memory is accessed.
    owner_block: u64,
    writes: bool,
    /// The clock of the access, if it differs from the clock of the threads.
    clock: Option<u32>,
    stored: StoredValues,
    places: &'a Places<'p>,
}

impl Race {
    /// Compares an access with earlier ones, in runs.
    fn touch(&mut self, touch: &Touch<'_, '_>, each_run: impl FnOnce(&Run, &mut dyn FnMut(u64, &Run))) {
        let Touch { site, warp_id, space, owner_block, places, .. } = *touch;
        let number = self.sites.number(site);
        let Info { order, is_volatile, locks: takes_lock, .. } = *self.sites.info(number);
        // The state of the warp is moved out while the shadow of its block changes.
        let Some((warp, grid)) = self.warp(warp_id) else { return };
        // Volatile accesses stay in program order, so a thread that has read a flag needs no fence before later
        // volatile accesses.
        let after_flags = if is_volatile { warp.with_pending(grid) } else { None };
        let classes = std::mem::take(&mut warp.classes);
        let waited = warp.issued.as_ref().map(|issued| issued.waited.clone());
        let (home, clock) = (warp.number, touch.clock.unwrap_or(warp.clock));
        let full = self.is_full;
        let Self { grid: Some(grid), blocks, global, sites, issuers, pairs, hits, facts, locks, locations, .. } = self
        else {
            return;
        };
        let agent = grid.agent(home, touch.agent);
        let actor = Actor {
            warp: agent,
            home,
            issuer: touch.issuer,
            by_proxy: !matches!(touch.agent, Agent::Threads | Agent::Copies),
            site: number,
            writes: touch.writes,
            is_strong: order.is_strong(),
            classes: after_flags.as_ref().unwrap_or(&classes),
            waited: waited.as_ref(),
            sites,
            grid,
            known: Cell::new((0, 0)),
        };
        let shadow = match space {
            Space::Shared => blocks.get_mut(&owner_block).map(|block| &mut block.shared),
            _ => Some(global),
        };
        let mut used_bytes = 0;
        if let Some(shadow) = shadow {
            let before = shadow.bytes;
            let base = Run { warp: agent, clock, site: number, ..Run::default() };
            each_run(&base, &mut |line, run| {
                let is_atomic = actor.is_strong && !is_volatile;
                if actor.writes && !run.lanes.is_power_of_two() && run.is_of_same_bytes() && !is_atomic {
                    hits.push(actor.collision(run));
                }
                // The access that takes a lock is not part of the critical section.
                let is_in_section = !locks.is_empty() && actor.is_threads() && !takes_lock;
                let open = if is_in_section { locks.open(home, run.lanes) } else { 0 };
                if open != 0 {
                    shadow.visit(line, run, |earlier, wrote, lanes, byte| {
                        hits.extend(actor.locked(earlier, wrote, (lanes & open, clock), byte, locks));
                    });
                }
                shadow.access(line, run, full, &actor, hits);
                for hit in hits.drain(..) {
                    let party = |warp: WarpNumber, lane: u32, site| {
                        let lane = match grid.is_signaled(warp) {
                            true => issuers.get(&(warp, lane)).copied().unwrap_or(0),
                            false => lane,
                        };
                        ThreadAtSite { site, block: u64::from(grid.block(warp)), thread: warp % 32 * 32 + lane }
                    };
                    let (earlier, later) = hit.lanes;
                    let later = ThreadAtSite { thread: home % 32 * 32 + later, ..party(home, 0, site) };
                    let earlier = party(hit.earlier.warp, earlier, actor.sites.site(hit.earlier.site));
                    let address = line * LINE + u64::from(hit.byte);
                    let place = || Some(describe_memory(facts, space, &places.find(space, address)?, address));
                    // Either the lanes of one instruction stored equal values, or this access stored the value that was
                    // already there.
                    let at_once = (hit.earlier.warp, hit.earlier.clock, hit.earlier.site) == (agent, clock, number);
                    let same_value = match at_once {
                        true => touch.stored.alike,
                        false => hit.wrote && touch.stored.unchanged >> hit.lanes.1 & 1 != 0,
                    };
                    let flag = flag_place(space, owner_block, address);
                    pairs.add(&hit, same_value, (number, later, earlier), (address, flag), &locations.flags, place);
                }
            });
            used_bytes = shadow.bytes - before;
        }
        self.used_bytes += used_bytes;
        self.is_full |= self.used_bytes > self.max_bytes;
        if let Some((warp, _)) = self.warp(warp_id) {
            warp.classes = classes;
        }
    }

    /// Checks an access of one lane of an agent to `bytes` bytes.
    fn touch_bytes(&mut self, touch: &Touch<'_, '_>, lane: u32, at: u64, bytes: u32) {
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

    /// Handles the releases and acquires of strong accesses by lanes.
    fn strong_access(&mut self, warp_id: WarpId, (info, mask): (Info, u32), at: impl Fn(usize) -> u64) {
        let Self { blocks, locations, locks, grid: Some(grid), .. } = self else { return };
        let warp = blocks.get_mut(&warp_id.block).and_then(|block| block.warps.get_mut(warp_id.warp as usize));
        let Some(warp) = warp else { return };
        if info.locks {
            locks.take(warp, mask, info.order, &at);
        } else if info.kind != AccessKind::Load && !locks.is_empty() {
            locks.release(warp, mask, &at);
        }
        locations.access(warp, (info, mask), at, grid);
    }

    /// Records an operation of lanes on an mbarrier, or the end of the mbarrier's phase.
    pub(super) fn use_mbarrier(&mut self, site: Site, warp_id: WarpId, event: &MbarrierEvent) {
        let MbarrierEvent { rank, at, what, lanes: mask } = *event;
        let owner_block = self.block_of_rank(warp_id.block, rank);
        let relaxed = self.sites.info(self.sites.number(site)).relaxed;
        let name = object(owner_block, at);
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
            owner_block,
            writes: true,
            clock: None,
            stored: StoredValues::default(),
            places: &Places::NONE,
        };
        // `inval` is not checked, because libcu++'s pipelines invalidate the mbarriers of a whole warp from one lane
        // after `match.sync`. This instruction waits for the lanes and orders no memory.
        if what != MbarrierUse::Inval {
            lanes(mask).for_each(|lane| self.touch_bytes(&touch, lane as u32, at, 8));
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
                let release =
                    Release { snapshot: warp.release(mask), lanes: mask, scope: Scope::Cluster, by_volatile: false };
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

    /// Records that a lane has issued a copy.
    pub(super) fn copy(&mut self, site: Site, warp_id: WarpId, issue: &Issue, places: &Places<'_>) {
        let Issue { lane, from, to, bytes, mbarrier, .. } = *issue;
        let signaled_mbarrier = mbarrier.map(|(rank, at)| object(self.block_of_rank(warp_id.block, rank), at));
        let Some((warp, _)) = self.warp(warp_id) else { return };
        let number = warp.number;
        let clock = warp.issued.get_or_insert_default().issue();
        // One lane represents all operations that signal the same mbarrier. The operations of a phase complete before
        // those of the next phase.
        let slot = signaled_mbarrier.map(|name| ((name / 8) ^ (name >> 24)) as u32 % 32);
        let is_product = self.sites.info(self.sites.number(site)).name == Some(PRODUCT);
        for (place, writes) in [(from, false), (to, true)] {
            let Some(place) = place else { continue };
            let (space, rank, at) = match place {
                Place::Shared(rank, at) => (Space::Shared, rank, at),
                Place::Global(at) => (Space::Global, 0, at),
            };
            let agent = match (slot, writes) {
                (Some(_), _) => Agent::Signaled,
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
                owner_block: self.block_of_rank(warp_id.block, rank),
                writes,
                clock: Some(clock),
                stored: StoredValues::default(),
                places,
            };
            self.touch_bytes(&touch, slot.unwrap_or(lane), at, bytes);
        }
        let Self { objects, grid: Some(grid), issuers, .. } = self else { return };
        if let (Some(slot), Some(name)) = (slot, signaled_mbarrier) {
            let agent = grid.agent(number, Agent::Signaled);
            issuers.insert((agent, slot), lane);
            let done = Node::NONE.join_at(grid.levels, agent, &Node::lanes(1 << slot, clock));
            objects.arrive(name, &Tree { known: done, ..Tree::NONE }, false);
        }
    }

    /// Records an access of lanes to memory.
    pub(super) fn access(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let owner_block = match (access.space, access.rank) {
            (Space::Global | Space::Shared, None) => warp_id.block,
            (Space::Shared, Some(rank)) => self.block_of_rank(warp_id.block, rank),
            _ => return,
        };
        let info = *self.sites.info(self.sites.number(site));
        let Some((warp, _)) = self.warp(warp_id) else { return };
        let warp_number = warp.number;
        let (agent, clock) = match access.kind {
            AccessKind::AsyncCopy => (Agent::Copies, warp.issued.get_or_insert_default().issue()),
            // A release by this access covers the earlier accesses, so it uses the clock before the access.
            _ => (Agent::Threads, warp.clock),
        };
        if let Some(trial) = &mut self.trial {
            let place = |lane: usize| flag_place(access.space, owner_block, access.addresses[lane]);
            trial.access(site, (warp_number, &info), access, place);
        }
        if info.order.is_strong() {
            self.strong_access(warp_id, (info, access.mask), |lane| {
                flag_place(access.space, owner_block, access.addresses[lane])
            });
        }
        let writes = match access.kind {
            AccessKind::Load => false,
            AccessKind::AsyncCopy => access.space == Space::Shared,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => true,
        };
        let (space, clock) = (access.space, Some(clock));
        let stored = access.stored;
        let touch = Touch { site, warp_id, agent, issuer: None, space, owner_block, writes, clock, stored, places };
        self.touch(&touch, |base, act| each_run(base, access, act));
    }
}

/// Returns a unique name for an address of global memory, or of the shared memory of the block `owner_block`.
fn flag_place(space: Space, owner_block: u64, address: u64) -> u64 {
    match space {
        Space::Shared => 1 << 63 | object(owner_block, address),
        _ => address,
    }
}

/// Divides an access into runs, and calls `act` with each run and its line.
fn each_run(base: &Run, access: &Access<'_>, act: &mut dyn FnMut(u64, &Run)) {
    let mut current: Option<(u64, Run)> = None;
    let size = access.bytes as u8;
    for lane in lanes(access.mask) {
        let at = access.addresses[lane];
        let (line, lo) = (at / LINE, (at % LINE) as u8);
        if let Some((_, run)) = current.as_mut().filter(|(current_line, _)| *current_line == line) {
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
        if let Some((current_line, run)) = &current {
            act(*current_line, run);
        }
        current = Some((line, Run { lo, hi: lo + size, size, first: lane as u8, lanes: 1 << lane, ..*base }));
    }
    if let Some((line, run)) = &current {
        act(*line, run);
    }
}
