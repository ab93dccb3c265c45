//! The frames of a warp's calls: their registers, local memory, and initial values.

use super::{StackEntry, Wait, WarpState};
use crate::code::{Call, FrameInit, InitializedRegister, NEVER, Op, RESERVED_SHARED, Reg, Slot, Special};
use crate::observe::{FrameChange, FramePlace, Site};
use crate::regs::{ALL, LANES, Lanes32, Lanes64, lanes};
use crate::run::block::LaunchState;

/// The frame of a function call. Frames of different lanes may share registers and local memory; each frame uses only
/// the parts that belong to its lanes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    pub(super) function: u32,
    /// The index of the frame's first register in each file.
    pub(super) r32: usize,
    pub(super) r64: usize,
    pub(super) preds: usize,
    /// The offset of the frame's local memory.
    pub(super) local: u32,
    /// The number of bytes of local memory that a GPU would use for the frame's callers and the registers that they
    /// save.
    pub(super) depth_bytes: u32,
    /// The index of the caller's frame, and the program counter of the call in the caller.
    pub(super) call: Option<(u32, u32)>,
    /// Whether an entry of the reconvergence stack belongs to the frame.
    pub(super) live: bool,
}

impl Frame {
    /// Returns the position of the frame in the form that observers receive.
    pub(super) fn place(&self) -> FramePlace {
        let registers = [self.r32, self.r64, self.preds].map(|first| first as u32);
        FramePlace { function: self.function, registers, local: self.local }
    }
}

impl WarpState {
    /// Starts the kernel's frame. Returns `false` if there is no memory for the frame. The second and later blocks
    /// reuse the memory of the first block. They also reuse the values of initialized registers that do not differ
    /// between blocks, because no instruction writes these registers.
    pub(super) fn enter_kernel(&mut self, launch: &LaunchState<'_>) -> bool {
        if !self.filled {
            self.filled = self.enter(launch, 0, self.threads, None);
            return self.filled;
        }
        let frame = Frame { live: true, ..Frame::default() };
        self.push(frame, self.threads);
        for filled in &launch.block_registers {
            match (filled.init, filled.reg) {
                // A fast path for the most common initial value.
                (FrameInit::Special(Special::Ctaid(axis)), Reg::R32(reg)) => {
                    self.r32[reg.0 as usize].fill(self.block[axis as usize]);
                }
                _ => self.fill(launch, frame, ALL, std::slice::from_ref(filled)),
            }
        }
        true
    }

    /// Starts a function's frame. Returns `false` if there is no memory for the frame.
    fn enter(&mut self, launch: &LaunchState<'_>, function: u32, mask: u32, call: Option<(u32, u32)>) -> bool {
        let func = &launch.program.functions[function as usize];
        let mut frame = Frame { function, call, live: true, ..Frame::default() };
        if let Some((caller, _)) = call {
            let caller = self.frames[caller as usize];
            let caller_func = &launch.program.functions[caller.function as usize];
            frame.r32 = caller.r32 + caller_func.r32 as usize;
            frame.r64 = caller.r64 + caller_func.r64 as usize;
            frame.preds = caller.preds + caller_func.preds as usize;
            frame.local = caller.local + caller_func.frame_bytes;
            if let Some(top) = caller_func.stack_top {
                let tops = &self.r32[caller.r32 + top.0 as usize];
                let highest = lanes(mask).map(|lane| tops[lane]).max();
                frame.local = frame.local.max(highest.unwrap_or(0)).next_multiple_of(16);
            }
            frame.depth_bytes = caller
                .depth_bytes
                .saturating_add(caller_func.frame_bytes + 4 * caller_func.r32 + 8 * caller_func.r64 + 8)
                .max(frame.local);
        }
        let depth = frame.depth_bytes.checked_add(func.frame_bytes);
        if depth.is_none_or(|depth| depth > launch.config.max_local_bytes) {
            return false;
        }
        let local = frame.local + func.frame_bytes;
        let has_memory = grow(&mut self.r32, frame.r32 + func.r32 as usize, [0; LANES])
            && grow(&mut self.r64, frame.r64 + func.r64 as usize, [0; LANES])
            && grow(&mut self.preds, frame.preds + func.preds as usize, 0)
            && self.frames.try_reserve(1).is_ok()
            && self.stack.try_reserve(1).is_ok()
            && (self.local.len() >= local || self.local.grow(local));
        if !has_memory {
            return false;
        }
        self.push(frame, mask);
        let mask = if call.is_none() { ALL } else { mask };
        self.fill(launch, frame, mask, &func.frame_init);
        true
    }

    fn push(&mut self, frame: Frame, mask: u32) {
        let number = self.frames.len() as u32;
        self.stack.push(StackEntry { pc: 0, mask, reconvergence_pc: NEVER, frame: number, wait: Wait::Nothing });
        self.frames.push(frame);
    }

    /// Initializes registers of a frame that starts with the lanes of `mask`.
    fn fill(&mut self, launch: &LaunchState<'_>, frame: Frame, mask: u32, registers: &[InitializedRegister]) {
        for filled in registers {
            let values: Lanes64 = match filled.init {
                FrameInit::Number(value) => [value; LANES],
                FrameInit::Global { variable, offset } => {
                    [launch.variables[variable as usize].wrapping_add_signed(offset); LANES]
                }
                FrameInit::Local(offset) => [u64::from(frame.local.wrapping_add(offset)); LANES],
                FrameInit::FrameEnd => {
                    let func = &launch.program.functions[frame.function as usize];
                    [u64::from(frame.local + func.frame_bytes); LANES]
                }
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
            // A kernel must not depend on these numbers, so any value is correct.
            Special::SmId | Special::GridId | Special::Zero => [0; LANES],
            Special::NSmId => [1; LANES],
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
            Special::ReservedSmem(offset) => [launch.reserved_shared_at() + offset; LANES],
            Special::Envreg(1) => [(launch.workspace >> 32) as u32; LANES],
            Special::Envreg(2) => [launch.workspace as u32; LANES],
            Special::Envreg(_) => [0; LANES],
        }
    }

    pub(super) fn call(&mut self, launch: &LaunchState<'_>, pc: u32, function: u32, call: &Call, active: u32) -> bool {
        let caller = self.top().frame;
        if !self.enter(launch, function, active, Some((caller, pc))) {
            return false;
        }
        let callee = self.top().frame;
        let [caller, callee] = [caller, callee].map(|frame| self.frames[frame as usize]);
        let parameters = &launch.program.functions[function as usize].slots.parameters;
        self.copy(caller.local, &call.slots.parameters, callee.local, parameters, active);
        self.changed = Some(change(&caller, pc, Some(&callee), false));
        true
    }

    /// Makes the lanes of `active` return from their function, and copies the function's results to the caller.
    pub(super) fn leave(&mut self, launch: &LaunchState<'_>, active: u32) {
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
            let callee_slots = &launch.program.functions[callee.function as usize].slots;
            let (from, to) = (callee.local, caller.local);
            self.copy(from, &callee_slots.results, to, &call.slots.results, active);
        }
        self.changed = Some(change(&caller, pc, Some(&callee), true));
    }

    /// Removes the top entry of the reconvergence stack. Also removes the entry's frame if no other entry uses the
    /// frame.
    pub(super) fn pop(&mut self) {
        let Some(StackEntry { frame, .. }) = self.stack.pop() else {
            return;
        };
        if self.stack.last().is_some_and(|entry| entry.frame == frame) {
            return;
        }
        if !self.stack.iter().any(|entry| entry.frame == frame) {
            self.frames[frame as usize].live = false;
            while self.frames.last().is_some_and(|frame| !frame.live) {
                self.frames.pop();
            }
        }
    }

    /// Copies slots of the frame at `from` to slots of the frame at `to`.
    fn copy(&mut self, from: u32, from_slots: &[Slot], to: u32, to_slots: &[Slot], mask: u32) {
        for (from_slot, to_slot) in from_slots.iter().zip(to_slots) {
            for lane in lanes(mask) {
                for byte in 0..from_slot.bytes.min(to_slot.bytes) {
                    let value = self.local.byte(lane, from + from_slot.at + byte);
                    self.local.set_byte(lane, to + to_slot.at + byte, value);
                }
            }
        }
    }
}

/// Returns the [`FrameChange`] that observers receive for a call at `pc`, or for the return from it.
pub(super) fn change(caller: &Frame, pc: u32, callee: Option<&Frame>, returns: bool) -> FrameChange {
    let call = Site { function: caller.function, pc };
    FrameChange { call, caller: caller.place(), callee: callee.map(Frame::place), returns }
}

/// Extends `values` to a length of at least `len`. Returns `false` if the host has no memory for the values.
fn grow<T: Clone>(values: &mut Vec<T>, len: usize, value: T) -> bool {
    let more = len.saturating_sub(values.len());
    let has_memory = values.try_reserve(more).is_ok();
    if has_memory && more > 0 {
        values.resize(len, value);
    }
    has_memory
}
