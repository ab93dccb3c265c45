//! One block: its warps take turns until all have ended.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::{FaultKind, unravel};
use super::machine::Config;
use super::warp::{Status, WarpState};
use crate::code::{Program, ReduceOp, Reg};
use crate::memory::{GlobalMemory, Recent, SharedMemory};
use crate::observe::{Observer, Site, WarpId};
use crate::regs::lanes;

/// Instructions that a warp executes before the next warp has its turn. Turns keep a warp that waits for another
/// through memory from waiting forever.
const TURN: u32 = 4096;
/// Barriers of a block (PTX ISA §9.7.13.1).
const BARRIERS: usize = 16;

/// A fault as the block detects it: the instruction, the thread of the block, and what happened.
#[derive(Debug)]
pub(super) struct BlockFault {
    pub(super) site: Site,
    pub(super) thread: u32,
    pub(super) kind: FaultKind,
}

impl BlockFault {
    pub(super) fn new(site: Site, thread: u32, kind: FaultKind) -> Self {
        Self { site, thread, kind }
    }
}

/// The state that all blocks of a running launch share.
pub(super) struct LaunchState<'a> {
    pub(super) program: &'a Program,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) params: &'a [u8],
    /// Addresses of the program's global variables.
    pub(super) globals: &'a [u64],
    pub(super) global: &'a GlobalMemory,
    pub(super) config: &'a Config,
    pub(super) simd: &'a crate::host_simd::HostSimd,
    pub(super) progress: Progress,
}

/// The state that host threads exchange while they run. It has cache lines of its own, because the rest of the launch
/// state is read for every instruction.
#[repr(align(128))]
pub(super) struct Progress {
    /// Instructions executed by all blocks together.
    pub(super) instructions: AtomicU64,
    /// The lowest number of a block that faulted.
    pub(super) faulted: AtomicU64,
}

impl LaunchState<'_> {
    /// Where dynamic shared memory begins.
    pub(super) fn dynamic_shared_at(&self) -> u32 {
        self.program.shared_bytes.next_multiple_of(16)
    }

    fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// Buffers that a host thread reuses from block to block.
pub(super) struct Worker<'m> {
    shared: SharedMemory,
    warps: Vec<WarpState>,
    recent: Recent<'m>,
}

impl<'m> Worker<'m> {
    pub(super) fn new(launch: &LaunchState<'m>) -> Self {
        let threads = launch.threads();
        Self {
            shared: SharedMemory::new(u64::from(
                launch.dynamic_shared_at() + launch.dynamic_shared,
            )),
            warps: (0..threads.div_ceil(32))
                .map(|warp| WarpState::new(launch, warp))
                .collect(),
            recent: Recent::default(),
        }
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

/// A running block.
pub(super) struct Block<'a, 'l, O> {
    launch: &'a LaunchState<'l>,
    worker: &'a mut Worker<'l>,
    number: u64,
    observer: &'a mut O,
    barriers: [BarrierState; BARRIERS],
    /// Threads that have not ended.
    alive: u32,
    /// Whether all warps got the local memory that they begin with.
    begun: bool,
}

impl<'a, 'l, O: Observer> Block<'a, 'l, O> {
    pub(super) fn new(
        launch: &'a LaunchState<'l>,
        worker: &'a mut Worker<'l>,
        number: u64,
        observer: &'a mut O,
    ) -> Self {
        worker.shared.clear();
        let at = unravel(number, launch.grid);
        let mut begun = true;
        for warp in &mut worker.warps {
            begun &= warp.begin(launch, at);
        }
        observer.block(number, worker.warps.len() as u32, launch.threads());
        Self {
            launch,
            worker,
            number,
            observer,
            barriers: [BarrierState::default(); BARRIERS],
            alive: launch.threads(),
            begun,
        }
    }

    /// Runs the block to its end.
    pub(super) fn run(&mut self) -> Result<(), BlockFault> {
        if !self.begun {
            let start = Site { function: 0, pc: 0 };
            return Err(BlockFault::new(start, 0, FaultKind::StackOverflow));
        }
        let a_turn = self.turn();
        let mut executed = 0u64;
        loop {
            let mut ended = 0;
            let mut progressed = false;
            for index in 0..self.worker.warps.len() {
                let warp = &mut self.worker.warps[index];
                if warp.waiting.is_some() {
                    continue;
                }
                let warp_id = WarpId {
                    block: self.number,
                    warp: index as u32,
                };
                self.observer.turn(warp_id);
                let mut turn = a_turn;
                let before = warp.alive().count_ones();
                let status = warp.run(
                    self.launch,
                    &mut self.worker.shared,
                    &mut self.worker.recent,
                    self.observer,
                    warp_id,
                    &mut turn,
                )?;
                executed += u64::from(a_turn - turn);
                self.alive -= before - warp.alive().count_ones();
                match status {
                    Status::Ended => ended += 1,
                    Status::Yielded => progressed = true,
                    Status::Barrier => {
                        progressed = true;
                        self.arrive(index)?;
                    }
                }
            }
            if ended == self.worker.warps.len() {
                self.launch
                    .progress
                    .instructions
                    .fetch_add(executed, Ordering::Relaxed);
                return Ok(());
            }
            // A barrier may have waited for warps that have now ended.
            let mut released = false;
            for id in 0..BARRIERS {
                released |= self.release(id);
            }
            if !progressed && !released {
                return Err(self.deadlock());
            }
            if executed >= u64::from(a_turn) {
                let before = self
                    .launch
                    .progress
                    .instructions
                    .fetch_add(executed, Ordering::Relaxed);
                if before + executed > self.launch.config.max_instructions {
                    return Err(self.over_budget());
                }
                executed = 0;
                if self.launch.progress.faulted.load(Ordering::Relaxed) < self.number {
                    return Ok(());
                }
            }
        }
    }

    /// The number of instructions in one turn: at most what the launch may still execute.
    fn turn(&self) -> u32 {
        u32::try_from(self.launch.config.max_instructions).map_or(TURN, |most| most.clamp(1, TURN))
    }

    /// Handles a warp's arrival at a barrier.
    fn arrive(&mut self, index: usize) -> Result<(), BlockFault> {
        let warp = &mut self.worker.warps[index];
        let Some(arrival) = warp.arrival.take() else {
            return Ok(());
        };
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
        // With a count, whole warps are counted, however many threads they have.
        barrier.threads += if arrival.count.is_some() {
            32
        } else {
            warp.alive().count_ones()
        };
        if let Some(votes) = arrival.votes {
            barrier.yes += votes.yes.count_ones();
            barrier.votes += votes.lanes.count_ones();
        }
        self.observer.barrier(
            site,
            WarpId {
                block: self.number,
                warp: index as u32,
            },
        );
        if arrival.waits {
            self.worker.warps[index].waiting = Some(arrival.id);
        }
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
        for warp in &mut self.worker.warps {
            if warp.waiting != Some(id as u32) {
                continue;
            }
            warp.waiting = None;
            if let Some((op, to)) = warp.reduction.take() {
                let result = match op {
                    ReduceOp::Popc => barrier.yes,
                    ReduceOp::And => u32::from(barrier.yes == barrier.votes),
                    ReduceOp::Or => u32::from(barrier.yes > 0),
                };
                warp.set_all(to, result);
            }
        }
        true
    }

    fn deadlock(&self) -> BlockFault {
        let mut waiting = Vec::new();
        let mut first = None;
        for (index, warp) in self.worker.warps.iter().enumerate() {
            if let Some(id) = warp.waiting {
                waiting.push(format!("warp {index} waits at barrier {id}"));
                first = first.or(Some((warp.site_before(), index as u32 * 32)));
            }
        }
        let missing: Vec<String> = self
            .barriers
            .iter()
            .enumerate()
            .filter(|(_, barrier)| barrier.threads > 0)
            .map(|(id, barrier)| match barrier.expected {
                Some(expected) => {
                    format!("barrier {id} has {} of {expected} threads", barrier.threads)
                }
                None => format!(
                    "barrier {id} has {} threads of those that are left",
                    barrier.threads
                ),
            })
            .collect();
        let waiting = format!("{}; {}", waiting.join(", "), missing.join(", "));
        let (site, thread) = first.unwrap_or((Site { function: 0, pc: 0 }, 0));
        BlockFault::new(site, thread, FaultKind::Deadlock { waiting })
    }

    fn over_budget(&self) -> BlockFault {
        let running = self
            .worker
            .warps
            .iter()
            .position(|warp| warp.alive() != 0)
            .unwrap_or(0);
        let warp = &self.worker.warps[running];
        let lane = lanes(warp.alive()).next().unwrap_or(0) as u32;
        let instructions = self.launch.config.max_instructions;
        let thread = running as u32 * 32 + lane;
        BlockFault::new(warp.site(), thread, FaultKind::Budget { instructions })
    }
}

/// The register that a barrier's reduction is written to.
pub(super) type Reduction = (ReduceOp, Reg);
