//! Atomic and strong accesses by which threads tell each other that something is done (PTX ISA, "Release and Acquire
//! Patterns").
//!
//! A thread that reads what another has written knows what that one had done before its release: the write itself, if it is
//! `.release`, or the fence before it. It knows that from its acquire on: the read itself, if it is `.acquire`, or the
//! fence behind it. Atomic operations hand over what was there before them; other writes end it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::clocks::Node;
use super::grid::Grid;
use super::hash::FastHasher;
use super::sites::Info;
use super::threads::{Release, Seen, WarpState};
use crate::observe::{AccessKind, Order, Scope};
use crate::regs::{ALL, LANES, lanes};

/// Releases that are kept one by one; of more, those of the same scope are joined.
const MOST: usize = 8;

/// Memory on which threads spin, by place.
pub(super) type Flags = HashSet<u64, FastHasher>;

/// What a thread that reads a place gets.
#[derive(Debug, Default)]
struct Handover {
    releases: Vec<Release>,
    /// A number that no other state of any place has.
    version: u32,
}

/// What strong writes to places hand over.
#[derive(Debug, Default)]
pub(super) struct Locations {
    all: HashMap<u64, Handover, FastHasher>,
    /// The version of the handover that changed last.
    version: u32,
    /// What those knew at a `fence.sc` that have written to a place since.
    heard: HashMap<u64, Node, FastHasher>,
    /// The places on which threads have spun.
    pub(super) flags: Flags,
}

impl Locations {
    /// Lanes access places, which `at` tells of each lane. What they release with it is in `released`.
    pub(super) fn access(
        &mut self,
        warp: &mut WarpState,
        (info, mask): (Info, u32),
        at: impl Fn(usize) -> u64,
        grid: &Grid,
    ) {
        let Info { kind, order, .. } = info;
        let writes = kind != AccessKind::Load;
        self.hear(warp, (kind, mask), &at);
        if info.spins {
            self.flags.extend(lanes(mask).map(&at));
        }
        // A volatile write to a flag comes after the volatile accesses before it. What one lane alone writes may be a flag.
        let sets = match writes && info.is_volatile {
            true if mask.is_power_of_two() => mask,
            true => lanes(mask).filter(|lane| self.flags.contains(&at(*lane))).fold(0, |all, lane| all | 1 << lane),
            false => 0,
        };
        let hands_over =
            writes && (order.releases() || sets != 0 || warp.fenced.iter().any(|fence| fence.lanes & mask != 0));
        if !hands_over && self.all.is_empty() {
            return;
        }
        if !writes {
            for (place, lanes) in together(mask, at) {
                self.read(warp, (place, lanes), order, grid);
            }
            return;
        }
        let by_volatile = !order.releases();
        let released = (order.releases() || sets != 0).then(|| warp.release(mask));
        let own_lanes = if by_volatile { sets } else { mask };
        let releases_of = |warp: &WarpState, lanes: u32| {
            let own = released.clone().filter(|_| own_lanes & lanes != 0);
            let own =
                own.map(|snapshot| Release { snapshot, lanes: own_lanes & lanes, scope: order.scope, by_volatile });
            let fences = warp.fenced.iter().filter(|fence| fence.lanes & lanes != 0).map(|fence| Release {
                snapshot: fence.snapshot.clone(),
                lanes: fence.lanes & lanes,
                scope: fence.scope.min(order.scope),
                by_volatile: false,
            });
            own.into_iter().chain(fences).collect::<Vec<_>>()
        };
        for (place, mut lanes_there) in together(mask, &at) {
            // Of several stores, the one of the last lane is left.
            if kind == AccessKind::Store {
                lanes_there = 1 << lanes_there.ilog2();
            }
            // Atomics of one instruction see those of the lanes before, which changes nothing if all know each other's releases.
            let all = releases_of(warp, lanes_there);
            let is_single = lanes_there.is_power_of_two();
            if is_single || all.iter().all(|release| release.known_by(warp, lanes_there, grid) == lanes_there) {
                self.hand_over(warp, (place, lanes_there), info, all, grid);
                continue;
            }
            for lane in lanes(lanes_there) {
                self.hand_over(warp, (place, 1 << lane), info, releases_of(warp, 1 << lane), grid);
            }
        }
    }

    /// Lanes write to a place, and hand over releases there. An atomic operation reads the place first.
    fn hand_over(
        &mut self,
        warp: &mut WarpState,
        (place, mask): (u64, u32),
        Info { kind, order, .. }: Info,
        new: Vec<Release>,
        grid: &Grid,
    ) {
        if kind == AccessKind::Atomic {
            self.read(warp, (place, mask), order, grid);
        }
        let is_atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        if new.is_empty() {
            if !is_atomic {
                self.all.remove(&place);
            }
            return;
        }
        let Handover { releases, version } = self.all.entry(place).or_default();
        if !is_atomic {
            releases.clear();
        }
        let changes = new.into_iter().fold(false, |changes, release| add(releases, release, grid) | changes);
        if releases.len() > MOST {
            join(releases, grid);
        }
        if changes {
            self.version = self.version.wrapping_add(1);
            *version = self.version;
        }
    }

    /// Lanes read a place. A lane that spins gets nothing new until the place changes.
    fn read(&self, warp: &mut WarpState, (place, mask): (u64, u32), order: Order, grid: &Grid) {
        let Some(Handover { releases, version }) = self.all.get(&place) else { return };
        let is_flag = self.flags.contains(&place);
        let state = Seen { place, version: *version, acquires: order.acquires(), is_flag };
        let new = lanes(mask).filter(|lane| warp.seen[*lane] != state).fold(0, |all, lane| all | 1 << lane);
        if new != 0 {
            let releases = releases.iter().filter(|release| is_flag || !release.by_volatile);
            releases.for_each(|release| acquire(warp, new, order, release, grid));
            lanes(new).for_each(|lane| warp.seen[lane] = state);
        }
    }
}

impl Locations {
    /// Lanes hear of the `fence.sc` of those that have written what they read, and tell others of theirs.
    fn hear(&mut self, warp: &mut WarpState, (kind, mask): (AccessKind, u32), at: impl Fn(usize) -> u64) {
        let nothing = |heard: &Node| matches!(heard, Node::Uniform(0));
        if kind == AccessKind::Load {
            if self.heard.is_empty() {
                return;
            }
            for (place, lanes) in together(mask, at) {
                let Some(there) = self.heard.get(&place) else { continue };
                if warp.classes.of(lanes).any(|(_, known)| !known.heard.covers(there)) {
                    warp.change(lanes, |known| known.heard = known.heard.join(there));
                }
            }
            return;
        }
        if self.heard.is_empty() && warp.classes.of(ALL).all(|(_, known)| nothing(&known.heard)) {
            return;
        }
        for (place, lanes) in together(mask, at) {
            let classes = warp.classes.of(lanes).map(|(own, known)| (own, known.heard.clone()));
            for (lanes, own) in classes.collect::<Vec<_>>() {
                // If both know the same, all go on with one tree, which is compared at once.
                let joined = self.heard.get(&place).map(|there| there.join(&own));
                if kind == AccessKind::Atomic
                    && let Some(joined) = joined.as_ref().filter(|joined| !joined.is(&own))
                {
                    warp.change(lanes, |known| known.heard = joined.clone());
                }
                match kind {
                    AccessKind::Store if nothing(&own) => drop(self.heard.remove(&place)),
                    AccessKind::Store => drop(self.heard.insert(place, own)),
                    AccessKind::Atomic | AccessKind::Reduction => {
                        let all = joined.unwrap_or(own);
                        if !nothing(&all) {
                            self.heard.insert(place, all);
                        }
                    }
                    AccessKind::Load | AccessKind::AsyncCopy => {}
                }
            }
        }
    }
}

/// Adds a release, in place of those that a thread gets with it. Returns whether anything changes.
fn add(releases: &mut Vec<Release>, release: Release, grid: &Grid) -> bool {
    let has_later = |own: &Release| own.lanes & release.lanes == release.lanes && release.is_before(own);
    if releases.iter().any(has_later) {
        return false;
    }
    releases.retain_mut(|own| {
        if own.is_before(&release) {
            own.lanes &= !release.lanes;
        }
        own.lanes != 0 && !own.is_known_to(&release, grid)
    });
    let same = |own: &&mut Release| {
        let is_alike = (own.scope, own.by_volatile) == (release.scope, release.by_volatile);
        Arc::ptr_eq(&own.snapshot, &release.snapshot) && is_alike
    };
    match releases.iter_mut().find(same) {
        Some(own) if own.lanes & release.lanes == release.lanes => return false,
        Some(own) => own.lanes |= release.lanes,
        None => releases.push(release),
    }
    true
}

/// Joins releases that are meant for the whole grid, and those of one block for that block.
fn join(releases: &mut Vec<Release>, grid: &Grid) {
    let mut joined: Vec<Release> = Vec::new();
    for release in releases.drain(..) {
        let scope = release.scope.min(Scope::Gpu);
        let same = |own: &&mut Release| {
            own.scope.min(Scope::Gpu) == scope
                && own.by_volatile == release.by_volatile
                && (scope == Scope::Gpu || grid.block(own.snapshot.warp) == grid.block(release.snapshot.warp))
        };
        match joined.iter_mut().find(same) {
            Some(own) => *own = own.joined(&release, grid),
            None => joined.push(release),
        }
    }
    *releases = joined;
}

/// Lanes read what a release has written.
fn acquire(warp: &mut WarpState, lanes: u32, order: Order, release: &Release, grid: &Grid) {
    let nearness = grid.nearness(warp.number, release.snapshot.warp);
    if !nearness.is_in(release.scope) || !nearness.is_in(order.scope) {
        return;
    }
    match lanes & !release.known_by(warp, lanes, grid) {
        0 => {}
        lanes if order.acquires() && !release.by_volatile => warp.learn(lanes, &release.tree(grid), grid),
        lanes => warp.read(lanes, release, nearness, grid),
    }
}

/// The lanes that access the same place, place by place.
fn together(mut left: u32, at: impl Fn(usize) -> u64) -> impl Iterator<Item = (u64, u32)> {
    let mut places = [0; LANES];
    lanes(left).for_each(|lane| places[lane] = at(lane));
    std::iter::from_fn(move || {
        let place = places[lanes(left).next()?];
        // All lanes, because the compiler makes vectors of that.
        let same = (0..LANES).fold(0, |all, lane| all | u32::from(places[lane] == place) << lane) & left;
        left &= !same;
        Some((place, same))
    })
}
