//! Atomic and strong accesses by which threads synchronize (PTX ISA, "Release and Acquire Patterns").
//!
//! A thread that reads a value written by another thread acquires everything before the writer's release. The release
//! is the write itself, if it is `.release`, or the fence before the write. The acquire is the read itself, if it is
//! `.acquire`, or the fence after the read. Atomic operations preserve the earlier releases of their location; other
//! writes discard them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::clocks::Node;
use super::grid::Grid;
use super::sites::Info;
use super::threads::{Release, Seen, WarpState};
use rustc_hash::FxBuildHasher;
use simt::observe::{AccessKind, Order, Scope};
use simt::regs::{ALL, LANES, lanes};

/// The maximum number of separate releases of a place. Beyond this number, releases of the same scope are joined.
const MAX_RELEASES: usize = 8;

/// Memory on which threads spin, by place.
pub(super) type Flags = HashSet<u64, FxBuildHasher>;

/// The releases that a thread reads from a place.
#[derive(Debug, Default)]
struct Handover {
    releases: Vec<Release>,
    /// A number that is unique among all states of all places.
    version: u32,
}

/// The releases that strong writes leave at places.
#[derive(Debug, Default)]
pub(super) struct Locations {
    all: HashMap<u64, Handover, FxBuildHasher>,
    /// The version of the handover that changed last.
    version: u32,
    /// The `fence.sc` knowledge of the threads that have written to a place.
    heard: HashMap<u64, Node, FxBuildHasher>,
    /// The places on which threads have spun.
    pub(super) flags: Flags,
}

impl Locations {
    /// Records accesses of lanes to places. `at` returns the place of each lane.
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
        // A volatile write to a flag comes after earlier volatile accesses. A place that only one lane writes may be a
        // flag.
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
        let places = group_by_place(mask, at);
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
        let releasing_lanes = if by_volatile { sets } else { mask };
        let write_release = (releasing_lanes != 0).then(|| Release {
            snapshot: warp.release(mask),
            lanes: releasing_lanes,
            scope: order.scope,
            by_volatile,
        });
        for (place, mut place_lanes) in places {
            // Of several stores to one place, the store of the last lane remains.
            if kind == AccessKind::Store {
                place_lanes = 1 << place_lanes.ilog2();
            }
            // In an atomic instruction, a lane reads the results of earlier lanes. This has no effect if all lanes know
            // each other's releases.
            let is_known = |release: Release| release.known_by(warp, place_lanes, grid) == place_lanes;
            if place_lanes.is_power_of_two() || released(warp, &write_release, (place_lanes, order.scope)).all(is_known)
            {
                self.hand_over(warp, (place, place_lanes), info, &write_release, grid);
                continue;
            }
            for lane in lanes(place_lanes) {
                self.hand_over(warp, (place, 1 << lane), info, &write_release, grid);
            }
        }
    }

    /// Records that lanes write to a place, and records the releases of the write. `write_release` is the release of
    /// the write itself; the other releases come from earlier fences. An atomic operation first reads the place.
    fn hand_over(
        &mut self,
        warp: &mut WarpState,
        (place, mask): (u64, u32),
        Info { kind, order, .. }: Info,
        write_release: &Option<Release>,
        grid: &Grid,
    ) {
        if kind == AccessKind::Atomic {
            self.read(warp, (place, mask), order, grid);
        }
        let is_atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let mut new = released(warp, write_release, (mask, order.scope)).peekable();
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
        if releases.len() > MAX_RELEASES {
            join(releases, grid);
        }
        if changes {
            self.version = self.version.wrapping_add(1);
            *version = self.version;
        }
    }

    /// Records a read of lanes from a place. A spinning lane learns nothing new until the place changes.
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
    /// Transfers knowledge of `fence.sc` between lanes and the places that they access.
    fn hear(&mut self, warp: &mut WarpState, kind: AccessKind, places: &[(u64, u32)], grid: &Grid) {
        if kind == AccessKind::Load {
            for (place, lanes) in places.iter().copied() {
                let Some(known_fences) = self.heard.get(&place) else { continue };
                if warp.classes.of(lanes).any(|(_, known)| !known.has_heard(known_fences)) {
                    warp.change(lanes, |known| known.hear(known_fences));
                }
            }
            return;
        }
        for (place, mut left) in places.iter().copied() {
            while let Some((lanes, known)) = warp.classes.first(left) {
                left &= !lanes;
                let heard = known.heard_by(warp.number, lanes, grid);
                // If both trees are equal, continue with a shared tree, because comparing it with itself is fast.
                let joined = self.heard.get(&place).map(|known_fences| known_fences.join(&heard));
                if kind == AccessKind::Atomic
                    && let Some(joined) = joined.as_ref().filter(|joined| !joined.is_identical(&heard))
                {
                    warp.change(lanes, |known| known.hear(joined));
                }
                match kind {
                    AccessKind::Store if heard.is_identical(&Node::NONE) => drop(self.heard.remove(&place)),
                    AccessKind::Store => drop(self.heard.insert(place, heard)),
                    AccessKind::Atomic | AccessKind::Reduction => {
                        let all = joined.unwrap_or(heard);
                        if !all.is_identical(&Node::NONE) {
                            self.heard.insert(place, all);
                        }
                    }
                    AccessKind::Load | AccessKind::AsyncCopy => {}
                }
            }
        }
    }
}

/// Returns the releases of a write by lanes with this scope: `write_release`, which is the release of the write itself,
/// and the releases of earlier fences.
fn released<'a>(
    warp: &'a WarpState,
    write_release: &'a Option<Release>,
    (lanes, scope): (u32, Scope),
) -> impl Iterator<Item = Release> + 'a {
    let of_lanes = write_release.iter().chain(&warp.fenced).filter(move |release| release.lanes & lanes != 0);
    of_lanes.map(move |release| Release {
        lanes: release.lanes & lanes,
        scope: release.scope.min(scope),
        ..release.clone()
    })
}

/// Adds a release and removes the releases that it includes. Returns whether anything changes.
fn add(releases: &mut Vec<Release>, release: Release, grid: &Grid) -> bool {
    let has_later = |kept: &Release| kept.lanes & release.lanes == release.lanes && release.is_before(kept);
    if releases.iter().any(has_later) {
        return false;
    }
    releases.retain_mut(|kept| {
        if kept.is_before(&release) {
            kept.lanes &= !release.lanes;
        }
        kept.lanes != 0 && !kept.is_known_to(&release, grid)
    });
    let same = |kept: &&mut Release| {
        let is_alike = (kept.scope, kept.by_volatile) == (release.scope, release.by_volatile);
        Arc::ptr_eq(&kept.snapshot, &release.snapshot) && is_alike
    };
    match releases.iter_mut().find(same) {
        Some(kept) if kept.lanes & release.lanes == release.lanes => return false,
        Some(kept) => kept.lanes |= release.lanes,
        None => releases.push(release),
    }
    true
}

/// Joins releases of the same scope: across all blocks for the GPU scope, and within each block for smaller scopes.
fn join(releases: &mut Vec<Release>, grid: &Grid) {
    let mut joined: Vec<Release> = Vec::new();
    for release in releases.drain(..) {
        let scope = release.scope.min(Scope::Gpu);
        let same = |kept: &&mut Release| {
            kept.scope.min(Scope::Gpu) == scope
                && kept.by_volatile == release.by_volatile
                && (scope == Scope::Gpu || grid.block(kept.snapshot.warp) == grid.block(release.snapshot.warp))
        };
        match joined.iter_mut().find(same) {
            Some(kept) => *kept = kept.joined(&release, grid),
            None => joined.push(release),
        }
    }
    *releases = joined;
}

/// Records that lanes read the value of a release.
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

/// Returns the places that lanes access, each with its lanes.
fn group_by_place(mut left: u32, at: impl Fn(usize) -> u64) -> Vec<(u64, u32)> {
    let (mut places, mut all) = ([0; LANES], Vec::with_capacity(LANES));
    lanes(left).for_each(|lane| places[lane] = at(lane));
    if lanes(left).is_sorted_by(|one, next| places[*one] < places[*next]) {
        return lanes(left).map(|lane| (places[lane], 1 << lane)).collect();
    }
    while let Some(lane) = lanes(left).next() {
        // Compare all lanes, so that the compiler can vectorize the loop.
        let same = (0..LANES).fold(0, |all, other| all | u32::from(places[other] == places[lane]) << other) & left;
        left &= !same;
        all.push((places[lane], same));
    }
    all
}
