//! The blocks of a launch on the host's threads: each runs to its end, or until it waits for another block.
//!
//! A device has room for so many blocks at a time, and these may wait for each other: at a barrier of the whole grid, or
//! for the sums of the blocks before. Here a host thread begins another block when those that it has begun wait. When
//! all host threads have nothing but blocks that wait, lanes at reconvergence points go on without the rest of their warp,
//! which may wait for them. If nothing changes then, nothing will ever change: that is a fault.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Schedule;
use super::block::{BlockFault, LaunchState, Progress, RunningCluster};
use super::fault::FaultKind;
use crate::observe::Observer;

/// The blocks of a launch that have not begun, and what host threads know of each other.
pub(super) struct Blocks<'a> {
    /// The numbers of the blocks that are run; all below `count` if there are none.
    chosen: Option<&'a [u64]>,
    count: u64,
    schedule: Schedule,
    /// The next one that nobody has taken.
    next: AtomicU64,
    /// How many a host thread takes at a time.
    share: u64,
    /// Whether the last block has begun.
    last: AtomicBool,
    /// Blocks that have begun and not ended, and how many there may be.
    resident: AtomicU64,
    limit: u64,
    stillness: Mutex<Idleness>,
    faults: Mutex<Vec<(u64, BlockFault)>>,
    stuck: Mutex<Option<Stuck>>,
}

/// A launch in which nothing will happen any more.
struct Stuck {
    /// The number of blocks that wait.
    waiting: u64,
    /// The first block that has not begun; the number of blocks if all have begun.
    first_not_begun: u64,
}

/// Whether anything happens on any host thread.
struct Idleness {
    /// Host threads that have blocks.
    threads: usize,
    /// Counts up when something has happened.
    generation: u64,
    /// Host threads for whose blocks nothing has happened in this generation.
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
            // Small enough that all threads end together, and large enough that taking them costs little.
            // One at a time where not all fit: the first block that has not begun is then one that has room.
            share: if limit < count { 1 } else { (count / (threads as u64 * 16)).clamp(1, 64) },
            last: AtomicBool::new(schedule != Schedule::Fixed),
            resident: AtomicU64::new(0),
            limit,
            stillness: Mutex::new(Idleness { threads, generation: 0, still: 0 }),
            faults: Mutex::new(Vec::new()),
            stuck: Mutex::new(None),
        }
    }

    /// The fault that is reported: that of the first block, so that it does not depend on the timing of host threads;
    /// and rather a block's own than that it waits for a block that faulted. `each` is the number of blocks of a cluster.
    ///
    /// Where blocks wait and others have not begun, the fault says so: a block cannot wait for one that begins only when
    /// another one ends.
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
                "; {blocks} wait, and {what} {first} has not begun, because the device runs {limit} at the same time"
            );
        }
        Some((number, fault))
    }

    /// The first block that no host thread has taken.
    fn first_not_taken(&self) -> u64 {
        match (self.next.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed)) {
            (next, true) => next.min(self.count),
            (next, false) => next.min(self.count - 1),
        }
    }

    /// The next blocks. Under the fixed schedule the last block of the launch is not among them: it begins when all others
    /// are done. If it waits for their results, it finds them at once, so its counters do not depend on the timing of
    /// host threads.
    fn take(&self) -> Range<u64> {
        let count = self.count - u64::from(self.schedule == Schedule::Fixed);
        let first = self.next.fetch_add(self.share, Ordering::Relaxed);
        first..(first + self.share).min(count).max(first)
    }

    /// The last block, if it has not begun and there is room for it.
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

    /// Reserves the room for a block, before the block is taken. Returns whether there was room.
    fn reserve(&self) -> bool {
        let one_more = |resident| (resident < self.limit).then_some(resident + 1);
        self.resident.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives the room of a block back.
    fn release(&self) {
        self.resident.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether all blocks but the last one of a fixed schedule are taken.
    fn are_taken(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count - u64::from(self.schedule == Schedule::Fixed)
    }

    fn number(&self, index: u64) -> u64 {
        let index = self.schedule.block(index, self.count);
        self.chosen.map_or(index, |chosen| chosen[index as usize])
    }

    fn stillness(&self) -> std::sync::MutexGuard<'_, Idleness> {
        self.stillness.lock().expect("counting cannot panic")
    }
}

impl Idleness {
    /// Something has happened.
    fn stir(&mut self) {
        self.generation += 1;
        self.still = 0;
    }
}

/// One host thread's part of a launch.
pub(super) struct HostThread<'a, 'm, O, F> {
    state: &'a LaunchState<'m>,
    blocks: &'a Blocks<'a>,
    /// Makes an observer.
    fork: F,
    /// Blocks that have begun and wait, or wait for their turn.
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

    /// Runs blocks until none is left, and returns the observers.
    pub(super) fn run(mut self) -> impl Iterator<Item = O> {
        let schedule = self.state.config.schedule;
        if let Schedule::Random(seed) = schedule {
            self.random.seed(seed);
        }
        // How many of the blocks that have begun had a turn in which nothing happened, one after the other.
        let mut still = 0;
        let mut waited = None;
        // Turns of many instructions since a block began or ended: of blocks that wait, and change while they do.
        let mut long = 0;
        loop {
            let patient = long == 0 || long < self.begun.len();
            let room =
                self.begun.len() < schedule.blocks_at_a_time() || still > 0 && !self.has_enough_blocks() || !patient;
            let began = room && (self.begin_next() || !patient && self.begin_last());
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
        let mut stillness = self.blocks.stillness();
        stillness.threads -= 1;
        stillness.stir();
        self.ended.into_iter().flat_map(RunningCluster::observers)
    }

    /// Runs the launch's last block, if it has not begun.
    pub(super) fn run_last(mut self) -> impl Iterator<Item = O> {
        self.blocks.stillness().threads += 1;
        self.begin_last();
        self.run()
    }

    /// Begins the launch's last block; `false` if there is no room, or it has begun, or need not any more.
    fn begin_last(&mut self) -> bool {
        let last = self.blocks.take_last();
        last.is_some_and(|last| self.begin(last))
    }

    /// Whether no further block begins yet: at least one block per multiprocessor has begun, and lanes of their warps may
    /// still go on without the rest. In a kernel whose lanes wait for lanes of their warp, each further block that waits
    /// would make all others slower.
    fn has_enough_blocks(&self) -> bool {
        self.begun.len() >= self.state.config.multiprocessors as usize
            && !self.state.progress.separates.load(Ordering::Relaxed)
    }

    /// Whether there is a next block, and room for it.
    fn may_begin(&self) -> bool {
        let is_left = !self.taken.is_empty() || !self.blocks.are_taken();
        is_left && self.blocks.resident.load(Ordering::Relaxed) < self.blocks.limit
    }

    /// Takes the next block, if there is room for it, which is then reserved.
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
                // Nor does any of the grid's other blocks matter, of which there may be 2^63.
                self.blocks.next.fetch_max(self.blocks.count, Ordering::Relaxed);
                self.taken = 0..0;
            }
        }
        false
    }

    /// Begins a block whose room is reserved. Those before the first that faulted are still run, so that the fault that is
    /// reported does not depend on the timing of host threads.
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

    /// The block whose turn it is: the one that has just begun, then those that wait, the longest first.
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

    /// Nothing happens to the blocks of this thread. If it is the same for all threads, begins the last block, or lets lanes
    /// go on without the rest of their warp, or returns that nothing will happen any more. `waited` is the generation in which this thread has said so, or in
    /// which it began to wait.
    fn wait(&mut self, waited: &mut Option<(u64, bool)>) -> bool {
        std::thread::yield_now();
        let mut stillness = self.blocks.stillness();
        match *waited {
            // What this thread did before may have changed something for the others.
            None => {
                stillness.stir();
                *waited = Some((stillness.generation, false));
            }
            Some((generation, _)) if generation != stillness.generation => {
                *waited = Some((stillness.generation, false));
            }
            // All its blocks had a turn in this generation.
            Some((generation, false)) => {
                stillness.still += 1;
                *waited = Some((generation, true));
            }
            Some((_, true)) => {}
        }
        if stillness.still < stillness.threads {
            return false;
        }
        let last = if self.has_enough_blocks() { None } else { self.blocks.take_last() };
        if last.is_none() && self.state.progress.separates.swap(true, Ordering::Relaxed) {
            return true;
        }
        // Before another thread learns that nothing happens.
        stillness.stir();
        *waited = None;
        drop(stillness);
        last.map(|last| self.begin(last));
        false
    }

    /// Nothing happens any more: this thread's blocks wait forever.
    fn give_up(&mut self) {
        let own = if self.taken.is_empty() { u64::MAX } else { self.taken.start };
        let first_not_begun = own.min(self.blocks.first_not_taken());
        let waiting = self.blocks.resident.load(Ordering::Relaxed);
        let mut stuck = self.blocks.stuck.lock().expect("counting cannot panic");
        // Host threads that give up after another one find fewer blocks.
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
