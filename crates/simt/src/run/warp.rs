//! One warp: its registers, the frames of its calls, and its reconvergence stack.

mod execute;

use super::block::{LaunchState, Reduction};
use crate::code::{Call, FrameInit, Func, NEVER, Op, Reg, Special};
use crate::memory::LocalMemory;
use crate::observe::Site;
use crate::regs::{ALL, LANES, Lanes32, Lanes64, Regs, lanes};

/// Why a warp stopped running for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// All its threads have ended.
    Ended,
    /// Its turn is over.
    Yielded,
    /// It has arrived at a barrier, which [`WarpState::arrival`] describes.
    Barrier,
}

/// A warp at a barrier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) site: Site,
    pub(super) id: u32,
    pub(super) count: Option<u32>,
    pub(super) waits: bool,
    pub(super) votes: Option<Votes>,
}

/// The predicates that a warp contributes to a barrier's reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Votes {
    pub(super) lanes: u32,
    pub(super) yes: u32,
}

/// An entry of the reconvergence stack: lanes that run together, and where.
#[derive(Debug, Clone, Copy)]
struct StackEntry {
    pc: u32,
    mask: u32,
    /// Where these lanes stop and wait for the lanes of the entries below.
    reconvergence_pc: u32,
}

/// A function being executed.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    function: u32,
    /// Its registers begin here in each file.
    r32: usize,
    r64: usize,
    preds: usize,
    /// Its local memory begins here.
    local: u32,
    /// Its entries on the reconvergence stack begin here.
    stack: usize,
    /// The lanes that it was entered with.
    lanes: u32,
    /// The program counter of the call in the frame below.
    call: Option<u32>,
}

/// One warp of a block.
pub(super) struct WarpState {
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
    /// The block's coordinates.
    block: [u32; 3],
    tid: [Lanes32; 3],
    /// The barrier that it waits at.
    pub(super) waiting: Option<u32>,
    pub(super) arrival: Option<Arrival>,
    pub(super) reduction: Option<Reduction>,
}

impl WarpState {
    pub(super) fn new(launch: &LaunchState<'_>, number: u32) -> Self {
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
            tid,
            waiting: None,
            arrival: None,
            reduction: None,
        }
    }

    /// Starts the block at these coordinates; `false` if there is no local memory for it.
    pub(super) fn begin(&mut self, launch: &LaunchState<'_>, block: [u32; 3]) -> bool {
        self.block = block;
        self.ended = !self.threads;
        self.stack.clear();
        self.frames.clear();
        self.waiting = None;
        self.arrival = None;
        self.reduction = None;
        self.enter(launch, 0, self.threads, None)
    }

    /// The lanes whose thread has not ended.
    pub(super) fn alive(&self) -> u32 {
        !self.ended
    }

    /// The place of the instruction that the warp is at.
    pub(super) fn site(&self) -> Site {
        let function = self.frames.last().map_or(0, |frame| frame.function);
        Site {
            function,
            pc: self.stack.last().map_or(0, |entry| entry.pc),
        }
    }

    /// The place of the instruction that the warp executed last.
    pub(super) fn site_before(&self) -> Site {
        let site = self.site();
        Site {
            pc: site.pc.saturating_sub(1),
            ..site
        }
    }

    /// Writes one value into a register of the current frame, in all lanes.
    pub(super) fn set_all(&mut self, to: Reg, value: u32) {
        let mut regs = self.regs();
        match to {
            Reg::R32(to) => regs.set32(to, ALL, &[value; LANES]),
            Reg::R64(to) => regs.set64(to, ALL, &[u64::from(value); LANES]),
            Reg::Pred(to) => regs.set_pred(to, ALL, if value == 0 { 0 } else { ALL }),
        }
    }

    fn regs(&mut self) -> Regs<'_> {
        let frame = self.frames.last().copied().unwrap_or_default();
        Regs {
            r32: &mut self.r32[frame.r32..],
            r64: &mut self.r64[frame.r64..],
            preds: &mut self.preds[frame.preds..],
        }
    }

    /// Begins a frame; `false` if there is no local memory for it.
    fn enter(
        &mut self,
        launch: &LaunchState<'_>,
        function: u32,
        mask: u32,
        call: Option<u32>,
    ) -> bool {
        let func = &launch.program.functions[function as usize];
        let stack = self.stack.len();
        let mut frame = Frame {
            function,
            stack,
            lanes: mask,
            call,
            ..Frame::default()
        };
        if let Some(caller) = self.frames.last() {
            let below = &launch.program.functions[caller.function as usize];
            frame.r32 = caller.r32 + below.r32 as usize;
            frame.r64 = caller.r64 + below.r64 as usize;
            frame.preds = caller.preds + below.preds as usize;
            frame.local = caller.local + below.frame_bytes;
        }
        let Some(local) = frame.local.checked_add(func.frame_bytes) else {
            return false;
        };
        if local > launch.config.max_local_bytes {
            return false;
        }
        grow(&mut self.r32, frame.r32 + func.r32 as usize, [0; LANES]);
        grow(&mut self.r64, frame.r64 + func.r64 as usize, [0; LANES]);
        grow(&mut self.preds, frame.preds + func.preds as usize, 0);
        if self.local.len() < local && !self.local.grow(local) {
            return false;
        }
        self.frames.push(frame);
        self.stack.push(StackEntry {
            pc: 0,
            mask,
            reconvergence_pc: NEVER,
        });
        // Nothing writes a filled register, so the entry's keep their values from block to block.
        let again = function == 0 && self.filled;
        self.filled |= function == 0;
        self.fill(launch, func, frame, again);
        true
    }

    /// Fills the registers of a frame that begins; `again`, only those that differ between blocks.
    fn fill(&mut self, launch: &LaunchState<'_>, func: &Func, frame: Frame, again: bool) {
        for filled in &func.frame_init {
            // Fast paths for the most frequent registers that differ between blocks.
            if let (FrameInit::Special(Special::Ctaid(axis)), Reg::R32(reg)) =
                (filled.init, filled.reg)
            {
                self.r32[frame.r32 + reg.0 as usize] = [self.block[axis as usize]; LANES];
                continue;
            }
            if again && !matches!(filled.init, FrameInit::Special(Special::Ctaid(_))) {
                continue;
            }
            let values: Lanes64 = match filled.init {
                FrameInit::Number(value) => [value; LANES],
                FrameInit::Global { variable, offset } => {
                    [launch.globals[variable as usize].wrapping_add_signed(offset); LANES]
                }
                FrameInit::Local(offset) => [u64::from(frame.local.wrapping_add(offset)); LANES],
                FrameInit::DynamicShared(offset) => {
                    [u64::from(launch.dynamic_shared_at()).wrapping_add_signed(offset); LANES]
                }
                FrameInit::Special(special) => self.special(launch, special).map(u64::from),
            };
            let mut regs = self.regs();
            match filled.reg {
                Reg::R32(reg) => regs.set32(reg, ALL, &values.map(|value| value as u32)),
                Reg::R64(reg) => regs.set64(reg, ALL, &values),
                Reg::Pred(reg) => regs.set_pred(reg, ALL, if values[0] == 0 { 0 } else { ALL }),
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
            Special::SmId | Special::GridId | Special::Zero => [0; LANES],
            Special::NSmId | Special::One => [1; LANES],
            Special::LanemaskEq => each(|lane| 1 << lane),
            Special::LanemaskLe => each(|lane| u32::MAX >> (31 - lane)),
            Special::LanemaskLt => each(|lane| (1 << lane) - 1),
            Special::LanemaskGe => each(|lane| u32::MAX << lane),
            Special::LanemaskGt => each(|lane| (u32::MAX << lane) & !(1 << lane)),
            Special::TotalSmemSize => [shared; LANES],
            Special::DynamicSmemSize => [launch.dynamic_shared; LANES],
        }
    }

    fn call(&mut self, launch: &LaunchState<'_>, pc: u32, call: &Call, active: u32) -> bool {
        let caller = self.frames.last().copied().unwrap_or_default();
        if !self.enter(launch, call.function, active, Some(pc)) {
            return false;
        }
        let callee = self.frames.last().copied().unwrap_or_default();
        for copy in &call.arguments {
            self.copy(
                caller.local + copy.from,
                callee.local + copy.to,
                copy.bytes,
                active,
            );
        }
        true
    }

    /// Ends the frame on top: its results go to the caller.
    fn leave(&mut self, launch: &LaunchState<'_>) {
        let Some(callee) = self.frames.pop() else {
            return;
        };
        let (Some(pc), Some(caller)) = (callee.call, self.frames.last().copied()) else {
            return;
        };
        let func = &launch.program.functions[caller.function as usize];
        if let Op::Call(call) = &func.code[pc as usize].op {
            for copy in &call.results {
                self.copy(
                    callee.local + copy.from,
                    caller.local + copy.to,
                    copy.bytes,
                    callee.lanes,
                );
            }
        }
    }

    fn copy(&mut self, from: u32, to: u32, bytes: u32, mask: u32) {
        for lane in lanes(mask) {
            for byte in 0..bytes {
                let value = self.local.byte(lane, from + byte);
                self.local.set_byte(lane, to + byte, value);
            }
        }
    }
}

fn grow<T: Clone>(values: &mut Vec<T>, len: usize, value: T) {
    if values.len() < len {
        values.resize(len, value);
    }
}
