//! The bits of a warp's registers that hold nothing anybody has written.

use std::collections::HashMap;

use crate::regs::{LANES, Lanes64, Reg, lanes};

/// The bits of a register that are undefined.
#[derive(Debug, Clone)]
pub(super) struct Taint {
    /// The lanes that have such bits.
    pub(super) lanes: u32,
    pub(super) bits: Lanes64,
    /// Where they come from.
    pub(super) cause: Cause,
}

/// Where undefined bits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause {
    /// The number of an origin.
    pub(super) origin: u32,
    /// Whether the value has been copied since then, and nothing was computed of it. Then undefined bits beside defined
    /// ones may be the padding of a struct.
    pub(super) copied: bool,
}

/// The registers of a warp that have undefined bits, by function. A lane is in a function once: those that call
/// themselves are not followed.
#[derive(Debug, Default)]
pub(super) struct Taints {
    registers: HashMap<(u32, Reg), Taint>,
}

impl Taints {
    pub(super) fn is_empty(&self) -> bool {
        self.registers.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.registers.clear();
    }

    pub(super) fn get(&self, function: u32, reg: Reg) -> Option<&Taint> {
        self.registers.get(&(function, reg))
    }

    /// The lanes of `mask` in which a register has undefined bits.
    pub(super) fn lanes(&self, function: u32, reg: Reg, mask: u32) -> u32 {
        self.get(function, reg).map_or(0, |taint| taint.lanes & mask)
    }

    /// The undefined bits of a register.
    pub(super) fn bits(&self, function: u32, reg: Reg) -> Lanes64 {
        self.get(function, reg).map_or([0; LANES], |taint| taint.bits)
    }

    /// In the lanes of `mask`, a register has these undefined bits from now on.
    pub(super) fn set(&mut self, function: u32, reg: Reg, mask: u32, bits: &Lanes64, cause: Cause) {
        let undefined = lanes(mask).filter(|lane| bits[*lane] != 0).fold(0, |all, lane| all | 1 << lane);
        if undefined == 0 {
            return self.clear_lanes(function, reg, mask);
        }
        let empty = || Taint { lanes: 0, bits: [0; LANES], cause };
        let taint = self.registers.entry((function, reg)).or_insert_with(empty);
        taint.cause = cause;
        taint.lanes = taint.lanes & !mask | undefined;
        lanes(mask).for_each(|lane| taint.bits[lane] = bits[lane]);
    }

    /// In the lanes of `mask`, all bits of a register are defined from now on.
    pub(super) fn clear_lanes(&mut self, function: u32, reg: Reg, mask: u32) {
        let Some(taint) = self.registers.get_mut(&(function, reg)) else { return };
        taint.lanes &= !mask;
        match taint.lanes {
            0 => drop(self.registers.remove(&(function, reg))),
            _ => lanes(mask).for_each(|lane| taint.bits[lane] = 0),
        }
    }

    /// Forgets lanes of all registers for which `is_over` holds.
    pub(super) fn forget(&mut self, mask: u32, is_over: impl Fn(u32, Reg) -> bool) {
        self.registers.retain(|(function, reg), taint| {
            if taint.lanes & mask != 0 && is_over(*function, *reg) {
                taint.lanes &= !mask;
                lanes(mask).for_each(|lane| taint.bits[lane] = 0);
            }
            taint.lanes != 0
        });
    }
}
