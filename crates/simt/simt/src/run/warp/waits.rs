//! How the lanes of a warp wait: for each other, at instructions with a `membermask`, and at barriers.

use super::execute::Next;
use super::{Arrival, StackEntry, Status, Votes, Wait, WarpState};
use crate::code::{Barrier, Op, ReduceOp, Reg};
use crate::observe::{Mistake, Observer, Requests, Site, WarpId};
use crate::regs::{ALL, LANES, lanes};
use crate::run::block::{BlockFault, CLUSTER_BARRIER, LaunchState, WaitedForThread};
use crate::run::fault::FaultKind;
use crate::warp::Warp;

impl WarpState {
    /// Makes the lanes of `active`, a subset of the entry's `mask`, wait at the instruction at `pc` for the other lanes
    /// that the instruction's `membermask` names.
    pub(super) fn await_lanes(&mut self, launch: &LaunchState<'_>, pc: u32, mask: u32, active: u32) {
        let op = self.warp_op(launch, self.stack.len() - 1);
        let frame = self.top().frame;
        let members = *self.regs(frame).get32(op.members().expect("it waits"));
        // Lanes with different masks wait for different lanes.
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in lanes(active) {
            let same = lanes(active).filter(|other| members[*other] == members[lane]);
            let same = same.fold(0, |all, other| all | 1 << other);
            if same & ((1 << lane) - 1) == 0 {
                groups.push((pc, same));
            }
        }
        let first = self.stack.len();
        if groups.len() == 1 && active == mask {
            self.top().wait = Wait::Lanes;
            return;
        }
        self.diverge(pc + 1, &groups);
        for entry in self.stack.iter_mut().skip(first - 1) {
            if entry.pc == pc {
                entry.wait = Wait::Lanes;
            }
        }
    }

    /// Returns the instruction at which the lanes of an entry wait for other lanes.
    fn warp_op<'a>(&self, launch: &'a LaunchState<'_>, index: usize) -> &'a Warp {
        match &launch.inst(self.site_of(&self.stack[index])).op {
            Op::Warp(op) => op,
            op => unreachable!("lanes do not wait for each other at {op:?}"),
        }
    }

    /// Returns the lanes that the lanes of an entry wait for, including the entry's lanes.
    fn awaited(&mut self, launch: &LaunchState<'_>, index: usize) -> u32 {
        let op = self.warp_op(launch, index);
        let StackEntry { mask, frame, .. } = self.stack[index];
        let members = op.members().expect("it waits");
        let named = self.regs(frame).get32(members)[mask.trailing_zeros() as usize];
        named & self.alive()
    }

    /// Executes the instructions at which all lanes that wait for each other have arrived.
    ///
    /// The lanes need not be at the same instruction: "the executing thread [waits] until all non-exited threads
    /// corresponding to membermask have executed shfl.sync with the same qualifiers and same membermask value" (PTX ISA
    /// §9.7.9.6).
    pub(super) fn meet(&mut self, launch: &LaunchState<'_>) {
        let alive = self.alive();
        let gone = self.passed & self.ended;
        let waiting =
            |(index, entry): (usize, &StackEntry)| (entry.wait == Wait::Lanes && entry.mask != 0).then_some(index);
        let waiting: Vec<usize> = self.stack.iter().enumerate().filter_map(waiting).collect();
        for index in &waiting {
            if self.stack[*index].wait != Wait::Lanes {
                continue;
            }
            let op = self.warp_op(launch, *index);
            let awaited = self.awaited(launch, *index);
            let mut group = waiting.clone();
            group.retain(|other| {
                self.stack[*other].wait == Wait::Lanes
                    && self.warp_op(launch, *other).is_alike(op)
                    && self.awaited(launch, *other) == awaited
            });
            let there = group.iter().fold(0, |all, at| all | self.stack[*at].mask);
            if awaited & !there != 0 {
                continue;
            }
            let mut values = [0; LANES];
            // The lanes that wait for each other at `bar.warp.sync`; they are reported at each instruction that they
            // have reached.
            let together = if matches!(op, Warp::Sync { .. }) { awaited & there } else { 0 };
            for index in &group {
                let StackEntry { mask, frame, .. } = self.stack[*index];
                let op = self.warp_op(launch, *index);
                op.contribute(&self.regs(frame), mask, &mut values);
            }
            for index in group {
                let StackEntry { mask, frame, .. } = self.stack[index];
                let op = self.warp_op(launch, index);
                let regs = &mut self.regs(frame);
                let members = regs.get32(op.members().expect("it waits"))[mask.trailing_zeros() as usize];
                let absent_sources = op.absent_sources(regs, mask, alive);
                op.execute(regs, mask, alive, Some(&values));
                self.met.push(Meeting {
                    site: self.site_of(&self.stack[index]),
                    lanes: mask,
                    together,
                    gone: members & gone,
                    absent_sources,
                });
                self.stack[index].pc += 1;
                self.stack[index].wait = Wait::Nothing;
            }
        }
        if self.at(Wait::Lanes) == 0 {
            self.passed = 0;
        }
    }

    /// Handles the lanes of `active`, a subset of the entry's `mask`, when they arrive at a barrier. Returns how the
    /// warp continues.
    pub(super) fn arrive(&mut self, site: Site, barrier: &Barrier, mask: u32, active: u32) -> Next {
        if active != mask {
            self.diverge(site.pc + 1, &[(site.pc + 1, active)]);
        }
        let alive = self.alive();
        let arrival = self.arrival(self.stack.len() - 1, barrier);
        if barrier.aligned && active != alive {
            self.top().wait = Wait::Aligned(arrival.id);
            return Next::Go;
        }
        if barrier.waits {
            self.top().wait = Wait::Barrier(arrival.id);
        }
        // A barrier with a count counts every warp as 32 threads, regardless of the number of threads in the warp.
        let absent = match arrival.count {
            Some(_) if active | self.at(Wait::Barrier(arrival.id)) == alive => !alive,
            _ => 0,
        };
        self.arrivals.push(Arrival { threads: (active | absent).count_ones(), ..arrival });
        Next::Stop(Status::Barrier)
    }

    /// Handles lanes that arrive at or wait for the cluster's barrier. Returns how the warp continues.
    pub(super) fn cluster_barrier(
        &mut self,
        site: Site,
        waits: bool,
        mask: u32,
        active: u32,
    ) -> Result<Next, BlockFault> {
        let thread = self.number * LANES as u32 + active.trailing_zeros();
        let bad = |problem: &str| {
            let problem = format!("the cluster's: {problem}");
            BlockFault::new(site, thread, FaultKind::BadBarrier { problem })
        };
        if !waits {
            if (self.cluster_arrived | self.cluster_over) & active != 0 {
                return Err(bad("arrival of threads that have not waited since their last arrival"));
            }
            self.cluster_arrived |= active;
            return Ok(Next::Stop(Status::Barrier));
        }
        if active & !(self.cluster_arrived | self.cluster_over) != 0 {
            return Err(bad("a wait of threads that have not arrived"));
        }
        if active & self.cluster_arrived == 0 {
            self.cluster_over &= !active;
            return Ok(Next::Go);
        }
        if active != mask {
            self.diverge(site.pc + 1, &[(site.pc + 1, active)]);
        }
        self.top().wait = Wait::Barrier(CLUSTER_BARRIER);
        Ok(Next::Stop(Status::Barrier))
    }

    /// Returns whether all threads that have not ended have arrived at the cluster's barrier.
    pub(in crate::run) fn has_arrived_in_cluster(&self) -> bool {
        self.alive() & !self.cluster_arrived == 0
    }

    /// Ends a phase of the cluster's barrier, at which all threads have arrived. Threads that already wait continue.
    pub(in crate::run) fn end_cluster_phase(&mut self) {
        let waiting = self.at(Wait::Barrier(CLUSTER_BARRIER));
        self.cluster_over |= self.cluster_arrived & !waiting;
        self.cluster_arrived = 0;
    }

    /// Returns the lanes of all entries whose `wait` field equals `wait`.
    pub(super) fn at(&self, wait: Wait) -> u32 {
        let there = self.stack.iter().filter(|entry| entry.wait == wait);
        there.fold(0, |all, entry| all | entry.mask)
    }

    /// Returns the block's barrier whose instruction precedes the `pc` of an entry.
    #[inline]
    fn barrier<'a>(&self, launch: &'a LaunchState<'_>, index: usize) -> Option<&'a Barrier> {
        let Site { function, pc } = self.site_of(&self.stack[index]);
        match &launch.inst(Site { function, pc: pc - 1 }).op {
            Op::Barrier(barrier) => Some(barrier),
            _ => None,
        }
    }

    /// Returns the arrival of an entry's lanes at the barrier that precedes the entry's `pc`, with `threads` not yet
    /// set.
    fn arrival(&mut self, index: usize, barrier: &Barrier) -> Arrival {
        let StackEntry { mask, frame, .. } = self.stack[index];
        let mut site = self.site_of(&self.stack[index]);
        site.pc -= 1;
        let lane = mask.trailing_zeros() as usize;
        let regs = self.regs(frame);
        Arrival {
            site,
            id: regs.get32(barrier.id)[lane],
            count: barrier.count.map(|count| regs.get32(count)[lane]),
            threads: 0,
            lanes: mask,
            waits: barrier.waits,
            votes: barrier.reduce.as_ref().map(|reduce| {
                let yes = regs.pred(reduce.value) ^ if reduce.negated { ALL } else { 0 };
                Votes { lanes: mask, yes: yes & mask }
            }),
        }
    }

    /// Lets lanes that wait for the rest of their warp arrive at an `.aligned` barrier, if all lanes have reached the
    /// barrier. The lanes may be at different instructions, because a GPU counts the threads of a warp individually.
    pub(super) fn join_aligned(&mut self, launch: &LaunchState<'_>) -> bool {
        let waits = |entry: &&StackEntry| matches!(entry.wait, Wait::Aligned(_));
        let Some(wait) = self.stack.iter().find(waits).map(|entry| entry.wait) else {
            return false;
        };
        let alive = self.alive();
        if self.at(wait) != alive {
            return false;
        }
        for index in 0..self.stack.len() {
            if self.stack[index].wait != wait {
                continue;
            }
            let Some(barrier) = self.barrier(launch, index) else { continue };
            let arrival = self.arrival(index, barrier);
            let threads = match arrival.count {
                _ if !self.arrivals.is_empty() => 0,
                Some(_) => LANES as u32,
                None => alive.count_ones(),
            };
            self.arrivals.push(Arrival { threads, ..arrival });
            self.stack[index].wait = match barrier.waits {
                true => Wait::Barrier(arrival.id),
                false => Wait::Nothing,
            };
        }
        true
    }

    /// Releases the lanes that wait at a barrier. `result` returns the barrier's reduction of their predicates.
    pub(in crate::run) fn release(&mut self, launch: &LaunchState<'_>, id: u32, result: impl Fn(ReduceOp) -> u32) {
        for index in 0..self.stack.len() {
            if self.stack[index].wait != Wait::Barrier(id) {
                continue;
            }
            self.pace.blocked = false;
            self.stack[index].wait = Wait::Nothing;
            let StackEntry { mask, frame, .. } = self.stack[index];
            if let Some(reduce) = self.barrier(launch, index).and_then(|barrier| barrier.reduce.as_ref()) {
                let value = result(reduce.op);
                let mut regs = self.regs(frame);
                match reduce.to {
                    Reg::R32(to) => regs.set32(to, mask, &[value; LANES]),
                    Reg::R64(to) => regs.set64(to, mask, &[u64::from(value); LANES]),
                    Reg::Pred(to) => regs.set_pred(to, mask, if value == 0 { 0 } else { ALL }),
                }
            }
        }
        self.reunite();
    }

    /// Returns whether lanes wait for the rest of their warp at an `.aligned` barrier.
    pub(in crate::run) fn is_divided_at_barrier(&self) -> bool {
        let mut all = self.stack.iter();
        all.any(|entry| matches!(entry.wait, Wait::Aligned(_)))
    }

    /// Returns the fault of lanes that wait for other lanes of their warp, which cannot arrive.
    pub(in crate::run) fn divergence(&mut self, launch: &LaunchState<'_>) -> Option<BlockFault> {
        for index in (0..self.stack.len()).rev() {
            let entry = self.stack[index];
            let mut site = self.site_of(&entry);
            let thread = self.number * LANES as u32 + entry.mask.trailing_zeros();
            let (kind, absent) = match entry.wait {
                Wait::Aligned(_) => {
                    site.pc -= 1;
                    let elsewhere = self.alive() & !entry.mask;
                    (FaultKind::DivergentBarrier { here: entry.mask, elsewhere }, elsewhere)
                }
                Wait::Lanes if entry.mask != 0 => {
                    let lanes = self.awaited(launch, index) & !entry.mask;
                    (FaultKind::AbsentLanes { lanes }, lanes)
                }
                _ => continue,
            };
            let other = self.waiting().into_iter().find(|waiting| waiting.lanes & absent != 0);
            let other = other.map(|waiting| waiting.within(absent).elsewhere(None)).or_else(|| self.ended());
            return Some(BlockFault { other, ..BlockFault::new(site, thread, kind) });
        }
        None
    }

    /// Returns the lanes of the warp that make no progress, with their positions, from the top of the stack.
    pub(in crate::run) fn waiting(&self) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        for (index, lanes) in self.present() {
            let entry = &self.stack[index];
            if lanes == 0 {
                continue;
            }
            let mut site = self.site_of(entry);
            let mut barrier = None;
            let missing = entry.mask & !lanes;
            let what = match entry.wait {
                Wait::Barrier(id) | Wait::Aligned(id) => {
                    site.pc -= 1;
                    barrier = Some(id);
                    match id {
                        CLUSTER_BARRIER => "waits at the cluster's barrier".to_owned(),
                        id => format!("waits at barrier {id}"),
                    }
                }
                Wait::Lanes => "waits for other lanes of the warp".to_owned(),
                Wait::Nothing if missing != 0 => format!("waits for lanes {missing:#010x} to go on together with them"),
                Wait::Nothing => "repeats itself and reads no new value".to_owned(),
            };
            let reconverges = entry.wait == Wait::Nothing && missing != 0;
            waiting.push(Waiting { warp: self.number, lanes, what, site, barrier, reconverges });
        }
        waiting
    }

    /// Reports the lanes that met at an instruction where they waited for each other.
    pub(super) fn report_meetings<O: Observer>(&mut self, observer: &mut O, warp_id: WarpId) {
        for Meeting { site, lanes, together, gone, absent_sources } in self.met.drain(..) {
            observer.synchronized(site, warp_id, lanes);
            if together != 0 {
                observer.warp_barrier(site, warp_id, together);
            }
            if !O::REQUESTS.has(Requests::MISTAKES) {
                continue;
            }
            if absent_sources != 0 {
                observer.mistake(site, warp_id, absent_sources, &Mistake::AbsentSource);
            }
            if gone != 0
                && let Some((at, lane)) = self.ended_at
            {
                observer.mistake(site, warp_id, lanes, &Mistake::EndedLanes { lanes: gone, at, lane });
            }
        }
    }

    /// Returns the place where threads of the warp ended, if any have.
    pub(in crate::run) fn ended(&self) -> Option<WaitedForThread> {
        let (site, lane) = self.ended_at?;
        let thread = self.number * LANES as u32 + lane;
        Some(WaitedForThread { what: "has ended there".to_owned(), site, block: None, thread })
    }
}

/// Lanes that have met at an instruction at which they waited for other lanes.
pub(super) struct Meeting {
    site: Site,
    lanes: u32,
    /// All lanes that met at a `bar.warp.sync`; 0 for other instructions.
    together: u32,
    /// The lanes in the `membermask` that ended after they had passed their reconvergence point.
    gone: u32,
    /// The lanes that shuffle from lanes that do not participate.
    absent_sources: u32,
}

/// Lanes of a warp that make no progress.
pub(in crate::run) struct Waiting {
    pub(in crate::run) warp: u32,
    pub(in crate::run) lanes: u32,
    /// What the lanes wait for, in words.
    pub(in crate::run) what: String,
    pub(in crate::run) site: Site,
    /// The barrier at which the lanes wait.
    pub(in crate::run) barrier: Option<u32>,
    /// Whether the lanes could continue and wait only to reconverge with other lanes.
    pub(in crate::run) reconverges: bool,
}

impl Waiting {
    /// Returns the number in the block of the first waiting thread.
    pub(in crate::run) fn thread(&self) -> u32 {
        self.warp * LANES as u32 + self.lanes.trailing_zeros()
    }

    fn within(self, lanes: u32) -> Self {
        Self { lanes: self.lanes & lanes, ..self }
    }

    /// Converts the lanes to a thread that another thread waits for.
    pub(in crate::run) fn elsewhere(self, block: Option<u64>) -> WaitedForThread {
        let thread = self.thread();
        WaitedForThread { what: self.what, site: self.site, block, thread }
    }
}
