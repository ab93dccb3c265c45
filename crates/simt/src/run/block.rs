//! One block: its warps take turns until all have ended.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::fault::{FaultKind, unravel};
use super::schedule::Turns;
pub(super) use super::state::{Exchange, LaunchState};
use super::warp::{Arrival, Snapshot, Status, WarpState};
use crate::code::ReduceOp;
use crate::memory::{Recent, SharedMemory};
use crate::observe::{BarrierArrival, Observer, Site, WarpId};
use crate::regs::{LANES, lanes};

/// Barriers of a block (PTX ISA §9.7.13.1).
const BARRIERS: usize = 16;
/// Instructions within which a warp that repeats itself comes back to where it was.
const PERIOD: usize = 512;
/// Instructions after which a block reports how many it has executed, and looks whether the launch has ended.
const REPORT: u64 = 4096;

/// Instructions of a block after which it may be one that waits for another, and counts how often it has looked.
const LONG: u64 = 1 << 22;

/// A fault as the block detects it: the instruction, the thread of the block, and what happened.
#[derive(Debug)]
pub(super) struct BlockFault {
    pub(super) site: Site,
    pub(super) thread: u32,
    pub(super) kind: FaultKind,
    /// The calls that the thread is in, the innermost first, and what is known of the values that it panics for.
    pub(super) callers: Vec<(Site, Vec<u64>)>,
}

impl BlockFault {
    pub(super) fn new(site: Site, thread: u32, kind: FaultKind) -> Self {
        let callers = Vec::new();
        Self {
            site,
            thread,
            kind,
            callers,
        }
    }

    pub(super) fn is_deadlock(&self) -> bool {
        matches!(self.kind, FaultKind::Deadlock { .. })
    }
}

/// One of a block's 16 barriers.
#[derive(Debug, Clone, Copy, Default)]
struct BarrierState {
    /// Threads that have arrived.
    threads: u32,
    /// The number of threads it waits for, if an instruction gave one.
    expected: Option<u32>,
    /// The number of threads whose predicate was true, and of threads that contributed a predicate.
    yes: u32,
    votes: u32,
}

/// How far a block has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All its threads have ended, or the launch has.
    Ended,
    /// Its turn is over.
    Yielded,
    /// The same, and it has executed many instructions since the last time.
    Long,
    /// It waits for another block: all its warps repeat themselves or wait at barriers.
    Stalled {
        /// Whether nothing at all has happened in its turn.
        still: bool,
    },
}

/// A block that runs, and what a host thread keeps to run the next one: the buffers, and the observer.
pub(super) struct Block<'a, 'm, O> {
    launch: &'a LaunchState<'m>,
    shared: SharedMemory,
    warps: Vec<WarpState>,
    recent: Recent<'m>,
    snapshot: Snapshot,
    schedule: Turns,
    pub(super) observer: O,
    pub(super) number: u64,
    barriers: [BarrierState; BARRIERS],
    /// Threads that have not ended.
    alive: u32,
    /// Instructions executed since the last report.
    executed: u64,
    /// Instructions reported since it was [`Progress::Long`].
    reported: u64,
}

impl<'a, 'm, O: Observer> Block<'a, 'm, O> {
    pub(super) fn new(launch: &'a LaunchState<'m>, observer: O) -> Self {
        let warps = launch.threads().div_ceil(32);
        Self {
            launch,
            shared: SharedMemory::new(u64::from(
                launch.dynamic_shared_at() + launch.dynamic_shared,
            )),
            warps: (0..warps)
                .map(|warp| WarpState::new(launch, warp))
                .collect(),
            recent: Recent::default(),
            snapshot: Snapshot::default(),
            schedule: launch.config.schedule.turns(0),
            observer,
            number: 0,
            barriers: [BarrierState::default(); BARRIERS],
            alive: 0,
            executed: 0,
            reported: 0,
        }
    }

    /// Begins the block with this number.
    pub(super) fn begin(&mut self, number: u64) -> Result<(), BlockFault> {
        let launch = self.launch;
        self.shared.clear();
        self.number = number;
        self.barriers = [BarrierState::default(); BARRIERS];
        self.alive = launch.threads();
        self.schedule = launch.config.schedule.turns(number);
        self.reported = 0;
        let at = unravel(number, launch.grid);
        for warp in &mut self.warps {
            if !warp.begin(launch, at) {
                let start = Site { function: 0, pc: 0 };
                return Err(BlockFault::new(start, 0, FaultKind::StackOverflow));
            }
        }
        let warps = self.warps.len() as u32;
        self.observer.block(number, warps, launch.threads());
        Ok(())
    }

    /// Gives each warp a turn, again and again up to `rounds` times.
    pub(super) fn run(&mut self, rounds: usize) -> Result<Progress, BlockFault> {
        let mut still = true;
        for _ in 0..rounds {
            let mut progressed = false;
            let mut ended = 0;
            let mut spinning = 0;
            for place in 0..self.warps.len() {
                let index = self.schedule.warp(place, self.warps.len());
                let pace = &self.warps[index].pace;
                if pace.blocked {
                    continue;
                }
                let status = match pace.spins {
                    true => self.look_again(index)?,
                    false => self.turn(index)?,
                };
                ended += usize::from(status == Status::Ended);
                match self.warps[index].pace.spins {
                    true => spinning += 1,
                    false => progressed |= status != Status::Ended,
                }
            }
            if ended == self.warps.len() {
                self.report()?;
                self.observer.block_ended(self.number);
                return Ok(Progress::Ended);
            }
            still &= !progressed;
            if self.executed >= REPORT && self.report()? {
                return Ok(Progress::Ended);
            }
            if self.reported >= LONG {
                self.reported = 0;
                return Ok(Progress::Long);
            }
            if progressed {
                continue;
            }
            // A barrier may have waited for warps that have now ended.
            let mut released = false;
            for id in 0..BARRIERS {
                released |= self.release(id);
            }
            if released || self.unblock(spinning == 0)? {
                still = false;
            } else if spinning > 0 {
                self.report()?;
                return Ok(Progress::Stalled { still });
            } else {
                return Err(self.deadlock());
            }
        }
        self.report()?;
        Ok(Progress::Yielded)
    }

    /// Gives a warp its turn.
    fn turn(&mut self, index: usize) -> Result<Status, BlockFault> {
        let most = self.launch.config.max_instructions;
        let turn = self.warps[index].pace.turn(self.schedule.turn());
        let turn = u32::try_from(most).map_or(turn, |most| turn.min(most.max(1)));
        let (status, executed) = self.execute(index, turn)?;
        if status == Status::Yielded {
            let schedule = &mut self.schedule;
            if self.warps[index].end_turn(executed, |groups| schedule.group(groups)) {
                return self.look(index);
            }
        }
        Ok(status)
    }

    /// Executes up to so many instructions of a warp; returns how many.
    fn execute(&mut self, index: usize, most: u32) -> Result<(Status, u32), BlockFault> {
        let warp = &mut self.warps[index];
        let warp_id = WarpId {
            block: self.number,
            warp: index as u32,
        };
        self.observer.turn(warp_id);
        let mut left = most;
        let before = warp.alive().count_ones();
        let status = warp.run(
            self.launch,
            &mut self.shared,
            &mut self.recent,
            &mut self.observer,
            warp_id,
            &mut left,
        )?;
        let executed = most - left;
        self.executed += u64::from(executed);
        self.alive -= before - warp.alive().count_ones();
        if status != Status::Yielded {
            warp.pace.gets_on();
        }
        match status {
            Status::Ended | Status::Yielded => {}
            Status::Blocked => warp.pace.blocked = true,
            Status::Barrier => {
                while let Some(arrival) = self.warps[index].arrivals.pop() {
                    self.arrive(index, &arrival)?;
                }
            }
        }
        Ok((status, executed))
    }

    /// Looks whether a warp repeats itself: whether it comes back to where it is with the same values in its registers,
    /// and has changed nothing in memory.
    fn look(&mut self, index: usize) -> Result<Status, BlockFault> {
        self.warps[index].note(self.launch, &mut self.snapshot);
        for _ in 0..PERIOD {
            let Some(stored) = self.warps[index].stores_next(self.launch) else {
                break;
            };
            let before = stored.content(&self.shared, self.launch.global);
            let (status, _) = self.execute(index, 1)?;
            if status != Status::Yielded {
                return Ok(status);
            }
            // To store what is there already is no progress.
            if stored.content(&self.shared, self.launch.global) != before {
                break;
            }
            if self.warps[index].is_as(self.launch, &self.snapshot) {
                self.warps[index].repeats();
                return Ok(status);
            }
        }
        self.warps[index].pace.does_not_repeat();
        Ok(Status::Yielded)
    }

    /// Looks whether all groups of lanes of a warp still repeat themselves.
    fn look_again(&mut self, index: usize) -> Result<Status, BlockFault> {
        self.warps[index].pace.spins = false;
        loop {
            let status = self.look(index)?;
            let pace = &self.warps[index].pace;
            if pace.spins || !pace.repeats() {
                return Ok(status);
            }
        }
    }

    /// Reports how many instructions were executed. Returns whether the block's results do not matter any more, because
    /// an earlier block has faulted.
    fn report(&mut self) -> Result<bool, BlockFault> {
        let LaunchState {
            config, progress, ..
        } = self.launch;
        let executed = std::mem::take(&mut self.executed);
        self.reported += executed;
        let before = progress.instructions.fetch_add(executed, Ordering::Relaxed);
        if before + executed > config.max_instructions {
            let instructions = config.max_instructions;
            return Err(self.interrupted(FaultKind::Budget { instructions }));
        }
        if let (Some(deadline), Some(limit)) = (self.launch.deadline, config.time_limit)
            && Instant::now() > deadline
        {
            return Err(self.interrupted(FaultKind::TimeLimit { limit }));
        }
        Ok(progress.faulted.load(Ordering::Relaxed) < self.number)
    }

    /// Handles the arrival of a warp's lanes at a barrier.
    fn arrive(&mut self, index: usize, arrival: &Arrival) -> Result<(), BlockFault> {
        let site = arrival.site;
        let thread = index as u32 * 32;
        let bad = |problem| BlockFault::new(site, thread, FaultKind::BadBarrier { problem });
        let id = arrival.id as usize;
        if id >= BARRIERS {
            return Err(bad(format!("number {id}; there are 0 to {}", BARRIERS - 1)));
        }
        if let Some(count) = arrival.count
            && (count == 0 || count % 32 != 0 || count > 1024)
        {
            return Err(bad(format!(
                "a count of {count}; it is a multiple of the warp's 32 threads"
            )));
        }
        let barrier = &mut self.barriers[id];
        if let (Some(before), Some(now)) = (barrier.expected, arrival.count)
            && before != now
        {
            return Err(bad(format!(
                "waits for {before} threads and for {now} at the same time"
            )));
        }
        barrier.expected = barrier.expected.or(arrival.count);
        barrier.threads += arrival.threads;
        if let Some(votes) = arrival.votes {
            barrier.yes += votes.yes.count_ones();
            barrier.votes += votes.lanes.count_ones();
        }
        let warp_id = WarpId {
            block: self.number,
            warp: index as u32,
        };
        self.observer.barrier(&BarrierArrival {
            site,
            warp_id,
            id: arrival.id,
            count: arrival.count,
            lanes: arrival.lanes,
            waits: arrival.waits,
        });
        self.release(id);
        Ok(())
    }

    /// Releases the warps at a barrier if all have arrived.
    fn release(&mut self, id: usize) -> bool {
        let barrier = self.barriers[id];
        if barrier.threads == 0 {
            return false;
        }
        let expected = barrier.expected.unwrap_or(self.alive);
        if barrier.threads < expected {
            return false;
        }
        self.barriers[id] = BarrierState::default();
        self.observer.released(self.number, id as u32);
        for warp in &mut self.warps {
            warp.release(self.launch, id as u32, |op| match op {
                ReduceOp::Popc => barrier.yes,
                ReduceOp::And => u32::from(barrier.yes == barrier.votes),
                ReduceOp::Or => u32::from(barrier.yes > 0),
            });
        }
        true
    }

    /// Nothing in the block gets on: lanes go on that wait for others to reconverge with. Returns whether there are any.
    ///
    /// # Errors
    /// A [`BlockFault`] when lanes wait for others of their warp that wait for them, and `all` warps wait, so that
    /// nothing can change that.
    fn unblock(&mut self, all: bool) -> Result<bool, BlockFault> {
        for warp in &mut self.warps {
            if warp.pace.blocked && !warp.is_divided_at_barrier() && warp.give_up_reconvergence() {
                return Ok(true);
            }
        }
        let mut warps = self.warps.iter_mut();
        match warps.find_map(|warp| warp.divergence(self.launch)) {
            Some(fault) if all => Err(fault),
            _ => Ok(false),
        }
    }

    /// The fault of a block that does not get on.
    pub(super) fn deadlock(&self) -> BlockFault {
        let waits: Vec<_> = self.warps.iter().flat_map(WarpState::waits).collect();
        let barriers = self.barriers.iter().enumerate();
        let missing = barriers.filter(|(_, barrier)| barrier.threads > 0).map(
            |(
                id,
                BarrierState {
                    threads, expected, ..
                },
            )| match expected {
                Some(expected) => format!("barrier {id} has {threads} of {expected} threads"),
                None => format!("barrier {id} has {threads} threads of those that are left"),
            },
        );
        let words = waits.iter().map(|(words, ..)| words.clone());
        let waiting = [words.collect::<Vec<_>>().join(", ")]
            .into_iter()
            .chain(missing)
            .collect::<Vec<_>>()
            .join("; ");
        let first = waits.first();
        let (site, thread) =
            first.map_or((Site { function: 0, pc: 0 }, 0), |wait| (wait.1, wait.2));
        BlockFault::new(site, thread, FaultKind::Deadlock { waiting })
    }

    /// The calls that the thread of a fault is in.
    pub(super) fn callers(&self, fault: &BlockFault) -> Vec<(Site, Vec<u64>)> {
        let (warp, lane) = (fault.thread as usize / LANES, fault.thread as usize % LANES);
        self.warps[warp].callers(self.launch, lane)
    }

    /// A fault of the first warp that has not ended, which is none of its own.
    fn interrupted(&self, kind: FaultKind) -> BlockFault {
        let running = self.warps.iter().position(|warp| warp.alive() != 0);
        let running = running.unwrap_or(0);
        let warp = &self.warps[running];
        let lane = lanes(warp.alive()).next().unwrap_or(0);
        BlockFault::new(warp.site(), (running * 32 + lane) as u32, kind)
    }
}
