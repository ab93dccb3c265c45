//! The check `init`: values that depend on memory or registers which nobody has written.
//!
//! What is written is known byte by byte: of shared memory for each block, of the kernel's frame in local memory for
//! each thread, and of device memory from launch to launch. A load of other bytes is no fault by itself: copies of a
//! struct take its padding along. From such a load on each bit of the warp's registers is followed, until none is left
//! whose value nobody has written, and told where it decides something: a branch, an address, what is stored to device
//! memory. As long as there is none, instructions on registers cost nothing.

mod liveness;
mod rules;
mod shadow;
mod taints;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::finding::{Findings, Found, Party, in_words};
use super::observer::{Checker, LaunchFacts};
use crate::code::{Callee, Inst, Op};
use crate::matrix::Matrix;
use crate::memory::address_op::AddressOp;
use crate::memory::atomic::{Atomic, AtomicOp, Whole};
use crate::memory::global::Unwritten;
use crate::memory::load_store::{Destination, Load, Store, Width};
use crate::memory::{Memory, Region};
use crate::observe::{Access, AccessKind, Mistake, Places, Site, Space, Step, WarpId};
use crate::regs::{ALL, LANES, Lanes64, R32, Reg, lanes};
use crate::run::Machine;
use crate::warp::Warp;
pub(crate) use liveness::RegisterLives;
use shadow::{LocalShadow, SharedShadow};
use taints::{Cause, Follower, Scratch, Taints, all_bits};

/// Different reads of what nobody has written that are kept; those beyond count as the last one at the same place.
const MOST_ORIGINS: usize = 1 << 14;

/// The check of one launch.
pub(super) struct Init {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    simd: &'static crate::host_simd::HostSimd,
    lives: Arc<RegisterLives>,
    device: Arc<Mutex<Unwritten>>,
    /// Whether device memory and shared memory are followed: not if instructions write them of which no check is told.
    follows: [bool; 2],
    /// Bytes of the kernel's frame in local memory.
    frame_bytes: u64,
    /// The blocks that run, without the current one.
    blocks: HashMap<u64, BlockState>,
    spare: Vec<BlockState>,
    warp_id: WarpId,
    block: BlockState,
    /// Of the store that is executed: its place, which bytes of each lane's value are undefined, and why.
    stored: Option<(Site, Lanes64, Cause)>,
    /// Of the asynchronous copy that is executed: which bytes of the source nobody has written.
    copied: Option<(Site, Lanes64)>,
    origins: Vec<Origin>,
    known_origins: HashMap<(Site, u64, u32), u32>,
    scratch: Scratch,
}

/// What is known of a block that runs.
#[derive(Default)]
struct BlockState {
    shared: SharedShadow,
    warps: Vec<WarpState>,
}

#[derive(Default)]
struct WarpState {
    taints: Taints,
    local: LocalShadow,
}

/// Where undefined bits come from.
struct Origin {
    /// What it does, and where: `read of 4 bytes`; of a register once it is known.
    read: Option<(String, Party)>,
    address: Option<u64>,
    /// The memory or register, in words.
    place: String,
    kind: OriginKind,
}

/// What holds nothing that anybody has written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OriginKind {
    Register,
    Memory,
    /// A lane that takes no part in the shuffle that reads from it.
    Lane,
}

impl Init {
    pub(super) fn new(machine: &mut Machine, facts: Arc<LaunchFacts>) -> Self {
        let program = &facts.function.program;
        let lives = program.lives.get_or_init(|| {
            let uses = facts.function.module.register_uses(program);
            let targets: Vec<u32> = program.targets.iter().filter_map(|target| target.function).collect();
            Arc::new(RegisterLives::new(&program.functions, uses, &targets))
        });
        let follows = [follows_device_memory, follows_shared_memory].map(|follows| {
            let mut code = program.functions.iter().flat_map(|func| &func.code);
            code.all(|inst| follows(&inst.op))
        });
        machine.follows_writes = follows[0];
        let device = machine.global.share_unwritten();
        let mut own = Self {
            findings: Findings::default(),
            simd: machine.simd,
            lives: lives.clone(),
            follows,
            frame_bytes: program.functions[0].frame_bytes.into(),
            device,
            blocks: HashMap::new(),
            spare: Vec::new(),
            warp_id: WarpId { block: u64::MAX, warp: 0 },
            block: BlockState::default(),
            stored: None,
            copied: None,
            origins: Vec::new(),
            known_origins: HashMap::new(),
            scratch: Scratch::default(),
            facts: facts.clone(),
        };
        own.origins.resize_with(lives.unwritten.len(), || Origin {
            read: None,
            address: None,
            place: String::new(),
            kind: OriginKind::Register,
        });
        own
    }

    fn warp(&mut self) -> &mut WarpState {
        let index = self.warp_id.warp as usize;
        if self.block.warps.len() <= index {
            self.block.warps.resize_with(index + 1, WarpState::default);
        }
        &mut self.block.warps[index]
    }

    fn taints(&mut self) -> &mut Taints {
        &mut self.warp().taints
    }

    fn inst(&self, site: Site) -> &Inst {
        &self.facts.function.program.functions[site.function as usize].code[site.pc as usize]
    }

    fn thread(&self, lane: usize) -> u32 {
        self.warp_id.warp * LANES as u32 + lane as u32
    }

    /// Which bytes of an access nobody has written, for each lane; `None` if there are none.
    fn unwritten(&mut self, access: &Access<'_>) -> Option<Lanes64> {
        let mut unwritten = [0; LANES];
        let mut any = 0;
        match access.space {
            Space::Global => {
                let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                if device.is_empty() || run_of(access).is_some_and(|(at, bytes)| !device.has_any(at, bytes)) {
                    return None;
                }
                let mut left = lanes(access.mask);
                let addresses = lanes(access.mask).map(|lane| access.addresses[lane]);
                device.find(addresses, access.bytes, |found| {
                    any |= found;
                    unwritten[left.next().unwrap_or_default()] = found;
                });
            }
            Space::Shared => {
                if run_of(access).is_some_and(|(at, bytes)| self.block.shared.has_all(at, bytes)) {
                    return None;
                }
                for lane in lanes(access.mask) {
                    unwritten[lane] = self.block.shared.unwritten(access.addresses[lane], access.bytes);
                    any |= unwritten[lane];
                }
            }
            Space::Local => {
                let local = &self.warp().local;
                for lane in lanes(access.mask) {
                    unwritten[lane] = local.unwritten(lane, access.addresses[lane], access.bytes);
                    any |= unwritten[lane];
                }
            }
            _ => {}
        }
        (any != 0).then_some(unwritten)
    }

    /// The bytes of an access are written, but the lanes' `undefined` ones hold nothing that anybody has written.
    fn write(&mut self, access: &Access<'_>, undefined: &Lanes64) {
        let run = run_of(access).filter(|_| *undefined == [0; LANES]);
        match access.space {
            Space::Global => {
                let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
                match run {
                    _ if device.is_empty() => {}
                    Some((at, bytes)) => device.write(at, bytes),
                    None => lanes(access.mask).for_each(|lane| {
                        device.write_some(access.addresses[lane], access.bytes, undefined[lane]);
                    }),
                }
            }
            Space::Shared => {
                if let Some((at, bytes)) = run {
                    return self.block.shared.write_all(at, bytes);
                }
                for lane in lanes(access.mask) {
                    self.block.shared.write(access.addresses[lane], access.bytes, undefined[lane]);
                }
            }
            _ => {
                let local = &mut self.warp().local;
                for lane in lanes(access.mask) {
                    local.write(lane, access.addresses[lane], access.bytes, undefined[lane]);
                }
            }
        }
    }

    /// The origin of bits that an instruction reads where nobody has written, of which `lane` is the first.
    fn origin(&mut self, site: Site, access: &Access<'_>, places: &Places<'_>, unwritten: &Lanes64) -> u32 {
        let warp_id = self.warp_id;
        if let Some(known) = self.known_origins.get(&(site, warp_id.block, warp_id.warp)) {
            return *known;
        }
        let number = self.origins.len() as u32;
        if self.origins.len() >= MOST_ORIGINS {
            let anywhere = (site, u64::MAX, u32::MAX);
            if let Some(known) = self.known_origins.get(&anywhere) {
                return *known;
            }
            self.known_origins.insert(anywhere, number);
        }
        let lane = lanes(access.mask).find(|lane| unwritten[*lane] != 0).unwrap_or_default();
        let address = access.addresses[lane] + u64::from(unwritten[lane].trailing_zeros());
        let place = match (places.find(access.space, address), access.space) {
            (Some(place), space) => in_words(&self.facts, space, &place, address),
            (None, Space::Local) => format!("byte {address} of the thread's local memory"),
            (None, _) => String::new(),
        };
        let party = Party { site, block: warp_id.block, thread: self.thread(lane) };
        let read = Some((format!("read of {} bytes", access.bytes), party));
        self.origins.push(Origin { read, address: Some(address), place, kind: OriginKind::Memory });
        self.known_origins.insert((site, warp_id.block, warp_id.warp), number);
        number
    }

    /// The origin of what a shuffle gives to a lane that reads from one that takes no part in it.
    fn origin_of_absent(&mut self, site: Site, lane: usize) -> u32 {
        let key = (site, self.warp_id.block, self.warp_id.warp);
        if let Some(known) = self.known_origins.get(&key).copied() {
            return known;
        }
        let number = self.origins.len() as u32;
        let party = Party { site, block: self.warp_id.block, thread: self.thread(lane) };
        let read = Some(("shuffle from a lane that takes no part in it".to_owned(), party));
        self.origins.push(Origin { read, address: None, place: String::new(), kind: OriginKind::Lane });
        if self.origins.len() < MOST_ORIGINS {
            self.known_origins.insert(key, number);
        }
        number
    }

    /// Adds a finding: `what` depends in the lanes of `mask` on what `origin` says.
    fn report(&mut self, (kind, what): (&'static str, &str), site: Site, mask: u32, origin: u32) {
        let Origin { read, address, place, kind: origin_kind } = &self.origins[origin as usize];
        let other = read.clone();
        let party = |lane: usize| Party { site, block: self.warp_id.block, thread: self.thread(lane) };
        // The lane that has read it, if it is among these.
        let first = mask.trailing_zeros() as usize;
        let reader = other.as_ref().map(|(_, other)| (other.thread as usize % LANES, other.thread as usize / LANES));
        let lane = match reader {
            Some((lane, warp)) if warp == self.warp_id.warp as usize && mask >> lane & 1 != 0 => lane,
            _ => first,
        };
        let found = Found {
            what: match origin_kind {
                OriginKind::Register => format!("{what} depends on a register that nobody has written"),
                OriginKind::Memory => format!("{what} depends on memory that nobody has written"),
                OriginKind::Lane => {
                    format!("{what} depends on what a shuffle reads from a lane that takes no part in it")
                }
            },
            party: party(lane),
            address: *address,
            place: Some(place.clone()).filter(|place| !place.is_empty()),
            other: other.clone(),
        };
        let other_site = other.map(|(_, party)| party.site);
        self.findings.add(kind, site, other_site, mask.count_ones().into(), || found);
    }

    /// A load, or an atomic that returns the old value, has read bytes that nobody has written.
    fn loaded(&mut self, site: Site, access: &Access<'_>, places: &Places<'_>, unwritten: &Lanes64) {
        if self.lives.recursive[site.function as usize] {
            return;
        }
        let cause = Cause { origin: self.origin(site, access, places, unwritten), copied: true };
        let program = self.facts.function.program.clone();
        let inst = &program.functions[site.function as usize].code[site.pc as usize];
        let (to, width, signed): (&[Destination], u32, bool) = match &inst.op {
            Op::Memory(Memory::Load(Load { to, width, signed, .. })) => (to, width.bytes(), *signed),
            Op::Memory(Memory::Atomic(op)) => (&op.to, op.width.bytes(), false),
            Op::Matrix(matrix) => {
                if let Matrix::Rows(rows) = &**matrix {
                    self.loaded_rows(site, &rows.registers, rows.transposed, unwritten, cause);
                }
                return;
            }
            _ => return,
        };
        for (index, to) in to.iter().enumerate() {
            let (reg, register_bits) = match to {
                Destination::Nowhere => continue,
                Destination::R32 { reg, bits } => (Reg::R32(*reg), *bits),
                Destination::R64(reg) => (Reg::R64(*reg), 64),
            };
            let mut bits = [0; LANES];
            for lane in lanes(access.mask) {
                let bytes = unwritten[lane] >> (index as u32 * width) & ((1 << width) - 1);
                let mut undefined = (0..width).fold(0, |all, byte| match bytes >> byte & 1 {
                    0 => all,
                    _ => all | 0xff << (8 * byte),
                });
                if signed && bytes >> (width - 1) & 1 != 0 {
                    undefined |= u64::MAX.checked_shl(8 * width).unwrap_or(0) & (u64::MAX >> (64 - register_bits));
                }
                bits[lane] = undefined;
            }
            self.taints().set(site.function, reg, access.mask, &bits, cause);
        }
    }

    /// `ldmatrix` has read rows with bytes that nobody has written.
    fn loaded_rows(&mut self, site: Site, registers: &[R32], transposed: bool, unwritten: &Lanes64, cause: Cause) {
        for (register, rows) in registers.iter().zip(unwritten.chunks(8)) {
            let mut bits = [0; LANES];
            for (lane, bits) in bits.iter_mut().enumerate() {
                for half in 0..2 {
                    let (line, position) = (lane / 4, lane % 4 * 2 + half);
                    let (row, column) = if transposed { (position, line) } else { (line, position) };
                    if rows[row] >> (2 * column) & 0b11 != 0 {
                        *bits |= 0xffff << (16 * half);
                    }
                }
            }
            self.taints().set(site.function, Reg::R32(*register), ALL, &bits, cause);
        }
    }

    /// Which bytes of what registers hold are undefined, one register behind the other.
    fn bytes_of(&mut self, function: u32, registers: &[Reg], width: u32, mask: u32) -> Option<(Lanes64, Cause)> {
        let taints = self.taints();
        let mut bytes = [0; LANES];
        let mut cause: Option<Cause> = None;
        for (index, reg) in registers.iter().enumerate() {
            let Some(taint) = taints.get(function, *reg) else { continue };
            for lane in lanes(taint.lanes & mask) {
                for byte in 0..width {
                    if taint.bits[lane] >> (8 * byte) & 0xff != 0 {
                        bytes[lane] |= 1 << (index as u32 * width + byte);
                        let copied = taint.cause.copied && cause.is_none_or(|own| own.copied);
                        cause = Some(Cause { copied, ..taint.cause });
                    }
                }
            }
        }
        cause.map(|cause| (bytes, cause))
    }

    /// Tells of registers that decide something, and takes them for defined from then on.
    fn decides(&mut self, what: (&'static str, &str), step: &Step<'_>, registers: &[Reg], mask: u32) {
        for reg in registers {
            let function = step.site.function;
            let Some(taint) = self.taints().get(function, *reg) else { continue };
            let (concerned, origin) = (taint.lanes & mask, taint.cause.origin);
            if concerned != 0 {
                self.report(what, step.site, concerned, origin);
                self.taints().clear_lanes(function, *reg, concerned);
            }
        }
    }

    /// What an instruction does with undefined bits, before it is executed.
    fn follow(&mut self, step: &Step<'_>) {
        let Step { site, active, lanes: mask, .. } = *step;
        let program = self.facts.function.program.clone();
        let inst = &program.functions[site.function as usize].code[site.pc as usize];
        let guard = inst.guard.map(|guard| Reg::Pred(guard.pred));
        let is_alu = matches!(inst.op, Op::Alu(_) | Op::Warp(_) | Op::Memory(Memory::Address(_)));
        if let Some(guard) = guard.filter(|_| !is_alu) {
            let what = match inst.op {
                Op::Branch { .. } | Op::BranchIndexed { .. } => ("branch", "a branch"),
                _ => ("condition", "whether the instruction is executed"),
            };
            self.decides(what, step, &[guard], active);
        }
        let taints = std::mem::take(self.taints());
        let mut own = Followed { taints, scratch: std::mem::take(&mut self.scratch) };
        let mut follower =
            Follower { program: &program, simd: self.simd, scratch: &mut own.scratch, taints: &mut own.taints };
        match &inst.op {
            Op::Alu(alu) => follower.alu(step, inst, alu),
            Op::Warp(op @ Warp::Shuffle { .. }) => follower.shuffle(step, op),
            Op::Warp(Warp::Vote { .. } | Warp::Match { .. } | Warp::Reduce { .. }) => follower.set_everywhere(step),
            Op::Matrix(matrix) => match &**matrix {
                Matrix::Multiply(op) => follower.multiply(step, op),
                Matrix::Transpose(_) => follower.set_everywhere(step),
                _ => follower.defines(step, mask),
            },
            Op::Memory(Memory::Address(AddressOp::Zero { .. })) => follower.defines(step, mask),
            Op::Memory(Memory::Address(AddressOp::Shift { to, from, .. })) => match follower.cause(step, mask) {
                Some(cause) => {
                    let bits = follower.taints.bits(site.function, Reg::R64(*from));
                    follower.taints.set(site.function, Reg::R64(*to), mask, &bits, cause);
                }
                None => follower.defines(step, mask),
            },
            Op::Memory(Memory::Address(_)) => match follower.cause(step, mask) {
                Some(cause) => follower.set_all(step, cause),
                None => follower.defines(step, mask),
            },
            Op::Barrier(barrier) if barrier.reduce.is_some() => follower.set_everywhere(step),
            _ => {}
        }
        self.scratch = own.scratch;
        *self.taints() = own.taints;
        match &inst.op {
            Op::Memory(op) => self.follow_memory(step, op),
            Op::Matrix(matrix) => {
                if let Matrix::Rows(_) | Matrix::Tile(_) = &**matrix {
                    self.decides(ADDRESS, step, &step.addresses, mask);
                }
            }
            Op::BranchIndexed { index, .. } => self.decides(("branch", "a branch"), step, &[Reg::R32(*index)], mask),
            Op::Call(call) => {
                if let Callee::Pointer { address, .. } = call.callee {
                    self.decides(("call", "which function is called"), step, &[Reg::R64(address)], mask);
                }
                // A function's registers begin anew.
                let is_own = |callee: u32| match call.callee {
                    Callee::Function(number) => callee == number,
                    Callee::Pointer { .. } => callee != 0 && callee != site.function,
                    Callee::Runtime(_) => false,
                };
                self.taints().forget(mask, |function, _| is_own(function));
            }
            Op::Barrier(barrier) => {
                let count = barrier.count.map(Reg::R32);
                let registers: Vec<Reg> = [Reg::R32(barrier.id)].into_iter().chain(count).collect();
                self.decides(("barrier", "which barrier is waited for"), step, &registers, mask);
            }
            Op::Stack(_) => {
                self.decides(("stack", "the place of local memory"), step, step.reads(), mask);
                self.clear_writes(step, mask);
            }
            Op::Clock { .. } => self.clear_writes(step, mask),
            _ => {}
        }
    }

    fn clear_writes(&mut self, step: &Step<'_>, mask: u32) {
        for reg in step.writes() {
            self.taints().clear_lanes(step.site.function, *reg, mask);
        }
    }

    fn follow_memory(&mut self, step: &Step<'_>, op: &Memory) {
        let Step { site, lanes: mask, .. } = *step;
        match op {
            Memory::Address(_) | Memory::Fence(..) | Memory::AsyncGroup(..) => {}
            Memory::Load(_) => {
                self.decides(ADDRESS, step, &step.addresses, mask);
                self.clear_writes(step, mask);
            }
            Memory::Store(Store { from, width, address, .. }) => {
                self.decides(ADDRESS, step, &step.addresses, mask);
                // What functions are given is not followed.
                if address.region != Region::FrameParam {
                    let bytes = self.bytes_of(site.function, from, width.bytes(), mask);
                    self.stored = bytes.map(|(bytes, cause)| (site, bytes, cause));
                }
            }
            Memory::Atomic(op) => {
                self.decides(ADDRESS, step, &step.addresses, mask);
                let Atomic { operand, new, width, op, .. } = &**op;
                let mut registers: Vec<Reg> = operand.iter().copied().chain(*new).collect();
                if let AtomicOp::Whole(Whole::CompareExchange { new }) = op {
                    registers.extend(new);
                }
                let plain = matches!(op, AtomicOp::Whole(Whole::Load | Whole::Store));
                if plain {
                    let bytes = self.bytes_of(site.function, &registers, width.bytes(), mask);
                    self.stored = bytes.map(|(bytes, cause)| (site, bytes, cause));
                } else {
                    self.decides(("operand", "an operand of an atomic"), step, &registers, mask);
                }
                self.clear_writes(step, mask);
            }
            _ => {
                self.decides(("operand", "an operand of the instruction"), step, step.reads(), mask);
                self.clear_writes(step, mask);
            }
        }
    }
}

/// Where an access begins, and how many bytes it has, if all lanes access the same bytes or those that follow each other.
fn run_of(access: &Access<'_>) -> Option<(u64, u64)> {
    let Access { mask, addresses: at, bytes, .. } = *access;
    if mask != ALL {
        return None;
    }
    let (first, bytes) = (at[0], u64::from(bytes));
    if at.iter().all(|own| *own == first) {
        return Some((first, bytes));
    }
    let follows = |(lane, own): (usize, &u64)| *own == first.wrapping_add(lane as u64 * bytes);
    at.iter().enumerate().all(follows).then_some((first, bytes * LANES as u64))
}

const ADDRESS: (&str, &str) = ("address", "an address");

/// What is lent while an instruction is followed.
struct Followed {
    taints: Taints,
    scratch: Scratch,
}

/// Whether all writes of an instruction to device memory are told.
fn follows_device_memory(op: &Op) -> bool {
    !matches!(op, Op::Memory(Memory::Bulk(_) | Memory::Tensor(_) | Memory::MapEdit(_) | Memory::Texture(_)))
}

/// Whether all writes of an instruction to shared memory are told, and lie in the block's own.
fn follows_shared_memory(op: &Op) -> bool {
    !matches!(op, Op::Memory(Memory::Bulk(_) | Memory::Tensor(_) | Memory::Address(AddressOp::Map { .. })))
}

impl Checker for Init {
    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        let mut state = self.spare.pop().unwrap_or_default();
        state.shared.clear();
        state.warps.resize_with(warps as usize, WarpState::default);
        let unwritten = self.lives.unwritten.clone();
        for (number, warp) in state.warps.iter_mut().enumerate() {
            warp.local.begin(self.frame_bytes as u32);
            warp.taints.clear();
            let left = threads.saturating_sub(number as u32 * LANES as u32).min(LANES as u32);
            let mask = if left == 0 { 0 } else { ALL >> (LANES as u32 - left) };
            for (origin, reg) in unwritten.iter().enumerate() {
                warp.taints.set(0, *reg, mask, &[all_bits(*reg); LANES], Cause { origin: origin as u32, copied: true });
            }
        }
        self.blocks.insert(block, state);
    }

    fn turn(&mut self, warp_id: WarpId) {
        if self.warp_id.block != warp_id.block {
            let next = self.blocks.remove(&warp_id.block).unwrap_or_default();
            let before = std::mem::replace(&mut self.block, next);
            if self.warp_id.block != u64::MAX {
                self.blocks.insert(self.warp_id.block, before);
            }
        }
        self.warp_id = warp_id;
        (self.stored, self.copied) = (None, None);
    }

    fn steps(&self) -> bool {
        let warp = self.block.warps.get(self.warp_id.warp as usize);
        warp.is_some_and(|warp| !warp.taints.is_empty())
    }

    fn step(&mut self, step: &Step<'_>) {
        let Step { site, active, .. } = *step;
        self.stored = None;
        let lives = self.lives.clone();
        let live = &lives.functions[site.function as usize];
        let is_dead = |function: u32, reg: Reg| function == site.function && !live.is_read(site.pc, reg);
        self.taints().forget(active, is_dead);
        for reg in step.reads() {
            let Some(origin) = self.taints().get(site.function, *reg).map(|taint| taint.cause.origin) else { continue };
            let party =
                Party { site, block: self.warp_id.block, thread: self.thread(active.trailing_zeros() as usize) };
            let origin = &mut self.origins[origin as usize];
            if origin.kind == OriginKind::Register && origin.read.is_none() {
                let name = step.registers.name(*reg).unwrap_or_default();
                origin.read = Some((format!("first read of `{name}`"), party));
                origin.place = format!("register `{name}`");
            }
        }
        if !self.taints().is_empty() {
            self.follow(step);
        }
    }

    fn located(&mut self, site: Site, _: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let is_followed = match access.space {
            Space::Global => self.follows[0],
            Space::Shared => self.follows[1],
            Space::Local => self.frame_bytes > 0,
            Space::Param => self.frame_bytes > 0 && access.kind == AccessKind::Store,
            _ => false,
        };
        let stored = self.stored.as_ref().filter(|stored| stored.0 == site).map(|stored| (stored.1, stored.2));
        let mut undefined = stored.map_or([0; LANES], |stored| stored.0);
        if let (Some((_, cause)), Space::Global) = (stored, access.space) {
            self.stored_to_device(site, access, &mut undefined, cause);
        }
        if !is_followed {
            return;
        }
        match access.kind {
            AccessKind::Load => {
                if let Some(unwritten) = self.unwritten(access) {
                    self.loaded(site, access, places, &unwritten);
                }
            }
            AccessKind::Store => self.write(access, &undefined),
            AccessKind::AsyncCopy if access.space == Space::Global => {
                let whole = matches!(&self.inst(site).op, Op::Memory(Memory::AsyncCopy(copy)) if copy.read.is_none());
                self.copied = self.unwritten(access).filter(|_| whole).map(|unwritten| (site, unwritten));
            }
            AccessKind::AsyncCopy => {
                let copied = self.copied.take().filter(|copied| copied.0 == site);
                self.write(access, &copied.map_or([0; LANES], |copied| copied.1));
            }
            AccessKind::Atomic | AccessKind::Reduction => self.changed(site, access, places),
        }
    }

    fn mistake(&mut self, site: Site, _: WarpId, lanes: u32, mistake: &Mistake) {
        if *mistake != Mistake::AbsentSource || self.lives.recursive[site.function as usize] {
            return;
        }
        if let Op::Warp(Warp::Shuffle { to, .. }) = &self.inst(site).op {
            let to = Reg::R32(*to);
            let origin = self.origin_of_absent(site, lanes.trailing_zeros() as usize);
            self.taints().set(site.function, to, lanes, &[all_bits(to); LANES], Cause { origin, copied: false });
        }
    }

    fn exited(&mut self, _: Site, _: WarpId, lanes: u32) {
        self.taints().forget(lanes, |_, _| true);
    }

    fn block_ended(&mut self, block: u64) {
        let ended = match self.warp_id.block == block {
            true => {
                self.warp_id.block = u64::MAX;
                Some(std::mem::take(&mut self.block))
            }
            false => self.blocks.remove(&block),
        };
        self.spare.extend(ended);
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

impl Init {
    /// What nobody has written is stored to device memory. Undefined bytes that are told of count as written from then on.
    fn stored_to_device(&mut self, site: Site, access: &Access<'_>, undefined: &mut Lanes64, cause: Cause) {
        let all = u64::MAX >> (64 - access.bytes.clamp(1, 64));
        let is_byte = matches!(&self.inst(site).op, Op::Memory(Memory::Store(store)) if store.width == Width::B1);
        let matters = |bytes: u64| match cause.copied {
            true => bytes == all && !is_byte,
            false => bytes != 0,
        };
        let concerned =
            lanes(access.mask).filter(|lane| matters(undefined[*lane])).fold(0, |all, lane| all | 1 << lane);
        if concerned != 0 {
            self.report(("store", "a value that is stored to device memory"), site, concerned, cause.origin);
            lanes(concerned).for_each(|lane| undefined[lane] = 0);
        }
    }

    /// An atomic has changed memory.
    fn changed(&mut self, site: Site, access: &Access<'_>, places: &Places<'_>) {
        let Some(unwritten) = self.unwritten(access) else { return };
        let op = match &self.inst(site).op {
            Op::Memory(Memory::Atomic(op)) => op.op,
            _ => return,
        };
        let replaces = matches!(op, AtomicOp::Exchange | AtomicOp::Whole(Whole::Exchange));
        let compares = matches!(op, AtomicOp::CompareExchange | AtomicOp::Whole(Whole::CompareExchange { .. }));
        if !replaces && (compares || access.space == Space::Global) {
            let concerned =
                lanes(access.mask).filter(|lane| unwritten[*lane] != 0).fold(0, |all, lane| all | 1 << lane);
            let origin = self.origin(site, access, places, &unwritten);
            self.report(("atomic", "the result of an atomic"), site, concerned, origin);
            self.write(access, &[0; LANES]);
            return;
        }
        self.loaded(site, access, places, &unwritten);
        // A sum with what nobody has written is nothing that anybody has written.
        if replaces {
            self.write(access, &[0; LANES]);
        }
    }
}
