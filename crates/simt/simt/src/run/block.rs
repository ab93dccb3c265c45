//! One cluster of blocks, mostly of a single one: their warps take turns until all have ended.

mod barriers;
mod look;
mod report;

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::fault::{FaultKind, ravel};
use super::interrupt::is_interrupted;
use super::schedule::WarpOrder;
pub(super) use super::state::{Exchange, LaunchState};
use super::warp::{Snapshot, Status, WarpState};
use crate::memory::{Cluster, Recent, SharedMemory};
use crate::observe::{Observer, Requests, Site, WarpId};

/// Barriers of a block (PTX ISA §9.7.13.1).
const BARRIERS: usize = 16;
/// The number that stands for the cluster's barrier.
pub(super) const CLUSTER_BARRIER: u32 = 16;
/// Instructions after which a block reports how many it has executed, and looks whether the launch has ended.
const REPORT: u64 = 4096;

/// Instructions of a block after which it may be one that waits for another, and counts how often it has looked.
const LONG: u64 = 1 << 22;

/// A fault as the block detects it: the instruction, the thread of the block, and what happened.
#[derive(Debug)]
pub(super) struct BlockFault {
    pub(super) site: Site,
    /// The block's rank in its cluster.
    pub(super) rank: u32,
    pub(super) thread: u32,
    pub(super) kind: Box<FaultKind>,
    /// The calls that the thread is in, the innermost first, and what is known of the values that it panics for.
    pub(super) callers: Vec<(Site, Vec<u64>)>,
    /// A thread that the first one waits for in vain.
    pub(super) other: Option<WaitedForThread>,
}

/// A thread that another one waits for in vain.
#[derive(Debug)]
pub(super) struct WaitedForThread {
    /// What it does, in words.
    pub(super) what: String,
    pub(super) site: Site,
    /// The number of its block; the same block as the first one's if `None`.
    pub(super) block: Option<u64>,
    pub(super) thread: u32,
}

impl BlockFault {
    pub(super) fn new(site: Site, thread: u32, kind: FaultKind) -> Self {
        let callers = Vec::new();
        Self { site, rank: 0, thread, kind: Box::new(kind), callers, other: None }
    }

    fn of(self, rank: usize) -> Self {
        let rank = rank as u32;
        Self { rank, ..self }
    }

    pub(super) fn is_deadlock(&self) -> bool {
        matches!(*self.kind, FaultKind::Deadlock { .. })
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
    /// Where the first thread has arrived.
    first: Option<(Site, u32)>,
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

/// A cluster that runs, and what a host thread keeps to run the next one: the buffers, and the observers.
pub(super) struct RunningCluster<'a, 'm, O> {
    launch: &'a LaunchState<'m>,
    memory: Cluster,
    /// What stands in the place of a block's shared memory while one of its warps has it.
    absent: SharedMemory,
    blocks: Vec<RunningBlock<O>>,
    /// Those of one block after those of the other.
    warps: Vec<WarpState>,
    recent: Recent<'m>,
    snapshot: Snapshot,
    schedule: WarpOrder,
    /// Among the launch's clusters.
    pub(super) number: u64,
    /// Instructions executed since the last report.
    executed: u64,
    /// Instructions reported since it was [`Progress::Long`].
    reported: u64,
}

/// A block of a cluster that runs.
struct RunningBlock<O> {
    number: u64,
    barriers: [BarrierState; BARRIERS],
    /// Threads that have not ended.
    alive: u32,
    observer: O,
}

impl<'a, 'm, O: Observer> RunningCluster<'a, 'm, O> {
    pub(super) fn new(launch: &'a LaunchState<'m>, observer: impl Fn() -> O) -> Self {
        let warps = launch.threads().div_ceil(32);
        let blocks = launch.cluster_blocks();
        let shared = u64::from(launch.shared_bytes());
        let block = |_| RunningBlock {
            number: 0,
            barriers: [BarrierState::default(); BARRIERS],
            alive: 0,
            observer: observer(),
        };
        Self {
            launch,
            memory: Cluster {
                watched: O::REQUESTS.has(Requests::ASYNCHRONOUS),
                ..Cluster::new(blocks, blocks * warps, shared)
            },
            absent: SharedMemory::default(),
            blocks: (0..blocks).map(block).collect(),
            warps: (0..blocks * warps).map(|index| WarpState::new(launch, index / warps, index % warps)).collect(),
            recent: Recent::default(),
            snapshot: Snapshot::default(),
            schedule: launch.config.schedule.turns(0),
            number: 0,
            executed: 0,
            reported: 0,
        }
    }

    /// The observers of its blocks.
    pub(super) fn observers(self) -> impl Iterator<Item = O> {
        self.blocks.into_iter().map(|block| block.observer)
    }

    /// Begins the cluster with this number.
    pub(super) fn begin(&mut self, number: u64) -> Result<(), BlockFault> {
        let launch = self.launch;
        let kernels = u64::from(launch.dynamic_shared_at() + launch.dynamic_shared);
        self.memory.begin(launch.config.schedule.poison(number).map(|random| (kernels, random)));
        self.number = number;
        self.schedule = launch.config.schedule.turns(number);
        self.reported = 0;
        let warps = self.warps_each();
        if O::REQUESTS.has(Requests::CALLS) && self.blocks.len() > 1 {
            let blocks: Vec<u64> =
                (0..self.blocks.len()).map(|rank| launch.block_number(number, rank as u32)).collect();
            self.blocks[0].observer.cluster(&blocks);
        }
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            let (cluster, at) = launch.coordinates(number, rank as u32);
            block.number = ravel(at, launch.grid);
            block.barriers = [BarrierState::default(); BARRIERS];
            block.alive = launch.threads();
            for warp in &mut self.warps[rank * warps..][..warps] {
                if !warp.begin(launch, cluster, at) {
                    let start = Site { function: 0, pc: 0 };
                    let fault = BlockFault::new(start, 0, FaultKind::StackOverflow);
                    return Err(fault.of(rank));
                }
            }
            let observer = &mut block.observer;
            observer.block(block.number, warps as u32, launch.threads());
        }
        Ok(())
    }

    /// How many warps a block has.
    fn warps_each(&self) -> usize {
        self.warps.len() / self.blocks.len()
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
                for block in &mut self.blocks {
                    block.observer.block_ended(block.number);
                }
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
            for rank in 0..self.blocks.len() {
                for id in 0..BARRIERS {
                    released |= self.release(rank, id);
                }
            }
            released |= self.release_cluster();
            // Somebody may wait for a copy in another way than the instructions for it.
            if !released && !self.memory.in_flight.is_empty() {
                let done = self.memory.finish_all(self.launch.global);
                done.map_err(|words| self.asynchronous(words))?;
                released = true;
                self.warps.iter_mut().for_each(WarpState::goes_on);
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
        let any = || !self.memory.in_flight.is_empty();
        if self.schedule.asynchronous(any) {
            let schedule = &mut self.schedule;
            let choose = |all| schedule.group(all);
            let done = self.memory.finish_any(self.launch.global, choose);
            done.map_err(|words| self.asynchronous(words))?;
        }
        if self.launch.progress.repeats.load(Ordering::Relaxed) {
            self.warps[index].pace.look_sooner();
        }
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
        let rank = warp.rank as usize;
        let block = &mut self.blocks[rank];
        let warp_id = WarpId { block: block.number, warp: warp.number };
        block.observer.turn(warp_id);
        (self.memory.rank, self.memory.warp) = (warp.rank, index as u32);
        std::mem::swap(&mut self.absent, &mut self.memory.shared[rank]);
        let mut left = most;
        self.memory.clock += u64::from(most);
        let before = warp.alive().count_ones();
        let status = warp.run(
            self.launch,
            (&mut self.absent, &mut self.memory),
            &mut self.recent,
            &mut block.observer,
            warp_id,
            &mut left,
        );
        std::mem::swap(&mut self.absent, &mut self.memory.shared[rank]);
        let status = status.map_err(|fault| fault.of(rank))?;
        let executed = most - left;
        self.memory.clock -= u64::from(left);
        self.executed += u64::from(executed);
        let ended = before - warp.alive().count_ones();
        block.alive -= ended;
        if status != Status::Yielded {
            warp.pace.gets_on();
        }
        if ended > 0 && block.alive == 0 {
            if O::REQUESTS.has(Requests::MISTAKES) {
                self.tell_of_copies(rank);
            }
            let done = self.memory.finish_all(self.launch.global);
            done.map_err(|words| self.asynchronous(words))?;
            self.memory.exited |= 1 << rank;
        }
        match status {
            Status::Ended | Status::Yielded => {}
            Status::Blocked => self.warps[index].pace.blocked = true,
            Status::Barrier => {
                while let Some(arrival) = self.warps[index].arrivals.pop() {
                    self.arrive(index, &arrival)?;
                }
                if self.warps[index].cluster_arrived != 0 {
                    self.release_cluster();
                }
            }
        }
        Ok((status, executed))
    }

    /// Reports how many instructions were executed. Returns whether the block's results do not matter any more, because
    /// an earlier block has faulted.
    fn report(&mut self) -> Result<bool, BlockFault> {
        let LaunchState { config, progress, .. } = self.launch;
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
        if is_interrupted() {
            return Err(self.interrupted(FaultKind::Interrupted));
        }
        Ok(progress.faulted.load(Ordering::Relaxed) < self.number)
    }

    /// Nothing in the block gets on: lanes go on that wait for others to reconverge with, unless a warp may wait for another
    /// block. Returns whether there are any.
    ///
    /// # Errors
    /// A [`BlockFault`] when lanes wait for others of their warp that wait for them, and `all` warps wait, so that
    /// nothing can change that.
    fn unblock(&mut self, all: bool) -> Result<bool, BlockFault> {
        let alone = all || self.launch.progress.separates.load(Ordering::Relaxed);
        for warp in &mut self.warps {
            if alone && warp.pace.blocked && !warp.is_divided_at_barrier() && warp.give_up_reconvergence() {
                return Ok(true);
            }
        }
        let mut warps = self.warps.iter_mut();
        match warps.find_map(|warp| Some(warp.divergence(self.launch)?.of(warp.rank as usize))) {
            Some(fault) if all => Err(fault),
            _ => Ok(false),
        }
    }
}
