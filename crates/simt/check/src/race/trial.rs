//! A run of `race` for [`hints`](crate::hints): it treats some instructions as weaker than they are, and counts what
//! nothing orders.
//!
//! The machine executes these instructions as always, and only the clocks ignore them. Every conflict counts here, also one
//! between two atomic accesses: their order may matter to the program, although such accesses do not race. Reductions with the
//! same operation do not conflict, because their order changes nothing.
//!
//! The run also finds out which instructions cannot be judged:
//!
//! - A full fence between a strong store and a later strong load of another location by the same thread (store buffering, Dekker,
//!   Peterson). The machine is sequentially consistent, so no run shows what the fence prevents.
//! - A barrier at which threads meet others that came to another barrier instruction, or that do not wait. Two warp barriers one
//!   right after the other look the same.

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

/// What a run has counted.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How often each pair of instructions was not ordered.
    pairs: HashMap<PairKey, u64>,
    /// The fences, barriers and strong accesses that threads have executed. Accesses to the block's shared memory are left out.
    pub(crate) executed: HashSet<Site>,
    /// Those of them that cannot be judged.
    pub(crate) unjudged: HashSet<Site>,
    /// Whether blocks of a cluster access each other's shared memory.
    pub(crate) is_distributed: bool,
    /// Whether everything was checked.
    pub(crate) is_whole: bool,
    /// A hash of what was executed.
    executions: u64,
}

impl Outcome {
    /// Whether both runs did the same.
    pub(crate) fn is_of_same_run(&self, other: &Self) -> bool {
        self.executions == other.executions && self.is_whole == other.is_whole
    }

    /// Whether both runs have found the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.is_of_same_run(other) && self.pairs == other.pairs
    }

    /// Whether this run leaves anything unordered that another one orders.
    pub(crate) fn orders_less_than(&self, other: &Self) -> bool {
        self.pairs.iter().any(|(pair, times)| *times > other.pairs.get(pair).copied().unwrap_or(0))
    }
}

/// A run of the check, whose outcome is there once it has ended.
#[derive(Debug, Default)]
pub(crate) struct Trial {
    pub(super) weaker: Weaker,
    result: Arc<Mutex<Outcome>>,
    outcome: Outcome,
    /// By block and barrier, the instruction at which threads wait there.
    meetings: HashMap<(u64, u32), Site>,
    /// How much was executed.
    events: u64,
    /// The last reported warp barrier, and the number of events up to it.
    last: Option<(WarpId, Site, u64)>,
    threads: HashMap<(WarpNumber, u32), Stores, FxBuildHasher>,
}

/// The strong stores of a thread.
#[derive(Debug, Default)]
struct Stores {
    stored: Stored,
    /// The full fences after them, with the stores before each fence.
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
    /// Whether one of them is another place than this.
    fn is_elsewhere(self, place: u64) -> bool {
        match self {
            Self::Nowhere => false,
            Self::At(own) => own != place,
            Self::Several => true,
        }
    }
}

impl Trial {
    /// A run, and the place of its outcome.
    pub(crate) fn new(weaker: Weaker) -> (Self, Arc<Mutex<Outcome>>) {
        let own = Self { weaker, ..Self::default() };
        let result = own.result.clone();
        (own, result)
    }

    /// Lanes of a warp execute an instruction.
    fn execute(&mut self, site: Site, warp: WarpNumber, mask: u32) {
        let mut hash = FxHasher::default();
        self.events += 1;
        hash.write_u64(self.outcome.executions);
        [site.function, site.pc, warp, mask].into_iter().for_each(|number| hash.write_u32(number));
        self.outcome.executions = hash.finish();
    }

    /// Lanes execute a fence or a barrier.
    fn synchronize(&mut self, site: Site, warp: WarpNumber, mask: u32, fence: Option<FenceKind>) {
        self.execute(site, warp, mask);
        self.outcome.executed.insert(site);
        for lane in lanes(mask).filter(|_| fence == Some(FenceKind::Sc)) {
            let Some(own) = self.threads.get_mut(&(warp, lane as u32)) else { continue };
            if !own.fences.contains(&(site, own.stored)) {
                own.fences.push((site, own.stored));
            }
        }
    }

    /// Lanes meet at a warp barrier, which is executed next.
    pub(super) fn meet(&mut self, site: Site, warp_id: WarpId) {
        let last = self.last.replace((warp_id, site, self.events + 1));
        let same = |last: &(WarpId, Site, u64)| last.1 != site && (last.0, last.2) == (warp_id, self.events);
        if let Some((_, other, _)) = last.filter(same) {
            self.outcome.unjudged.extend([site, other]);
        }
    }

    /// Lanes arrive at a barrier of their block.
    pub(super) fn arrive(&mut self, arrival: &BarrierArrival) {
        let BarrierArrival { site, warp_id, id, waits, .. } = *arrival;
        let first = *self.meetings.entry((warp_id.block, id)).or_insert(site);
        if first != site || !waits {
            self.outcome.unjudged.extend([first, site]);
        }
    }

    /// The threads at a barrier go on.
    pub(super) fn release(&mut self, block: u64, id: u32) {
        self.meetings.remove(&(block, id));
    }

    /// Lanes access memory whose names `place` has.
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
            let own = self.threads.entry((warp, lane as u32)).or_default();
            let place = place(lane);
            // Without a store before it, a fence is not among those of the thread.
            if matches!(info.kind, AccessKind::Load | AccessKind::Atomic) {
                own.fences.retain(|(fence, before)| {
                    let is_full = before.is_elsewhere(place);
                    if is_full {
                        self.outcome.unjudged.insert(*fence);
                    }
                    !is_full
                });
            }
            own.stored = match own.stored {
                before if info.kind == AccessKind::Load => before,
                Stored::Nowhere => Stored::At(place),
                Stored::At(before) if before == place => own.stored,
                Stored::At(_) | Stored::Several => Stored::Several,
            };
        }
    }
}

impl Race {
    /// Lanes execute a fence or a barrier. Returns whether it orders nothing in this run, which is a trial then.
    pub(super) fn ignores(&mut self, site: Site, warp_id: WarpId, lanes: u32) -> bool {
        if self.trial.is_none() {
            return false;
        }
        let number = self.sites.number(site);
        let (fence, is_ignored) = (self.sites.info(number).fence, self.sites.weaker(number) == Some(None));
        let Some((warp, _)) = self.warp(warp_id) else { return is_ignored };
        // The time of the warp goes on as usual.
        warp.clock += u32::from(is_ignored);
        let warp = warp.number;
        if let Some(trial) = &mut self.trial {
            trial.synchronize(site, warp, lanes, fence);
        }
        is_ignored
    }

    /// Hands out what this run has counted, if it is a trial.
    pub(super) fn end_of_trial(&mut self) -> bool {
        let Some(trial) = &mut self.trial else { return false };
        let pairs = self.pairs.counts();
        let is_whole = self.grid.is_some() && !self.is_full && !self.pairs.is_full();
        let outcome = Outcome { pairs, is_whole, ..std::mem::take(&mut trial.outcome) };
        *trial.result.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        true
    }
}
