//! The propagation of undefined bits through instructions on registers.

use super::rules::{Rule, changed, rule};
use super::taints::{Cause, History, Taints};
use simt::alu::Alu;
use simt::alu::compare::Combine;
use simt::code::{Inst, Op, Program};
use simt::matrix::multiply::Multiply;
use simt::observe::Step;
use simt::regs::{ALL, LANES, Lanes32, Lanes64, Reg, Regs, lanes};
use simt::warp::Warp;

/// Registers for computing undefined bits.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
}

impl Scratch {
    /// Allocates the registers of the largest function of a program.
    fn begin(&mut self, program: &Program) {
        if self.preds.is_empty() {
            let max_count =
                |count: fn(&simt::code::Func) -> u32| program.functions.iter().map(count).max().unwrap_or(0);
            self.r32 = vec![[0; LANES]; max_count(|func| func.r32) as usize];
            self.r64 = vec![[0; LANES]; max_count(|func| func.r64) as usize];
            self.preds = vec![0; max_count(|func| func.preds) as usize + 1];
        }
    }

    fn regs(&mut self) -> Regs<'_> {
        Regs { r32: &mut self.r32, r64: &mut self.r64, preds: &mut self.preds }
    }
}

/// Returns a mask of all bits of a register.
pub(super) fn all_bits(reg: Reg) -> u64 {
    match reg {
        Reg::R32(_) => u32::MAX.into(),
        Reg::R64(_) => u64::MAX,
        Reg::Pred(_) => 1,
    }
}

/// Propagates undefined bits through instructions.
pub(super) struct Follower<'a> {
    pub(super) program: &'a Program,
    pub(super) scratch: &'a mut Scratch,
    pub(super) taints: &'a mut Taints,
}

impl Follower<'_> {
    /// Returns the cause of the undefined bits that an instruction reads in these lanes: the cause of the first
    /// undefined register.
    pub(super) fn cause(&self, step: &Step<'_>, mask: u32) -> Option<Cause> {
        let reads = step.reads().iter().filter_map(|reg| self.taints.get(*reg));
        let mut causes = reads.filter(|taint| taint.lanes & mask != 0).map(|taint| taint.cause);
        let first = causes.next()?;
        Some(Cause { history: causes.fold(first.history, |latest, cause| latest.max(cause.history)), ..first })
    }

    /// Applies an instruction that computes each lane separately.
    pub(super) fn alu(&mut self, step: &Step<'_>, inst: &Inst, alu: &Alu) {
        let Some(mut cause) = self.cause(step, step.lanes) else {
            return self.defines(step, step.lanes);
        };
        cause.history = changed(cause.history, alu, |reg| {
            let distances = step.registers.value(Reg::R32(reg));
            let first = distances[step.lanes.trailing_zeros() as usize % LANES];
            lanes(step.lanes).all(|lane| distances[lane] == first).then_some(first as u32)
        });
        self.scratch.begin(self.program);
        let rule = rule(alu);
        let unguarded = Inst { guard: None, op: Op::Alu(*alu) };
        let mut results: Vec<(Reg, Lanes64)> = match &rule {
            Rule::Constant => step.writes().iter().map(|reg| (*reg, [0; LANES])).collect(),
            Rule::Bitwise(operands) => self.bitwise(step, &unguarded, operands),
            Rule::Moves { data, control } => self.moves(step, &unguarded, data, control),
            Rule::Choice { values, control } => self.choice(step, &unguarded, *values, control),
            Rule::Upwards(operands) => {
                let bits = self.union(operands);
                let upwards = bits.map(|bits| match bits {
                    0 => 0,
                    bits => !((bits & bits.wrapping_neg()) - 1),
                });
                let result_of = |reg: &Reg| (*reg, upwards.map(|bits| bits & all_bits(*reg)));
                step.writes().iter().map(result_of).collect()
            }
            Rule::Compare { operands, bits, equality, combine, with } => {
                let undefined = self.compare(step, operands, (*bits, *equality), (*combine, *with));
                let bits = std::array::from_fn(|lane| u64::from(undefined >> lane & 1));
                step.writes().iter().map(|reg| (*reg, bits)).collect()
            }
            Rule::All => self.all(step),
        };
        // With an undefined guard, it is undefined whether the lanes execute the instruction.
        if let Some(guard) = inst.guard {
            let guarded = self.taints.lanes(Reg::Pred(guard.pred), step.lanes);
            for (reg, bits) in &mut results {
                lanes(guarded).for_each(|lane| bits[lane] = all_bits(*reg));
            }
        }
        for (reg, bits) in results {
            self.taints.set(reg, step.lanes, &bits, cause);
        }
    }

    /// Marks the instruction's results as defined in these lanes.
    pub(super) fn defines(&mut self, step: &Step<'_>, mask: u32) {
        for reg in step.writes() {
            self.taints.clear_lanes(*reg, mask);
        }
    }

    fn union(&self, operands: &[Reg]) -> Lanes64 {
        let mut union = [0; LANES];
        for reg in operands {
            if let Some(taint) = self.taints.get(*reg) {
                lanes(taint.lanes).for_each(|lane| union[lane] |= taint.bits[lane]);
            }
        }
        union
    }

    /// Returns the results of an instruction in which all bits of all results depend on all operands.
    pub(super) fn all(&self, step: &Step<'_>) -> Vec<(Reg, Lanes64)> {
        let any = self.union(step.reads());
        let result_of = |reg: &Reg| (*reg, any.map(|bits| if bits == 0 { 0 } else { all_bits(*reg) }));
        step.writes().iter().map(result_of).collect()
    }

    fn fill(&mut self, reg: Reg, values: &Lanes64) {
        self.scratch.regs().set(reg, ALL, values);
    }

    /// Returns the distinct registers, with their values and their undefined bits.
    fn operands(&self, step: &Step<'_>, registers: &[Reg]) -> Vec<(Reg, Lanes64, Lanes64)> {
        let mut operands: Vec<(Reg, Lanes64, Lanes64)> = Vec::new();
        for reg in registers {
            if operands.iter().all(|(known, ..)| known != reg) {
                operands.push((*reg, step.registers.value(*reg), self.taints.bits(*reg)));
            }
        }
        operands
    }

    /// Returns the results that the instruction computes when the undefined bits of some operands are flipped. `flips`
    /// selects these operands by index.
    fn flipped(
        &mut self,
        step: &Step<'_>,
        inst: &Inst,
        operands: &[(Reg, Lanes64, Lanes64)],
        flips: impl Fn(usize) -> bool,
    ) -> Vec<(Reg, Lanes64)> {
        for (index, (reg, value, bits)) in operands.iter().enumerate() {
            match flips(index) {
                false => self.fill(*reg, value),
                true => self.fill(*reg, &std::array::from_fn(|lane| value[lane] ^ bits[lane])),
            }
        }
        // The undefined bits of written registers are flipped too, because the instruction may overwrite only a part of
        // a register, such as some elements of a vector.
        let is_first = !(0..operands.len()).any(&flips);
        for reg in step.writes().iter().filter(|reg| operands.iter().all(|(known, ..)| known != *reg)) {
            let bits = if is_first { [0; LANES] } else { self.taints.bits(*reg) };
            self.fill(*reg, &bits);
        }
        simt::execute_alu(inst, &mut self.scratch.regs(), ALL);
        let regs = self.scratch.regs();
        step.writes().iter().map(|reg| (*reg, regs.wide(*reg))).collect()
    }

    /// Returns the result bits that depend on undefined operand bits at the same position.
    fn bitwise(&mut self, step: &Step<'_>, inst: &Inst, registers: &[Reg]) -> Vec<(Reg, Lanes64)> {
        let operands = self.operands(step, registers);
        let first = self.flipped(step, inst, &operands, |_| false);
        let mut different: Vec<(Reg, Lanes64)> = step.writes().iter().map(|reg| (*reg, [0; LANES])).collect();
        for round in 1..1u32 << operands.len() {
            let results = self.flipped(step, inst, &operands, |index| round >> index & 1 != 0);
            for ((different, first), result) in different.iter_mut().zip(&first).zip(&results) {
                for lane in 0..LANES {
                    different.1[lane] |= first.1[lane] ^ result.1[lane];
                }
            }
        }
        different
    }

    /// Returns the result bits that are moved from undefined bits.
    fn moves(&mut self, step: &Step<'_>, inst: &Inst, data: &[Reg], control: &[Reg]) -> Vec<(Reg, Lanes64)> {
        if data.iter().any(|reg| control.contains(reg) && self.taints.get(*reg).is_some()) {
            return self.all(step);
        }
        let all: Vec<Reg> = data.iter().chain(control).copied().collect();
        let operands = self.operands(step, &all);
        let first = self.flipped(step, inst, &operands, |_| false);
        let mut results = self.flipped(step, inst, &operands, |index| data.contains(&operands[index].0));
        let undecided = self.union(control);
        for ((reg, bits), (_, first)) in results.iter_mut().zip(&first) {
            for lane in 0..LANES {
                bits[lane] = if undecided[lane] == 0 { bits[lane] ^ first[lane] } else { all_bits(*reg) };
            }
        }
        results
    }

    fn choice(&mut self, step: &Step<'_>, inst: &Inst, values: [Reg; 2], control: &[Reg]) -> Vec<(Reg, Lanes64)> {
        let undecided = self.union(control);
        let [a, b] = values.map(|reg| step.registers.value(reg));
        let either = self.union(&values);
        let mut results = self.moves(step, inst, &values, control);
        for (_, bits) in &mut results {
            for lane in 0..LANES {
                if undecided[lane] != 0 {
                    bits[lane] = either[lane] | a[lane] ^ b[lane];
                }
            }
        }
        results
    }

    /// Returns the lanes in which the result of a comparison is undefined.
    fn compare(
        &self,
        step: &Step<'_>,
        operands: &[Reg],
        (bits, equality): (u32, bool),
        (combine, with): (Combine, Option<(simt::regs::Pred, bool)>),
    ) -> u32 {
        let mask = u64::MAX >> (64 - bits);
        let union = self.union(operands);
        let mut undefined = 0;
        for lane in lanes(step.lanes) {
            undefined |= u32::from(union[lane] & mask != 0) << lane;
        }
        if let [a, b] = operands
            && equality
            && undefined != 0
        {
            let (a, b) = (step.registers.value(*a), step.registers.value(*b));
            for lane in lanes(undefined) {
                if (a[lane] ^ b[lane]) & !union[lane] & mask != 0 {
                    undefined &= !(1 << lane);
                }
            }
        }
        let Some((pred, negated)) = with else { return undefined };
        let other = step.registers.value(Reg::Pred(pred));
        let unknown = self.taints.lanes(Reg::Pred(pred), step.lanes);
        for lane in lanes(undefined & !unknown) {
            let other = (other[lane] != 0) != negated;
            let is_decided = match combine {
                Combine::And => !other,
                Combine::Or => other,
                Combine::Xor | Combine::No => false,
            };
            if is_decided {
                undefined &= !(1 << lane);
            }
        }
        undefined | unknown
    }

    /// Moves undefined bits between lanes, as a shuffle does.
    pub(super) fn shuffle(&mut self, step: &Step<'_>, op: &Warp) {
        let Warp::Shuffle { to, found, value, lane: from, clamp, mask, .. } = op else { return };
        let Some(cause) = self.cause(step, ALL) else {
            return self.defines(step, step.lanes);
        };
        let controls = [*from, *clamp, *mask].map(Reg::R32);
        if controls.contains(&Reg::R32(*value)) {
            return self.set_all(step, cause);
        }
        self.scratch.begin(self.program);
        for reg in controls {
            self.fill(reg, &step.registers.value(reg));
        }
        let mut bits = self.taints.bits(Reg::R32(*value));
        lanes(!step.lanes).for_each(|lane| bits[lane] = 0);
        self.fill(Reg::R32(*value), &bits);
        op.execute(&mut self.scratch.regs(), ALL, ALL, None);
        let mut result = self.scratch.regs().wide(Reg::R32(*to));
        let undecided = self.union(&controls[..2]);
        for lane in 0..LANES {
            if undecided[lane] != 0 {
                result[lane] = all_bits(Reg::R32(*to));
            }
        }
        self.taints.set(Reg::R32(*to), step.lanes, &result, cause);
        if let Some(found) = found {
            let undecided = undecided.map(|bits| u64::from(bits != 0));
            self.taints.set(Reg::Pred(*found), step.lanes, &undecided, cause);
        }
    }

    /// Sets all bits of the results to undefined in the lanes that read an undefined bit.
    pub(super) fn set_all(&mut self, step: &Step<'_>, cause: Cause) {
        let cause = Cause { history: History::Computed, ..cause };
        for (reg, bits) in self.all(step) {
            self.taints.set(reg, step.lanes, &bits, cause);
        }
    }

    /// Sets the results of all lanes to undefined if an operand of any lane is undefined.
    pub(super) fn set_everywhere(&mut self, step: &Step<'_>) {
        let Some(cause) = self.cause(step, step.lanes) else {
            return self.defines(step, step.lanes);
        };
        for reg in step.writes() {
            self.taints.set(*reg, step.lanes, &[all_bits(*reg); LANES], Cause { history: History::Computed, ..cause });
        }
    }

    /// Applies a matrix product, in which each sum depends on a row and a column.
    pub(super) fn multiply(&mut self, step: &Step<'_>, op: &Multiply) {
        let Some(cause) = self.cause(step, ALL) else {
            return self.defines(step, step.lanes);
        };
        self.scratch.begin(self.program);
        let fragments = [&op.a, &op.b, &op.c, &op.d];
        for reg in fragments.iter().flat_map(|fragment| fragment.registers.iter()) {
            let bits = self.taints.bits(*reg);
            self.fill(*reg, &bits);
        }
        op.spread(&mut self.scratch.regs());
        for reg in step.writes() {
            let bits = self.scratch.regs().wide(*reg);
            self.taints.set(*reg, step.lanes, &bits, Cause { history: History::Computed, ..cause });
        }
    }
}
