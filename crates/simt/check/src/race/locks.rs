//! Checks critical sections: a thread that takes a lock must also acquire the data that the lock protects, in either
//! order of the threads.
//!
//! The order of two critical sections is arbitrary. The section that runs first needs no acquire, because no thread has
//! released the lock before it. In another run, the same section may run second. Two conflicting accesses in sections
//! of the same lock therefore race if one thread lacks a fence between taking the lock and its access. The scope of the
//! fence must include the other thread. Predictive race detectors reverse adjacent critical sections in the same way
//! (Smaragdakis et al., "Sound Predictive Race Detection in Polynomial Time", POPL 2012). This check is limited to the
//! accesses within one section.
//!
//! A lock is memory on which a thread spins with a compare-and-swap or an exchange, and which the same thread writes
//! later. Accesses that are also ordered without the lock are not reported. Try-locks that are tried only once, and
//! ticket locks, are not recognized.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::grid::{Grid, Nearness, WarpNumber};
use super::threads::{Knowledge, WarpState};
use rustc_hash::FxBuildHasher;
use simt::observe::{Order, Scope};
use simt::regs::lanes;

/// The maximum number of sections that are recorded for a thread.
const MAX_SECTIONS: usize = 8;

/// A thread, and the clock of one of its accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) warp: WarpNumber,
    pub(super) lane: u32,
    pub(super) clock: u32,
}

/// A critical section of a thread.
#[derive(Debug)]
struct Section {
    lock: u64,
    /// The clock at which the thread takes the lock.
    from: u32,
    /// The clock at which the thread releases the lock.
    to: Option<u32>,
    /// The fences in the section: an access with a later clock comes after the fence.
    fences: Vec<(u32, Scope)>,
    /// The knowledge of the thread before it took the lock.
    before: Arc<Knowledge>,
}

impl Section {
    /// Returns whether a fence between taking the lock and an access includes another thread in its scope.
    fn is_acquired(&self, clock: u32, nearness: Nearness) -> bool {
        self.fences.iter().any(|(fence, scope)| *fence < clock && nearness.is_in(*scope))
    }
}

/// The critical sections of a launch.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// The sections of each thread, latest last.
    sections: HashMap<(WarpNumber, u32), VecDeque<Section>, FxBuildHasher>,
}

impl Locks {
    /// Returns whether no thread has taken a lock.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Returns the lanes of `mask` that hold a lock.
    pub(super) fn open(&self, warp: WarpNumber, mask: u32) -> u32 {
        let is_open = |lane: &usize| {
            let sections = self.sections.get(&(warp, *lane as u32));
            sections.is_some_and(|sections| sections.iter().any(|section| section.to.is_none()))
        };
        lanes(mask).filter(is_open).fold(0, |all, lane| all | 1 << lane)
    }

    /// Records that lanes try to take a lock at `at`, in a loop that ends when they hold the lock.
    pub(super) fn take(&mut self, warp: &WarpState, mask: u32, order: Order, at: impl Fn(usize) -> u64) {
        for lane in lanes(mask) {
            let (lock, Some((_, before))) = (at(lane), warp.classes.first(1 << lane)) else { continue };
            let sections = self.sections.entry((warp.number, lane as u32)).or_default();
            sections.retain(|section| section.to.is_some() || section.lock != lock);
            if sections.len() == MAX_SECTIONS {
                sections.pop_front();
            }
            let fences = if order.acquires() { vec![(warp.clock - 1, order.scope)] } else { Vec::new() };
            sections.push_back(Section { lock, from: warp.clock, to: None, fences, before: before.clone() });
        }
    }

    /// Records that lanes write to memory at `at`, which releases a lock there.
    pub(super) fn release(&mut self, warp: &WarpState, mask: u32, at: impl Fn(usize) -> u64) {
        for lane in lanes(mask) {
            let sections = self.sections.get_mut(&(warp.number, lane as u32));
            let open =
                sections.into_iter().flatten().filter(|section| section.to.is_none() && section.lock == at(lane));
            open.for_each(|section| section.to = Some(warp.clock));
        }
    }

    /// Records that lanes execute a fence.
    pub(super) fn fence(&mut self, warp: &WarpState, mask: u32, scope: Scope) {
        for lane in lanes(mask) {
            let sections = self.sections.get_mut(&(warp.number, lane as u32));
            let open = sections.into_iter().flatten().filter(|section| section.to.is_none());
            open.for_each(|section| section.fences.push((warp.clock, scope)));
        }
    }

    /// Returns whether the order of two accesses depends on which thread takes a lock first, and whether one of these
    /// threads does not acquire the lock. The earlier access is in a section that has ended, and the later access in an
    /// open section.
    pub(super) fn is_missing_acquire(&self, earlier: Moment, later: Moment, nearness: Nearness, grid: &Grid) -> bool {
        let sections_of = |moment: Moment| self.sections.get(&(moment.warp, moment.lane)).into_iter().flatten();
        let mut is_missing = false;
        for later_section in sections_of(later).filter(|later_section| later_section.to.is_none()) {
            let has_access = |other: &&Section| {
                other.lock == later_section.lock
                    && other.from <= earlier.clock
                    && other.to.is_some_and(|to| earlier.clock <= to)
            };
            let Some(earlier_section) = sections_of(earlier).find(has_access) else { continue };
            let known = later_section.before.of(later.warp, earlier.warp, grid).lanes_at(earlier.clock);
            let is_ordered = known >> earlier.lane & 1 != 0;
            if is_ordered
                || later_section.is_acquired(later.clock, nearness)
                    && earlier_section.is_acquired(earlier.clock, nearness)
            {
                return false;
            }
            is_missing = true;
        }
        is_missing
    }
}
