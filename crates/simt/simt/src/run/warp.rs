//! One warp: its registers, the frames of its calls, and its reconvergence stack.

mod callers;
mod execute;
mod frames;
mod pace;
mod paths;
mod repeats;
mod runtime;
mod waits;

use super::block::LaunchState;
use crate::memory::LocalMemory;
use crate::observe::{FrameChange, Path, Site, Waits};
use crate::regs::{LANES, Lanes32, Lanes64, Regs};
use frames::Frame;
pub(super) use pace::{Pace, Snapshot};
pub(super) use repeats::Varying;
use waits::Meeting;
pub(super) use waits::Waiting;

/// Why a warp stopped running for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// All its threads have ended.
    Ended,
    /// Its turn is over.
    Yielded,
    /// Lanes have arrived at a barrier, which [`WarpState::arrivals`] describes.
    Barrier,
    /// All its lanes wait, for a barrier or for each other.
    Blocked,
}

/// Lanes of a warp that arrive at a barrier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) site: Site,
    pub(super) id: u32,
    pub(super) count: Option<u32>,
    /// The number of threads that the barrier counts for this arrival.
    pub(super) threads: u32,
    pub(super) lanes: u32,
    /// Whether they wait: those that `bar.arrive` do not.
    pub(super) waits: bool,
    pub(super) votes: Option<Votes>,
}

/// The predicates that lanes contribute to a barrier's reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Votes {
    pub(super) lanes: u32,
    pub(super) yes: u32,
}

/// What the lanes of an entry of the reconvergence stack wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Nothing: they can be executed.
    Nothing,
    /// For the other lanes that the `membermask` of the instruction at `pc` names.
    Lanes,
    /// For a barrier, at which they have arrived. The `pc` is behind its instruction.
    Barrier(u32),
    /// For the other lanes of the warp, to arrive at an `.aligned` barrier with them. The `pc` is behind its
    /// instruction.
    Aligned(u32),
}

/// An entry of the reconvergence stack: lanes that run together, and where.
///
/// The lanes of an entry that stand in no entry above it are at its `pc`. If all of its lanes are, the entry can be
/// executed; the order of such entries is free, and the one that is executed is moved to the top. If only some are,
/// they have arrived where they reconverge with the lanes of entries above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StackEntry {
    pc: u32,
    mask: u32,
    /// Where these lanes stop and wait for the lanes of the entries below.
    reconvergence_pc: u32,
    /// Index into [`WarpState::frames`].
    frame: u32,
    wait: Wait,
}

impl StackEntry {
    /// What observers are told of it.
    fn path(&self, frames: &[Frame]) -> Path {
        Path {
            site: Site { function: frames[self.frame as usize].function, pc: self.pc },
            lanes: self.mask,
            reconverges_at: self.reconvergence_pc,
            waits: match self.wait {
                Wait::Nothing => Waits::Nothing,
                Wait::Lanes => Waits::Lanes,
                Wait::Barrier(id) => Waits::Barrier(id),
                Wait::Aligned(id) => Waits::Warp(id),
            },
        }
    }
}

/// One warp of a block.
pub(super) struct WarpState {
    /// Its block's rank in the cluster.
    pub(super) rank: u32,
    /// Which of the block's warps.
    pub(super) number: u32,
    /// The lanes that have a thread.
    threads: u32,
    /// The lanes whose thread has ended.
    ended: u32,
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
    local: LocalMemory,
    frames: Vec<Frame>,
    stack: Vec<StackEntry>,
    /// Whether the kernel's registers have been filled.
    filled: bool,
    /// The coordinates of the block and of its cluster.
    block: [u32; 3],
    cluster: [u32; 3],
    /// Lanes that have arrived at the cluster's barrier, and those for which all others have.
    pub(super) cluster_arrived: u32,
    cluster_over: u32,
    tid: [Lanes32; 3],
    /// The clock that its kernel reads.
    now: u64,
    /// The addresses of the memory instruction that is executed.
    at: Lanes64,
    /// Arrivals at barriers that the block has not counted yet.
    pub(super) arrivals: Vec<Arrival>,
    /// Lanes that went on past the place where they would have reconverged with others, which wait for lanes.
    passed: u32,
    /// Whether lanes went on without those with which they would have reconverged, and may not be with them again.
    is_separated: bool,
    /// Lanes that have met, until an observer is told.
    met: Vec<Meeting>,
    /// What `malloc` has given its lanes since an observer was told: addresses and bytes.
    allocated: Vec<(u64, u64)>,
    /// The call or the return that lanes have executed last, until an observer is told.
    changed: Option<FrameChange>,
    /// Where threads have ended last, and the first of their lanes.
    ended_at: Option<(Site, u32)>,
    pub(super) pace: Pace,
}

impl WarpState {
    pub(super) fn new(launch: &LaunchState<'_>, rank: u32, number: u32) -> Self {
        let [x, y, z] = launch.block;
        let mut tid = [[0; LANES]; 3];
        let mut threads = 0;
        for lane in 0..LANES as u32 {
            let index = number * LANES as u32 + lane;
            threads |= u32::from(index < x * y * z) << lane;
            tid[0][lane as usize] = index % x;
            tid[1][lane as usize] = index / x % y;
            tid[2][lane as usize] = index / (x * y);
        }
        Self {
            rank,
            number,
            threads,
            ended: 0,
            r32: Vec::new(),
            r64: Vec::new(),
            preds: Vec::new(),
            local: LocalMemory::default(),
            frames: Vec::new(),
            stack: Vec::new(),
            filled: false,
            block: [0; 3],
            cluster: [0; 3],
            now: 0,
            cluster_arrived: 0,
            cluster_over: 0,
            tid,
            at: [0; LANES],
            arrivals: Vec::new(),
            passed: 0,
            is_separated: false,
            met: Vec::new(),
            allocated: Vec::new(),
            changed: None,
            ended_at: None,
            pace: Pace::default(),
        }
    }

    /// Starts in the cluster and the block at these coordinates; `false` if there is no local memory for it.
    pub(super) fn begin(&mut self, launch: &LaunchState<'_>, cluster: [u32; 3], block: [u32; 3]) -> bool {
        (self.cluster, self.block) = (cluster, block);
        (self.cluster_arrived, self.cluster_over) = (0, 0);
        self.ended = !self.threads;
        self.stack.clear();
        self.frames.clear();
        self.arrivals.clear();
        (self.passed, self.is_separated) = (0, false);
        self.ended_at = None;
        self.pace.begin();
        self.enter_kernel(launch)
    }

    /// The lanes whose thread has not ended.
    pub(super) fn alive(&self) -> u32 {
        !self.ended
    }

    /// The place of the instruction that the lanes of an entry are at.
    fn site_of(&self, entry: &StackEntry) -> Site {
        Site { function: self.frames[entry.frame as usize].function, pc: entry.pc }
    }

    /// The place of the instruction that the warp is at.
    pub(super) fn site(&self) -> Site {
        let start = Site { function: 0, pc: 0 };
        self.stack.last().map_or(start, |entry| self.site_of(entry))
    }

    fn regs(&mut self, frame: u32) -> Regs<'_> {
        let frame = self.frames[frame as usize];
        Regs { r32: &mut self.r32[frame.r32..], r64: &mut self.r64[frame.r64..], preds: &mut self.preds[frame.preds..] }
    }
}
