//! The instructions of the PTX text, with their operands.

use std::collections::HashMap;

use simt::code::{FrameInit, Func, Op, Reg};
use simt::operands::Operands;

/// The values of registers at the start of a frame.
pub(crate) type Initial = HashMap<Reg, FrameInit>;

/// An instruction of the PTX text.
pub(crate) struct Instruction<'a> {
    pub(crate) opcode: &'a str,
    pub(crate) op: &'a Op,
    pub(crate) guard: Option<Reg>,
    pub(crate) operands: Operands<'a>,
    initial: &'a Initial,
}

impl<'a> Instruction<'a> {
    /// Returns the instructions of a function, with `None` for an operation without an instruction in the text.
    pub(crate) fn all(func: &'a Func, initial: &'a Initial, text: &'a str) -> Vec<Option<Self>> {
        let code = func.code.iter().zip(&func.origins).zip(func.operands());
        code.map(|((inst, origin), operands)| {
            let rest = &text[origin.at as usize..];
            let end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
            let opcode = &rest[..end];
            let guard = inst.guard.map(|guard| Reg::Pred(guard.pred));
            simt_isa::class(opcode).is_some().then_some(Self { opcode, op: &inst.op, guard, operands, initial })
        })
        .collect()
    }

    pub(crate) fn operation(&self) -> &'a str {
        self.opcode.split('.').next().unwrap_or(self.opcode)
    }

    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|word| word == modifier)
    }

    /// Returns whether the instruction reads a register whose initial value in the frame matches `is`.
    pub(crate) fn reads_initial(&self, is: impl Fn(&FrameInit) -> bool) -> bool {
        self.operands.reads.iter().filter_map(|reg| self.initial.get(reg)).any(is)
    }

    /// Returns the registers of the text that the instruction reads.
    pub(crate) fn uses(&self) -> impl Iterator<Item = Reg> {
        self.operands.reads.iter().copied().filter(|reg| !self.initial.contains_key(reg))
    }

    /// Returns whether the instruction adds a number to this register.
    pub(crate) fn adds_to(&self, register: Reg) -> bool {
        let is_number = |init: &FrameInit| matches!(init, FrameInit::Number(_));
        self.operation() == "add" && self.uses().eq([register]) && self.reads_initial(is_number)
    }
}
