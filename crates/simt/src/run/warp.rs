//! One warp: its registers, the frames of its calls, and its reconvergence stack.

mod callers;
mod execute;
mod pace;
mod paths;
mod repeats;
mod runtime;

use super::block::LaunchState;
use crate::code::{Call, FrameInit, Func, NEVER, Op, RESERVED_SHARED, Reg, Slot, Special};
use crate::memory::LocalMemory;
use crate::observe::Site;
use crate::regs::{ALL, LANES, Lanes32, Lanes64, Regs, lanes};
pub(super) use pace::{Pace, Snapshot};
pub(super) use repeats::Varying;

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
    /// Whether it is the cluster's barrier.
    pub(super) of_cluster: bool,
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

/// A function being executed. Frames of different lanes may share registers and local memory, of which each uses its
/// own lanes'.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    function: u32,
    /// Its registers begin here in each file.
    r32: usize,
    r64: usize,
    preds: usize,
    /// Its local memory begins here.
    local: u32,
    /// Bytes of local memory that a GPU would use for it and its callers, which have to save registers.
    depth_bytes: u32,
    /// The frame of the caller and the program counter of the call there.
    call: Option<(u32, u32)>,
    /// Whether an entry of the stack belongs to it.
    live: bool,
}

/// One warp of a block.
pub(super) struct WarpState {
    /// Its block's rank in the cluster.
    rank: u32,
    /// Which of the block's warps.
    number: u32,
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
    /// Whether the entry's registers have been filled.
    filled: bool,
    /// The coordinates of the block and of its cluster.
    block: [u32; 3],
    cluster: [u32; 3],
    /// Lanes that have arrived at the cluster's barrier, and those for which all others have.
    pub(super) cluster_arrived: u32,
    cluster_over: u32,
    tid: [Lanes32; 3],
    /// Arrivals at barriers that the block has not counted yet.
    pub(super) arrivals: Vec<Arrival>,
    /// Lanes that others wait for even if they end: they went on past the place where they would have reconverged with
    /// those, and have to come to the instruction that those wait at.
    expected: u32,
    /// Lanes that met at instructions at which they waited for each other.
    met: Vec<(Site, u32)>,
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
            cluster_arrived: 0,
            cluster_over: 0,
            tid,
            arrivals: Vec::new(),
            expected: 0,
            met: Vec::new(),
            pace: Pace::default(),
        }
    }

    /// Starts in the cluster of this number; `false` if there is no local memory for it.
    pub(super) fn begin(&mut self, launch: &LaunchState<'_>, cluster: u64) -> bool {
        (self.cluster, self.block) = launch.coordinates(cluster, self.rank);
        (self.cluster_arrived, self.cluster_over) = (0, 0);
        self.ended = !self.threads;
        self.stack.clear();
        self.frames.clear();
        self.arrivals.clear();
        self.expected = 0;
        self.pace.begin();
        self.enter(launch, 0, self.threads, None)
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

    /// Begins a frame; `false` if there is no local memory for it.
    fn enter(&mut self, launch: &LaunchState<'_>, function: u32, mask: u32, call: Option<(u32, u32)>) -> bool {
        let func = &launch.program.functions[function as usize];
        let mut frame = Frame { function, call, live: true, ..Frame::default() };
        if let Some((caller, _)) = call {
            let caller = self.frames[caller as usize];
            let below = &launch.program.functions[caller.function as usize];
            frame.r32 = caller.r32 + below.r32 as usize;
            frame.r64 = caller.r64 + below.r64 as usize;
            frame.preds = caller.preds + below.preds as usize;
            frame.local = caller.local + below.frame_bytes;
            if let Some(top) = below.stack_top {
                let tops = &self.r32[caller.r32 + top.0 as usize];
                let highest = lanes(mask).map(|lane| tops[lane]).max();
                frame.local = frame.local.max(highest.unwrap_or(0)).next_multiple_of(16);
            }
            frame.depth_bytes = caller
                .depth_bytes
                .saturating_add(below.frame_bytes + 4 * below.r32 + 8 * below.r64 + 8)
                .max(frame.local);
        }
        let depth = frame.depth_bytes.checked_add(func.frame_bytes);
        if depth.is_none_or(|depth| depth > launch.config.max_local_bytes) {
            return false;
        }
        let local = frame.local + func.frame_bytes;
        let has_room = grow(&mut self.r32, frame.r32 + func.r32 as usize, [0; LANES])
            && grow(&mut self.r64, frame.r64 + func.r64 as usize, [0; LANES])
            && grow(&mut self.preds, frame.preds + func.preds as usize, 0)
            && self.frames.try_reserve(1).is_ok()
            && self.stack.try_reserve(1).is_ok()
            && (self.local.len() >= local || self.local.grow(local));
        if !has_room {
            return false;
        }
        self.stack.push(StackEntry {
            pc: 0,
            mask,
            reconvergence_pc: NEVER,
            frame: self.frames.len() as u32,
            wait: Wait::Nothing,
        });
        self.frames.push(frame);
        // Nothing writes a filled register, so the entry's keep their values from block to block.
        let again = function == 0 && self.filled;
        self.filled |= function == 0;
        let mask = if call.is_none() { ALL } else { mask };
        self.fill(launch, func, frame, mask, again);
        true
    }

    /// Fills the registers of a frame that begins with the lanes of `mask`; `again`, only those that differ between
    /// blocks.
    fn fill(&mut self, launch: &LaunchState<'_>, func: &Func, frame: Frame, mask: u32, again: bool) {
        for filled in &func.frame_init {
            let differs = matches!(
                filled.init,
                FrameInit::Special(Special::Ctaid(_) | Special::Clusterid(_)) | FrameInit::FrameEnd
            );
            if again && !differs {
                continue;
            }
            // A fast path for the registers that differ between blocks.
            if let (FrameInit::Special(Special::Ctaid(axis)), Reg::R32(reg), ALL) = (filled.init, filled.reg, mask) {
                self.r32[frame.r32 + reg.0 as usize] = [self.block[axis as usize]; LANES];
                continue;
            }
            let values: Lanes64 = match filled.init {
                FrameInit::Number(value) => [value; LANES],
                FrameInit::Global { variable, offset } => {
                    [launch.variables[variable as usize].wrapping_add_signed(offset); LANES]
                }
                FrameInit::Local(offset) => [u64::from(frame.local.wrapping_add(offset)); LANES],
                FrameInit::FrameEnd => [u64::from(frame.local + func.frame_bytes); LANES],
                FrameInit::DynamicShared(offset) => {
                    [u64::from(launch.dynamic_shared_at()).wrapping_add_signed(offset); LANES]
                }
                FrameInit::Special(special) => self.special(launch, special).map(u64::from),
            };
            let mut regs = self.regs(self.frames.len() as u32 - 1);
            match filled.reg {
                Reg::R32(reg) => regs.set32(reg, mask, &values.map(|value| value as u32)),
                Reg::R64(reg) => regs.set64(reg, mask, &values),
                Reg::Pred(reg) => regs.set_pred(reg, mask, if values[0] == 0 { 0 } else { ALL }),
            }
        }
    }

    fn special(&self, launch: &LaunchState<'_>, special: Special) -> Lanes32 {
        let each = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
        let threads: u32 = launch.block.iter().product();
        let shared = launch.dynamic_shared_at() + launch.dynamic_shared;
        match special {
            Special::Tid(axis) => self.tid[axis as usize],
            Special::Ntid(axis) => [launch.block[axis as usize]; LANES],
            Special::Ctaid(axis) => [self.block[axis as usize]; LANES],
            Special::Nctaid(axis) => [launch.grid[axis as usize]; LANES],
            Special::LaneId => each(|lane| lane),
            Special::WarpId => [self.number; LANES],
            Special::NWarpId => [threads.div_ceil(32); LANES],
            // Any number would do, such as one multiprocessor for each host thread: a kernel may not depend on it.
            Special::SmId | Special::GridId => [0; LANES],
            Special::NSmId => [1; LANES],
            Special::Zero => [0; LANES],
            Special::Clusterid(axis) => [self.cluster[axis as usize]; LANES],
            Special::Nclusterid(axis) => [launch.clusters()[axis as usize]; LANES],
            Special::ClusterCtaid(axis) => [self.block[axis as usize] % launch.cluster[axis as usize]; LANES],
            Special::ClusterNctaid(axis) => [launch.cluster[axis as usize]; LANES],
            Special::ClusterCtarank => [self.rank; LANES],
            Special::ClusterNctarank => [launch.cluster_blocks(); LANES],
            Special::IsExplicitCluster => [u32::from(launch.explicit_cluster); LANES],
            Special::LanemaskEq => each(|lane| 1 << lane),
            Special::LanemaskLe => each(|lane| u32::MAX >> (31 - lane)),
            Special::LanemaskLt => each(|lane| (1 << lane) - 1),
            Special::LanemaskGe => each(|lane| u32::MAX << lane),
            Special::LanemaskGt => each(|lane| (u32::MAX << lane) & !(1 << lane)),
            Special::TotalSmemSize => [shared; LANES],
            Special::DynamicSmemSize => [launch.dynamic_shared; LANES],
            Special::AggrSmemSize => [shared + RESERVED_SHARED; LANES],
            Special::ReservedSmem(behind) => [launch.reserved_shared_at() + behind; LANES],
            Special::Envreg(1) => [(launch.workspace >> 32) as u32; LANES],
            Special::Envreg(2) => [launch.workspace as u32; LANES],
            Special::Envreg(_) => [0; LANES],
        }
    }

    fn call(&mut self, launch: &LaunchState<'_>, pc: u32, function: u32, call: &Call, active: u32) -> bool {
        let caller = self.top().frame;
        if !self.enter(launch, function, active, Some((caller, pc))) {
            return false;
        }
        let callee = self.top().frame;
        let [from, to] = [caller, callee].map(|frame| self.frames[frame as usize].local);
        let parameters = &launch.program.functions[function as usize].slots.parameters;
        self.copy(from, &call.slots.parameters, to, parameters, active);
        true
    }

    /// The lanes of `active` return from their function: its results go to the caller.
    fn leave(&mut self, launch: &LaunchState<'_>, active: u32) {
        let number = self.top().frame;
        for entry in &mut self.stack {
            if entry.frame == number {
                entry.mask &= !active;
            }
        }
        let callee = self.frames[number as usize];
        let Some((caller, pc)) = callee.call else {
            self.ended |= active;
            return;
        };
        let caller = self.frames[caller as usize];
        let func = &launch.program.functions[caller.function as usize];
        if let Op::Call(call) = &func.code[pc as usize].op {
            let own = &launch.program.functions[callee.function as usize].slots;
            let (from, to) = (callee.local, caller.local);
            self.copy(from, &own.results, to, &call.slots.results, active);
        }
    }

    /// Removes the entry on top of the reconvergence stack, and its frame if it was the frame's last.
    fn pop(&mut self) {
        let Some(StackEntry { frame, .. }) = self.stack.pop() else {
            return;
        };
        if self.stack.last().is_some_and(|below| below.frame == frame) {
            return;
        }
        if !self.stack.iter().any(|entry| entry.frame == frame) {
            self.frames[frame as usize].live = false;
            while self.frames.last().is_some_and(|frame| !frame.live) {
                self.frames.pop();
            }
        }
    }

    /// Copies slots of the frame at `from` to those of the frame at `to`.
    fn copy(&mut self, from: u32, of: &[Slot], to: u32, into: &[Slot], mask: u32) {
        for (of, into) in of.iter().zip(into) {
            for lane in lanes(mask) {
                for byte in 0..of.bytes.min(into.bytes) {
                    let value = self.local.byte(lane, from + of.at + byte);
                    self.local.set_byte(lane, to + into.at + byte, value);
                }
            }
        }
    }
}

/// Gives `values` a length of `len` at least; `false` if the host has no memory for it.
fn grow<T: Clone>(values: &mut Vec<T>, len: usize, value: T) -> bool {
    let more = len.saturating_sub(values.len());
    let has_room = values.try_reserve(more).is_ok();
    if has_room && more > 0 {
        values.resize(len, value);
    }
    has_room
}
