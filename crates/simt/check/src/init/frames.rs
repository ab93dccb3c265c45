//! The frames of calls: arguments and results of functions, and the initial registers and local memory of a frame.

use super::Init;
use super::follower::all_bits;
use super::shadow::LocalShadow;
use super::taints::{Cause, History, Taints, Window};
use simt::code::{Func, Op};
use simt::memory::load_store::{Load, Store};
use simt::memory::{Memory, Region};
use simt::observe::{FrameChange, FramePlace, Site};
use simt::regs::{LANES, Reg, lanes};

/// The shadow state of a warp.
#[derive(Default)]
pub(super) struct WarpState {
    pub(super) taints: Taints,
    pub(super) local: LocalShadow,
    /// The current frame of each lane.
    frames: [Frame; LANES],
}

impl WarpState {
    /// Starts the kernel. `registers` lists the registers that may be read before they are written.
    pub(super) fn begin(&mut self, mask: u32, kernel: &Func, registers: &[(u32, Reg)]) {
        let window = Window::new(&FramePlace::default(), kernel);
        self.local.begin(kernel.frame_bytes);
        self.taints.clear();
        self.taints.frame = window;
        self.frames = [Frame { registers: window, local: 0 }; LANES];
        self.begin_registers(mask, registers);
    }

    /// Marks registers of the current frame as unwritten in the lanes of `mask`, each with its origin.
    fn begin_registers(&mut self, mask: u32, registers: &[(u32, Reg)]) {
        for (origin, reg) in registers {
            let cause = Cause { origin: *origin, history: History::Copied };
            self.taints.set(*reg, mask, &[all_bits(*reg); LANES], cause);
        }
    }
}

/// The frame of a function.
#[derive(Clone, Copy, Default)]
struct Frame {
    registers: Window,
    /// The offset of the frame in local memory.
    local: u32,
}

impl Init {
    /// Makes the frame of some lanes the current one.
    pub(super) fn enter(&mut self, mask: u32) {
        let warp = self.warp();
        warp.taints.frame = warp.frames[mask.trailing_zeros() as usize % LANES].registers;
    }

    /// Describes the function parameter or function result that an instruction names.
    pub(super) fn parameter(&mut self, site: Site, lane: usize, address: u64) -> String {
        let within = address.saturating_sub(self.warp().frames[lane].local.into());
        let operands = self.facts.function.program().operands(site);
        let covers = |at: u64, bytes: Option<u64>| within >= at && within - at < bytes.unwrap_or(0);
        let found = operands.variables.iter().find(|variable| variable.in_frame && covers(variable.at, variable.bytes));
        found
            .map_or(String::new(), |variable| format!("byte {} of parameter `{}`", within - variable.at, variable.name))
    }

    /// Returns whether an instruction accesses parameters or results of functions, which are stored in frames.
    pub(super) fn is_in_frame(&self, site: Site) -> bool {
        match &self.inst(site).op {
            Op::Memory(Memory::Load(Load { address, .. }) | Memory::Store(Store { address, .. })) => {
                address.region == Region::FrameParam
            }
            _ => false,
        }
    }

    /// Records that lanes have called a function or have returned from one.
    pub(super) fn change_frames(&mut self, mask: u32, change: &FrameChange) {
        let (facts, lives) = (self.facts.clone(), self.lives.clone());
        let functions = &facts.function.program().functions;
        let FrameChange { call, caller, callee, returns } = change;
        let Op::Call(call) = &functions[call.function as usize].code[call.pc as usize].op else { return };
        let warp = self.warp();
        let Some(callee) = callee else {
            let results = call.slots.results.iter();
            return results.for_each(|slot| warp.local.define(mask, caller.local + slot.at, slot.bytes));
        };
        let func = &functions[callee.function as usize];
        // The callee's registers may occupy the place of another function's registers, so clear the undefined bits
        // there.
        warp.taints.frame = Window::new(callee, func);
        warp.taints.forget(mask, |_| true);
        let (next, from_slots, to_slots) = match returns {
            true => (caller, &func.slots.results, &call.slots.results),
            false => (callee, &call.slots.parameters, &func.slots.parameters),
        };
        let [from, to] = if *returns { [callee, caller] } else { [caller, callee] }.map(|frame| frame.local);
        if !returns {
            warp.local.begin_frame(mask, callee.local, func.frame_bytes);
            warp.begin_registers(mask, &lives.unwritten[callee.function as usize]);
        }
        for (source, target) in from_slots.iter().zip(to_slots) {
            warp.local.copy(mask, from + source.at, to + target.at, source.bytes.min(target.bytes));
        }
        if *returns {
            warp.local.define(mask, callee.local, func.frame_bytes);
        }
        let registers = Window::new(next, &functions[next.function as usize]);
        lanes(mask).for_each(|lane| warp.frames[lane] = Frame { registers, local: next.local });
    }
}
