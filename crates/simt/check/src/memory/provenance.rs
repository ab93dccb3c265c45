//! Finds the sources of the addresses of a program's instructions: a flow-insensitive data flow over the registers.
//!
//! A register's value comes from parameters of the kernel, from variables, or from an unknown source. Memory, functions
//! that are called by their address, and the runtime are unknown sources. The result of a computation has all sources
//! of the instruction's operands.

mod value;

use std::collections::HashMap;

use simt::code::{Callee, Func, Inst, Op, Program, Runtime};
use simt::control;
use simt::matrix::Matrix;
use simt::memory::address_op::AddressOp;
use simt::memory::bulk::BulkSource;
use simt::memory::load_store::{Destination, Load, Store};
use simt::memory::{Address, Memory, Region};
use simt::operands::{Operands, VariableUse};
use simt::regs::Reg;
use simt::warp::Warp;
use value::{Combination, PARTIAL, UNKNOWN, Value, combination};

/// A source of an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The eight bytes at this offset of the kernel's parameters.
    Argument(u32),
    Variable(VariableUse),
}

/// A set of sources, by their numbers.
pub(super) type Sources = u128;

/// The maximum number of sources that the analysis distinguishes.
const MAX_SOURCES: usize = Sources::BITS as usize;

/// The possible sources of a program's addresses.
#[derive(Debug)]
pub(crate) struct Provenance {
    /// The sources, indexed by their numbers.
    pub(super) sources: Vec<Source>,
    /// For each function, by instruction: the possible sources of each address, by its [`Role`]; `None` if they are
    /// unknown.
    pub(super) addresses: Vec<HashMap<u32, [Option<Sources>; ROLES]>>,
}

/// The purpose of an address in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The accessed address; for a copy, its destination.
    Target,
    /// The source of a copy.
    Source,
    /// The mbarrier that an asynchronous copy signals.
    Mbarrier,
    /// The tensor map.
    Map,
}

/// The number of roles.
pub(super) const ROLES: usize = 4;

/// The data flow while it is computed.
struct Flow<'p> {
    program: &'p Program,
    sources: Vec<Source>,
    numbers: HashMap<Source, usize>,
    /// For each function, its 32-bit registers, followed by its 64-bit registers.
    registers: Vec<Vec<Value>>,
    /// For each function, the values stored to `.param` variables, by offset and number of bytes.
    cells: Vec<HashMap<(u32, u32), Value>>,
    /// For each function, `.param` variables that unknown instructions may store to, as offsets and numbers of bytes.
    open: Vec<Vec<(u32, u32)>>,
    /// For each function, the values that lanes pass to other lanes.
    shuffled: Vec<Value>,
    changed: bool,
}

impl Provenance {
    pub(crate) fn new(program: &Program) -> Self {
        let count = program.functions.len();
        let mut flow = Flow {
            program,
            sources: Vec::new(),
            numbers: HashMap::new(),
            registers: program
                .functions
                .iter()
                .map(|func| vec![Value::default(); (func.r32 + func.r64) as usize])
                .collect(),
            cells: vec![HashMap::new(); count],
            open: vec![Vec::new(); count],
            shuffled: vec![Value::default(); count],
            changed: true,
        };
        flow.open_parameters();
        while std::mem::take(&mut flow.changed) {
            for (function, func) in program.functions.iter().enumerate() {
                for pc in 0..func.code.len() {
                    flow.instruction(function, func, pc);
                }
            }
        }
        let addresses = (0..count).map(|function| flow.addresses(function)).collect();
        Self { sources: flow.sources, addresses }
    }
}

impl Flow<'_> {
    /// Finds the `.param` variables in frames that may be accessed through an address, by unknown callers, or by
    /// unknown callees.
    fn open_parameters(&mut self) {
        for (function, func) in self.program.functions.iter().enumerate() {
            let mut open = Vec::new();
            for (inst, operands) in func.code.iter().zip(func.operands()) {
                let is_direct = match &inst.op {
                    Op::Memory(Memory::Load(Load { address, .. }) | Memory::Store(Store { address, .. })) => {
                        address.fixed
                    }
                    Op::Call(_) => true,
                    _ => false,
                };
                if !is_direct {
                    let named = operands.variables.iter().filter(|variable| variable.in_frame);
                    open.extend(named.filter_map(|variable| Some((variable.at as u32, variable.bytes? as u32))));
                }
                if let Op::Call(call) = &inst.op
                    && !matches!(call.callee, Callee::Function(_) | Callee::Runtime(Runtime::Print))
                {
                    open.extend(call.slots.results.iter().map(|slot| (slot.at, slot.bytes)));
                }
            }
            let is_target = self.program.targets.iter().any(|target| target.function == Some(function as u32));
            if is_target {
                open.extend(func.slots.parameters.iter().map(|slot| (slot.at, slot.bytes)));
            }
            self.open[function] = open;
        }
    }

    fn source(&mut self, source: Source) -> Value {
        let next = self.sources.len();
        let number = match self.numbers.get(&source) {
            Some(number) => *number,
            None if next == MAX_SOURCES => return UNKNOWN,
            None => {
                self.sources.push(source.clone());
                self.numbers.insert(source, next);
                next
            }
        };
        Value { sources: 1 << number, ..Value::default() }
    }

    fn variable(&mut self, function: usize, variable: &VariableUse) -> Value {
        // The address of a called function's frame is unknown.
        if variable.in_frame && function > 0 {
            return UNKNOWN;
        }
        self.source(Source::Variable(variable.clone()))
    }

    fn place(&self, function: usize, reg: Reg) -> Option<usize> {
        match reg {
            Reg::R32(reg) => Some(reg.0 as usize),
            Reg::R64(reg) => Some((self.program.functions[function].r32 + reg.0) as usize),
            Reg::Pred(_) => None,
        }
    }

    fn get(&self, function: usize, reg: Reg) -> Value {
        self.place(function, reg).map_or(Value::default(), |at| self.registers[function][at])
    }

    fn add(&mut self, function: usize, reg: Reg, value: Value) {
        if let Some(at) = self.place(function, reg) {
            let register_value = &mut self.registers[function][at];
            let joined = register_value.or(value);
            self.changed |= joined != *register_value;
            *register_value = joined;
        }
    }

    fn add_to_destination(&mut self, function: usize, to: Destination, value: Value) {
        match to {
            Destination::Nowhere => {}
            Destination::R32 { reg, .. } => self.add(function, Reg::R32(reg), value),
            Destination::R64(reg) => self.add(function, Reg::R64(reg), value),
        }
    }

    fn instruction(&mut self, function: usize, func: &Func, pc: usize) {
        let (Inst { op, .. }, operands) = (&func.code[pc], func.operands_of(pc));
        let value = match op {
            Op::Memory(Memory::Load(load)) => return self.load(function, func, load),
            Op::Memory(Memory::Store(store)) => return self.store(function, func, store),
            Op::Memory(Memory::Atomic(atomic)) => {
                return self.written(function, operands, Value::read(atomic.width.bytes()));
            }
            Op::Memory(Memory::Texture(_)) | Op::Matrix(_) => PARTIAL,
            Op::Memory(Memory::Address(AddressOp::Shift { .. } | AddressOp::Map { .. })) => {
                self.combined(function, operands, Combination::Sum)
            }
            Op::Memory(_) => Value::default(),
            Op::Alu(alu) => self.combined(function, operands, combination(alu)),
            Op::Warp(Warp::Shuffle { value, .. } | Warp::Reduce { value, .. }) => {
                let lane_value = self.get(function, Reg::R32(*value));
                let joined = self.shuffled[function].or(lane_value);
                self.changed |= joined != self.shuffled[function];
                self.shuffled[function] = joined;
                joined
            }
            Op::Call(call) => {
                if let Callee::Function(callee) = call.callee {
                    let callee_slots = &self.program.functions[callee as usize].slots;
                    let callee = callee as usize;
                    for (from, to) in call.slots.parameters.iter().zip(&callee_slots.parameters) {
                        self.hand_over((function, from.at), (callee, to.at), from.bytes);
                    }
                    for (from, to) in callee_slots.results.iter().zip(&call.slots.results) {
                        self.hand_over((callee, from.at), (function, to.at), from.bytes);
                    }
                }
                return;
            }
            Op::Stack(_) => UNKNOWN,
            // Predicates, lane numbers, cycles, or no result.
            Op::Warp(_) | Op::Barrier(_) | Op::Clock { .. } => Value::default(),
            control!() => return,
        };
        self.written(function, operands, value);
    }

    fn written(&mut self, function: usize, operands: Operands<'_>, value: Value) {
        for reg in operands.writes {
            self.add(function, *reg, value);
        }
    }

    /// Combines the operands of an instruction on registers.
    fn combined(&mut self, function: usize, operands: Operands<'_>, how: Combination) -> Value {
        if how == Combination::Number {
            return Value::default();
        }
        let mut values: Vec<Value> = operands.reads.iter().map(|reg| self.get(function, *reg)).collect();
        values.extend(operands.variables.iter().map(|variable| self.variable(function, variable)));
        let mut all = values.iter().fold(Value::default(), |all, value| all.or(*value));
        let is_distance = |value: &Value| value.sources == 0;
        match how {
            Combination::Choice | Combination::Number => {}
            Combination::Join if values.iter().any(|value| value.partial) => all = UNKNOWN,
            // The distance between two addresses in the same object.
            Combination::Difference
                if let [a, b] = values[..]
                    && a == b
                    && a.sources.is_power_of_two()
                    && !a.unknown =>
            {
                all = Value::default();
            }
            _ if all.sources != 0 => {
                all.partial = values.iter().any(|value| value.partial && !is_distance(value));
            }
            _ => {}
        }
        all
    }

    /// Returns the offset of an address if the offset is known before the kernel runs.
    fn fixed(func: &Func, address: &Address) -> Option<u32> {
        let known = func.frame_init.iter().find(|entry| entry.reg == address.base).filter(|_| address.fixed)?;
        match known.init {
            simt::code::FrameInit::Number(at) => u32::try_from(at).ok(),
            simt::code::FrameInit::Local(at) => Some(at),
            _ => None,
        }
    }

    fn load(&mut self, function: usize, func: &Func, load: &Load) {
        let bytes = load.width.bytes();
        let at = Self::fixed(func, &load.address);
        for (index, to) in load.to.iter().enumerate() {
            let at = at.map(|at| at + index as u32 * bytes);
            let value = match (load.address.region, at) {
                (Region::Param, Some(at)) if bytes == 8 => self.source(Source::Argument(at)),
                (Region::FrameParam, Some(at)) => self.cell(function, at, bytes),
                _ => Value::read(bytes),
            };
            self.add_to_destination(function, *to, value);
        }
    }

    fn store(&mut self, function: usize, func: &Func, store: &Store) {
        if store.address.region != Region::FrameParam {
            return;
        }
        let bytes = store.width.bytes();
        // A store without a known offset has already made the variable open.
        let Some(at) = Self::fixed(func, &store.address) else { return };
        for (index, from) in store.from.iter().enumerate() {
            let value = self.get(function, *from);
            self.add_to_cell(function, (at + index as u32 * bytes, bytes), value);
        }
    }

    fn add_to_cell(&mut self, function: usize, place: (u32, u32), value: Value) {
        let cell = self.cells[function].entry(place).or_default();
        let joined = cell.or(value);
        self.changed |= joined != *cell;
        *cell = joined;
    }

    /// Returns the value of a read of `.param` variables in the frame.
    fn cell(&self, function: usize, at: u32, bytes: u32) -> Value {
        let overlaps = |slot: &(u32, u32)| slot.0 < at + bytes && at < slot.0 + slot.1;
        if self.open[function].iter().any(overlaps) {
            return Value::read(bytes);
        }
        let cells = self.cells[function].iter().filter(|(place, _)| overlaps(place));
        cells.fold(Value::default(), |all, (place, value)| match *place == (at, bytes) {
            true => all.or(*value),
            false => all.or(Value::read(bytes)),
        })
    }

    /// Copies a parameter or a result of a call from one frame to another.
    fn hand_over(&mut self, (from, at): (usize, u32), (to, to_at): (usize, u32), bytes: u32) {
        let inside = |place: &(u32, u32)| place.0 < at + bytes && at < place.0 + place.1;
        if self.open[from].iter().any(inside) && !self.open[to].contains(&(to_at, bytes)) {
            self.open[to].push((to_at, bytes));
            self.changed = true;
        }
        let cells: Vec<_> = self.cells[from].iter().filter(|(place, _)| inside(place)).map(|(a, b)| (*a, *b)).collect();
        for ((offset, size), value) in cells {
            if let Some(place) = (offset + to_at).checked_sub(at) {
                self.add_to_cell(to, (place, size), value);
            }
        }
    }

    /// Returns the possible sources of the addresses of a function's instructions.
    fn addresses(&mut self, function: usize) -> HashMap<u32, [Option<Sources>; ROLES]> {
        let func = &self.program.functions[function];
        let mut found = HashMap::new();
        for (pc, inst) in func.code.iter().enumerate() {
            let mut roles: [Option<&Address>; ROLES] = [None; ROLES];
            let map;
            match &inst.op {
                Op::Memory(Memory::Load(Load { address, .. }) | Memory::Store(Store { address, .. })) => {
                    roles[Role::Target as usize] = Some(address);
                }
                Op::Memory(Memory::Atomic(atomic)) => roles[Role::Target as usize] = Some(&atomic.address),
                Op::Memory(Memory::AsyncCopy(copy)) => {
                    roles[Role::Target as usize] = Some(&copy.to);
                    roles[Role::Source as usize] = Some(&copy.from);
                }
                Op::Memory(Memory::Bulk(copy)) => {
                    roles[Role::Target as usize] = Some(&copy.to);
                    if let BulkSource::Memory(from, _) = &copy.from {
                        roles[Role::Source as usize] = Some(from);
                    }
                    roles[Role::Mbarrier as usize] = copy.recipients.mbarrier.as_ref();
                }
                Op::Memory(Memory::Tensor(copy)) => {
                    let tile = if copy.loads { Role::Target } else { Role::Source };
                    roles[tile as usize] = Some(&copy.shared);
                    roles[Role::Mbarrier as usize] = copy.recipients.mbarrier.as_ref();
                    map = Address { base: Reg::R64(copy.map), offset: 0, region: Region::Generic, fixed: false };
                    roles[Role::Map as usize] = Some(&map);
                }
                Op::Matrix(matrix) => match &**matrix {
                    Matrix::Rows(rows) => roles[Role::Target as usize] = Some(&rows.address),
                    Matrix::Tile(tile) => roles[Role::Target as usize] = Some(&tile.address),
                    // The addresses of a warpgroup's matrix product are in descriptors.
                    Matrix::GroupMultiply(_) => continue,
                    Matrix::Multiply(_) | Matrix::Transpose(_) | Matrix::Group(_) | Matrix::Nothing => continue,
                },
                // The simulator itself checks the addresses of these instructions.
                Op::Memory(Memory::Mbarrier(_) | Memory::MapEdit(_) | Memory::Texture(_)) => continue,
                Op::Memory(
                    Memory::AsyncGroup(..) | Memory::PendingCount { .. } | Memory::Fence(..) | Memory::Address(_),
                ) => continue,
                Op::Alu(_)
                | Op::Warp(_)
                | Op::Call(_)
                | Op::Stack(_)
                | Op::Barrier(_)
                | Op::Clock { .. }
                | control!() => {
                    continue;
                }
            }
            let mut sources_of = |address: &Address| {
                let operands = func.operands_of(pc);
                let mut value = self.get(function, address.base);
                if address.fixed {
                    let space = address.region.space();
                    let named = operands
                        .variables
                        .iter()
                        .filter(|variable| variable.space == space || address.region == Region::Generic);
                    for variable in named {
                        value = value.or(self.variable(function, variable));
                    }
                }
                let is_known = !value.unknown && !value.partial && value.sources != 0;
                is_known.then_some(value.sources)
            };
            let sources = roles.map(|address| address.and_then(&mut sources_of));
            if sources != [None; ROLES] {
                found.insert(pc as u32, sources);
            }
        }
        found
    }
}
