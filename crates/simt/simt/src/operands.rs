//! What each instruction reads and writes, as decoding found it.

use ptx::ast::Space;

use crate::regs::Reg;

/// The registers and variables of one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The registers that it reads: its guard, the carry flag, and those with the value of a number or special register
    /// among them.
    pub reads: &'a [Reg],
    /// The registers that it writes, in the order of its operands.
    pub writes: &'a [Reg],
    /// The variables that it names.
    pub variables: &'a [VariableUse],
}

/// A variable that an instruction names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariableUse {
    /// Its name.
    pub name: String,
    /// The space that it is declared in.
    pub space: Space,
    /// Whether it lies in the function's frame: `.local` variables do, and `.param` variables that are not a kernel's parameters.
    pub in_frame: bool,
    /// Its offset in that space; for one in global memory its number among the module's.
    pub at: u64,
    /// Its size; `None` for dynamic shared memory.
    pub bytes: Option<u64>,
}

/// The operands of the instruction that is being decoded.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) reads: Vec<Reg>,
    pub(crate) writes: Vec<Reg>,
    pub(crate) variables: Vec<VariableUse>,
}

/// The operands of all instructions of a function.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionOperands {
    /// The registers that the first instruction writes, then those that it reads, and so on.
    registers: Vec<Reg>,
    variables: Vec<VariableUse>,
    /// For each instruction, where its lists end: writes, reads, variables.
    ends: Vec<[u32; 3]>,
}

impl FunctionOperands {
    /// Adds the operands of the next instruction, and empties `found`.
    pub(crate) fn push(&mut self, found: &mut Found) {
        self.registers.append(&mut found.writes);
        let writes = self.registers.len() as u32;
        self.registers.append(&mut found.reads);
        self.variables.append(&mut found.variables);
        self.ends.push([writes, self.registers.len() as u32, self.variables.len() as u32]);
    }

    /// The operands of the instruction at `pc`.
    pub(crate) fn of(&self, pc: usize) -> Operands<'_> {
        let [_, begin, variable] = pc.checked_sub(1).map_or([0; 3], |before| self.ends[before]).map(|end| end as usize);
        let [writes, reads, variables] = self.ends[pc].map(|end| end as usize);
        Operands {
            writes: &self.registers[begin..writes],
            reads: &self.registers[writes..reads],
            variables: &self.variables[variable..variables],
        }
    }

    /// The operands of all instructions, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Operands<'_>> {
        (0..self.ends.len()).map(|pc| self.of(pc))
    }
}
