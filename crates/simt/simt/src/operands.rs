//! The registers and variables that each instruction reads and writes, collected during decoding.

use ptx::ast::Space;

use crate::regs::Reg;

/// The registers and variables of one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The registers that the instruction reads. They include the guard, the carry flag, and the registers that hold
    /// immediates and special registers.
    pub reads: &'a [Reg],
    /// The registers that the instruction writes, in operand order.
    pub writes: &'a [Reg],
    /// The variables that the instruction names.
    pub variables: &'a [VariableUse],
}

/// A variable that an instruction names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariableUse {
    /// The variable's name.
    pub name: String,
    /// The state space of the declaration.
    pub space: Space,
    /// Whether the variable is in the function's frame: `.local` variables, and `.param` variables except a kernel's
    /// parameters.
    pub in_frame: bool,
    /// The variable's offset in the state space; for a global variable, its number in the module.
    pub at: u64,
    /// The variable's size in bytes; `None` for dynamic shared memory.
    pub bytes: Option<u64>,
}

/// The operands found so far in the instruction that is being decoded.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) reads: Vec<Reg>,
    pub(crate) writes: Vec<Reg>,
    pub(crate) variables: Vec<VariableUse>,
}

/// The operands of all instructions of a function.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionOperands {
    /// The registers of all instructions in order: for each instruction, its destinations, then its sources.
    registers: Vec<Reg>,
    variables: Vec<VariableUse>,
    /// For each instruction, the ends of its lists: writes, reads, variables.
    ends: Vec<[u32; 3]>,
}

impl FunctionOperands {
    /// Appends the operands in `found` as those of the next instruction, and clears `found`.
    pub(crate) fn push(&mut self, found: &mut Found) {
        self.registers.append(&mut found.writes);
        let writes = self.registers.len() as u32;
        self.registers.append(&mut found.reads);
        self.variables.append(&mut found.variables);
        self.ends.push([writes, self.registers.len() as u32, self.variables.len() as u32]);
    }

    /// Returns the operands of the instruction at `pc`.
    pub(crate) fn of(&self, pc: usize) -> Operands<'_> {
        let [_, begin, variable] = pc.checked_sub(1).map_or([0; 3], |before| self.ends[before]).map(|end| end as usize);
        let [writes, reads, variables] = self.ends[pc].map(|end| end as usize);
        Operands {
            writes: &self.registers[begin..writes],
            reads: &self.registers[writes..reads],
            variables: &self.variables[variable..variables],
        }
    }

    /// Returns the operands of all instructions, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Operands<'_>> {
        (0..self.ends.len()).map(|pc| self.of(pc))
    }
}
