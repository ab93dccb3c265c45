//! The calls that led a lane to an instruction, and the values for the panic messages of Rust's library.

use super::{Frame, WarpState};
use crate::alu::Alu;
use crate::code::{Inst, Op, Reg};
use crate::observe::Site;
use crate::run::block::LaunchState;

impl WarpState {
    /// Returns the calls on a lane's call stack, innermost first, with the values for the panic message of Rust's
    /// library, if they are known.
    pub(in crate::run) fn callers(&self, launch: &LaunchState<'_>, lane: usize) -> Vec<(Site, Vec<u64>)> {
        let mut entries = self.stack.iter().rev();
        let entry = entries.find(|entry| entry.mask >> lane & 1 == 1);
        let mut frame = entry.map(|entry| self.frames[entry.frame as usize]);
        std::iter::from_fn(|| {
            let callee = frame?;
            let (caller, pc) = callee.call?;
            let caller = self.frames[caller as usize];
            frame = Some(caller);
            let functions = &launch.program.functions;
            let called = &functions[callee.function as usize];
            let name = &called.name;
            let code = &functions[caller.function as usize].code;
            let values = match &code[pc as usize].op {
                Op::Call(_) if name.contains("slice_index_fail") => {
                    let arguments = called.slots.parameters.iter().filter(|slot| slot.bytes == 8);
                    let word = |at| u64::from(self.local.word(lane, callee.local + at));
                    arguments.map(|slot| word(slot.at) | word(slot.at + 4) << 32).collect()
                }
                // The arguments of this function are optimized away.
                _ if name.contains("panic_bounds_check") => {
                    let checked = self.bounds_check(caller, code, pc as usize, lane);
                    checked.map_or(Vec::new(), Vec::from)
                }
                _ => Vec::new(),
            };
            let site = Site { function: caller.function, pc };
            Some((site, values))
        })
        .collect()
    }

    /// Returns the index and the length that a lane compared before it reached the instruction at `pc`. Returns `None`
    /// unless exactly one comparison of unsigned numbers leads to that instruction for the current register values.
    fn bounds_check(&self, frame: Frame, code: &[Inst], pc: usize, lane: usize) -> Option<[u64; 2]> {
        let falls_through = |inst: &Inst| matches!(inst.op, Op::Alu(_) | Op::Memory(_) | Op::Nothing);
        let leads_here = |from: usize| from <= pc && code[from..pc].iter().all(falls_through);
        let mut found = Vec::new();
        for (at, inst) in code.iter().enumerate() {
            let Op::Branch { target, .. } = inst.op else {
                continue;
            };
            // The condition, and whether the condition must hold for the lane to reach `pc`.
            let (guard, holds) = match (inst.guard, leads_here(target as usize)) {
                (Some(guard), true) => (guard, true),
                (Some(guard), false) if leads_here(at + 1) => (guard, false),
                (None, true) => match at.checked_sub(1).map(|before| &code[before]) {
                    Some(before) if matches!(before.op, Op::Branch { .. }) => (before.guard?, false),
                    _ => return None,
                },
                _ => continue,
            };
            let mut before = code[..at].iter().rev();
            let compared = before.find_map(|inst| match &inst.op {
                Op::Alu(Alu::Compare(compare)) => compare.operands_of(guard.pred),
                _ => None,
            });
            let pred = self.preds[frame.preds + guard.pred.0 as usize] >> lane & 1 == 1;
            if (pred != guard.negated) == holds {
                found.push(compared?);
            }
        }
        let [operands] = found[..] else { return None };
        let [a, b] = operands.map(|operand| match operand {
            Reg::R32(reg) => u64::from(self.r32[frame.r32 + reg.0 as usize][lane]),
            Reg::R64(reg) => self.r64[frame.r64 + reg.0 as usize][lane],
            Reg::Pred(_) => 0,
        });
        // Either `index < length` is false, or `length - 1 < index` is true.
        Some(if a < b { [b, a + 1] } else { [a, b] })
    }
}
