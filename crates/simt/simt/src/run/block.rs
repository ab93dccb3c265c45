//! A running cluster of blocks, usually a single block: its warps run alternately until all threads have ended.

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

/// The number of barriers of a block (PTX ISA §9.7.13.1).
const BARRIERS: usize = 16;
/// The number that represents the cluster's barrier.
pub(super) const CLUSTER_BARRIER: u32 = 16;
/// After this number of instructions, a block reports its instruction count and checks whether the launch has ended.
const REPORT: u64 = 4096;

/// After this number of instructions, a block may be waiting for another block in a polling loop, so the host thread
/// gives other blocks a turn.
const LONG: u64 = 1 << 22;

/// A fault as the block detects it: the instruction, the thread of the block, and the kind of fault.
#[derive(Debug)]
pub(super) struct BlockFault {
    pub(super) site: Site,
    /// The block's rank in its cluster.
    pub(super) rank: u32,
    pub(super) thread: u32,
    pub(super) kind: Box<FaultKind>,
    /// The calls on the thread's call stack, innermost first, with the values for the message of a panic, if they are
    /// known.
    pub(super) callers: Vec<(Site, Vec<u64>)>,
    /// A thread that the faulting thread waits for in vain.
    pub(super) other: Option<WaitedForThread>,
}

/// A thread that another thread waits for in vain.
#[derive(Debug)]
pub(super) struct WaitedForThread {
    /// What the thread does, in words.
    pub(super) what: String,
    pub(super) site: Site,
    /// The number of the thread's block; `None` for the block of the faulting thread.
    pub(super) block: Option<u64>,
    pub(super) thread: u32,
}

impl BlockFault {
    pub(super) fn new(site: Site, thread: u32, kind: FaultKind) -> Self {
        let callers = Vec::new();
        Self { site, rank: 0, thread, kind: Box::new(kind), callers, other: None }
    }

    fn with_rank(self, rank: usize) -> Self {
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
    /// The number of threads that have arrived.
    threads: u32,
    /// The number of threads that the barrier waits for, if an instruction specified one.
    expected: Option<u32>,
    /// The number of threads whose predicate was true, and the number of threads that contributed a predicate.
    yes: u32,
    votes: u32,
    /// The instruction and the thread of the first arrival.
    first: Option<(Site, u32)>,
}

/// The state of a block after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All threads of the block have ended, or the launch has ended.
    Ended,
    /// The block's turn is over.
    Yielded,
    /// The block's turn is over, and it has executed many instructions since the last `Long`.
    Long,
    /// The block waits for another block: each warp of this block repeats itself or waits at a barrier.
    Stalled {
        /// Whether no warp made any progress in this turn.
        still: bool,
    },
}

/// A running cluster. A host thread reuses its buffers and observers for the next cluster.
pub(super) struct RunningCluster<'a, 'm, O> {
    launch: &'a LaunchState<'m>,
    memory: Cluster,
    /// Replaces a block's shared memory while a warp of the block has borrowed that memory.
    placeholder: SharedMemory,
    blocks: Vec<RunningBlock<O>>,
    /// The warps of all blocks, block by block.
    warps: Vec<WarpState>,
    recent: Recent<'m>,
    snapshot: Snapshot,
    schedule: WarpOrder,
    /// The number of the cluster in the launch.
    pub(super) number: u64,
    /// The number of instructions executed since the last report.
    executed: u64,
    /// The number of instructions reported since the last [`Progress::Long`].
    reported: u64,
}

/// A block of a running cluster.
struct RunningBlock<O> {
    number: u64,
    barriers: [BarrierState; BARRIERS],
    /// The number of threads that have not ended.
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
            placeholder: SharedMemory::default(),
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

    /// Returns the observers of the cluster's blocks.
    pub(super) fn observers(self) -> impl Iterator<Item = O> {
        self.blocks.into_iter().map(|block| block.observer)
    }

    /// Starts the cluster with this number.
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
                    return Err(fault.with_rank(rank));
                }
            }
            let observer = &mut block.observer;
            observer.block(block.number, warps as u32, launch.threads());
        }
        Ok(())
    }

    /// Returns the number of warps in each block.
    fn warps_each(&self) -> usize {
        self.warps.len() / self.blocks.len()
    }

    /// Gives each warp up to `rounds` turns.
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
                    true => self.recheck_repetition(index)?,
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
            // A barrier may have been waiting for warps that have now ended.
            let mut released = false;
            for rank in 0..self.blocks.len() {
                for id in 0..BARRIERS {
                    released |= self.release(rank, id);
                }
            }
            released |= self.release_cluster();
            // A warp may poll for the result of a copy instead of using the instructions that wait for the copy.
            if !released && !self.memory.in_flight.is_empty() {
                let done = self.memory.finish_all(self.launch.global);
                done.map_err(|words| self.asynchronous(words))?;
                released = true;
                self.warps.iter_mut().for_each(WarpState::wake);
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

    /// Runs one turn of a warp.
    fn turn(&mut self, index: usize) -> Result<Status, BlockFault> {
        let any = || !self.memory.in_flight.is_empty();
        if self.schedule.asynchronous(any) {
            let schedule = &mut self.schedule;
            let choose = |all| schedule.group(all);
            let done = self.memory.finish_any(self.launch.global, choose);
            done.map_err(|words| self.asynchronous(words))?;
        }
        if self.launch.progress.repeats.load(Ordering::Relaxed) {
            self.warps[index].pace.check_sooner();
        }
        let most = self.launch.config.max_instructions;
        let turn = self.warps[index].pace.turn(self.schedule.turn());
        let turn = u32::try_from(most).map_or(turn, |most| turn.min(most.max(1)));
        let (status, executed) = self.execute(index, turn)?;
        if status == Status::Yielded {
            let schedule = &mut self.schedule;
            if self.warps[index].end_turn(executed, |groups| schedule.group(groups)) {
                return self.check_repetition(index);
            }
        }
        Ok(status)
    }

    /// Executes up to `most` instructions of a warp and returns the number executed.
    fn execute(&mut self, index: usize, most: u32) -> Result<(Status, u32), BlockFault> {
        let warp = &mut self.warps[index];
        let rank = warp.rank as usize;
        let block = &mut self.blocks[rank];
        let warp_id = WarpId { block: block.number, warp: warp.number };
        block.observer.turn(warp_id);
        (self.memory.rank, self.memory.warp) = (warp.rank, index as u32);
        std::mem::swap(&mut self.placeholder, &mut self.memory.shared[rank]);
        let mut left = most;
        self.memory.clock += u64::from(most);
        let before = warp.alive().count_ones();
        let status = warp.run(
            self.launch,
            (&mut self.placeholder, &mut self.memory),
            &mut self.recent,
            &mut block.observer,
            warp_id,
            &mut left,
        );
        std::mem::swap(&mut self.placeholder, &mut self.memory.shared[rank]);
        let status = status.map_err(|fault| fault.with_rank(rank))?;
        let executed = most - left;
        self.memory.clock -= u64::from(left);
        self.executed += u64::from(executed);
        let ended = before - warp.alive().count_ones();
        block.alive -= ended;
        if status != Status::Yielded {
            warp.pace.restart();
        }
        if ended > 0 && block.alive == 0 {
            if O::REQUESTS.has(Requests::MISTAKES) {
                self.report_unfinished_copies(rank);
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

    /// Reports the number of executed instructions. Returns whether a block with a lower number has faulted; if so, the
    /// results of this block no longer matter.
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

    /// Called when no warp of the block makes progress. Releases lanes that wait to reconverge with other lanes, unless
    /// a warp may wait for another block. Returns whether any lanes were released.
    ///
    /// # Errors
    /// Returns a [`BlockFault`] when lanes of a warp wait for each other and `all` is true. If `all` is true, all warps
    /// wait, so nothing can end the wait.
    fn unblock(&mut self, all: bool) -> Result<bool, BlockFault> {
        let alone = all || self.launch.progress.separates.load(Ordering::Relaxed);
        for warp in &mut self.warps {
            if alone && warp.pace.blocked && !warp.is_divided_at_barrier() && warp.give_up_reconvergence() {
                return Ok(true);
            }
        }
        let mut warps = self.warps.iter_mut();
        match warps.find_map(|warp| Some(warp.divergence(self.launch)?.with_rank(warp.rank as usize))) {
            Some(fault) if all => Err(fault),
            _ => Ok(false),
        }
    }
}
