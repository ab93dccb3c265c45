//! A warp: its registers, the frames of its calls, and its reconvergence stack.

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

/// The reason why a warp has paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// All threads of the warp have ended.
    Ended,
    /// The warp's turn is over.
    Yielded,
    /// Lanes of the warp have arrived at a barrier; see [`WarpState::arrivals`].
    Barrier,
    /// All lanes of the warp wait for a barrier or for each other.
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
    /// Whether the lanes wait at the barrier: false for `bar.arrive`.
    pub(super) waits: bool,
    pub(super) votes: Option<Votes>,
}

/// The predicates that lanes contribute to a barrier's reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Votes {
    pub(super) lanes: u32,
    pub(super) yes: u32,
}

/// What the lanes of a reconvergence stack entry wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The lanes do not wait and can continue.
    Nothing,
    /// The other lanes in the `membermask` of the instruction at `pc`.
    Lanes,
    /// A barrier at which the lanes have arrived. The `pc` is after the barrier's instruction.
    Barrier(u32),
    /// The other lanes of the warp, which must arrive at an `.aligned` barrier together with these lanes. The `pc` is
    /// after the barrier's instruction.
    Aligned(u32),
}

/// An entry of the reconvergence stack: a group of lanes that run together, and their position.
///
/// The lanes of an entry that are not also in a higher entry are at the entry's `pc`. If all lanes of an entry are at
/// its `pc`, the entry can be executed. Such entries may be in any order, and the entry that is executed is moved to
/// the top. If only some lanes of an entry are at its `pc`, these lanes have arrived at the point where they reconverge
/// with lanes of higher entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StackEntry {
    pc: u32,
    mask: u32,
    /// The program counter at which these lanes stop and wait for the lanes of the lower entries.
    reconvergence_pc: u32,
    /// The index of the frame in [`WarpState::frames`].
    frame: u32,
    wait: Wait,
}

impl StackEntry {
    /// Returns the entry in the form that observers receive.
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

/// A warp of a block.
pub(super) struct WarpState {
    /// The rank of the warp's block in the cluster.
    pub(super) rank: u32,
    /// The number of the warp in its block.
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
    /// Whether the kernel's registers have been initialized.
    filled: bool,
    /// The coordinates of the block and of its cluster.
    block: [u32; 3],
    cluster: [u32; 3],
    /// The lanes that have arrived at the cluster's barrier, and the lanes whose phase of the barrier is complete.
    pub(super) cluster_arrived: u32,
    cluster_over: u32,
    tid: [Lanes32; 3],
    /// The clock value that the warp's kernel reads.
    now: u64,
    /// The addresses of the current memory instruction.
    at: Lanes64,
    /// Arrivals at barriers that the block has not yet counted.
    pub(super) arrivals: Vec<Arrival>,
    /// The lanes that continued past their reconvergence point without the rest of the warp while the rest waited for
    /// other lanes.
    passed: u32,
    /// Whether some lanes continued past their reconvergence point without the rest of the warp and may not have
    /// rejoined it.
    is_separated: bool,
    /// Groups of lanes that have met but have not yet been reported to an observer.
    met: Vec<Meeting>,
    /// The addresses and sizes of the blocks that `malloc` returned to lanes since the last report to an observer.
    allocated: Vec<(u64, u64)>,
    /// The last call or return of lanes, if it has not yet been reported to an observer.
    changed: Option<FrameChange>,
    /// The instruction at which threads of the warp ended most recently, and the lowest lane that ended there.
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

    /// Starts the warp in the cluster and the block with these coordinates. Returns `false` if there is no local memory
    /// for the warp.
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

    /// Returns the lanes whose thread has not ended.
    pub(super) fn alive(&self) -> u32 {
        !self.ended
    }

    /// Returns the position of an entry's current instruction.
    fn site_of(&self, entry: &StackEntry) -> Site {
        Site { function: self.frames[entry.frame as usize].function, pc: entry.pc }
    }

    /// Returns the position of the warp's current instruction.
    pub(super) fn site(&self) -> Site {
        let start = Site { function: 0, pc: 0 };
        self.stack.last().map_or(start, |entry| self.site_of(entry))
    }

    fn regs(&mut self, frame: u32) -> Regs<'_> {
        let frame = self.frames[frame as usize];
        Regs { r32: &mut self.r32[frame.r32..], r64: &mut self.r64[frame.r64..], preds: &mut self.preds[frame.preds..] }
    }
}
