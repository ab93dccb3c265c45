//! Static patterns in a function's accesses: loads that spin on a flag, and stores that write a constant.

use std::collections::HashSet;

use simt::code::{FrameInit, Func, Op};
use simt::control;
use simt::memory::atomic::AtomicOp;
use simt::memory::load_store::Load;
use simt::memory::{Memory, Region};
use simt::observe::AccessKind;
use simt::regs::Reg;

/// Returns the strong loads and atomic operations that spin. A path leads from such an instruction back to it without a
/// store, a call, or a change of the address.
pub(super) fn spinning(func: &Func) -> HashSet<usize> {
    let all = func.code.iter().enumerate().filter(|(pc, inst)| {
        let Op::Memory(op) = &inst.op else { return false };
        let may_wait = match op {
            Memory::Load(op) => op.order.is_strong(),
            Memory::Atomic(op) => op.kind() == AccessKind::Atomic,
            _ => false,
        };
        may_wait && loops_back(func, *pc, &op.address_registers())
    });
    all.map(|(pc, _)| pc).collect()
}

/// Returns whether a path that does no work and does not write these registers leads from an instruction back to it.
fn loops_back(func: &Func, pc: usize, address: &[Reg]) -> bool {
    let mut seen = vec![false; func.code.len()];
    let mut next: Vec<usize> = func.successors(pc).collect();
    while let Some(at) = next.pop() {
        if at == pc {
            return true;
        }
        let is_new = seen.get_mut(at).is_some_and(|seen| !std::mem::replace(seen, true));
        if is_new
            && !does_work(&func.code[at].op)
            && !func.operands_of(at).writes.iter().any(|reg| address.contains(reg))
        {
            next.extend(func.successors(at));
        }
    }
    false
}

/// Returns whether a loop with this instruction does more than wait.
fn does_work(op: &Op) -> bool {
    match op {
        Op::Memory(Memory::Load(_) | Memory::Fence(..) | Memory::Mbarrier(_) | Memory::Address(_)) => false,
        Op::Memory(Memory::Atomic(op)) => op.kind() == AccessKind::Reduction,
        Op::Memory(_) | Op::Call(_) | Op::Matrix(_) => true,
        Op::Alu(_) | Op::Warp(_) | Op::Stack(_) | Op::Barrier(_) | Op::Clock { .. } | control!() => false,
    }
}

/// Returns whether an instruction is an atomic operation that replaces the old value. A compare-and-swap must store a
/// different value.
pub(super) fn exchanges(op: &Op) -> bool {
    let Op::Memory(Memory::Atomic(op)) = op else { return false };
    match op.op {
        AtomicOp::Exchange => true,
        AtomicOp::CompareExchange => op.new != op.operand.first().copied(),
        _ => false,
    }
}

/// Returns the registers that have the same value in all threads of a launch on every path. Such a register is
/// initialized with a constant, or has a single definition that uses only kernel parameters and other such registers.
pub(super) fn constants(func: &Func) -> HashSet<Reg> {
    let (mut defined, mut several) = (HashSet::new(), HashSet::new());
    let initial = func.frame_init.iter().map(|entry| entry.reg);
    for reg in initial.chain(func.operands().flat_map(|operands| operands.writes.iter().copied())) {
        if !defined.insert(reg) {
            several.insert(reg);
        }
    }
    let is_number = |init: FrameInit| matches!(init, FrameInit::Number(_) | FrameInit::Global { .. });
    let numbers = func.frame_init.iter().filter(|entry| is_number(entry.init)).map(|entry| entry.reg);
    let mut known: HashSet<Reg> = numbers.filter(|reg| !several.contains(reg)).collect();
    loop {
        let before = known.len();
        for (inst, operands) in func.code.iter().zip(func.operands()) {
            let computes = match &inst.op {
                Op::Alu(_) | Op::Memory(Memory::Address(_)) => inst.guard.is_none(),
                Op::Memory(Memory::Load(Load { address, .. })) => address.fixed && address.region == Region::Param,
                _ => false,
            };
            if computes && operands.reads.iter().all(|reg| known.contains(reg)) {
                known.extend(operands.writes.iter().filter(|reg| !several.contains(*reg)));
            }
        }
        if known.len() == before {
            return known;
        }
    }
}
