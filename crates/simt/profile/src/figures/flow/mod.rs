//! The data flow of a block: the elements that it loads from the problem's buffers, their path through registers,
//! shuffles and shared memory, and the operations that combine them.
//!
//! The analysis does not depend on the kernel. It stores the number of a value for each register of each lane and for
//! each byte of memory. An instruction whose operands contain a single value passes the value on; its other operands,
//! such as an index or a constant, do not depend on elements. An instruction that reads several values creates a new
//! value. `selp` passes on the selected value. If the predicate depends on values too, as in a minimum, `selp` creates
//! a new value. Taken branches and computed addresses are not followed.

mod accesses;
mod graph;
mod instructions;
mod labels;

use std::collections::BTreeSet;

use simt::Function;
use simt::code::{Inst, Op};
use simt::matrix::Matrix;
use simt::memory::Memory as MemoryOp;
use simt::observe::{Access, AccessKind, FrameChange, Issue, Observer, Places, Reg, Requests, Site, Step, WarpId};

use super::meeting::Meeting;
use graph::Producer;
pub use graph::{Graph, Id, Kind, Loaded, MemoryAddress, Value};
use labels::{Memory, Registers};

/// Follows the values of a block.
pub struct Flow {
    function: Function,
    block: u64,
    is_turn: bool,
    memory: Memory,
    warps: Vec<WarpFlow>,
    at: usize,
    phase: u32,
    pub(super) graph: Graph,
    /// Descriptions of the data flow that is not followed.
    pub(super) lost: BTreeSet<&'static str>,
    ranges: Vec<(u64, u64)>,
}

#[derive(Default)]
struct WarpFlow {
    registers: Registers,
    meeting: Meeting,
    /// The operand values of the atomic that is being executed.
    operands: Vec<[Id; 32]>,
    /// The values of a pending asynchronous copy: for each lane, one value per four bytes.
    copied: Option<(Site, [[Id; 4]; 32])>,
}

impl Flow {
    /// Creates an observer that follows the values of this block, starting from buffers with these first addresses and
    /// sizes.
    pub(super) fn new(function: &Function, block: u64, ranges: &[(u64, u64)]) -> Self {
        Self {
            function: function.clone(),
            block,
            is_turn: false,
            memory: Memory::new(ranges),
            warps: Vec::new(),
            at: 0,
            phase: 0,
            graph: Graph::default(),
            lost: BTreeSet::new(),
            ranges: ranges.to_vec(),
        }
    }

    fn maker(&self, site: Site, lane: usize) -> Producer {
        Producer { site, thread: self.thread(lane), phase: self.phase }
    }

    fn thread(&self, lane: usize) -> u32 {
        self.at as u32 * 32 + lane as u32
    }

    fn registers(&mut self) -> &mut Registers {
        &mut self.warps[self.at].registers
    }

    fn inst(&self, site: Site) -> &Inst {
        &self.function.program().functions[site.function as usize].code[site.pc as usize]
    }

    /// Records that the results of an instruction are not values.
    fn clears(&mut self, step: &Step<'_>, mask: u32) {
        step.writes().iter().for_each(|reg| self.registers().clear(*reg, mask));
    }
}

impl Observer for Flow {
    const REQUESTS: Requests = Requests::STEPS.and(Requests::ASYNCHRONOUS);

    fn steps(&self) -> bool {
        self.is_turn
    }

    fn fork(&self) -> Self {
        Self::new(&self.function, self.block, &self.ranges)
    }

    fn merge(&mut self, other: Self) {
        // One host thread runs the whole block.
        if !other.warps.is_empty() {
            *self = other;
        }
    }

    fn block(&mut self, block: u64, warps: u32, _threads: u32) {
        if block == self.block {
            self.warps.resize_with(warps as usize, WarpFlow::default);
        }
    }

    fn turn(&mut self, warp: WarpId) {
        self.is_turn = warp.block == self.block;
        self.at = warp.warp as usize;
    }

    fn released(&mut self, block: u64, _id: u32) {
        self.phase += u32::from(block == self.block);
    }

    fn step(&mut self, step: &Step<'_>) {
        if !self.is_turn || self.at >= self.warps.len() {
            return;
        }
        self.registers().enter(step.active);
        if step.lanes == 0 {
            return;
        }
        let function = self.function.clone();
        let inst = &function.program().functions[step.site.function as usize].code[step.site.pc as usize];
        match &inst.op {
            Op::Alu(alu) => self.alu(step, inst.guard.map(|guard| Reg::Pred(guard.pred)), alu),
            Op::Warp(op) => self.gives(step, op),
            Op::Matrix(matrix) => match &**matrix {
                Matrix::Multiply(_) => self.multiply(step, matrix),
                Matrix::Rows(_) | Matrix::Group(_) | Matrix::Nothing => {}
                Matrix::GroupMultiply(_) => {
                    self.lost.insert("through wgmma");
                    self.clears(step, step.lanes);
                }
                Matrix::Tile(_) => {
                    self.lost.insert("through wmma.load and wmma.store");
                    self.clears(step, step.lanes);
                }
                Matrix::Transpose(_) => {
                    self.lost.insert("through movmatrix");
                    self.clears(step, step.lanes);
                }
            },
            Op::Memory(MemoryOp::Atomic(op)) => {
                let registers = &self.warps[self.at].registers;
                let operands = op.operand.iter().chain(op.new.as_ref());
                let operands = operands.map(|reg| registers.get(*reg).ids).collect();
                self.warps[self.at].operands = operands;
                self.clears(step, step.lanes);
            }
            Op::Call(_) => {
                self.lost.insert("through called functions");
            }
            _ => self.clears(step, step.lanes),
        }
    }

    fn synchronized(&mut self, site: Site, warp: WarpId, mask: u32) {
        if warp.block == self.block && self.at < self.warps.len() {
            self.registers().enter(mask);
            self.meet(site, mask);
        }
    }

    fn access(&mut self, site: Site, warp: WarpId, access: &Access<'_>) {
        if warp.block != self.block || self.at >= self.warps.len() || access.mask == 0 || access.rank.is_some() {
            return;
        }
        self.registers().enter(access.mask);
        let function = self.function.clone();
        match &function.program().functions[site.function as usize].code[site.pc as usize].op {
            Op::Memory(MemoryOp::Load(op)) => self.load(site, access, &op.to, op.width as u32),
            Op::Memory(MemoryOp::Store(op)) => self.store(access, op),
            Op::Memory(MemoryOp::Atomic(op)) => self.atomic(site, access, op),
            Op::Memory(MemoryOp::AsyncCopy(_)) if access.kind == AccessKind::AsyncCopy => self.copies(site, access),
            Op::Matrix(matrix) => {
                if let Matrix::Rows(op) = &**matrix {
                    self.rows(site, access, &op.registers, op.transposed, op.stores);
                }
            }
            _ => {}
        }
    }

    fn issued(&mut self, site: Site, warp: WarpId, issue: &Issue, _: &Places<'_>) {
        if warp.block != self.block || self.at >= self.warps.len() {
            return;
        }
        self.issue(site, issue);
    }

    fn frames(&mut self, _: Site, warp: WarpId, mask: u32, change: &FrameChange) {
        if warp.block == self.block && self.at < self.warps.len() {
            self.registers().change_frames(mask, change);
        }
    }
}
