//! Which registers the instructions of a function read and write.

use crate::regs::Reg;

/// For each instruction of a function, the registers that it reads and those that it writes.
#[derive(Debug, Clone, Default)]
pub struct RegisterUses {
    /// Those that the first instruction reads, those that it writes, those that the second one reads, and so on.
    all: Vec<Reg>,
    /// For each instruction, where what it reads ends, and what it writes.
    ends: Vec<(u32, u32)>,
}

impl RegisterUses {
    /// Adds registers that the next instruction reads.
    pub(crate) fn read(&mut self, registers: impl IntoIterator<Item = Reg>) {
        self.all.extend(registers);
    }

    /// Adds the registers that it writes.
    pub(crate) fn end(&mut self, writes: &[Reg]) {
        let read = self.all.len() as u32;
        self.all.extend(writes);
        self.ends.push((read, self.all.len() as u32));
    }

    /// The registers that an instruction reads, its guard's predicate and the carry flag among them. One that writes a
    /// part of a register reads the rest of it.
    #[must_use]
    pub fn reads(&self, pc: u32) -> &[Reg] {
        let begin = pc.checked_sub(1).map_or(0, |before| self.ends[before as usize].1);
        &self.all[begin as usize..self.ends[pc as usize].0 as usize]
    }

    /// The registers that an instruction writes, the carry flag among them.
    #[must_use]
    pub fn writes(&self, pc: u32) -> &[Reg] {
        let (begin, end) = self.ends[pc as usize];
        &self.all[begin as usize..end as usize]
    }
}
