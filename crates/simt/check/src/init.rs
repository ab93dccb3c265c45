//! The sanitizer `init`: branches, addresses and results that depend on uninitialized memory or registers.
//!
//! # Algorithm
//!
//! Undefined bits are tracked as Valgrind's Memcheck does (Seward and Nethercote, "Using Valgrind to Detect Undefined
//! Value Errors with Bit-Precision", USENIX ATC 2005). Each byte of memory is either written or unwritten. This state
//! is recorded for each block's shared memory, for each thread's local memory and, across launches, for device memory.
//! A load of unwritten bytes is not a finding, because copies of a struct include its padding. After such a load, each
//! bit of the warp's registers is either defined or undefined ([`follow`], [`rules`]). A finding is a branch, an
//! address or a store to device memory that depends on an undefined bit. While no register has undefined bits, register
//! instructions are not slowed down.
//!
//! # What it can miss
//!
//! - Unwritten bytes next to written ones in a value that a kernel copies to device memory, because they may be
//!   padding.
//! - Device memory, if the kernel writes surfaces or tensor maps, because the sanitizer does not see these writes.
//! - Sums of `wgmma`, results of textures and surfaces, and memory from `alloca` and `malloc`, because all of these count
//!   as written.

mod accesses;
mod asynchronous;
mod follow;
mod follower;
mod frames;
mod liveness;
mod origins;
mod rules;
mod shadow;
mod taints;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::checker::Checker;
use super::facts::LaunchFacts;
use super::finding::{Findings, ThreadAtSite};
use follower::{Scratch, all_bits};
use frames::WarpState;
use liveness::RegisterLives;
use origins::{Origin, OriginKind};
use shadow::SharedShadow;
use simt::code::{Inst, Op, Program};
use simt::memory::Memory;
use simt::memory::global::Unwritten;
use simt::memory::texture::TextureOp;
use simt::observe::{Access, AccessKind, FrameChange, Issue, Mistake, Places, Site, Space, Step, WarpId};
use simt::regs::{ALL, LANES, Lanes64, Reg};
use simt::run::Simulator;
use simt::warp::Warp;
use taints::{Cause, History, Taints};

/// The state of the check during one launch.
pub(super) struct Init {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    lives: Arc<RegisterLives>,
    device: Arc<Mutex<Unwritten>>,
    /// Whether device memory is tracked: false if the program has instructions that write device memory without an
    /// event.
    follows_device: bool,
    /// Whether functions have frames in local memory.
    has_frames: bool,
    /// The blocks of the starting cluster, by rank; empty if blocks have no clusters.
    cluster: Arc<[u64]>,
    /// The running blocks except the current one.
    blocks: HashMap<u64, BlockState>,
    spare: Vec<BlockState>,
    warp_id: WarpId,
    block: BlockState,
    /// For the current store: its site, the undefined bytes of each lane's value, and their cause.
    current_store: Option<(Site, Lanes64, Cause)>,
    /// For the instruction that sends registers to other blocks: the sending lane, and the number of bytes that it has
    /// sent.
    sent_bytes: (u32, u32),
    /// For the current asynchronous copy: its site and the unwritten bytes of its source.
    current_copy: Option<(Site, Lanes64)>,
    origins: Vec<Origin>,
    known_origins: HashMap<(Site, u64, u32), u32>,
    scratch: Scratch,
}

/// The state of a running block.
#[derive(Default)]
struct BlockState {
    shared: SharedShadow,
    /// The blocks of its cluster.
    cluster: Arc<[u64]>,
    warps: Vec<WarpState>,
}

impl Init {
    pub(super) fn new(simulator: &mut Simulator, facts: Arc<LaunchFacts>) -> Self {
        let program = &facts.function.program();
        let lives = program.analyses.get(|| RegisterLives::new(&program.functions));
        let follows_device = sees_all_writes(program);
        let device = simulator.memory().share_unwritten();
        let mut init = Self {
            findings: Findings::default(),
            lives,
            follows_device,
            has_frames: program.any(|func| func.frame_bytes > 0),
            cluster: Arc::new([]),
            device,
            blocks: HashMap::new(),
            spare: Vec::new(),
            warp_id: WarpId { block: u64::MAX, warp: 0 },
            block: BlockState::default(),
            current_store: None,
            sent_bytes: (0, 0),
            current_copy: None,
            origins: Vec::new(),
            known_origins: HashMap::new(),
            scratch: Scratch::default(),
            facts: facts.clone(),
        };
        init.origins.resize_with(init.lives.unwritten.iter().map(Vec::len).sum(), || Origin {
            read: None,
            address: None,
            place: String::new(),
            kind: OriginKind::Register,
        });
        init
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

    /// Returns the shadow of a block's shared memory: of the cluster's block with this rank, or of the current block if
    /// `rank` is `None`.
    fn shared(&mut self, rank: Option<u32>) -> Option<&mut SharedShadow> {
        let other = rank.and_then(|rank| self.block.cluster.get(rank as usize).copied());
        match other.filter(|block| *block != self.warp_id.block) {
            None => Some(&mut self.block.shared),
            Some(block) => self.blocks.get_mut(&block).map(|block| &mut block.shared),
        }
    }

    fn inst(&self, site: Site) -> &Inst {
        &self.facts.function.program().functions[site.function as usize].code[site.pc as usize]
    }

    fn thread(&self, lane: usize) -> u32 {
        self.warp_id.warp * LANES as u32 + lane as u32
    }
}

/// Returns whether the simulator reports all writes of a program to device memory.
fn sees_all_writes(program: &Program) -> bool {
    program.functions.iter().flat_map(|func| &func.code).all(|inst| is_reported(&inst.op))
}

/// Returns whether the simulator reports all writes of an instruction to device memory. It does not report writes to
/// surfaces and tensor maps.
fn is_reported(op: &Op) -> bool {
    match op {
        Op::Memory(Memory::MapEdit(_)) => false,
        Op::Memory(Memory::Texture(texture)) => !matches!(
            texture.op,
            TextureOp::Store(..)
                | TextureOp::StoreFormatted(_)
                | TextureOp::Reduce(..)
                | TextureOp::ReduceFormatted(..)
        ),
        _ => true,
    }
}

impl Checker for Init {
    fn records_writes(&self) -> bool {
        self.follows_device
    }

    fn cluster(&mut self, blocks: &[u64]) {
        self.cluster = blocks.into();
    }

    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        let mut state = self.spare.pop().unwrap_or_default();
        let static_bytes = self.facts.function.program().shared_bytes.next_multiple_of(16);
        state.shared.begin((static_bytes + self.facts.shared_bytes).into());
        state.cluster = if self.cluster.contains(&block) { self.cluster.clone() } else { Arc::new([]) };
        state.warps.resize_with(warps as usize, WarpState::default);
        let kernel = &self.facts.function.program().functions[0];
        for (number, warp) in state.warps.iter_mut().enumerate() {
            let left = threads.saturating_sub(number as u32 * LANES as u32).min(LANES as u32);
            let mask = if left == 0 { 0 } else { ALL >> (LANES as u32 - left) };
            warp.begin(mask, kernel, &self.lives.unwritten[0]);
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
        (self.current_store, self.current_copy) = (None, None);
    }

    fn steps(&self) -> bool {
        let warp = self.block.warps.get(self.warp_id.warp as usize);
        // The stored value is known until the next instruction.
        self.current_store.is_some() || warp.is_some_and(|warp| !warp.taints.is_empty())
    }

    fn step(&mut self, step: &Step<'_>) {
        let Step { site, active, .. } = *step;
        (self.current_store, self.sent_bytes) = (None, (0, 0));
        self.enter(active);
        let lives = self.lives.clone();
        let live = &lives.functions[site.function as usize];
        self.taints().forget(active, |reg| !live.is_read(site.pc, reg));
        for reg in step.reads() {
            let Some(origin) = self.taints().get(*reg).map(|taint| taint.cause.origin) else { continue };
            let party =
                ThreadAtSite { site, block: self.warp_id.block, thread: self.thread(active.trailing_zeros() as usize) };
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
            Space::Global => self.follows_device,
            Space::Shared => true,
            Space::Local => self.has_frames,
            Space::Param => self.has_frames && self.is_in_frame(site),
            _ => false,
        };
        let current_store = self.current_store.filter(|store| store.0 == site).map(|store| (store.1, store.2));
        let mut undefined = current_store.map_or([0; LANES], |store| store.0);
        if let (Some((_, cause)), Space::Global) = (current_store, access.space) {
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
                self.current_copy = self.unwritten(access).filter(|_| whole).map(|unwritten| (site, unwritten));
            }
            AccessKind::AsyncCopy => {
                let current_copy = self.current_copy.take().filter(|current_copy| current_copy.0 == site);
                self.write(access, &current_copy.map_or([0; LANES], |current_copy| current_copy.1));
            }
            AccessKind::Atomic | AccessKind::Reduction => self.changed(site, access, places),
        }
    }

    fn mistake(&mut self, site: Site, _: WarpId, lanes: u32, mistake: &Mistake) {
        if *mistake != Mistake::AbsentSource {
            return;
        }
        if let Op::Warp(Warp::Shuffle { to, .. }) = &self.inst(site).op {
            let to = Reg::R32(*to);
            let origin = self.origin_of_absent(site, lanes.trailing_zeros() as usize);
            self.enter(lanes);
            self.taints().set(to, lanes, &[all_bits(to); LANES], Cause { origin, history: History::Computed });
        }
    }

    fn exited(&mut self, _: Site, _: WarpId, lanes: u32) {
        self.taints().forget_all(lanes);
    }

    fn issued(&mut self, site: Site, _: WarpId, issue: &Issue, places: &Places<'_>) {
        self.issue(site, issue, places);
    }

    fn frames(&mut self, _: Site, _: WarpId, lanes: u32, change: &FrameChange) {
        self.change_frames(lanes, change);
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
