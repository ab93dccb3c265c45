//! The effects of instructions on undefined bits, computed before the instructions run.

use super::Init;
use super::follower::{Follower, Scratch};
use super::taints::{Cause, History, Taints};
use simt::code::{Callee, Op};
use simt::control;
use simt::matrix::Matrix;
use simt::memory::Memory;
use simt::memory::address_op::AddressOp;
use simt::memory::atomic::{Atomic, AtomicOp, WideOp};
use simt::memory::bulk::BulkSource;
use simt::memory::load_store::Store;
use simt::observe::Step;
use simt::regs::{LANES, Lanes64, Reg, lanes};
use simt::warp::Warp;

const ADDRESS: (&str, &str) = ("address", "an address");

/// The state that is moved out of [`Init`] while an instruction is followed.
struct Followed {
    taints: Taints,
    scratch: Scratch,
}

impl Init {
    /// Returns the undefined bytes of consecutive registers, as one bit mask for each lane.
    fn bytes_of(&mut self, registers: &[Reg], width: u32, mask: u32) -> Option<(Lanes64, Cause)> {
        let taints = self.taints();
        let mut bytes = [0; LANES];
        let mut cause: Option<Cause> = None;
        for (index, reg) in registers.iter().enumerate() {
            let Some(taint) = taints.get(*reg) else { continue };
            for lane in lanes(taint.lanes & mask) {
                for byte in 0..width {
                    if taint.bits[lane] >> (8 * byte) & 0xff != 0 {
                        bytes[lane] |= 1 << (index as u32 * width + byte);
                        let before = cause.map_or(History::Copied, |cause| cause.history);
                        cause = Some(Cause { history: taint.cause.history.max(before), ..taint.cause });
                    }
                }
            }
        }
        cause.map(|cause| (bytes, cause))
    }

    /// Reports undefined registers that affect an address, a branch or another decision, and marks them as defined.
    fn report_undefined(&mut self, what: (&'static str, &str), step: &Step<'_>, registers: &[Reg], mask: u32) {
        for reg in registers {
            let Some(taint) = self.taints().get(*reg) else { continue };
            let (concerned, origin) = (taint.lanes & mask, taint.cause.origin);
            if concerned != 0 {
                self.report(what, step.site, concerned, origin);
                self.taints().clear_lanes(*reg, concerned);
            }
        }
    }

    /// Applies the effect of an instruction on undefined bits, before the instruction runs.
    pub(super) fn follow(&mut self, step: &Step<'_>) {
        let Step { site, active, lanes: mask, .. } = *step;
        let program = self.facts.function.program().clone();
        let inst = &program.functions[site.function as usize].code[site.pc as usize];
        let guard = inst.guard.map(|guard| Reg::Pred(guard.pred));
        let is_alu = matches!(inst.op, Op::Alu(_) | Op::Warp(_) | Op::Memory(Memory::Address(_)));
        if let Some(guard) = guard.filter(|_| !is_alu) {
            let what = match inst.op {
                Op::Branch { .. } | Op::BranchIndexed { .. } => ("branch", "a branch"),
                _ => ("condition", "whether the instruction is executed"),
            };
            self.report_undefined(what, step, &[guard], active);
        }
        let taints = std::mem::take(self.taints());
        let mut followed = Followed { taints, scratch: std::mem::take(&mut self.scratch) };
        let mut follower = Follower { program: &program, scratch: &mut followed.scratch, taints: &mut followed.taints };
        match &inst.op {
            Op::Alu(alu) => follower.alu(step, inst, alu),
            Op::Warp(op @ Warp::Shuffle { .. }) => follower.shuffle(step, op),
            Op::Warp(Warp::Vote { .. } | Warp::Match { .. } | Warp::Reduce { .. }) => follower.set_everywhere(step),
            Op::Matrix(matrix) => match &**matrix {
                Matrix::Multiply(op) => follower.multiply(step, op),
                Matrix::Transpose(_) => follower.set_everywhere(step),
                // The sums of a `wgmma` count as defined: their undefined bits are not followed until the product
                // completes.
                Matrix::GroupMultiply(_) | Matrix::Rows(_) | Matrix::Tile(_) | Matrix::Group(_) | Matrix::Nothing => {
                    follower.defines(step, mask);
                }
            },
            Op::Memory(Memory::Address(AddressOp::Zero { .. })) => follower.defines(step, mask),
            Op::Memory(Memory::Address(AddressOp::Shift { to, from, .. })) => match follower.cause(step, mask) {
                Some(cause) => {
                    let bits = follower.taints.bits(Reg::R64(*from));
                    follower.taints.set(Reg::R64(*to), mask, &bits, cause);
                }
                None => follower.defines(step, mask),
            },
            Op::Memory(Memory::Address(_)) => match follower.cause(step, mask) {
                Some(cause) => follower.set_all(step, cause),
                None => follower.defines(step, mask),
            },
            Op::Barrier(barrier) if barrier.reduce.is_some() => follower.set_everywhere(step),
            Op::Warp(Warp::ActiveMask { .. } | Warp::Elect { .. }) => follower.defines(step, mask),
            Op::Warp(Warp::Sync { .. }) => {}
            // These instructions are handled below or have no result.
            Op::Memory(_) | Op::Call(_) | Op::Stack(_) | Op::Barrier(_) | Op::Clock { .. } | control!() => {}
        }
        self.scratch = followed.scratch;
        *self.taints() = followed.taints;
        match &inst.op {
            Op::Memory(op) => self.follow_memory(step, op),
            Op::Matrix(matrix) => {
                if let Matrix::Rows(_) | Matrix::Tile(_) = &**matrix {
                    self.report_undefined(ADDRESS, step, &step.addresses, mask);
                }
            }
            Op::BranchIndexed { index, .. } => {
                self.report_undefined(("branch", "a branch"), step, &[Reg::R32(*index)], mask);
            }
            Op::Call(call) => {
                if let Callee::Pointer { address, .. } = call.callee {
                    self.report_undefined(("call", "which function is called"), step, &[Reg::R64(address)], mask);
                }
            }
            Op::Barrier(barrier) => {
                let count = barrier.count.map(Reg::R32);
                let registers: Vec<Reg> = [Reg::R32(barrier.id)].into_iter().chain(count).collect();
                self.report_undefined(("barrier", "which barrier is waited for"), step, &registers, mask);
            }
            Op::Stack(_) => {
                self.report_undefined(("stack", "the place of local memory"), step, step.reads(), mask);
                self.clear_writes(step, mask);
            }
            Op::Clock { .. } => self.clear_writes(step, mask),
            // These instructions are handled above or have no such operand.
            Op::Alu(_) | Op::Warp(_) | control!() => {}
        }
    }

    fn clear_writes(&mut self, step: &Step<'_>, mask: u32) {
        for reg in step.writes() {
            self.taints().clear_lanes(*reg, mask);
        }
    }

    fn follow_memory(&mut self, step: &Step<'_>, op: &Memory) {
        let Step { site, lanes: mask, .. } = *step;
        match op {
            Memory::Address(_) | Memory::Fence(..) | Memory::AsyncGroup(..) => {}
            Memory::Load(_) => {
                self.report_undefined(ADDRESS, step, &step.addresses, mask);
                self.clear_writes(step, mask);
            }
            Memory::Store(Store { from, width, .. }) => {
                self.report_undefined(ADDRESS, step, &step.addresses, mask);
                let bytes = self.bytes_of(from, width.bytes(), mask);
                self.current_store = bytes.map(|(bytes, cause)| (site, bytes, cause));
            }
            Memory::Atomic(op) => {
                self.report_undefined(ADDRESS, step, &step.addresses, mask);
                let Atomic { operand, new, width, op, .. } = &**op;
                let mut registers: Vec<Reg> = operand.iter().copied().chain(*new).collect();
                if let AtomicOp::WideOp(WideOp::CompareExchange { new }) = op {
                    registers.extend(new);
                }
                let plain = matches!(op, AtomicOp::WideOp(WideOp::Load | WideOp::Store));
                if plain {
                    let bytes = self.bytes_of(&registers, width.bytes(), mask);
                    self.current_store = bytes.map(|(bytes, cause)| (site, bytes, cause));
                } else {
                    self.report_undefined(("operand", "an operand of an atomic"), step, &registers, mask);
                }
                self.clear_writes(step, mask);
            }
            Memory::Bulk(op) => {
                let (data, bytes): (&[Reg], u32) = match &op.from {
                    BulkSource::Registers(registers, bytes) => (registers, *bytes),
                    BulkSource::Memory(..) => (&[], 0),
                };
                let others: Vec<Reg> = step.reads().iter().copied().filter(|reg| !data.contains(reg)).collect();
                self.report_undefined(("operand", "an operand of the instruction"), step, &others, mask);
                if op.reduce.is_some() {
                    self.report_undefined(("operand", "an operand of an atomic"), step, data, mask);
                }
                let bytes = self.bytes_of(data, bytes, mask);
                self.current_store = bytes.map(|(bytes, cause)| (site, bytes, cause));
            }
            Memory::AsyncCopy(_)
            | Memory::Mbarrier(_)
            | Memory::PendingCount { .. }
            | Memory::Tensor(_)
            | Memory::MapEdit(_)
            | Memory::Texture(_) => {
                self.report_undefined(("operand", "an operand of the instruction"), step, step.reads(), mask);
                self.clear_writes(step, mask);
            }
        }
    }
}
