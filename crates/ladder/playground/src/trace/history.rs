//! The history of a warp's register values.

use simt::observe::{FramePlace, Reg};
use simt::regs::{Lanes64, lanes};

/// The registers of a warp in all call frames.
#[derive(Default)]
pub(crate) struct Registers {
    /// The histories by register file: 32-bit registers, 64-bit registers, predicates.
    files: [Vec<History>; 3],
    /// The values of all writes.
    values: Vec<u32>,
}

/// The writes to a register, in order.
#[derive(Default)]
struct History {
    writes: Vec<Write>,
    /// The lanes that were written.
    known: u32,
}

#[derive(Clone, Copy)]
struct Write {
    step: u32,
    mask: u32,
    /// The index of the write's first value.
    at: u32,
    /// Whether all lanes share one value.
    is_uniform: bool,
}

/// Every `WHOLE`-th write stores the values of all lanes, which limits how far back a search goes.
const WHOLE: usize = 64;

/// The values of the lanes, and the mask of lanes that have a value.
pub(crate) type Values = (Lanes64, u32);

impl Registers {
    /// Returns the number of 4-byte values.
    pub(crate) fn size(&self) -> usize {
        self.values.len()
    }

    /// Records the values that lanes wrote to a register of a frame.
    pub(crate) fn write(&mut self, step: u32, frame: &FramePlace, reg: Reg, mask: u32, values: &Lanes64) {
        let (file, number) = place(frame, reg);
        let all = &mut self.files[file];
        if all.len() <= number {
            all.resize_with(number + 1, History::default);
        }
        let history = &mut all[number];
        history.known |= mask;
        let is_whole = history.writes.len() % WHOLE == WHOLE - 1;
        let mask = if is_whole { history.known } else { mask };
        let at = self.values.len() as u32;
        let is_uniform = file != PREDICATES && lanes(mask).all(|lane| values[lane] == values[first(mask)]);
        let write = Write { step, mask, at, is_uniform };
        if file == PREDICATES {
            self.values.push(lanes(mask).fold(0, |all, lane| all | ((values[lane] & 1) as u32) << lane));
        } else {
            let kept = if is_uniform { mask & mask.wrapping_neg() } else { mask };
            for lane in lanes(kept) {
                self.values.push(values[lane] as u32);
                if file == WIDE {
                    self.values.push((values[lane] >> 32) as u32);
                }
            }
        }
        match history.writes.last_mut() {
            // The observer can report one step several times, each time with more of the lanes that execute the
            // instruction.
            Some(last) if last.step == step && last.mask & !mask == 0 => *last = write,
            _ => history.writes.push(write),
        }
    }

    /// Returns whether a register of a frame was ever written.
    pub(crate) fn is_written(&self, frame: &FramePlace, reg: Reg) -> bool {
        let (file, number) = place(frame, reg);
        self.files[file].get(number).is_some_and(|history| history.known != 0)
    }

    /// Returns the lanes' values of a register of a frame after a step.
    pub(crate) fn read(&self, frame: &FramePlace, reg: Reg, step: u32) -> Values {
        let (file, number) = place(frame, reg);
        let mut found = ([0; 32], 0);
        let Some(history) = self.files[file].get(number) else { return found };
        let before = history.writes.partition_point(|write| write.step <= step);
        for write in history.writes[..before].iter().rev() {
            let new = write.mask & !found.1;
            for lane in lanes(new) {
                found.0[lane] = self.value(file, write, lane);
            }
            found.1 |= write.mask;
            if found.1 == history.known {
                break;
            }
        }
        found
    }

    fn value(&self, file: usize, write: &Write, lane: usize) -> u64 {
        let at = write.at as usize;
        if file == PREDICATES {
            return (self.values[at] >> lane & 1).into();
        }
        let offset = match write.is_uniform {
            true => 0,
            false => (write.mask & ((1_u64 << lane) - 1) as u32).count_ones() as usize,
        };
        match file {
            WIDE => u64::from(self.values[at + 2 * offset]) | u64::from(self.values[at + 2 * offset + 1]) << 32,
            _ => self.values[at + offset].into(),
        }
    }
}

const WIDE: usize = 1;
const PREDICATES: usize = 2;

fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize % 32
}

/// Returns the register file of a frame's register, and the register's number in that file.
fn place(frame: &FramePlace, reg: Reg) -> (usize, usize) {
    let (file, number) = match reg {
        Reg::R32(reg) => (0, reg.0),
        Reg::R64(reg) => (WIDE, reg.0),
        Reg::Pred(reg) => (PREDICATES, reg.0),
    };
    (file, (frame.registers[file] + number) as usize)
}
