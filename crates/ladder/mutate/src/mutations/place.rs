//! An instruction in the kernel's text, with the byte ranges of its parts.

use std::ops::Range;

use ptx::ast::{Instruction, Number, Operand, Statement};

use super::Edit;

/// An instruction of a kernel and the statements around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionSite<'a> {
    pub(crate) text: &'a str,
    /// The kernel's instructions and used labels, in the order of the text.
    pub(crate) statements: &'a [&'a Statement<'a>],
    /// The index of the instruction in `statements`.
    pub(crate) index: usize,
    pub(crate) instruction: &'a Instruction<'a>,
}

impl<'a> InstructionSite<'a> {
    /// Returns the operation without its modifiers: `ld`.
    pub(super) fn operation(&self) -> &'a str {
        self.instruction.operation()
    }

    /// Returns the byte range of the whole instruction.
    pub(super) fn range(&self) -> Range<usize> {
        range_of(self.instruction)
    }

    /// Returns the byte range of the guard, up to the opcode.
    pub(super) fn guard(&self) -> Range<usize> {
        self.range().start..self.instruction.at as usize
    }

    /// Returns the byte range of the opcode.
    pub(super) fn opcode(&self) -> Range<usize> {
        let start = self.instruction.at as usize;
        start..start + self.instruction.opcode.len()
    }

    /// Returns the byte range between the opcode and the semicolon.
    fn after_opcode(&self) -> Range<usize> {
        self.opcode().end..self.range().end - 1
    }

    /// Returns the byte range of each operand, without surrounding blanks. The list is empty if the text does not split
    /// into the instruction's number of operands.
    pub(super) fn operands(&self) -> Vec<Range<usize>> {
        let all = self.after_opcode();
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
            let operand_text = &self.text[range.clone()];
            let start = range.start + operand_text.len() - operand_text.trim_start().len();
            start..start + operand_text.trim().len()
        });
        let trimmed: Vec<Range<usize>> = trimmed.collect();
        if trimmed.len() == self.instruction.operands.len() { trimmed } else { Vec::new() }
    }

    /// Returns the byte range and the value of an operand, if it is an integer.
    pub(super) fn integer(&self, index: usize) -> Option<(Range<usize>, i64)> {
        let &Operand::Number(Number::Integer(value)) = self.instruction.operands.get(index)? else { return None };
        Some((self.operands().get(index)?.clone(), value.cast_signed()))
    }

    /// Returns the text of an operand.
    pub(super) fn operand(&self, index: usize) -> Option<&'a str> {
        Some(&self.text[self.operands().get(index)?.clone()])
    }

    /// Returns the edit that removes the instruction.
    pub(super) fn dropped(&self) -> Edit {
        Edit { range: self.range(), with: String::new(), what: "left out".to_owned() }
    }

    /// Returns the edit that replaces the opcode.
    pub(super) fn with_opcode(&self, opcode: &str) -> Edit {
        Edit {
            range: self.opcode(),
            with: opcode.to_owned(),
            what: format!("{opcode} instead of {}", self.instruction.opcode),
        }
    }

    /// Returns the edit that replaces one modifier of the opcode, or the operation. An empty replacement removes the
    /// modifier. Returns `None` if the opcode does not contain `old`.
    pub(super) fn with_modifier(&self, old: &str, new: &str) -> Option<Edit> {
        let mut words: Vec<&str> = self.instruction.opcode.split('.').collect();
        let found = words.iter().position(|word| *word == old)?;
        match new {
            "" => drop(words.remove(found)),
            new => words[found] = new,
        }
        Some(self.with_opcode(&words.join(".")))
    }

    /// Returns the edit that replaces a range of the instruction.
    pub(super) fn replaced(&self, range: Range<usize>, with: impl ToString) -> Edit {
        let with = with.to_string();
        Edit { what: format!("{with} instead of {}", &self.text[range.clone()]), range, with }
    }

    /// Returns the edit that swaps two operands. Returns `None` if they are equal or do not exist.
    pub(super) fn swapped(&self, first: usize, second: usize) -> Option<Edit> {
        let operands = self.operands();
        let (first, second) = (operands.get(first)?.clone(), operands.get(second)?.clone());
        let (a, b) = (&self.text[first.clone()], &self.text[second.clone()]);
        let between = &self.text[first.end..second.start];
        (a != b).then(|| Edit {
            range: first.start..second.end,
            with: format!("{b}{between}{a}"),
            what: format!("{b} and {a} swapped"),
        })
    }
}

/// Returns the byte range of an instruction, with its guard and its semicolon.
pub(super) fn range_of(instruction: &Instruction<'_>) -> Range<usize> {
    instruction.span.start as usize..instruction.span.end as usize
}
