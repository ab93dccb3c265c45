//! A run of `race` for [`hints`](crate::hints). The run treats some instructions as weaker than they are, and counts
//! the conflicts between unordered accesses.
//!
//! The simulator executes these instructions unchanged; only the clocks treat them as weaker. Every conflict counts,
//! including conflicts between two atomic accesses. Atomic accesses do not race, but their order may matter to the
//! program. Reductions with the same operation do not conflict, because their order changes nothing.
//!
//! The run also detects instructions that cannot be judged:
//!
//! - A full fence between a strong store and a later strong load of another location by the same thread (store
//!   buffering, Dekker, Peterson). The simulator is sequentially consistent, so no run shows the effect of this fence.
//! - A barrier that some threads reach with a different barrier instruction, or at which some threads do not wait. Two
//!   consecutive warp barriers look like such a barrier.

use std::collections::{HashMap, HashSet};
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

use super::Race;
use super::grid::WarpNumber;
use super::pairs::PairKey;
use super::sites::Info;
use rustc_hash::{FxBuildHasher, FxHasher};
use simt::observe::{Access, AccessKind, BarrierArrival, FenceKind, Scope, Site, Space, WarpId};
use simt::regs::lanes;

/// The instructions that are treated as weaker: with a smaller scope, or as ordering nothing.
pub(crate) type Weaker = HashMap<Site, Option<Scope>>;

/// The results of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How often each pair of instructions was unordered.
    pairs: HashMap<PairKey, u64>,
    /// The fences, barriers and strong accesses that threads have executed, except accesses of a block to its shared
    /// memory.
    pub(crate) executed: HashSet<Site>,
    /// The executed instructions that cannot be judged.
    pub(crate) unjudged: HashSet<Site>,
    /// Whether blocks of a cluster access each other's shared memory.
    pub(crate) is_distributed: bool,
    /// Whether everything was checked.
    pub(crate) is_whole: bool,
    /// A hash of the executed instructions.
    executions: u64,
}

impl Outcome {
    /// Returns whether both runs executed the same instructions.
    pub(crate) fn is_of_same_run(&self, other: &Self) -> bool {
        self.executions == other.executions && self.is_whole == other.is_whole
    }

    /// Returns whether both runs executed the same instructions and found the same pairs.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.is_of_same_run(other) && self.pairs == other.pairs
    }

    /// Returns whether this run leaves unordered any accesses that the other run orders.
    pub(crate) fn orders_less_than(&self, other: &Self) -> bool {
        self.pairs.iter().any(|(pair, times)| *times > other.pairs.get(pair).copied().unwrap_or(0))
    }
}

/// A trial run of the check. Its outcome is available after the run.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    pub(super) weaker: Weaker,
    result: Arc<Mutex<Outcome>>,
    outcome: Outcome,
    /// For each block and barrier, the instruction at which threads wait for the barrier.
    meetings: HashMap<(u64, u32), Site>,
    /// The number of executed instructions.
    events: u64,
    /// The last reported warp barrier, and the number of events up to it.
    last: Option<(WarpId, Site, u64)>,
    threads: HashMap<(WarpNumber, u32), Stores, FxBuildHasher>,
}

/// The strong stores of a thread.
#[derive(Debug, Default)]
struct Stores {
    stored: Stored,
    /// The full fences after the stores, each with the stores before it.
    fences: Vec<(Site, Stored)>,
}

/// The places that a thread has stored to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stored {
    #[default]
    Nowhere,
    At(u64),
    Several,
}

impl Stored {
    /// Returns whether one of the stores was to a place other than `place`.
    fn is_elsewhere(self, place: u64) -> bool {
        match self {
            Self::Nowhere => false,
            Self::At(stored_place) => stored_place != place,
            Self::Several => true,
        }
    }
}

impl Trial {
    /// Creates a trial and a handle to its outcome.
    pub(crate) fn new(weaker: Weaker) -> (Self, Arc<Mutex<Outcome>>) {
        let trial = Self { weaker, ..Self::default() };
        let result = trial.result.clone();
        (trial, result)
    }

    /// Records that lanes of a warp execute an instruction.
    fn execute(&mut self, site: Site, warp: WarpNumber, mask: u32) {
        let mut hash = FxHasher::default();
        self.events += 1;
        hash.write_u64(self.outcome.executions);
        [site.function, site.pc, warp, mask].into_iter().for_each(|number| hash.write_u32(number));
        self.outcome.executions = hash.finish();
    }

    /// Records that lanes execute a fence or a barrier.
    fn synchronize(&mut self, site: Site, warp: WarpNumber, mask: u32, fence: Option<FenceKind>) {
        self.execute(site, warp, mask);
        self.outcome.executed.insert(site);
        for lane in lanes(mask).filter(|_| fence == Some(FenceKind::Sc)) {
            let Some(stores) = self.threads.get_mut(&(warp, lane as u32)) else { continue };
            if !stores.fences.contains(&(site, stores.stored)) {
                stores.fences.push((site, stores.stored));
            }
        }
    }

    /// Records that lanes wait at a warp barrier. The event for the execution of the barrier follows.
    pub(super) fn meet(&mut self, site: Site, warp_id: WarpId) {
        let last = self.last.replace((warp_id, site, self.events + 1));
        let same = |last: &(WarpId, Site, u64)| last.1 != site && (last.0, last.2) == (warp_id, self.events);
        if let Some((_, other, _)) = last.filter(same) {
            self.outcome.unjudged.extend([site, other]);
        }
    }

    /// Records that lanes arrive at a barrier of their block.
    pub(super) fn arrive(&mut self, arrival: &BarrierArrival) {
        let BarrierArrival { site, warp_id, id, waits, .. } = *arrival;
        let first = *self.meetings.entry((warp_id.block, id)).or_insert(site);
        if first != site || !waits {
            self.outcome.unjudged.extend([first, site]);
        }
    }

    /// Records that the threads at a barrier continue.
    pub(super) fn release(&mut self, block: u64, id: u32) {
        self.meetings.remove(&(block, id));
    }

    /// Records an access of lanes to memory. `place` returns the name of the memory that a lane accesses.
    pub(super) fn access(
        &mut self,
        site: Site,
        (warp, info): (WarpNumber, &Info),
        access: &Access<'_>,
        place: impl Fn(usize) -> u64,
    ) {
        self.execute(site, warp, access.mask);
        self.outcome.is_distributed |= access.rank.is_some();
        if !info.order.is_strong() {
            return;
        }
        if access.space != Space::Shared || access.rank.is_some() {
            self.outcome.executed.insert(site);
        }
        for lane in lanes(access.mask) {
            let stores = self.threads.entry((warp, lane as u32)).or_default();
            let place = place(lane);
            // A fence without a store before it is not recorded for the thread.
            if matches!(info.kind, AccessKind::Load | AccessKind::Atomic) {
                stores.fences.retain(|(fence, before)| {
                    let is_full = before.is_elsewhere(place);
                    if is_full {
                        self.outcome.unjudged.insert(*fence);
                    }
                    !is_full
                });
            }
            stores.stored = match stores.stored {
                before if info.kind == AccessKind::Load => before,
                Stored::Nowhere => Stored::At(place),
                Stored::At(before) if before == place => stores.stored,
                Stored::At(_) | Stored::Several => Stored::Several,
            };
        }
    }
}

impl Race {
    /// Records a fence or a barrier in a trial. Returns whether it orders nothing in this run.
    pub(super) fn ignores(&mut self, site: Site, warp_id: WarpId, lanes: u32) -> bool {
        if self.trial.is_none() {
            return false;
        }
        let number = self.sites.number(site);
        let (fence, is_ignored) = (self.sites.info(number).fence, self.sites.weaker(number) == Some(None));
        let Some((warp, _)) = self.warp(warp_id) else { return is_ignored };
        // The clock of the warp advances as usual.
        warp.clock += u32::from(is_ignored);
        let warp = warp.number;
        if let Some(trial) = &mut self.trial {
            trial.synchronize(site, warp, lanes, fence);
        }
        is_ignored
    }

    /// Stores the outcome of the run if it is a trial. Returns whether the run is a trial.
    pub(super) fn end_of_trial(&mut self) -> bool {
        let Some(trial) = &mut self.trial else { return false };
        let pairs = self.pairs.counts();
        let is_whole = self.grid.is_some() && !self.is_full && !self.pairs.is_full();
        let outcome = Outcome { pairs, is_whole, ..std::mem::take(&mut trial.outcome) };
        *trial.result.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        true
    }
}
