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
use super::sites::Info;
use super::threads::{Release, Seen, WarpState};
use rustc_hash::FxBuildHasher;
use simt::observe::{AccessKind, Order, Scope};
use simt::regs::{ALL, LANES, lanes};

/// Releases that are kept one by one; of more, those of the same scope are joined.
const MOST: usize = 8;

/// Memory on which threads spin, by place.
pub(super) type Flags = HashSet<u64, FxBuildHasher>;

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
    all: HashMap<u64, Handover, FxBuildHasher>,
    /// The version of the handover that changed last.
    version: u32,
    /// What those knew at a `fence.sc` that have written to a place since.
    heard: HashMap<u64, Node, FxBuildHasher>,
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
        let hears = !self.heard.is_empty() || writes && warp.classes.of(ALL).any(|(_, known)| !known.is_fenceless());
        if !hears && !hands_over && self.all.is_empty() {
            return;
        }
        let places = together(mask, at);
        if hears {
            self.hear(warp, kind, &places, grid);
        }
        if !writes {
            for place in places {
                self.read(warp, place, order, grid);
            }
            return;
        }
        let by_volatile = !order.releases();
        let lanes_of_own = if by_volatile { sets } else { mask };
        let own = (lanes_of_own != 0).then(|| Release {
            snapshot: warp.release(mask),
            lanes: lanes_of_own,
            scope: order.scope,
            by_volatile,
        });
        for (place, mut lanes_there) in places {
            // Of several stores, the one of the last lane is left.
            if kind == AccessKind::Store {
                lanes_there = 1 << lanes_there.ilog2();
            }
            // Atomics of one instruction see those of the lanes before, which changes nothing if all know each other's releases.
            let is_known = |release: Release| release.known_by(warp, lanes_there, grid) == lanes_there;
            if lanes_there.is_power_of_two() || released(warp, &own, (lanes_there, order.scope)).all(is_known) {
                self.hand_over(warp, (place, lanes_there), info, &own, grid);
                continue;
            }
            for lane in lanes(lanes_there) {
                self.hand_over(warp, (place, 1 << lane), info, &own, grid);
            }
        }
    }

    /// Lanes write to a place, and hand over there what they have released, with `own` by this write. An atomic operation reads the place first.
    fn hand_over(
        &mut self,
        warp: &mut WarpState,
        (place, mask): (u64, u32),
        Info { kind, order, .. }: Info,
        own: &Option<Release>,
        grid: &Grid,
    ) {
        if kind == AccessKind::Atomic {
            self.read(warp, (place, mask), order, grid);
        }
        let is_atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let mut new = released(warp, own, (mask, order.scope)).peekable();
        if new.peek().is_none() {
            if !is_atomic {
                self.all.remove(&place);
            }
            return;
        }
        let Handover { releases, version } = self.all.entry(place).or_default();
        if !is_atomic {
            releases.clear();
        }
        let changes = new.fold(false, |changes, release| add(releases, release, grid) | changes);
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
    fn hear(&mut self, warp: &mut WarpState, kind: AccessKind, places: &[(u64, u32)], grid: &Grid) {
        if kind == AccessKind::Load {
            for (place, lanes) in places.iter().copied() {
                let Some(there) = self.heard.get(&place) else { continue };
                if warp.classes.of(lanes).any(|(_, known)| !known.has_heard(there)) {
                    warp.change(lanes, |known| known.hear(there));
                }
            }
            return;
        }
        for (place, mut left) in places.iter().copied() {
            while let Some((lanes, known)) = warp.classes.first(left) {
                left &= !lanes;
                let own = known.heard_by(warp.number, lanes, grid);
                // If both know the same, all go on with one tree, which is compared at once.
                let joined = self.heard.get(&place).map(|there| there.join(&own));
                if kind == AccessKind::Atomic
                    && let Some(joined) = joined.as_ref().filter(|joined| !joined.is(&own))
                {
                    warp.change(lanes, |known| known.hear(joined));
                }
                match kind {
                    AccessKind::Store if own.is(&Node::NONE) => drop(self.heard.remove(&place)),
                    AccessKind::Store => drop(self.heard.insert(place, own)),
                    AccessKind::Atomic | AccessKind::Reduction => {
                        let all = joined.unwrap_or(own);
                        if !all.is(&Node::NONE) {
                            self.heard.insert(place, all);
                        }
                    }
                    AccessKind::Load | AccessKind::AsyncCopy => {}
                }
            }
        }
    }
}

/// Returns what a write by lanes with this scope hands over: what they have released with a fence, and with `own` by the write.
fn released<'a>(
    warp: &'a WarpState,
    own: &'a Option<Release>,
    (lanes, scope): (u32, Scope),
) -> impl Iterator<Item = Release> + 'a {
    let of_lanes = own.iter().chain(&warp.fenced).filter(move |release| release.lanes & lanes != 0);
    of_lanes.map(move |release| Release {
        lanes: release.lanes & lanes,
        scope: release.scope.min(scope),
        ..release.clone()
    })
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

/// The places that lanes access, each with its lanes.
fn together(mut left: u32, at: impl Fn(usize) -> u64) -> Vec<(u64, u32)> {
    let (mut places, mut all) = ([0; LANES], Vec::with_capacity(LANES));
    lanes(left).for_each(|lane| places[lane] = at(lane));
    if lanes(left).is_sorted_by(|one, next| places[*one] < places[*next]) {
        return lanes(left).map(|lane| (places[lane], 1 << lane)).collect();
    }
    while let Some(lane) = lanes(left).next() {
        // All lanes, because the compiler makes vectors of that.
        let same = (0..LANES).fold(0, |all, other| all | u32::from(places[other] == places[lane]) << other) & left;
        left &= !same;
        all.push((places[lane], same));
    }
    all
}
