//! A view of a warp's registers that finds them by their names in the PTX.

use std::fmt;

use crate::regs::{Lanes64, Reg, RegisterNames, Regs};

/// The registers of the function that a warp executes.
pub struct Registers<'a> {
    names: &'a [RegisterNames],
    regs: &'a Regs<'a>,
}

impl<'a> Registers<'a> {
    pub(crate) fn new(names: &'a [RegisterNames], regs: &'a Regs<'a>) -> Self {
        Self { names, regs }
    }

    /// Returns the registers' names, such as `%rd4`. If a scope inside the function redeclares a name, that name
    /// appears twice.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let declared = self.names.iter();
        declared.flat_map(|RegisterNames { name, count, .. }| {
            let numbers = 0..count.unwrap_or(1);
            numbers.map(move |number| match count {
                Some(_) => format!("{name}{number}"),
                None => name.clone(),
            })
        })
    }

    /// Returns the value of the register with this name in each lane, zero-extended; a predicate is 0 or 1. Returns
    /// `None` if the function has no such register. If a scope redeclares the name, the value is that of the first
    /// register.
    pub fn get(&self, name: &str) -> Option<Lanes64> {
        let declared = self.names.iter();
        let reg = declared.filter_map(|declared| declared.find(name)).next()?;
        Some(self.value(reg))
    }

    /// Returns the register's name in the text; `None` if the register holds a constant, an address or a special
    /// register.
    pub fn name(&self, reg: Reg) -> Option<String> {
        self.names.iter().find_map(|declared| {
            let distance = match (declared.first, reg) {
                (Reg::R32(first), Reg::R32(reg)) => reg.0.checked_sub(first.0),
                (Reg::R64(first), Reg::R64(reg)) => reg.0.checked_sub(first.0),
                (Reg::Pred(first), Reg::Pred(reg)) => reg.0.checked_sub(first.0),
                _ => None,
            };
            let distance = distance.filter(|distance| *distance < declared.count.unwrap_or(1))?;
            Some(match declared.count {
                Some(_) => format!("{}{distance}", declared.name),
                None => declared.name.clone(),
            })
        })
    }

    /// Returns the value of a register of the function in each lane, zero-extended; a predicate is 0 or 1.
    ///
    /// # Panics
    /// Panics if the function does not have this register.
    pub fn value(&self, reg: Reg) -> Lanes64 {
        self.regs.wide(reg)
    }
}

impl fmt::Debug for Registers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.names().map(|name| {
            let values = self.get(&name);
            (name, values)
        });
        f.debug_map().entries(values).finish()
    }
}
