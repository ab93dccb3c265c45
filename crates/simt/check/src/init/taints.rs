//! The undefined bits of a warp's registers.

use simt::code::Func;
use simt::observe::FramePlace;
use simt::regs::{LANES, Lanes64, Pred, R32, R64, Reg, lanes};

/// The undefined bits of one register.
#[derive(Debug, Clone)]
pub(super) struct Taint {
    /// The register file, and the number of the register in that file.
    at: (usize, u32),
    /// The lanes with undefined bits.
    pub(super) lanes: u32,
    pub(super) bits: Lanes64,
    /// The cause of the undefined bits.
    pub(super) cause: Cause,
}

/// The cause of undefined bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause {
    /// The number of the origin.
    pub(super) origin: u32,
    /// What instructions have done with the value since its undefined bits were read.
    pub(super) history: History,
}

/// What instructions have done with a value since its undefined bits were read.
///
/// Undefined bytes next to defined bytes may be the padding of a struct only if the value is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum History {
    /// The value was copied, or packed into a word with other fields.
    Copied,
    /// The value was shifted by whole bytes. It counts as a copy if it is then packed with other fields, otherwise as a
    /// product.
    Shifted,
    /// The value was an operand of a computation.
    Computed,
}

/// The position of a frame's registers among its warp's registers: the start and the count in each of the three files.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    begin: [u32; 3],
    count: [u32; 3],
}

impl Window {
    pub(super) fn new(place: &FramePlace, func: &Func) -> Self {
        Self { begin: place.registers, count: [func.r32, func.r64, func.preds] }
    }

    /// Returns the position of a frame's register among the warp's registers.
    fn place(&self, reg: Reg) -> (usize, u32) {
        let (file, number) = match reg {
            Reg::R32(reg) => (0, reg.0),
            Reg::R64(reg) => (1, reg.0),
            Reg::Pred(reg) => (2, reg.0),
        };
        (file, self.begin[file] + number)
    }

    /// Returns the frame's register at a place.
    fn register(&self, (file, number): (usize, u32)) -> Option<Reg> {
        let number = number.checked_sub(self.begin[file]).filter(|number| *number < self.count[file])?;
        Some(match file {
            0 => Reg::R32(R32(number)),
            1 => Reg::R64(R64(number)),
            _ => Reg::Pred(Pred(number)),
        })
    }
}

/// The registers of a warp that have undefined bits. Methods use the register names of the current frame's function.
#[derive(Debug, Default)]
pub(super) struct Taints {
    registers: Vec<Taint>,
    /// For each register of a file, its index in `registers` plus one; zero if it has no undefined bits.
    indices: [Vec<u32>; 3],
    /// The current frame.
    pub(super) frame: Window,
}

impl Taints {
    pub(super) fn is_empty(&self) -> bool {
        self.registers.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.forget_all(u32::MAX);
    }

    fn index(&self, reg: Reg) -> Option<usize> {
        let (file, number) = self.frame.place(reg);
        (self.indices[file].get(number as usize).copied().unwrap_or(0) as usize).checked_sub(1)
    }

    pub(super) fn get(&self, reg: Reg) -> Option<&Taint> {
        self.index(reg).map(|index| &self.registers[index])
    }

    /// Returns the lanes of `mask` in which a register has undefined bits.
    pub(super) fn lanes(&self, reg: Reg, mask: u32) -> u32 {
        self.get(reg).map_or(0, |taint| taint.lanes & mask)
    }

    /// Returns the undefined bits of a register.
    pub(super) fn bits(&self, reg: Reg) -> Lanes64 {
        self.get(reg).map_or([0; LANES], |taint| taint.bits)
    }

    /// Sets the undefined bits of a register in the lanes of `mask`.
    pub(super) fn set(&mut self, reg: Reg, mask: u32, bits: &Lanes64, cause: Cause) {
        let undefined = lanes(mask).filter(|lane| bits[*lane] != 0).fold(0, |all, lane| all | 1 << lane);
        if undefined == 0 {
            return self.clear_lanes(reg, mask);
        }
        let index = self.index(reg).unwrap_or_else(|| {
            let at = self.frame.place(reg);
            let (file, number) = (&mut self.indices[at.0], at.1 as usize);
            if file.len() <= number {
                file.resize(number + 1, 0);
            }
            self.registers.push(Taint { at, lanes: 0, bits: [0; LANES], cause });
            file[number] = self.registers.len() as u32;
            self.registers.len() - 1
        });
        let taint = &mut self.registers[index];
        taint.cause = cause;
        taint.lanes = taint.lanes & !mask | undefined;
        lanes(mask).for_each(|lane| taint.bits[lane] = bits[lane]);
    }

    /// Marks all bits of a register as defined in the lanes of `mask`.
    pub(super) fn clear_lanes(&mut self, reg: Reg, mask: u32) {
        if let Some(index) = self.index(reg) {
            self.clear_at(index, mask);
        }
    }

    fn clear_at(&mut self, index: usize, mask: u32) {
        let taint = &mut self.registers[index];
        lanes(taint.lanes & mask).for_each(|lane| taint.bits[lane] = 0);
        taint.lanes &= !mask;
        if taint.lanes == 0 {
            let (file, number) = self.registers.swap_remove(index).at;
            self.indices[file][number as usize] = 0;
            if let Some(Taint { at: (file, number), .. }) = self.registers.get(index) {
                self.indices[*file][*number as usize] = index as u32 + 1;
            }
        }
    }

    /// Clears the lanes of `mask` in all registers of the current frame for which `is_over` holds.
    pub(super) fn forget(&mut self, mask: u32, is_over: impl Fn(Reg) -> bool) {
        for index in (0..self.registers.len()).rev() {
            let taint = &self.registers[index];
            if taint.lanes & mask != 0 && self.frame.register(taint.at).is_some_and(&is_over) {
                self.clear_at(index, mask);
            }
        }
    }

    /// Clears the lanes of `mask` in all registers.
    pub(super) fn forget_all(&mut self, mask: u32) {
        (0..self.registers.len()).rev().for_each(|index| self.clear_at(index, mask));
    }
}
