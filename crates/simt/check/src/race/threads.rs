//! What the threads of a warp know about other threads, and how this knowledge changes.

use std::sync::Arc;

use super::asynchronous::{Issued, WaitedClocks};
use super::classes::Classes;
use super::clocks::Node;
use super::grid::{Grid, Nearness, WarpNumber};
use simt::observe::Scope;
use simt::regs::{ALL, LANES};

/// The knowledge that a thread has of other threads. The parts for the thread's warp and block are separate, because
/// these parts change most often. If two parts contain different clocks, the later clock counts.
#[derive(Debug, Clone)]
pub(super) struct Knowledge {
    pub(super) warp: Node,
    pub(super) block: Node,
    pub(super) grid: Node,
    /// The part of the knowledge that precedes a proxy fence, for all threads.
    pub(super) proxied: Node,
    /// The knowledge that the next `fence.sc` adds. It comes from earlier `fence.sc` of threads whose atomics or
    /// barriers this thread has observed since. In the order of all `fence.sc`, those fences come first.
    heard: Node,
    /// The clock of the last `fence.sc` that each of these threads executed together with other lanes. Such fences are
    /// unordered, so `heard` does not include the threads themselves.
    fence: u32,
}

/// Knowledge that is transferred to other threads.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) known: Node,
    pub(super) proxied: Node,
    pub(super) heard: Node,
}

impl Tree {
    pub(super) const NONE: Self = Self { known: Node::NONE, proxied: Node::NONE, heard: Node::NONE };

    fn covers(&self, other: &Self) -> bool {
        self.known.covers(&other.known) && self.proxied.covers(&other.proxied) && self.heard.covers(&other.heard)
    }

    pub(super) fn join(&self, other: &Self) -> Self {
        Self {
            known: self.known.join(&other.known),
            proxied: self.proxied.join(&other.proxied),
            heard: self.heard.join(&other.heard),
        }
    }
}

impl Knowledge {
    const NONE: Self = Self {
        warp: Node::NONE,
        block: Node::NONE,
        grid: Node::NONE,
        proxied: Node::NONE,
        heard: Node::NONE,
        fence: 0,
    };

    /// Returns the knowledge of a block's threads after they have waited for each other, at this clock or earlier.
    pub(super) fn of_block(clock: u32, others: Tree) -> Self {
        let Tree { known, proxied, heard } = others;
        let clock = Node::Uniform(clock);
        Self { warp: clock.clone(), block: clock, grid: known, proxied, heard, fence: 0 }
    }

    /// Returns the knowledge that a thread of the warp `home` has of another warp.
    #[inline]
    pub(super) fn of(&self, home: WarpNumber, warp: WarpNumber, grid: &Grid) -> &Node {
        if warp == home {
            &self.warp
        } else if warp / 32 == home / 32 {
            self.block.at(1, warp)
        } else {
            self.grid.at(grid.levels, warp)
        }
    }

    /// Returns the knowledge of `lanes` of a warp at this clock, including the accesses of these lanes.
    fn tree(&self, home: WarpNumber, lanes: u32, clock: u32, grid: &Grid) -> Tree {
        let warp = self.warp.join(&Node::lanes(lanes, clock));
        let block = self.block.join_at(1, home, &warp);
        let known = self.grid.join_at(grid.levels - 1, home / 32, &block);
        Tree { known, proxied: self.proxied.clone(), heard: self.heard_by(home, lanes, grid) }
    }

    /// Returns the `fence.sc` knowledge of `lanes` of a warp, including the fences of these lanes.
    pub(super) fn heard_by(&self, home: WarpNumber, lanes: u32, grid: &Grid) -> Node {
        match self.fence {
            0 => self.heard.clone(),
            clock => self.heard.join_at(grid.levels, home, &Node::lanes(lanes, clock)),
        }
    }

    /// Returns whether these threads have neither executed a `fence.sc` nor learned of one.
    pub(super) fn is_fenceless(&self) -> bool {
        self.fence == 0 && self.heard.is_identical(&Node::NONE)
    }

    /// Returns whether the knowledge includes all fences in a tree.
    pub(super) fn has_heard(&self, heard: &Node) -> bool {
        self.heard.covers(heard)
    }

    /// Adds the fences in a tree to the knowledge.
    pub(super) fn hear(&mut self, heard: &Node) {
        self.heard = heard.join(&self.heard);
    }

    /// Adds the contents of a tree to the knowledge.
    pub(super) fn learn(&mut self, home: WarpNumber, tree: &Tree, grid: &Grid) {
        // If both trees are equal, continue with a shared tree, because comparing it with itself is fast.
        self.grid = tree.known.join(&self.grid);
        self.block = self.block.join(tree.known.at(grid.levels - 1, home / 32));
        self.warp = self.warp.join(self.block.at(1, home));
        self.proxied = tree.proxied.join(&self.proxied);
        self.hear(&tree.heard);
    }

    fn join(&mut self, other: &Self) {
        self.warp = self.warp.join(&other.warp);
        self.block = self.block.join(&other.block);
        self.grid = self.grid.join(&other.grid);
        self.proxied = self.proxied.join(&other.proxied);
    }
}

/// The knowledge of lanes of a warp at a point in time.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) warp: WarpNumber,
    pub(super) clock: u32,
    classes: Classes,
    /// The asynchronous operations that each lane has waited for.
    waited: Option<WaitedClocks>,
    /// Releases of other threads that are transferred together with this knowledge.
    others: Tree,
}

/// The knowledge that lanes release, which a thread acquires when it reads their write.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) lanes: u32,
    /// The scope of the threads that may acquire the knowledge.
    pub(super) scope: Scope,
    /// Whether a volatile write to a flag releases the knowledge, without a fence. Such a release orders only volatile
    /// accesses.
    pub(super) by_volatile: bool,
}

impl Release {
    /// Returns the knowledge of the lanes, including the accesses of these lanes.
    pub(super) fn tree(&self, grid: &Grid) -> Tree {
        let Snapshot { warp, clock, classes, waited, others } = &*self.snapshot;
        let classes = classes.of(self.lanes);
        let tree = classes
            .fold(others.clone(), |all, (class_lanes, known)| all.join(&known.tree(*warp, class_lanes, *clock, grid)));
        match waited {
            Some(waited) => Tree { known: waited.add_to(self.lanes, *warp, &tree.known, grid), ..tree },
            None => tree,
        }
    }

    /// Joins two releases into one release with the warp and the scope of `self`.
    pub(super) fn joined(&self, other: &Self, grid: &Grid) -> Self {
        let Snapshot { warp, clock, .. } = *self.snapshot;
        let others = self.tree(grid).join(&other.tree(grid));
        let snapshot = Snapshot { warp, clock, classes: Classes::default(), waited: None, others };
        Self { snapshot: Arc::new(snapshot), ..*self }
    }

    /// Returns whether the release is a single one instead of a join of several releases.
    fn is_single(&self) -> bool {
        matches!(self.snapshot.others.known, Node::Uniform(0))
    }

    /// Returns whether a tree contains the release.
    fn is_in(&self, tree: &Tree, grid: &Grid) -> bool {
        let Snapshot { warp, clock, others, .. } = &*self.snapshot;
        match self.is_single() {
            true => self.lanes & !tree.known.at(grid.levels, *warp).lanes_at(*clock) == 0,
            false => tree.covers(others),
        }
    }

    /// Returns which of these lanes of a warp already know the release.
    pub(super) fn known_by(&self, by: &WarpState, lanes: u32, grid: &Grid) -> u32 {
        let Snapshot { warp, clock, others, .. } = &*self.snapshot;
        by.classes.of(lanes).fold(0, |all, (class_lanes, known)| {
            if !self.is_single() {
                let covers = known.grid.covers(&others.known)
                    && known.proxied.covers(&others.proxied)
                    && known.has_heard(&others.heard);
                return if covers { all | class_lanes } else { all };
            }
            let unknown = self.lanes & !known.of(by.number, *warp, grid).lanes_at(*clock);
            match unknown {
                0 => all | class_lanes,
                // Each lane knows its accesses.
                _ if unknown.is_power_of_two() && by.number == *warp => all | class_lanes & unknown,
                _ => all,
            }
        })
    }

    /// Returns whether `later` replaces this release for the lanes of both releases: `later` contains the same
    /// knowledge and has at least the same scope.
    pub(super) fn is_before(&self, later: &Self) -> bool {
        let (snapshot, later_snapshot) = (&self.snapshot, &later.snapshot);
        self.is_single()
            && snapshot.warp == later_snapshot.warp
            && snapshot.clock < later_snapshot.clock
            && self.scope <= later.scope
            && self.by_volatile == later.by_volatile
            && later.is_single()
    }
}

impl Release {
    /// Returns whether the thread of a later release had acquired this release, so that the later release includes it.
    pub(super) fn is_known_to(&self, later: &Self, grid: &Grid) -> bool {
        let (snapshot, later_snapshot) = (&self.snapshot, &later.snapshot);
        let reaches = match grid.block(snapshot.warp) == grid.block(later_snapshot.warp) {
            true => later.scope >= self.scope,
            false => later.scope >= Scope::Gpu,
        };
        reaches
            && self.is_single()
            && later.is_single()
            && self.by_volatile == later.by_volatile
            && later_snapshot.classes.of(later.lanes).all(|(_, known)| {
                self.lanes & !known.of(later_snapshot.warp, snapshot.warp, grid).lanes_at(snapshot.clock) == 0
            })
    }
}

/// Knowledge that lanes have read but not acquired. A later fence acquires it.
#[derive(Debug)]
struct Pending {
    lanes: u32,
    /// The nearness of the releasing threads.
    nearness: Nearness,
    /// Whether a volatile write released the knowledge, so that a fence does not acquire it.
    by_volatile: bool,
    tree: Tree,
}

/// The last read of a lane from a synchronization place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) place: u64,
    /// The version of the place's handover.
    pub(super) version: u32,
    /// Whether the read was an acquire.
    pub(super) acquires: bool,
    /// Whether the place was a flag at that time.
    pub(super) is_flag: bool,
}

/// A running warp.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) number: WarpNumber,
    /// Lanes that have not ended.
    pub(super) alive: u32,
    /// Lanes that have arrived at the cluster barrier in its current phase.
    pub(super) in_cluster: u32,
    /// The clock of the warp's accesses. It advances when lanes release their earlier accesses.
    pub(super) clock: u32,
    pub(super) classes: Classes,
    /// The asynchronous operations, if there are any.
    pub(super) issued: Option<Box<Issued>>,
    /// The last fences of each lane, latest last.
    pub(super) fenced: Vec<Release>,
    /// The knowledge that lanes have read but not acquired: for each lane, at most one entry for each nearness.
    pending: Vec<Pending>,
    /// The last read of each lane.
    pub(super) seen: [Seen; LANES],
}

impl WarpState {
    pub(super) fn new(number: WarpNumber, alive: u32) -> Self {
        Self {
            number,
            alive,
            in_cluster: 0,
            clock: 1,
            classes: Classes::uniform(Arc::new(Knowledge::NONE)),
            issued: None,
            fenced: Vec::new(),
            pending: Vec::new(),
            seen: [Seen::default(); LANES],
        }
    }

    /// Returns the current knowledge of some lanes, and advances the clock.
    pub(super) fn release(&mut self, lanes: u32) -> Arc<Snapshot> {
        let classes = self.classes.part(lanes);
        let waited = self.issued.as_ref().map(|issued| issued.waited.clone());
        let snapshot = Snapshot { warp: self.number, clock: self.clock, classes, waited, others: Tree::NONE };
        self.clock += 1;
        Arc::new(snapshot)
    }

    /// Changes the knowledge of some lanes.
    pub(super) fn change(&mut self, lanes: u32, change: impl Fn(&mut Knowledge)) {
        self.classes.change(lanes, change);
    }

    /// Returns the knowledge of the lanes joined with their pending reads, or `None` if there are no pending reads.
    pub(super) fn with_pending(&self, grid: &Grid) -> Option<Classes> {
        let mut classes = (!self.pending.is_empty()).then(|| self.classes.clone())?;
        for pending in &self.pending {
            classes.change(pending.lanes, |known| known.learn(self.number, &pending.tree, grid));
        }
        Some(classes)
    }

    /// Adds the knowledge in a tree to lanes.
    pub(super) fn learn(&mut self, lanes: u32, tree: &Tree, grid: &Grid) {
        let home = self.number;
        self.change(lanes, |known| known.learn(home, tree, grid));
    }

    /// Records that lanes have read the value of a release by threads at this nearness.
    pub(super) fn read(&mut self, mut lanes: u32, release: &Release, nearness: Nearness, grid: &Grid) {
        let mut new = Vec::new();
        let by_volatile = release.by_volatile;
        let of_kind = |pending: &&mut Pending| (pending.nearness, pending.by_volatile) == (nearness, by_volatile);
        for pending in self.pending.iter_mut().filter(of_kind) {
            let common = pending.lanes & lanes;
            lanes &= !common;
            if common == 0 || release.is_in(&pending.tree, grid) {
                continue;
            }
            let tree = pending.tree.join(&release.tree(grid));
            pending.lanes &= !common;
            new.push(Pending { lanes: common, nearness, by_volatile, tree });
        }
        if lanes != 0 {
            new.push(Pending { lanes, nearness, by_volatile, tree: release.tree(grid) });
        }
        if !new.is_empty() {
            self.pending.retain(|pending| pending.lanes != 0);
            self.pending.append(&mut new);
        }
    }

    /// Records that lanes execute a fence, which acquires their pending reads.
    pub(super) fn acquire_pending(&mut self, mask: u32, scope: Scope, grid: &Grid) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain_mut(|pending| {
            if pending.lanes & mask != 0 && pending.nearness.is_in(scope) && !pending.by_volatile {
                self.learn(pending.lanes & mask, &pending.tree, grid);
                pending.lanes &= !mask;
            }
            pending.lanes != 0
        });
        self.pending = pending;
    }

    /// Records that lanes wait for each other. Each lane then has the combined knowledge of all lanes.
    pub(super) fn meet(&mut self, lanes: u32, grid: &Grid) {
        // Threads that have ended count as arrived, as at a barrier of the block.
        let lanes = if self.alive & !lanes == 0 { ALL } else { lanes };
        let mut joint = Knowledge::NONE;
        for (lanes, known) in self.classes.of(lanes) {
            joint.join(known);
            joint.hear(&known.heard_by(self.number, lanes, grid));
        }
        joint.warp = joint.warp.join(&Node::lanes(lanes, self.clock));
        if let Some(issued) = &self.issued {
            joint.grid = issued.waited.add_to(lanes, self.number, &joint.grid, grid);
        }
        self.classes.unite(lanes, Arc::new(joint));
        self.clock += 1;
    }

    /// Returns the knowledge that all lanes have about other blocks, asynchronous operations and proxy fences.
    pub(super) fn knowledge_of_others(&self, grid: &Grid) -> Tree {
        let mut all = self.classes.of(ALL).fold(Tree::NONE, |all, (lanes, known)| Tree {
            known: all.known.join(&known.grid),
            proxied: all.proxied.join(&known.proxied),
            heard: all.heard.join(&known.heard_by(self.number, lanes, grid)),
        });
        if let Some(issued) = &self.issued {
            all.known = issued.waited.add_to(ALL, self.number, &all.known, grid);
        }
        all
    }

    /// Records that all threads of the block have waited for each other, at this clock or earlier.
    pub(super) fn meet_block(&mut self, clock: u32, known: &Arc<Knowledge>) {
        self.clock = clock + 1;
        self.classes.unite(ALL, known.clone());
    }

    /// Records that lanes execute a `fence.sc`, which follows the fences that the lanes already know.
    pub(super) fn fence_in_order(&mut self, lanes: u32, grid: &Grid) {
        let (home, clock) = (self.number, self.clock);
        self.change(lanes, |known| {
            let heard = Tree { known: known.heard.clone(), ..Tree::NONE };
            known.learn(home, &heard, grid);
            let is_single = lanes.is_power_of_two();
            known.heard = known.tree(home, if is_single { lanes } else { 0 }, clock, grid).known;
            known.fence = if is_single { 0 } else { clock };
        });
    }

    /// Records that lanes execute a fence that releases their earlier accesses.
    pub(super) fn fence(&mut self, lanes: u32, scope: Scope) {
        self.fenced.retain_mut(|fence| {
            if fence.scope <= scope {
                fence.lanes &= !lanes;
            }
            fence.lanes != 0
        });
        let snapshot = self.release(lanes);
        self.fenced.push(Release { snapshot, lanes, scope, by_volatile: false });
    }

    /// Records that lanes execute a proxy fence: asynchronous operations can then read everything that the lanes have
    /// written or know about.
    pub(super) fn proxy_fence(&mut self, lanes: u32, grid: &Grid) {
        let (home, clock) = (self.number, self.clock);
        self.change(lanes, |known| {
            let Tree { known: all, proxied, .. } = known.tree(home, lanes, clock, grid);
            known.proxied = proxied.join(&all);
        });
        self.clock += 1;
    }
}
