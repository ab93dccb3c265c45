//! What the threads of a warp know of others, and how it changes.

use std::sync::Arc;

use super::asynchronous::{Issued, WaitedClocks};
use super::classes::Classes;
use super::clocks::Node;
use super::grid::{Grid, Nearness, WarpNumber};
use simt::observe::Scope;
use simt::regs::{ALL, LANES};

/// What a thread knows of the others, apart from itself. What is known of the own warp and of the own block stands by
/// itself, because it changes most; where two say different things, the later clock holds.
#[derive(Debug, Clone)]
pub(super) struct Knowledge {
    pub(super) warp: Node,
    pub(super) block: Node,
    pub(super) grid: Node,
    /// Of that what a proxy fence stands behind, for all threads.
    pub(super) proxied: Node,
    /// What is known behind the next `fence.sc`: what those knew that executed one before, and of whose atomics or barriers
    /// this thread has seen something since. In the order of all such fences those come first.
    heard: Node,
    /// The clock of the last `fence.sc` that each of these threads executed together with other lanes. Such fences are in any order,
    /// so `heard` does not have the threads themselves.
    fence: u32,
}

/// What is handed over to other threads.
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

    /// What the threads of a block know that have waited for each other, at no later clock than this one.
    pub(super) fn of_block(clock: u32, others: Tree) -> Self {
        let Tree { known, proxied, heard } = others;
        let clock = Node::Uniform(clock);
        Self { warp: clock.clone(), block: clock, grid: known, proxied, heard, fence: 0 }
    }

    /// What is known of a warp, by a thread of `own`.
    #[inline]
    pub(super) fn of(&self, own: WarpNumber, warp: WarpNumber, grid: &Grid) -> &Node {
        if warp == own {
            &self.warp
        } else if warp / 32 == own / 32 {
            self.block.at(1, warp)
        } else {
            self.grid.at(grid.levels, warp)
        }
    }

    /// What `lanes` of a warp know at this clock, themselves included.
    fn tree(&self, own: WarpNumber, lanes: u32, clock: u32, grid: &Grid) -> Tree {
        let warp = self.warp.join(&Node::lanes(lanes, clock));
        let block = self.block.join_at(1, own, &warp);
        let known = self.grid.join_at(grid.levels - 1, own / 32, &block);
        Tree { known, proxied: self.proxied.clone(), heard: self.heard_by(own, lanes, grid) }
    }

    /// What `lanes` of a warp have heard, their own fences included.
    pub(super) fn heard_by(&self, own: WarpNumber, lanes: u32, grid: &Grid) -> Node {
        match self.fence {
            0 => self.heard.clone(),
            clock => self.heard.join_at(grid.levels, own, &Node::lanes(lanes, clock)),
        }
    }

    /// Whether there is no `fence.sc` that these threads have executed or heard of.
    pub(super) fn is_fenceless(&self) -> bool {
        self.fence == 0 && self.heard.is(&Node::NONE)
    }

    /// Whether the fences in a tree are known.
    pub(super) fn has_heard(&self, heard: &Node) -> bool {
        self.heard.covers(heard)
    }

    /// Hears of the fences in a tree.
    pub(super) fn hear(&mut self, heard: &Node) {
        self.heard = heard.join(&self.heard);
    }

    /// What a tree has is known too.
    pub(super) fn learn(&mut self, own: WarpNumber, tree: &Tree, grid: &Grid) {
        // If both know the same, the threads go on with one tree, which is compared at once.
        self.grid = tree.known.join(&self.grid);
        self.block = self.block.join(tree.known.at(grid.levels - 1, own / 32));
        self.warp = self.warp.join(self.block.at(1, own));
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

/// What lanes of a warp knew at a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) warp: WarpNumber,
    pub(super) clock: u32,
    classes: Classes,
    /// The asynchronous operations that each lane has waited for.
    waited: Option<WaitedClocks>,
    /// What others had released that is handed over together with it.
    others: Tree,
}

/// What is handed over where a thread writes and another reads: what lanes knew when they released it.
#[derive(Debug, Clone)]
pub(super) struct Release {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) lanes: u32,
    /// The threads that it is meant for.
    pub(super) scope: Scope,
    /// Whether a volatile write to a flag releases it, without a fence: only volatile accesses are ordered then.
    pub(super) by_volatile: bool,
}

impl Release {
    /// What the lanes knew, themselves included.
    pub(super) fn tree(&self, grid: &Grid) -> Tree {
        let Snapshot { warp, clock, classes, waited, others } = &*self.snapshot;
        let classes = classes.of(self.lanes);
        let tree = classes.fold(others.clone(), |all, (own, known)| all.join(&known.tree(*warp, own, *clock, grid)));
        match waited {
            Some(waited) => Tree { known: waited.add_to(self.lanes, *warp, &tree.known, grid), ..tree },
            None => tree,
        }
    }

    /// Both together, as one of the warp and the scope of this one.
    pub(super) fn joined(&self, other: &Self, grid: &Grid) -> Self {
        let Snapshot { warp, clock, .. } = *self.snapshot;
        let others = self.tree(grid).join(&other.tree(grid));
        let snapshot = Snapshot { warp, clock, classes: Classes::default(), waited: None, others };
        Self { snapshot: Arc::new(snapshot), ..*self }
    }

    /// Whether it is what one thread or several released at a time, and not several releases joined.
    fn is_single(&self) -> bool {
        matches!(self.snapshot.others.known, Node::Uniform(0))
    }

    /// Whether it is in a tree.
    fn is_in(&self, tree: &Tree, grid: &Grid) -> bool {
        let Snapshot { warp, clock, others, .. } = &*self.snapshot;
        match self.is_single() {
            true => self.lanes & !tree.known.at(grid.levels, *warp).lanes_at(*clock) == 0,
            false => tree.covers(others),
        }
    }

    /// Which of these lanes of a warp know it already.
    pub(super) fn known_by(&self, by: &WarpState, lanes: u32, grid: &Grid) -> u32 {
        let Snapshot { warp, clock, others, .. } = &*self.snapshot;
        by.classes.of(lanes).fold(0, |all, (own, known)| {
            if !self.is_single() {
                let covers = known.grid.covers(&others.known)
                    && known.proxied.covers(&others.proxied)
                    && known.has_heard(&others.heard);
                return if covers { all | own } else { all };
            }
            let unknown = self.lanes & !known.of(by.number, *warp, grid).lanes_at(*clock);
            match unknown {
                0 => all | own,
                // Each lane knows of itself.
                _ if unknown.is_power_of_two() && by.number == *warp => all | own & unknown,
                _ => all,
            }
        })
    }

    /// Whether of a lane that both have, a later one has all that this one has, and is meant for as many.
    pub(super) fn is_before(&self, later: &Self) -> bool {
        let (own, its) = (&self.snapshot, &later.snapshot);
        self.is_single()
            && own.warp == its.warp
            && own.clock < its.clock
            && self.scope <= later.scope
            && self.by_volatile == later.by_volatile
            && later.is_single()
    }
}

impl Release {
    /// Whether the thread of a later release had acquired this one, so that those who get the later release get this one too.
    pub(super) fn is_known_to(&self, later: &Self, grid: &Grid) -> bool {
        let (own, its) = (&self.snapshot, &later.snapshot);
        let reaches = match grid.block(own.warp) == grid.block(its.warp) {
            true => later.scope >= self.scope,
            false => later.scope >= Scope::Gpu,
        };
        reaches
            && self.is_single()
            && later.is_single()
            && self.by_volatile == later.by_volatile
            && its
                .classes
                .of(later.lanes)
                .all(|(_, known)| self.lanes & !known.of(its.warp, own.warp, grid).lanes_at(own.clock) == 0)
    }
}

/// What lanes have read without acquiring it; a fence does that.
#[derive(Debug)]
struct Pending {
    lanes: u32,
    /// How near those are that have released it.
    nearness: Nearness,
    /// Whether a volatile write has released it, so that no fence acquires it.
    by_volatile: bool,
    tree: Tree,
}

/// What a lane has read from a place by which threads tell each other that something is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) place: u64,
    /// The version of what is handed over there.
    pub(super) version: u32,
    /// Whether the read acquired.
    pub(super) acquires: bool,
    /// Whether the place was a flag then.
    pub(super) is_flag: bool,
}

/// A warp that runs.
#[derive(Debug)]
pub(super) struct WarpState {
    pub(super) number: WarpNumber,
    /// Lanes that have not ended.
    pub(super) alive: u32,
    /// Lanes that have arrived at the cluster's barrier, whose phase is not over.
    pub(super) in_cluster: u32,
    /// The time of its accesses. It goes on where a lane tells others of those that are done.
    pub(super) clock: u32,
    pub(super) classes: Classes,
    /// The asynchronous operations, if there are any.
    pub(super) issued: Option<Box<Issued>>,
    /// The last fences of each lane, the last one at the end.
    pub(super) fenced: Vec<Release>,
    /// What lanes have read without acquiring it: of each lane, one for each nearness at most.
    pending: Vec<Pending>,
    /// What each lane has read last.
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

    /// What some lanes know now. The time goes on.
    pub(super) fn release(&mut self, lanes: u32) -> Arc<Snapshot> {
        let classes = self.classes.part(lanes);
        let waited = self.issued.as_ref().map(|issued| issued.waited.clone());
        let snapshot = Snapshot { warp: self.number, clock: self.clock, classes, waited, others: Tree::NONE };
        self.clock += 1;
        Arc::new(snapshot)
    }

    /// Changes what some lanes know.
    pub(super) fn change(&mut self, lanes: u32, change: impl Fn(&mut Knowledge)) {
        self.classes.change(lanes, change);
    }

    /// What lanes know together with what they have read without acquiring it; `None` if they have acquired everything.
    pub(super) fn with_pending(&self, grid: &Grid) -> Option<Classes> {
        let mut classes = (!self.pending.is_empty()).then(|| self.classes.clone())?;
        for own in &self.pending {
            classes.change(own.lanes, |known| known.learn(self.number, &own.tree, grid));
        }
        Some(classes)
    }

    /// Lanes learn what a tree has.
    pub(super) fn learn(&mut self, lanes: u32, tree: &Tree, grid: &Grid) {
        let own = self.number;
        self.change(lanes, |known| known.learn(own, tree, grid));
    }

    /// Lanes have read what a release by threads that are so near has written.
    pub(super) fn read(&mut self, mut lanes: u32, release: &Release, nearness: Nearness, grid: &Grid) {
        let mut new = Vec::new();
        let by_volatile = release.by_volatile;
        let of_kind = |own: &&mut Pending| (own.nearness, own.by_volatile) == (nearness, by_volatile);
        for own in self.pending.iter_mut().filter(of_kind) {
            let those = own.lanes & lanes;
            lanes &= !those;
            if those == 0 || release.is_in(&own.tree, grid) {
                continue;
            }
            let tree = own.tree.join(&release.tree(grid));
            own.lanes &= !those;
            new.push(Pending { lanes: those, nearness, by_volatile, tree });
        }
        if lanes != 0 {
            new.push(Pending { lanes, nearness, by_volatile, tree: release.tree(grid) });
        }
        if !new.is_empty() {
            self.pending.retain(|own| own.lanes != 0);
            self.pending.append(&mut new);
        }
    }

    /// Lanes execute a fence, and learn what they have read.
    pub(super) fn acquire_pending(&mut self, mask: u32, scope: Scope, grid: &Grid) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain_mut(|own| {
            if own.lanes & mask != 0 && own.nearness.is_in(scope) && !own.by_volatile {
                self.learn(own.lanes & mask, &own.tree, grid);
                own.lanes &= !mask;
            }
            own.lanes != 0
        });
        self.pending = pending;
    }

    /// Lanes wait for each other, and each then knows what all know.
    pub(super) fn meet(&mut self, lanes: u32, grid: &Grid) {
        // Threads that have ended are taken to have come, as at a barrier of the block.
        let lanes = if self.alive & !lanes == 0 { ALL } else { lanes };
        let mut together = Knowledge::NONE;
        for (lanes, known) in self.classes.of(lanes) {
            together.join(known);
            together.hear(&known.heard_by(self.number, lanes, grid));
        }
        together.warp = together.warp.join(&Node::lanes(lanes, self.clock));
        if let Some(issued) = &self.issued {
            together.grid = issued.waited.add_to(lanes, self.number, &together.grid, grid);
        }
        self.classes.unite(lanes, Arc::new(together));
        self.clock += 1;
    }

    /// What all lanes know of other blocks and of asynchronous operations, and what of all is behind a proxy fence.
    pub(super) fn of_others(&self, grid: &Grid) -> Tree {
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

    /// All threads of the block have waited for each other, at no later clock than this one.
    pub(super) fn meet_block(&mut self, clock: u32, known: &Arc<Knowledge>) {
        self.clock = clock + 1;
        self.classes.unite(ALL, known.clone());
    }

    /// Lanes execute `fence.sc`, which comes behind those that they have heard of.
    pub(super) fn fence_in_order(&mut self, lanes: u32, grid: &Grid) {
        let (own, clock) = (self.number, self.clock);
        self.change(lanes, |known| {
            let heard = Tree { known: known.heard.clone(), ..Tree::NONE };
            known.learn(own, &heard, grid);
            let is_single = lanes.is_power_of_two();
            known.heard = known.tree(own, if is_single { lanes } else { 0 }, clock, grid).known;
            known.fence = if is_single { 0 } else { clock };
        });
    }

    /// Lanes execute a fence that releases what they have done.
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

    /// Lanes execute a proxy fence: what they know and have done can be read by asynchronous operations.
    pub(super) fn proxy_fence(&mut self, lanes: u32, grid: &Grid) {
        let (own, clock) = (self.number, self.clock);
        self.change(lanes, |known| {
            let Tree { known: all, proxied, .. } = known.tree(own, lanes, clock, grid);
            known.proxied = proxied.join(&all);
        });
        self.clock += 1;
    }
}
