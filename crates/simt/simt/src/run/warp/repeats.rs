//! The values that may differ between two rounds of a loop in which a warp waits, such as a counter of its attempts.
//!
//! A warp repeats itself if it returns to the same instruction with the same values in all registers and has not
//! changed memory. Such a warp repeats itself until another warp changes memory that it reads. A warp also repeats
//! itself if the only values that differ have no influence on the lanes' branches, addresses and stored values. To
//! check this, the simulator follows a round instruction by instruction, and tracks which registers and which words of
//! local memory vary.

use super::{Snapshot, WarpState};
use crate::code::{Callee, Func, Op, Reg, Signature, Slot};
use crate::memory::{Address, Memory, Region};
use crate::regs::{ALL, LANES, lanes};
use crate::run::block::LaunchState;
use crate::warp::Named;

/// The registers and words of local memory that may differ from round to round, and the lanes in which they may differ.
/// Registers and words beyond the end of a list may differ in all lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::run) struct Varying {
    r32: Vec<u32>,
    r64: Vec<u32>,
    preds: Vec<u32>,
    local: Vec<u32>,
    /// Whether the lanes have read memory that other warps may change.
    pub(in crate::run) reads: bool,
}

/// The index of a frame's first register in each file.
type Base = [usize; 3];

impl Varying {
    /// Returns whether no register and no word of local memory differs.
    pub(in crate::run) fn is_empty(&self) -> bool {
        self.lists().iter().all(|list| list.iter().all(|lanes| *lanes == 0))
    }

    fn lists(&self) -> [&[u32]; 4] {
        [&self.r32, &self.r64, &self.preds, &self.local]
    }

    /// Adds everything that varies in `other`. Returns whether `other` adds anything.
    pub(in crate::run) fn add(&mut self, other: &Varying) -> bool {
        let mut more = false;
        let pairs = [
            (&mut self.r32, &other.r32),
            (&mut self.r64, &other.r64),
            (&mut self.preds, &other.preds),
            (&mut self.local, &other.local),
        ];
        for (list, added) in pairs {
            for (at, lanes) in list.iter_mut().enumerate() {
                let added = added.get(at).copied().unwrap_or(ALL);
                more |= added & !*lanes != 0;
                *lanes |= added;
            }
        }
        more
    }

    fn place(&mut self, base: Base, reg: Reg) -> (&mut Vec<u32>, usize) {
        match reg {
            Reg::R32(reg) => (&mut self.r32, base[0] + reg.0 as usize),
            Reg::R64(reg) => (&mut self.r64, base[1] + reg.0 as usize),
            Reg::Pred(reg) => (&mut self.preds, base[2] + reg.0 as usize),
        }
    }

    /// Returns the lanes in which a register varies.
    fn of(&mut self, base: Base, reg: Reg) -> u32 {
        let (list, at) = self.place(base, reg);
        list.get(at).copied().unwrap_or(ALL)
    }

    /// Records that the lanes of `active` write a register, and that the new value varies in the lanes of `varies`.
    fn write(&mut self, base: Base, reg: Reg, active: u32, varies: u32) {
        let (list, at) = self.place(base, reg);
        if list.len() <= at {
            list.resize(at + 1, ALL);
        }
        list[at] = list[at] & !active | varies & active;
    }

    /// Returns whether any byte of these slots of local memory varies in any of the lanes of `active`.
    fn any_in(&self, local: u32, slots: &[Slot], active: u32) -> bool {
        slots.iter().any(|slot| {
            let begin = local + slot.at;
            self.words(begin, slot.bytes).any(|word| self.local.get(word).is_none_or(|lanes| lanes & active != 0))
        })
    }

    /// Returns the indices of the words of local memory that contain these bytes.
    fn words(&self, begin: u32, bytes: u32) -> impl Iterator<Item = usize> + use<> {
        begin as usize / 4..(begin as usize + bytes as usize).div_ceil(4)
    }
}

impl WarpState {
    /// Returns whether the warp is at the instruction of the snapshot.
    pub(in crate::run) fn is_back_at(&self, snapshot: &Snapshot) -> bool {
        self.stack.last() == snapshot.stack.last() && self.stack.len() == snapshot.stack.len()
    }

    /// Returns whether all groups of lanes are where they were in the snapshot.
    pub(in crate::run) fn all_are_back_at(&self, snapshot: &Snapshot) -> bool {
        self.stack == snapshot.stack
    }

    /// Returns the registers and words that differ from the snapshot, which was taken at the current instruction.
    pub(in crate::run) fn differences(&self, launch: &LaunchState<'_>, snapshot: &Snapshot) -> Varying {
        fn lanes_of<T: PartialEq>(current: &[T], noted: &[T]) -> u32 {
            let pairs = current.iter().zip(noted).enumerate();
            pairs.fold(0, |lanes, (lane, (current, noted))| lanes | u32::from(current != noted) << lane)
        }
        let (r32, r64, preds) = self.rows(launch);
        let all = self.local.all();
        let mut local: Vec<u32> = all
            .chunks(LANES)
            .zip(snapshot.local.chunks(LANES))
            .map(|(current, noted)| lanes_of(current, noted))
            .collect();
        // Local memory that the snapshot does not contain.
        local.resize(all.len() / LANES, ALL);
        Varying {
            r32: r32.iter().zip(&snapshot.r32).map(|(current, noted)| lanes_of(current, noted)).collect(),
            r64: r64.iter().zip(&snapshot.r64).map(|(current, noted)| lanes_of(current, noted)).collect(),
            preds: preds.iter().zip(&snapshot.preds).map(|(current, noted)| current ^ noted).collect(),
            local,
            reads: false,
        }
    }

    /// Updates `varying` for the next instruction. Returns `false` if varying values decide what the instruction does,
    /// or if this analysis does not support the instruction.
    pub(in crate::run) fn follow(&mut self, launch: &LaunchState<'_>, varying: &mut Varying) -> bool {
        let Some(entry) = self.stack.last().copied() else {
            return false;
        };
        let frame = self.frames[entry.frame as usize];
        let func = &launch.program.functions[frame.function as usize];
        let base = [frame.r32, frame.r64, frame.preds];
        let site = self.site_of(&entry);
        let inst = launch.inst(site);
        if inst.guard.is_some_and(|guard| varying.of(base, Reg::Pred(guard.pred)) & entry.mask != 0) {
            return false;
        }
        let active = self.regs(entry.frame).guarded(inst.guard, entry.mask);
        if active == 0 {
            return true;
        }
        let operands = launch.program.operands(site);
        let any = operands.reads.iter().fold(0, |any, reg| any | varying.of(base, *reg));
        let varies = any & active;
        let result = match &inst.op {
            Op::Alu(_) | Op::Memory(Memory::Address(_) | Memory::PendingCount { .. }) => varies,
            Op::Clock { .. } => active,
            Op::Nothing | Op::Branch { .. } | Op::Memory(Memory::Fence(..)) => return true,
            Op::BranchIndexed { .. } => return varies == 0,
            // The lanes read each other's registers, and no lane waits.
            Op::Warp(op) if any == 0 => {
                let alive = self.alive();
                match op.named(&self.regs(entry.frame), active, alive) {
                    Named { missing: false, unnamed: 0, .. } => 0,
                    _ => return false,
                }
            }
            Op::Memory(Memory::Load(op)) => {
                let Some(places) = self.places(entry.frame, base, &op.address, active, varying) else {
                    return false;
                };
                let mut varies = 0;
                for (lane, at) in places {
                    match at {
                        None => varying.reads = true,
                        Some(at) => {
                            let mut words = varying.words(at, op.bytes);
                            let is_same =
                                |word: usize| varying.local.get(word).is_some_and(|lanes| lanes >> lane & 1 == 0);
                            varies |= u32::from(!words.all(is_same)) << lane;
                        }
                    }
                }
                varies
            }
            Op::Memory(Memory::Store(op)) => {
                let Some(places) = self.places(entry.frame, base, &op.address, active, varying) else {
                    return false;
                };
                for (lane, at) in places {
                    let (differs, bit) = (varies >> lane & 1 == 1, 1 << lane);
                    let Some(at) = at else {
                        match differs {
                            true => return false,
                            false => continue,
                        }
                    };
                    for word in varying.words(at, op.bytes) {
                        match varying.local.get_mut(word) {
                            Some(lanes) if differs => *lanes |= bit,
                            Some(lanes) if op.bytes >= 4 => *lanes &= !bit,
                            Some(_) => {}
                            None => return false,
                        }
                    }
                }
                return true;
            }
            Op::Memory(Memory::Atomic(op)) if varies == 0 => {
                let places = self.places(entry.frame, base, &op.address, active, varying);
                if places.is_none_or(|places| places.iter().any(|(_, at)| at.is_some())) {
                    return false;
                }
                varying.reads = true;
                0
            }
            Op::Call(call) if varies == 0 => {
                if varying.any_in(frame.local, &call.slots.parameters, active) {
                    return false;
                }
                let callee = match &call.callee {
                    Callee::Function(number) => &launch.program.functions[*number as usize],
                    _ => return false,
                };
                varying.begin_frame(base, func, callee, active);
                return true;
            }
            Op::Return => {
                let Signature { results, .. } = &func.slots;
                return frame.call.is_some() && !varying.any_in(frame.local, results, active);
            }
            _ => return false,
        };
        operands.writes.iter().for_each(|reg| varying.write(base, *reg, active, result));
        true
    }

    /// Returns each lane of `active` with the address that the lane accesses in local memory, or with `None` if the
    /// lane accesses other memory. Returns `None` as a whole if the addresses vary.
    fn places(
        &mut self,
        frame: u32,
        base: Base,
        address: &Address,
        active: u32,
        varying: &mut Varying,
    ) -> Option<Vec<(usize, Option<u32>)>> {
        if varying.of(base, address.base) & active != 0 {
            return None;
        }
        let mut at = [0; LANES];
        address.lanes(&self.regs(frame), &mut at);
        let places = lanes(active).map(|lane| {
            let (region, at) = match address.region {
                Region::Generic => {
                    let region = Region::of(at[lane]);
                    (region, at[lane].wrapping_sub(region.window()))
                }
                region => (region, at[lane]),
            };
            let is_local = matches!(region, Region::Local | Region::FrameParam);
            (lane, is_local.then_some(at as u32))
        });
        Some(places.collect())
    }
}

impl Varying {
    /// Starts the frame of a called function: all registers in the frame hold arbitrary values, except the initialized
    /// registers.
    fn begin_frame(&mut self, caller: Base, func: &Func, callee: &Func, active: u32) {
        let counts = [func.r32, func.r64, func.preds];
        let base: Base = std::array::from_fn(|file| caller[file] + counts[file] as usize);
        let [r32, r64, preds] = base;
        self.r32.truncate(r32);
        self.r64.truncate(r64);
        self.preds.truncate(preds);
        for filled in &callee.frame_init {
            self.write(base, filled.reg, active, 0);
        }
    }
}
