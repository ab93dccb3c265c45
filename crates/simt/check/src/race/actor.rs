//! One access, and whether those before it happened before it.

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

/// Lanes of a warp that have accessed something at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Toucher {
    pub(super) warp: WarpNumber,
    pub(super) clock: u32,
    pub(super) site: SiteNumber,
    pub(super) lanes: u32,
}

impl Toucher {
    /// Whether it is the same single thread.
    #[inline]
    pub(super) fn is_thread_of(&self, other: &Self) -> bool {
        self.warp == other.warp && self.lanes == other.lanes && self.lanes.is_power_of_two()
    }
}

/// Why two accesses collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// Nothing orders them, and one is plain.
    Unordered,
    /// Both are atomic or strong, but a scope of one leaves the other out.
    Scope,
    /// Both are strong, but of different sizes.
    Size,
    /// Both are atomic, so they do not race. Only [trials](super::trial) count these conflicts.
    Atomic,
    /// Both are volatile, by lanes of one warp that nothing makes run in step.
    InStep,
    /// One is volatile and the other is volatile or atomic: in CUDA C++ and Rust a volatile access is not atomic.
    Volatile,
    /// They are ordered by the order of two critical sections, and one thread has no fence after taking the lock.
    Lock,
    /// They are ordered, but no proxy fence is between a write and what an asynchronous operation reads.
    Proxy,
}

/// An access that collides with an earlier one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) reason: Reason,
    pub(super) nearness: Nearness,
    pub(super) earlier: Toucher,
    /// Whether the earlier one wrote.
    pub(super) wrote: bool,
    /// Whether the later one writes.
    pub(super) writes: bool,
    /// The lane of the earlier one and that of the later one.
    pub(super) lanes: (u32, u32),
    /// The byte of the line.
    pub(super) byte: u8,
}

/// Who accesses.
pub(super) struct Actor<'a> {
    /// The threads, or who works for them.
    pub(super) warp: WarpNumber,
    /// The threads.
    pub(super) home: WarpNumber,
    /// The lane that has issued an operation whose own lane stands for something else.
    pub(super) issuer: Option<u32>,
    /// Whether it sees what threads have written through a proxy, behind a proxy fence.
    pub(super) by_proxy: bool,
    pub(super) site: SiteNumber,
    pub(super) writes: bool,
    pub(super) is_strong: bool,
    pub(super) classes: &'a Classes,
    pub(super) waited: Option<&'a WaitedClocks>,
    pub(super) sites: &'a Sites,
    pub(super) grid: &'a Grid,
    /// A warp, and the clock up to which all of these threads know of all its lanes.
    pub(super) known: Cell<(WarpNumber, u32)>,
}

impl Actor<'_> {
    /// Whether these are threads.
    #[inline]
    pub(super) fn is_threads(&self) -> bool {
        self.warp == self.home
    }

    /// A lane of the earlier access and one of `lanes`, which are not the same thread, of which the first did not happen
    /// before the second.
    #[inline]
    fn unordered(&self, earlier: &Toucher, lanes: u32) -> Option<(u32, u32)> {
        let lanes = self.issuer.map_or(lanes, |lane| 1 << lane);
        for (mine, known) in self.classes.of(lanes) {
            let unknown = not_up_to(known.of(self.home, earlier.warp, self.grid), earlier);
            if unknown == 0 {
                continue;
            }
            // What each lane has done itself, or has waited for.
            let of_own = match self.grid.agent_of(self.home, earlier.warp) {
                Some(0) => ALL,
                Some(agent) => self.waited.map_or(0, |waited| waited.lanes(agent, earlier.clock)),
                None => 0,
            };
            for lane in simt::regs::lanes(unknown) {
                let others = mine & !(of_own & 1 << lane);
                if others != 0 {
                    return Some((lane as u32, others.trailing_zeros()));
                }
            }
        }
        None
    }

    /// Whether an earlier access happened before this one, as far as is seen at once.
    #[inline]
    pub(super) fn is_behind(&self, earlier: &Toucher) -> bool {
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

    /// A lane of an earlier write by threads that no proxy fence stands behind.
    fn unproxied(&self, earlier: &Toucher, wrote: bool) -> Option<u32> {
        if !self.by_proxy || self.writes || !wrote || !self.grid.is_threads(earlier.warp) {
            return None;
        }
        let lane = self.issuer.unwrap_or(0);
        let (_, known) = self.classes.first(1 << lane)?;
        let unknown = not_up_to(known.proxied.at(self.grid.levels, earlier.warp), earlier);
        (unknown != 0).then(|| unknown.trailing_zeros())
    }

    /// Whether an access that does not collide with this one does not collide with an earlier one either that happened before:
    /// strong accesses do not collide with many that plain ones do.
    #[inline]
    pub(super) fn is_as_strong_as(&self, site: SiteNumber) -> bool {
        if !self.is_strong {
            return true;
        }
        let (earlier, own) = (self.sites.info(site), self.sites.info(self.site));
        let is_strong = earlier.order.is_strong() && earlier.order.scope >= own.order.scope;
        is_strong && (own.is_volatile || !earlier.is_volatile)
    }

    /// Whether threads may have seen an earlier strong write, and with it that it was before.
    #[inline]
    pub(super) fn may_have_seen(&self, earlier: &Toucher) -> bool {
        let is_atomic = self.is_strong && !self.sites.info(self.site).is_volatile;
        !is_atomic && self.is_threads() && self.sites.info(earlier.site).order.is_strong()
    }

    /// Which of these lanes have seen a strong write: those that come behind one of these strong accesses to the same place,
    /// which were done since and read what was written (PTX ISA, "Causality order": observation comes before what is behind
    /// the reading thread).
    #[cold]
    pub(super) fn have_seen(&self, behind: impl Iterator<Item = Toucher>, lanes: u32) -> u32 {
        let reads = behind.filter(|own| {
            let info = self.sites.info(own.site);
            info.order.is_strong() && info.kind != AccessKind::Store
        });
        reads.fold(0, |seen, own| {
            let is_behind = |lane: &usize| {
                let itself = self.home == own.warp && own.lanes >> lane & 1 != 0;
                let one = |reader: usize| Toucher { lanes: 1u32 << reader, ..own };
                itself || simt::regs::lanes(own.lanes).any(|reader| self.all_before(&one(reader), 1 << lane))
            };
            seen | simt::regs::lanes(lanes & !seen).filter(is_behind).fold(0, |all, lane| all | 1 << lane)
        })
    }

    /// Whether an instruction accesses as many bytes at once.
    #[inline]
    pub(super) fn same_size(&self, site: SiteNumber) -> bool {
        self.sites.info(site).bytes == self.sites.info(self.site).bytes
    }

    /// Whether all of an earlier access happened before that of each of these lanes.
    #[inline]
    pub(super) fn all_before(&self, earlier: &Toucher, lanes: u32) -> bool {
        self.unordered(earlier, lanes).is_none()
    }

    /// Why an earlier access may collide with this one, if it is not ordered; `None` if the two may be at the same time.
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

    /// Whether this access by these lanes cannot collide with an earlier one, as far as is seen at once.
    #[inline]
    pub(super) fn is_harmless(&self, earlier: &Toucher, wrote: bool, lanes: u32, same_size: bool) -> bool {
        self.is_strong && self.reason(earlier, same_size).is_none()
            || self.unordered(earlier, lanes).is_none() && self.unproxied(earlier, wrote).is_none()
    }

    /// The collision with an earlier access to the same byte, if it is one.
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

    /// The collision with an earlier access to the same byte that only the order of two critical sections orders.
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
        for (lane, other) in
            simt::regs::lanes(lanes).flat_map(|own| simt::regs::lanes(earlier.lanes).map(move |lane| (own, lane)))
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

    /// The collision of two lanes that write the same bytes by one instruction.
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

/// The lanes of an access that a leaf has too low a clock for.
#[inline]
fn not_up_to(known: &Node, earlier: &Toucher) -> u32 {
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
