//! Where values go: which elements of the problem's buffers a block loads, through which registers, shuffles and shared
//! memory they go, and which operations put them together.
//!
//! Nothing here knows any kernel. Each register of each lane, and each byte of memory, holds the number of the value that
//! is in it. An instruction that reads one such value and others that no element went into (an index, a constant)
//! passes it on; one that reads several makes a new one of them. `selp` passes on what it chooses, unless what decides
//! depends on values as well, as a minimum does. Which branch was taken and which address was computed is not followed.

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
    /// What values do that is not followed, in words.
    pub(super) lost: BTreeSet<&'static str>,
    ranges: Vec<(u64, u64)>,
}

#[derive(Default)]
struct WarpFlow {
    registers: Registers,
    meeting: Meeting,
    /// The values of the operands of the atomic that is executed.
    operands: Vec<[Id; 32]>,
    /// What an asynchronous copy takes along: each lane's values, one for four bytes.
    copied: Option<(Site, [[Id; 4]; 32])>,
}

impl Flow {
    /// Follows the values of this block, from buffers with these first addresses and sizes on.
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

    /// The results of an instruction are no values.
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
                self.lost.insert("through functions that are called");
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
