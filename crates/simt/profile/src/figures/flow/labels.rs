//! The location of each value: in the registers of warps, and in memory byte by byte.

use std::collections::HashMap;

use ptx::ast::Space;
use simt::observe::{FrameChange, Reg};

use super::graph::{Id, MemoryAddress, PLAIN, UNTOUCHED};

/// The values in a register, by lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterValues {
    /// The lanes whose register holds a value.
    pub(super) lanes: u32,
    pub(super) ids: [Id; 32],
}

impl RegisterValues {
    pub(super) const NOTHING: Self = Self { lanes: 0, ids: [PLAIN; 32] };

    pub(super) fn set(&mut self, lane: usize, id: Id) {
        self.ids[lane] = id;
        self.lanes = self.lanes & !(1 << lane) | u32::from(id > PLAIN) << lane;
    }
}

/// The values in the registers of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    files: [Vec<RegisterValues>; 2],
    /// The lanes whose predicate depends on values, for each predicate.
    predicates: Vec<u32>,
    /// The start of the current function's registers in each file, for each lane.
    frames: [[u32; 3]; 32],
    /// The frame to which register names refer.
    frame: [u32; 3],
}

impl Registers {
    /// Makes register names refer to the function that these lanes execute.
    pub(super) fn enter(&mut self, lanes: u32) {
        self.frame = self.frames[lanes.trailing_zeros() as usize % 32];
    }

    /// Returns a register's file and its number in that file; `None` for a predicate.
    fn place(&self, reg: Reg) -> Option<(usize, usize)> {
        match reg {
            Reg::R32(reg) => Some((0, (self.frame[0] + reg.0) as usize)),
            Reg::R64(reg) => Some((1, (self.frame[1] + reg.0) as usize)),
            Reg::Pred(_) => None,
        }
    }

    pub(super) fn get(&self, reg: Reg) -> &RegisterValues {
        let held = self.place(reg).and_then(|(file, number)| self.files[file].get(number));
        held.unwrap_or(&RegisterValues::NOTHING)
    }

    pub(super) fn set(&mut self, reg: Reg, lanes: u32, ids: &[Id; 32]) {
        let Some((file, number)) = self.place(reg) else { return };
        let file = &mut self.files[file];
        if file.len() <= number {
            file.resize(number + 1, RegisterValues::NOTHING);
        }
        simt::regs::lanes(lanes).for_each(|lane| file[number].set(lane, ids[lane]));
    }

    /// Returns the lanes in which a predicate depends on values.
    pub(super) fn depends(&self, reg: Reg) -> u32 {
        match reg {
            Reg::Pred(pred) => self.predicates.get((self.frame[2] + pred.0) as usize).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// Records that, among `lanes`, a predicate depends on values only in the lanes of `depending`.
    pub(super) fn set_depends(&mut self, reg: Reg, lanes: u32, depending: u32) {
        let Reg::Pred(pred) = reg else { return };
        let number = (self.frame[2] + pred.0) as usize;
        if self.predicates.len() <= number {
            self.predicates.resize(number + 1, 0);
        }
        self.predicates[number] = self.predicates[number] & !lanes | depending & lanes;
    }

    /// Removes the values of these lanes from a register.
    pub(super) fn clear(&mut self, reg: Reg, lanes: u32) {
        let held = self.place(reg).and_then(|(file, number)| self.files[file].get_mut(number));
        if let Some(held) = held {
            held.lanes &= !lanes;
            simt::regs::lanes(lanes).for_each(|lane| held.ids[lane] = PLAIN);
        }
        self.set_depends(reg, lanes, 0);
    }

    /// Switches the lanes' frames after a call or return, and removes the values from the callee's registers.
    pub(super) fn change_frames(&mut self, lanes: u32, change: &FrameChange) {
        let Some(callee) = change.callee else { return };
        let next = if change.returns { change.caller } else { callee };
        simt::regs::lanes(lanes).for_each(|lane| self.frames[lane] = next.registers);
        for (file, begin) in self.files.iter_mut().zip(callee.registers) {
            for held in file.iter_mut().skip(begin as usize) {
                held.lanes &= !lanes;
                simt::regs::lanes(lanes).for_each(|lane| held.ids[lane] = PLAIN);
            }
        }
    }
}

/// The location that a thread accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Known(MemoryAddress),
    /// In the local memory of a thread: the thread and the address.
    Local(u32, u64),
}

/// The values in memory, by byte.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// First address and size of each buffer.
    ranges: Vec<(u64, u64)>,
    buffers: Vec<Vec<Id>>,
    shared: Vec<Id>,
    local: HashMap<u32, Vec<Id>>,
}

impl Memory {
    pub(super) fn new(ranges: &[(u64, u64)]) -> Self {
        Self { ranges: ranges.to_vec(), buffers: vec![Vec::new(); ranges.len()], ..Self::default() }
    }

    /// Returns the location of an address; `None` if values there are not followed.
    pub(super) fn find(&self, space: Space, thread: u32, address: u64) -> Option<At> {
        match space {
            Space::Shared => Some(At::Known(MemoryAddress::Shared(address))),
            Space::Local => Some(At::Local(thread, address)),
            Space::Global => {
                let is_in = |(first, bytes): &(u64, u64)| (*first..first + bytes).contains(&address);
                let number = self.ranges.iter().position(is_in)?;
                Some(At::Known(MemoryAddress::Buffer(number, address - self.ranges[number].0)))
            }
            _ => None,
        }
    }

    /// Returns the value numbers of the bytes at a location.
    pub(super) fn bytes(&mut self, at: At, bytes: u32) -> &mut [Id] {
        let (memory, first) = match at {
            At::Known(MemoryAddress::Shared(at)) => (&mut self.shared, at),
            At::Known(MemoryAddress::Buffer(number, at)) => (&mut self.buffers[number], at),
            At::Local(thread, at) => (self.local.entry(thread).or_default(), at),
        };
        let (first, end) = (first as usize, first as usize + bytes as usize);
        if memory.len() < end {
            memory.resize(end, UNTOUCHED);
        }
        &mut memory[first..end]
    }
}
