//! Runs the blocks of a launch on the host's threads: each block runs until it ends or waits for another block.
//!
//! A device runs a limited number of blocks at a time. These blocks may wait for each other, at a barrier of the whole
//! grid or for the sums of earlier blocks. When all blocks of a host thread wait, the thread starts another block. When
//! the blocks of all host threads wait, lanes at reconvergence points continue without the rest of their warp, because
//! other lanes may wait for these lanes. If nothing changes even then, the launch is deadlocked and faults.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Schedule;
use super::block::{BlockFault, LaunchState, Progress, RunningCluster};
use super::fault::FaultKind;
use crate::observe::Observer;

/// The blocks of a launch that have not started, and the state that host threads share.
pub(super) struct Blocks<'a> {
    /// The numbers of the blocks to run; `None` for all numbers below `count`.
    chosen: Option<&'a [u64]>,
    count: u64,
    schedule: Schedule,
    /// The index of the next block that no host thread has taken.
    next: AtomicU64,
    /// The number of blocks that a host thread takes at a time.
    share: u64,
    /// Whether the last block has started.
    last: AtomicBool,
    /// The number of blocks that have started and not ended, and the limit on this number.
    resident: AtomicU64,
    limit: u64,
    idleness: Mutex<Idleness>,
    faults: Mutex<Vec<(u64, BlockFault)>>,
    stuck: Mutex<Option<Stuck>>,
}

/// A launch in which no block can make progress.
struct Stuck {
    /// The number of waiting blocks.
    waiting: u64,
    /// The number of the first block that has not started; the number of blocks if all blocks have started.
    first_not_begun: u64,
}

/// Tracks whether any host thread makes progress.
struct Idleness {
    /// The number of host threads that have blocks.
    threads: usize,
    /// A counter that increases whenever a host thread makes progress.
    generation: u64,
    /// The number of host threads whose blocks have made no progress in this generation.
    still: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(chosen: Option<&'a [u64]>, all: u64, limit: u64, threads: usize, schedule: Schedule) -> Self {
        let count = chosen.map_or(all, |chosen| chosen.len() as u64);
        Self {
            chosen,
            count,
            schedule,
            next: AtomicU64::new(0),
            // The share is small enough that all threads end at about the same time, and large enough that taking
            // blocks costs little. If some blocks must wait for a free slot, the share is one block. With this share,
            // the first block that has not started is also the next to start.
            share: if limit < count { 1 } else { (count / (threads as u64 * 16)).clamp(1, 64) },
            last: AtomicBool::new(schedule != Schedule::Fixed),
            resident: AtomicU64::new(0),
            limit,
            idleness: Mutex::new(Idleness { threads, generation: 0, still: 0 }),
            faults: Mutex::new(Vec::new()),
            stuck: Mutex::new(None),
        }
    }

    /// Returns the fault to report: that of the block with the lowest number, so that the result does not depend on the
    /// timing of host threads. A deadlock is reported only if no block has another fault, because a block may wait for
    /// a block that faulted. `each` is the number of blocks in a cluster.
    ///
    /// If some blocks wait and others have not started, the fault says so: a block cannot wait for a block that starts
    /// only when another block ends.
    pub(super) fn fault(mut self, each: u64) -> Option<(u64, BlockFault)> {
        let faults = std::mem::take(self.faults.get_mut().expect("pushing cannot panic"));
        let order = |(number, fault): &(u64, BlockFault)| (fault.is_deadlock(), *number);
        let (number, mut fault) = faults.into_iter().min_by_key(order)?;
        let stuck = self.stuck.get_mut().expect("counting cannot panic").take();
        let stuck = stuck.filter(|stuck| stuck.first_not_begun < self.count);
        if let (FaultKind::Deadlock { waiting }, Some(stuck)) = (&mut *fault.kind, stuck) {
            let what = if each == 1 { "block" } else { "cluster" };
            let plural = |count: u64| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (blocks, limit) = (plural(stuck.waiting), plural(self.limit));
            let first = self.number(stuck.first_not_begun);
            *waiting += &format!(
                "; {blocks} wait, and {what} {first} has not started, because the device runs {limit} at the same time"
            );
        }
        Some((number, fault))
    }

    /// Returns the first block that no host thread has taken.
    fn first_not_taken(&self) -> u64 {
        match (self.next.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed)) {
            (next, true) => next.min(self.count),
            (next, false) => next.min(self.count - 1),
        }
    }

    /// Takes the next blocks. Under the fixed schedule, the last block of the launch is excluded, because it starts
    /// when all other blocks are done. If the last block waits for their results, it finds these results at once, so
    /// its counters do not depend on the timing of host threads.
    fn take(&self) -> Range<u64> {
        let count = self.count - u64::from(self.schedule == Schedule::Fixed);
        let first = self.next.fetch_add(self.share, Ordering::Relaxed);
        first..(first + self.share).min(count).max(first)
    }

    /// Takes the last block if it has not started and the limit allows another block.
    fn take_last(&self) -> Option<u64> {
        if self.last.load(Ordering::Relaxed) || !self.reserve() {
            return None;
        }
        let is_taken = self.last.swap(true, Ordering::Relaxed);
        if is_taken {
            self.release();
        }
        (!is_taken).then(|| self.count - 1)
    }

    /// Reserves a slot for a block before the block is taken. Returns whether a slot was free.
    fn reserve(&self) -> bool {
        let one_more = |resident| (resident < self.limit).then_some(resident + 1);
        self.resident.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Releases a block's slot.
    fn release(&self) {
        self.resident.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether all blocks are taken, except the last block under the fixed schedule.
    fn are_taken(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count - u64::from(self.schedule == Schedule::Fixed)
    }

    fn number(&self, index: u64) -> u64 {
        let index = self.schedule.block(index, self.count);
        self.chosen.map_or(index, |chosen| chosen[index as usize])
    }

    fn idleness(&self) -> std::sync::MutexGuard<'_, Idleness> {
        self.idleness.lock().expect("counting cannot panic")
    }
}

impl Idleness {
    /// Records progress of a host thread.
    fn record_activity(&mut self) {
        self.generation += 1;
        self.still = 0;
    }
}

/// The part of a launch that one host thread runs.
pub(super) struct HostThread<'a, 'm, O, F> {
    state: &'a LaunchState<'m>,
    blocks: &'a Blocks<'a>,
    /// The function that creates an observer.
    fork: F,
    /// The blocks that have started, and wait for other blocks or for their turn.
    begun: VecDeque<RunningCluster<'a, 'm, O>>,
    ended: Vec<RunningCluster<'a, 'm, O>>,
    taken: Range<u64>,
    random: fastrand::Rng,
}

impl<'a, 'm, O: Observer, F: Fn() -> O> HostThread<'a, 'm, O, F> {
    pub(super) fn new(state: &'a LaunchState<'m>, blocks: &'a Blocks<'a>, fork: F) -> Self {
        Self {
            state,
            blocks,
            fork,
            begun: VecDeque::new(),
            ended: Vec::new(),
            taken: 0..0,
            random: fastrand::Rng::with_seed(0),
        }
    }

    /// Runs blocks until all blocks are done, and returns the blocks' observers.
    pub(super) fn run(mut self) -> impl Iterator<Item = O> {
        let schedule = self.state.config.schedule;
        if let Schedule::Random(seed) = schedule {
            self.random.seed(seed);
        }
        // The number of consecutive turns in which no block made progress.
        let mut still = 0;
        let mut waited = None;
        // The number of long turns since a block last started or ended. Blocks whose state changes while they wait have
        // long turns.
        let mut long = 0;
        loop {
            let patient = long == 0 || long < self.begun.len();
            let may_start =
                self.begun.len() < schedule.blocks_at_a_time() || still > 0 && !self.has_enough_blocks() || !patient;
            let began = may_start && (self.begin_next() || !patient && self.begin_last());
            long = if patient { long } else { 0 };
            let Some(mut block) = self.choose(began, still) else {
                match began {
                    true => continue,
                    false => break,
                }
            };
            match block.run(schedule.rounds()) {
                Ok(Progress::Stalled { still: true }) if !began => {
                    still += 1;
                    self.begun.push_back(block);
                }
                Ok(progress) => {
                    (still, waited) = (0, None);
                    match progress {
                        Progress::Ended => {
                            long = 0;
                            self.end(block);
                        }
                        _ => {
                            long += usize::from(progress == Progress::Long);
                            self.begun.push_back(block);
                        }
                    }
                }
                Err(fault) => {
                    self.fault(&block, fault);
                    self.end(block);
                }
            }
            if still > 0 && still == self.begun.len() && (self.has_enough_blocks() || !self.may_begin()) {
                still = 0;
                if self.wait(&mut waited) {
                    self.give_up();
                }
            }
        }
        let mut idleness = self.blocks.idleness();
        idleness.threads -= 1;
        idleness.record_activity();
        self.ended.into_iter().flat_map(RunningCluster::observers)
    }

    /// Runs the launch's last block, if it has not started.
    pub(super) fn run_last(mut self) -> impl Iterator<Item = O> {
        self.blocks.idleness().threads += 1;
        self.begin_last();
        self.run()
    }

    /// Starts the launch's last block. Returns `false` if no slot is free, or if the block has already started or no
    /// longer needs to run.
    fn begin_last(&mut self) -> bool {
        let last = self.blocks.take_last();
        last.is_some_and(|last| self.begin(last))
    }

    /// Returns whether further blocks must wait before they start. They must wait if at least one block per
    /// multiprocessor has started, and lanes may still be released to continue without the rest of their warp. In a
    /// kernel whose lanes wait for lanes of the same warp, each additional waiting block would slow down all other
    /// blocks.
    fn has_enough_blocks(&self) -> bool {
        self.begun.len() >= self.state.config.multiprocessors as usize
            && !self.state.progress.separates.load(Ordering::Relaxed)
    }

    /// Returns whether there is a next block and a free slot for it.
    fn may_begin(&self) -> bool {
        let is_left = !self.taken.is_empty() || !self.blocks.are_taken();
        is_left && self.blocks.resident.load(Ordering::Relaxed) < self.blocks.limit
    }

    /// Takes the next block and reserves a slot for it, if a slot is free.
    fn take_next(&mut self) -> Option<u64> {
        if !self.may_begin() || !self.blocks.reserve() {
            return None;
        }
        if self.taken.is_empty() {
            self.taken = self.blocks.take();
        }
        let next = self.taken.next();
        if next.is_none() {
            self.blocks.release();
        }
        next
    }

    fn begin_next(&mut self) -> bool {
        while let Some(index) = self.take_next() {
            if self.begin(index) {
                return true;
            }
            let faulted = self.state.progress.faulted.load(Ordering::Relaxed);
            if self.blocks.chosen.is_none() && self.taken.start.saturating_sub(Schedule::SHUFFLED) > faulted {
                // The remaining blocks of the grid, up to 2^63 of them, cannot change the result either, so all of them
                // are skipped.
                self.blocks.next.fetch_max(self.blocks.count, Ordering::Relaxed);
                self.taken = 0..0;
            }
        }
        false
    }

    /// Starts a block whose slot is reserved. Blocks with a lower number than the first faulted block still run, so
    /// that the reported fault does not depend on the timing of host threads.
    fn begin(&mut self, index: u64) -> bool {
        let number = self.blocks.number(index);
        if number > self.state.progress.faulted.load(Ordering::Relaxed) {
            self.blocks.release();
            return false;
        }
        let new = || RunningCluster::new(self.state, &self.fork);
        let mut block = self.ended.pop().unwrap_or_else(new);
        match block.begin(number) {
            Ok(()) => self.begun.push_back(block),
            Err(fault) => {
                self.fault(&block, fault);
                self.end(block);
            }
        }
        true
    }

    fn end(&mut self, block: RunningCluster<'a, 'm, O>) {
        self.blocks.release();
        self.ended.push(block);
    }

    fn fault(&self, block: &RunningCluster<'a, 'm, O>, mut fault: BlockFault) {
        let number = block.number;
        fault.callers = block.callers(&fault);
        let faulted = &self.state.progress.faulted;
        faulted.fetch_min(number, Ordering::Relaxed);
        let mut faults = self.blocks.faults.lock().expect("pushing cannot panic");
        let number = self.state.block_number(number, fault.rank);
        faults.push((number, fault));
    }

    /// Returns the next block to run: the block that has just started or, if no block has just started, the block that
    /// has waited longest.
    fn choose(&mut self, began: bool, still: usize) -> Option<RunningCluster<'a, 'm, O>> {
        match self.state.config.schedule {
            Schedule::Fixed if began => self.begun.pop_back(),
            Schedule::Random(_) if still == 0 && !self.begun.is_empty() => {
                let index = self.random.usize(..self.begun.len());
                self.begun.remove(index)
            }
            _ => self.begun.pop_front(),
        }
    }

    /// Handles a state in which no block of this host thread makes progress. If no block of any host thread makes
    /// progress, starts the last block or lets lanes continue without the rest of their warp. Returns whether progress
    /// is no longer possible. `waited` is the generation in which this thread started to wait, and whether the thread
    /// has reported itself idle in that generation.
    fn wait(&mut self, waited: &mut Option<(u64, bool)>) -> bool {
        std::thread::yield_now();
        let mut idleness = self.blocks.idleness();
        match *waited {
            // Earlier work of this thread may have changed something that blocks of the other threads wait for.
            None => {
                idleness.record_activity();
                *waited = Some((idleness.generation, false));
            }
            Some((generation, _)) if generation != idleness.generation => {
                *waited = Some((idleness.generation, false));
            }
            // All blocks of this thread have had a turn in this generation.
            Some((generation, false)) => {
                idleness.still += 1;
                *waited = Some((generation, true));
            }
            Some((_, true)) => {}
        }
        if idleness.still < idleness.threads {
            return false;
        }
        let last = if self.has_enough_blocks() { None } else { self.blocks.take_last() };
        if last.is_none() && self.state.progress.separates.swap(true, Ordering::Relaxed) {
            return true;
        }
        // This must happen before another thread finds all threads idle.
        idleness.record_activity();
        *waited = None;
        drop(idleness);
        last.map(|last| self.begin(last));
        false
    }

    /// Records that this thread's blocks wait forever.
    fn give_up(&mut self) {
        let next_taken = if self.taken.is_empty() { u64::MAX } else { self.taken.start };
        let first_not_begun = next_taken.min(self.blocks.first_not_taken());
        let waiting = self.blocks.resident.load(Ordering::Relaxed);
        let mut stuck = self.blocks.stuck.lock().expect("counting cannot panic");
        // Host threads that give up later find fewer waiting blocks.
        let stuck = stuck.get_or_insert(Stuck { waiting, first_not_begun });
        stuck.first_not_begun = stuck.first_not_begun.min(first_not_begun);
        let first = self.begun.iter().min_by_key(|block| block.number);
        if let Some(first) = first {
            self.fault(first, first.deadlock());
        }
        while let Some(block) = self.begun.pop_front() {
            self.end(block);
        }
    }
}
