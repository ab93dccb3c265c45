//! An instruction in its text, with the places of its parts.

use std::ops::Range;

use ptx::ast::{Instruction, Number, Operand, Statement};

use super::Edit;

/// An instruction of a kernel, with the statements around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionSite<'a> {
    pub(crate) text: &'a str,
    /// The statements of the kernel in the order of the text, without those that mean nothing to execution.
    pub(crate) statements: &'a [&'a Statement<'a>],
    /// Which of them this instruction is.
    pub(crate) index: usize,
    pub(crate) instruction: &'a Instruction<'a>,
}

impl<'a> InstructionSite<'a> {
    /// Returns the operation without its modifiers: `ld`.
    pub(super) fn operation(&self) -> &'a str {
        self.instruction.operation()
    }

    /// Returns the bytes of the whole instruction.
    pub(super) fn range(&self) -> Range<usize> {
        range_of(self.instruction)
    }

    /// Returns the bytes of the guard, up to the opcode.
    pub(super) fn guard(&self) -> Range<usize> {
        self.range().start..self.instruction.at as usize
    }

    /// Returns the bytes of the opcode.
    pub(super) fn opcode(&self) -> Range<usize> {
        let start = self.instruction.at as usize;
        start..start + self.instruction.opcode.len()
    }

    /// Returns the instruction without its guard, opcode and semicolon.
    fn behind_opcode(&self) -> Range<usize> {
        self.opcode().end..self.range().end - 1
    }

    /// Returns the bytes of each operand, without blanks around them. Empty where the text does not divide into as many operands
    /// as the instruction has.
    pub(super) fn operands(&self) -> Vec<Range<usize>> {
        let all = self.behind_opcode();
        let (mut ranges, mut start, mut depth) = (Vec::new(), all.start, 0_i32);
        for (at, byte) in self.text[all.clone()].bytes().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b',' if depth == 0 => {
                    ranges.push(start..all.start + at);
                    start = all.start + at + 1;
                }
                _ => {}
            }
        }
        ranges.push(start..all.end);
        let trimmed = ranges.into_iter().map(|range| {
            let own = &self.text[range.clone()];
            let start = range.start + own.len() - own.trim_start().len();
            start..start + own.trim().len()
        });
        let trimmed: Vec<Range<usize>> = trimmed.collect();
        if trimmed.len() == self.instruction.operands.len() { trimmed } else { Vec::new() }
    }

    /// Returns the operand of this index, if it is an integer: where it stands, and its value.
    pub(super) fn integer(&self, index: usize) -> Option<(Range<usize>, i64)> {
        let &Operand::Number(Number::Integer(value)) = self.instruction.operands.get(index)? else { return None };
        Some((self.operands().get(index)?.clone(), value.cast_signed()))
    }

    /// Returns the operand of this index as it is written.
    pub(super) fn operand(&self, index: usize) -> Option<&'a str> {
        Some(&self.text[self.operands().get(index)?.clone()])
    }

    /// Returns the edit that leaves the instruction out.
    pub(super) fn dropped(&self) -> Edit {
        Edit { range: self.range(), with: String::new(), what: "left out".to_owned() }
    }

    /// Returns the edit that writes another opcode.
    pub(super) fn with_opcode(&self, opcode: &str) -> Edit {
        Edit {
            range: self.opcode(),
            with: opcode.to_owned(),
            what: format!("{opcode} instead of {}", self.instruction.opcode),
        }
    }

    /// Returns the edit that writes another opcode where one modifier or the operation is replaced; an empty replacement leaves
    /// it out. `None` where the opcode does not have it.
    pub(super) fn with_modifier(&self, old: &str, new: &str) -> Option<Edit> {
        let mut words: Vec<&str> = self.instruction.opcode.split('.').collect();
        let found = words.iter().position(|own| *own == old)?;
        match new {
            "" => drop(words.remove(found)),
            new => words[found] = new,
        }
        Some(self.with_opcode(&words.join(".")))
    }

    /// Returns the edit that writes another text in a range of the instruction.
    pub(super) fn replaced(&self, range: Range<usize>, with: impl ToString) -> Edit {
        let with = with.to_string();
        Edit { what: format!("{with} instead of {}", &self.text[range.clone()]), range, with }
    }

    /// Returns the edit that exchanges two operands. `None` where they are equal or there are fewer.
    pub(super) fn exchanged(&self, first: usize, second: usize) -> Option<Edit> {
        let operands = self.operands();
        let (first, second) = (operands.get(first)?.clone(), operands.get(second)?.clone());
        let (a, b) = (&self.text[first.clone()], &self.text[second.clone()]);
        let between = &self.text[first.end..second.start];
        (a != b).then(|| Edit {
            range: first.start..second.end,
            with: format!("{b}{between}{a}"),
            what: format!("{b} and {a} exchanged"),
        })
    }
}

/// Returns the bytes of an instruction, with its guard and its semicolon.
pub(super) fn range_of(instruction: &Instruction<'_>) -> Range<usize> {
    instruction.span.start as usize..instruction.span.end as usize
}
