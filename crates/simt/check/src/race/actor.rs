//! One access, and the test of whether earlier accesses happened before it.

use std::cell::Cell;

use super::asynchronous::WaitedClocks;
use super::classes::Classes;
use super::clocks::Node;
use super::grid::{Grid, Nearness, WarpNumber};
use super::locks::{Locks, Moment};
use super::shadow::Run;
use super::sites::{SiteNumber, Sites};
use simt::observe::AccessKind;
use simt::regs::ALL;

/// Lanes of a warp that accessed memory at one clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Toucher {
    pub(super) warp: WarpNumber,
    pub(super) clock: u32,
    pub(super) site: SiteNumber,
    pub(super) lanes: u32,
}

impl Toucher {
    /// Returns whether both values represent the same single thread.
    #[inline]
    pub(super) fn is_thread_of(&self, other: &Self) -> bool {
        self.warp == other.warp && self.lanes == other.lanes && self.lanes.is_power_of_two()
    }
}

/// The reason why two accesses conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// The accesses are unordered, and at least one is weak.
    Unordered,
    /// Both accesses are atomic or strong, but the scope of one does not include the other thread.
    Scope,
    /// Both accesses are strong, but of different sizes.
    Size,
    /// Both accesses are atomic, so they do not race. Only [trials](super::trial) count these conflicts.
    Atomic,
    /// Both accesses are volatile and made by lanes of one warp, which need not run in lockstep.
    InStep,
    /// One access is volatile, and the other is volatile or atomic. In CUDA C++ and Rust, a volatile access is not
    /// atomic.
    Volatile,
    /// Only the order of two critical sections orders the accesses, and one thread has no fence after taking the lock.
    Lock,
    /// The accesses are ordered, but there is no proxy fence between a write and the read of an asynchronous operation.
    Proxy,
}

/// A conflict between an access and an earlier one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) reason: Reason,
    pub(super) nearness: Nearness,
    pub(super) earlier: Toucher,
    /// Whether the earlier access wrote.
    pub(super) wrote: bool,
    /// Whether the later access writes.
    pub(super) writes: bool,
    /// The lanes of the earlier and the later access.
    pub(super) lanes: (u32, u32),
    /// The offset of the byte in the line.
    pub(super) byte: u8,
}

/// The accessing threads or agent.
pub(super) struct Actor<'a> {
    /// The warp's threads, or an agent that works for them.
    pub(super) warp: WarpNumber,
    /// The warp's threads.
    pub(super) home: WarpNumber,
    /// The lane that issued the operation, if the lane of the access represents something else.
    pub(super) issuer: Option<u32>,
    /// Whether the accesses use the async proxy, so that they see the writes of threads only after a proxy fence.
    pub(super) by_proxy: bool,
    pub(super) site: SiteNumber,
    pub(super) writes: bool,
    pub(super) is_strong: bool,
    pub(super) classes: &'a Classes,
    pub(super) waited: Option<&'a WaitedClocks>,
    pub(super) sites: &'a Sites,
    pub(super) grid: &'a Grid,
    /// A cached warp and a clock. Every access by a lane of that warp up to this clock happens before the accesses of all
    /// threads of the actor.
    pub(super) known: Cell<(WarpNumber, u32)>,
}

impl Actor<'_> {
    /// Returns whether the actor is the warp's threads.
    #[inline]
    pub(super) fn is_threads(&self) -> bool {
        self.warp == self.home
    }

    /// Returns a lane of the earlier access and a lane of `lanes` such that the earlier access did not happen before
    /// this access. The two lanes are not the same thread.
    #[inline]
    fn unordered(&self, earlier: &Toucher, lanes: u32) -> Option<(u32, u32)> {
        let lanes = self.issuer.map_or(lanes, |lane| 1 << lane);
        for (class_lanes, known) in self.classes.of(lanes) {
            let unknown = unknown_lanes(known.of(self.home, earlier.warp, self.grid), earlier);
            if unknown == 0 {
                continue;
            }
            // The lanes that performed the earlier access or have waited for it.
            let ordered_lanes = match self.grid.agent_of(self.home, earlier.warp) {
                Some(0) => ALL,
                Some(agent) => self.waited.map_or(0, |waited| waited.lanes(agent, earlier.clock)),
                None => 0,
            };
            for lane in simt::regs::lanes(unknown) {
                let others = class_lanes & !(ordered_lanes & 1 << lane);
                if others != 0 {
                    return Some((lane as u32, others.trailing_zeros()));
                }
            }
        }
        None
    }

    /// Returns whether an earlier access happened before this one, by a fast and incomplete test.
    #[inline]
    pub(super) fn happened_before(&self, earlier: &Toucher) -> bool {
        let (warp, clock) = self.known.get();
        if warp == earlier.warp && earlier.clock <= clock {
            return true;
        }
        let Some(known) = self.classes.only() else { return false };
        let Node::Uniform(clock) = known.of(self.home, earlier.warp, self.grid) else { return false };
        if self.by_proxy || earlier.clock > *clock {
            return false;
        }
        self.known.set((earlier.warp, *clock));
        true
    }

    /// Returns a lane of an earlier write by threads if no proxy fence follows the write in that lane.
    fn unproxied(&self, earlier: &Toucher, wrote: bool) -> Option<u32> {
        if !self.by_proxy || self.writes || !wrote || !self.grid.is_threads(earlier.warp) {
            return None;
        }
        let lane = self.issuer.unwrap_or(0);
        let (_, known) = self.classes.first(1 << lane)?;
        let unknown = unknown_lanes(known.proxied.at(self.grid.levels, earlier.warp), earlier);
        (unknown != 0).then(|| unknown.trailing_zeros())
    }

    /// Returns whether this access can replace an earlier one that happened before it: every access that conflicts with
    /// the earlier one also conflicts with this one. A strong access conflicts with fewer accesses than a weak one.
    #[inline]
    pub(super) fn is_as_strong_as(&self, site: SiteNumber) -> bool {
        if !self.is_strong {
            return true;
        }
        let (earlier, current) = (self.sites.info(site), self.sites.info(self.site));
        let is_strong = earlier.order.is_strong() && earlier.order.scope >= current.order.scope;
        is_strong && (current.is_volatile || !earlier.is_volatile)
    }

    /// Returns whether threads may have observed an earlier strong write, which orders the write before this access.
    #[inline]
    pub(super) fn may_have_seen(&self, earlier: &Toucher) -> bool {
        let is_atomic = self.is_strong && !self.sites.info(self.site).is_volatile;
        !is_atomic && self.is_threads() && self.sites.info(earlier.site).order.is_strong()
    }

    /// Returns which of these lanes have observed a strong write. Such a lane follows one of the strong accesses that
    /// read the written value. (PTX ISA, "Causality order": an observed write happens before everything that
    /// follows the read.)
    #[cold]
    pub(super) fn have_seen(&self, later_accesses: impl Iterator<Item = Toucher>, lanes: u32) -> u32 {
        let reads = later_accesses.filter(|toucher| {
            let info = self.sites.info(toucher.site);
            info.order.is_strong() && info.kind != AccessKind::Store
        });
        reads.fold(0, |seen, toucher| {
            let is_after = |lane: &usize| {
                let is_reader = self.home == toucher.warp && toucher.lanes >> lane & 1 != 0;
                let single = |reader: usize| Toucher { lanes: 1u32 << reader, ..toucher };
                is_reader || simt::regs::lanes(toucher.lanes).any(|reader| self.all_before(&single(reader), 1 << lane))
            };
            seen | simt::regs::lanes(lanes & !seen).filter(is_after).fold(0, |all, lane| all | 1 << lane)
        })
    }

    /// Returns whether an instruction accesses the same number of bytes as this one.
    #[inline]
    pub(super) fn same_size(&self, site: SiteNumber) -> bool {
        self.sites.info(site).bytes == self.sites.info(self.site).bytes
    }

    /// Returns whether all of an earlier access happened before the access of each of these lanes.
    #[inline]
    pub(super) fn all_before(&self, earlier: &Toucher, lanes: u32) -> bool {
        self.unordered(earlier, lanes).is_none()
    }

    /// Returns why an earlier unordered access conflicts with this one, or `None` if both may run at the same time.
    #[inline]
    fn reason(&self, earlier: &Toucher, same_size: bool) -> Option<(Reason, Nearness)> {
        let nearness = self.grid.nearness(self.warp, earlier.warp);
        let (one, other) = (self.sites.info(earlier.site), self.sites.info(self.site));
        let strong = one.order.is_strong() && other.order.is_strong();
        let volatile = [one, other].map(|info| info.is_volatile);
        let reason = match strong {
            false => Reason::Unordered,
            true if !same_size => Reason::Size,
            true if !nearness.is_in(one.order.scope) || !nearness.is_in(other.order.scope) => Reason::Scope,
            true if self.sites.conflict(earlier.site, self.site) => Reason::Atomic,
            true if volatile == [false; 2] || one.spins || other.spins => return None,
            true if nearness == Nearness::Warp && volatile == [true; 2] => Reason::InStep,
            true => Reason::Volatile,
        };
        Some((reason, nearness))
    }

    /// Returns whether an access by these lanes cannot conflict with an earlier one, by a fast and incomplete test.
    #[inline]
    pub(super) fn is_harmless(&self, earlier: &Toucher, wrote: bool, lanes: u32, same_size: bool) -> bool {
        self.is_strong && self.reason(earlier, same_size).is_none()
            || self.unordered(earlier, lanes).is_none() && self.unproxied(earlier, wrote).is_none()
    }

    /// Returns the conflict with an earlier access to the same byte, if there is one.
    #[inline]
    pub(super) fn hit(&self, earlier: &Toucher, wrote: bool, lanes: u32, same_size: bool, byte: u8) -> Option<Hit> {
        if self.is_strong && !self.by_proxy && self.reason(earlier, same_size).is_none() {
            return None;
        }
        let Some(pair) = self.unordered(earlier, lanes) else {
            let lane = self.unproxied(earlier, wrote)?;
            let nearness = self.grid.nearness(self.warp, earlier.warp);
            let lanes = (lane, self.issuer.unwrap_or(0));
            return Some(Hit { reason: Reason::Proxy, nearness, earlier: *earlier, wrote, writes: false, lanes, byte });
        };
        let (reason, nearness) = self.reason(earlier, same_size)?;
        Some(Hit { reason, nearness, earlier: *earlier, wrote, writes: self.writes, lanes: pair, byte })
    }

    /// Returns the conflict with an earlier access to the same byte if only the order of two critical sections orders
    /// them.
    #[cold]
    pub(super) fn locked(
        &self,
        earlier: &Toucher,
        wrote: bool,
        (lanes, clock): (u32, u32),
        byte: u8,
        locks: &Locks,
    ) -> Option<Hit> {
        if !wrote && !self.writes || !self.grid.is_threads(earlier.warp) {
            return None;
        }
        let (_, nearness) = self.reason(earlier, self.same_size(earlier.site))?;
        for (lane, other) in simt::regs::lanes(lanes)
            .flat_map(|later_lane| simt::regs::lanes(earlier.lanes).map(move |lane| (later_lane, lane)))
        {
            let (later, other) = (lane as u32, other as u32);
            if (self.warp, later) == (earlier.warp, other)
                || !self.all_before(&Toucher { lanes: 1 << other, ..*earlier }, 1 << later)
            {
                continue;
            }
            let first = Moment { warp: earlier.warp, lane: other, clock: earlier.clock };
            let second = Moment { warp: self.warp, lane: later, clock };
            if locks.is_missing_acquire(first, second, nearness, self.grid) {
                let lanes = (other, later);
                let (earlier, writes) = (*earlier, self.writes);
                return Some(Hit { reason: Reason::Lock, nearness, earlier, wrote, writes, lanes, byte });
            }
        }
        None
    }

    /// Returns the conflict of two lanes that write the same bytes with one instruction.
    pub(super) fn collision(&self, run: &Run) -> Hit {
        let (one, others) = (run.lanes.trailing_zeros(), run.lanes & (run.lanes - 1));
        Hit {
            reason: if self.is_strong { Reason::Volatile } else { Reason::Unordered },
            nearness: Nearness::Warp,
            earlier: Toucher { warp: run.warp, clock: run.clock, site: run.site, lanes: run.lanes },
            wrote: true,
            writes: true,
            lanes: (one, others.trailing_zeros()),
            byte: run.lo,
        }
    }
}

/// Returns the lanes of an access whose clock is later than the known clock.
#[inline]
fn unknown_lanes(known: &Node, earlier: &Toucher) -> u32 {
    match known {
        Node::Uniform(clock) if earlier.clock <= *clock => 0,
        Node::Leaf(clocks) if earlier.lanes.is_power_of_two() => {
            let is_known = earlier.clock <= clocks[earlier.lanes.trailing_zeros() as usize];
            if is_known { 0 } else { earlier.lanes }
        }
        Node::Leaf(clocks) => {
            let later = |lane: &usize| earlier.clock > clocks[*lane];
            (0..32).filter(later).fold(0, |all, lane| all | 1 << lane) & earlier.lanes
        }
        Node::Uniform(_) | Node::Inner(_) => earlier.lanes,
    }
}
