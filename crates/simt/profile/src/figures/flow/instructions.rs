//! The effect of register instructions on values.

use simt::alu::Alu;
use simt::code::Op;
use simt::matrix::Matrix;
use simt::observe::{Reg, Site, Step};
use simt::regs::lanes;
use simt::warp::Warp;

use super::Flow;
use super::graph::{Id, PLAIN};
use super::labels;

impl Flow {
    /// Follows an instruction that each lane executes independently.
    pub(super) fn alu(&mut self, step: &Step<'_>, guard: Option<Reg>, alu: &Alu) {
        let registers = &self.warps[self.at].registers;
        let reads: Vec<Reg> = step.reads().iter().copied().filter(|reg| Some(*reg) != guard).collect();
        let depends = reads.iter().fold(0, |all, reg| all | registers.depends(*reg) | registers.get(*reg).lanes);
        if depends & step.lanes == 0 {
            return self.clears(step, step.lanes);
        }
        let choice = alu.choice();
        // The deciding predicate is not a value, but it may depend on values.
        let chosen = choice.and_then(|choice| choice.test).map(|(pred, negated)| {
            let pred = Reg::Pred(pred);
            let yes = step.registers.value(pred).map(|value| (value != 0) != negated);
            (yes, registers.depends(pred))
        });
        let values_in = |reg: &Reg| *registers.get(*reg);
        let operands: Vec<labels::RegisterValues> = match &choice {
            Some(choice) => choice.values.iter().map(values_in).collect(),
            None => reads.iter().filter(|reg| !matches!(reg, Reg::Pred(_))).map(values_in).collect(),
        };
        let joins = matches!(alu, Alu::Convert(_));
        let mut ids = [PLAIN; 32];
        let mut several = Vec::with_capacity(operands.len());
        for lane in lanes(step.lanes & operands.iter().fold(0, |all, operand| all | operand.lanes)) {
            several.clear();
            match chosen {
                Some((yes, depends)) if depends >> lane & 1 == 0 => {
                    several.push(operands[usize::from(!yes[lane])].ids[lane]);
                }
                _ => several.extend(operands.iter().map(|operand| operand.ids[lane])),
            }
            ids[lane] = match several[..] {
                // A copy does not count as a use.
                [id] if choice.is_some() => id,
                _ => self.graph.combine(&several, self.maker(step.site, lane), joins),
            };
        }
        for reg in step.writes() {
            self.registers().set(*reg, step.lanes, &ids);
            self.registers().set_depends(*reg, step.lanes, depends);
        }
    }

    /// Records the values that lanes provide for an exchange.
    pub(super) fn gives(&mut self, step: &Step<'_>, op: &Warp) {
        let warp = &mut self.warps[self.at];
        let ids = |reg| warp.registers.get(reg).ids;
        match op {
            Warp::Shuffle { mode, value, lane, clamp, .. } => {
                let value = ids(Reg::R32(*value));
                let number = |reg| step.registers.value(Reg::R32(reg)).map(|value| value as u32);
                let (sources, in_range) = mode.sources(&number(*lane), &number(*clamp));
                warp.meeting.arrive(step.lanes, &value, &sources, in_range);
            }
            Warp::Reduce { value, mask, .. } => {
                let value = ids(Reg::R32(*value));
                let members = step.registers.value(Reg::R32(*mask)).map(|value| value as u32);
                warp.meeting.arrive(step.lanes, &value, &members, u32::MAX);
            }
            _ => self.clears(step, step.lanes),
        }
    }

    /// Follows a matrix product: each result depends on a row, a column and the previous sum.
    pub(super) fn multiply(&mut self, step: &Step<'_>, matrix: &Matrix) {
        let Matrix::Multiply(op) = matrix else { return };
        let registers = &self.warps[self.at].registers;
        let places = |places: &[u16], held: &[Reg]| -> Vec<(usize, usize, Reg)> {
            let packed = (places.len() / 32 / held.len().max(1)).max(1);
            let slots = places.iter().enumerate();
            slots.map(|(index, place)| (usize::from(*place), index % 32, held[index / 32 / packed])).collect()
        };
        let (m, n, k) = (op.product.m, op.product.n, op.product.k);
        let dense = if op.sparse.is_some() { 2 * k } else { k };
        let lines = |places: &[(usize, usize, Reg)], length: usize, count: usize| -> Vec<Vec<Id>> {
            let mut lines = vec![Vec::new(); count * op.product.count];
            for (place, lane, reg) in places {
                let id = registers.get(*reg).ids[*lane];
                let line = &mut lines[place / length];
                if id > PLAIN && !line.contains(&id) {
                    line.push(id);
                }
            }
            lines
        };
        let rows = lines(&places(&op.a.places, &op.a.registers), k, m);
        let columns = lines(&places(&op.b.places, &op.b.registers), dense, n);
        let sums: Vec<Id> = {
            let mut sums = vec![PLAIN; m * n * op.product.count];
            for (place, lane, reg) in places(&op.c.places, &op.c.registers) {
                sums[place] = registers.get(reg).ids[lane];
            }
            sums
        };
        let mut results: Vec<(Reg, [Id; 32])> = Vec::new();
        for (place, lane, reg) in places(&op.d.places, &op.d.registers) {
            let (part, row, column) = (place / (m * n), place / n % m, place % n);
            let terms: Vec<Id> = std::iter::once(sums[place])
                .chain(rows[part * m + row].iter().copied())
                .chain(columns[part * n + column].iter().copied())
                .collect();
            let id = self.graph.combine(&terms, self.maker(step.site, lane), false);
            match results.iter_mut().find(|(known, _)| *known == reg) {
                Some((_, ids)) => {
                    let halves = [ids[lane], id];
                    ids[lane] = self.graph.combine(&halves, self.maker(step.site, lane), true);
                }
                None => {
                    let mut ids = [PLAIN; 32];
                    ids[lane] = id;
                    results.push((reg, ids));
                }
            }
        }
        results.iter().for_each(|(reg, ids)| self.registers().set(*reg, step.lanes, ids));
    }

    /// Gives lanes the values that they receive in an exchange.
    pub(super) fn meet(&mut self, site: Site, mask: u32) {
        let op = match &self.inst(site).op {
            Op::Warp(op) => op.clone(),
            _ => return,
        };
        let meeting = &mut self.warps[self.at].meeting;
        meeting.leave(mask);
        let (arrived, sources, in_range, values) = (meeting.arrived, meeting.sources, meeting.in_range, meeting.values);
        let mut ids = [PLAIN; 32];
        let to = match op {
            Warp::Shuffle { to, .. } => {
                for lane in lanes(mask) {
                    let source = if in_range >> lane & 1 == 1 { sources[lane] as usize % 32 } else { lane };
                    ids[lane] = if arrived >> source & 1 == 1 { values[source] } else { PLAIN };
                }
                to
            }
            Warp::Reduce { to, .. } => {
                let mut reductions: Vec<(u32, Id)> = Vec::new();
                for lane in lanes(mask) {
                    // For a reduction, `sources` are the participating lanes.
                    let members = sources[lane] & arrived;
                    let existing = reductions.iter().find(|(group, _)| *group == members).map(|(_, id)| *id);
                    ids[lane] = existing.unwrap_or_else(|| {
                        let operands: Vec<Id> = lanes(members).map(|member| values[member]).collect();
                        let id = self.graph.combine(&operands, self.maker(site, lane), false);
                        reductions.push((members, id));
                        id
                    });
                }
                to
            }
            _ => return,
        };
        self.registers().set(Reg::R32(to), mask, &ids);
    }
}
