//! The registers that an instruction writes and reads.

use ptx::ast::{AddressBase, Instruction, Operand};

use crate::Expected;
use crate::matching::find;
use crate::table::entry;

/// The registers and other names that an instruction writes and reads.
pub trait Registers<'a> {
    /// Returns the names of the written registers, in the order of the operands.
    fn definitions(&self) -> Vec<&'a str>;

    /// Returns the read names in the order of the operands, followed by the guard. The names are registers, variables
    /// and labels.
    fn uses(&self) -> Vec<&'a str>;
}

impl<'a> Registers<'a> for Instruction<'a> {
    fn definitions(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        let (written, _) = written(self);
        self.operands[..written].iter().for_each(|operand| names_in(operand, &mut names));
        names
    }

    fn uses(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        let (written, is_read) = written(self);
        let first = if is_read { 0 } else { written };
        self.operands[first..].iter().for_each(|operand| names_in(operand, &mut names));
        names.extend(self.guard.map(|guard| guard.register));
        names
    }
}

/// Returns the number of leading operands that are written, and whether they are also read. An opcode that is not in
/// the table is assumed to write its first operand.
fn written(instruction: &Instruction<'_>) -> (usize, bool) {
    let count = instruction.operands.len();
    let (written, is_read) = match (instruction.operation(), entry(instruction.opcode)) {
        // `call (result), function, (arguments)`
        ("call", _) => (usize::from(matches!(instruction.operands.first(), Some(Operand::List(_)))), false),
        (_, Some(entry)) => entry.written().unwrap_or_else(|| {
            let row = find(instruction.opcode, count).map(|(_, row)| row).or(entry.rows().first());
            row.map_or((0, false), |row| row.written())
        }),
        (_, None) => (1, false),
    };
    (written.min(count), is_read)
}

impl crate::Row {
    /// Returns the number of leading operands that are written, and whether they are also read.
    pub(crate) fn written(&self) -> (usize, bool) {
        let is_read = |operand: &Expected| operand.is_written && operand.is_read;
        let written = self.operands.iter().filter(|operand| operand.is_written);
        (written.count(), self.operands.iter().any(is_read))
    }
}

/// Appends the names in an operand, without selectors: `%r1` for `%r1.b0`, `%tid` for `%tid.x`.
fn names_in<'a>(operand: &Operand<'a>, names: &mut Vec<&'a str>) {
    match operand {
        Operand::Name(name)
        | Operand::Not(name)
        | Operand::Neg(name)
        | Operand::NameOffset(name, _)
        | Operand::Element(name, _)
        | Operand::Indexed(name, _)
        | Operand::Address { base: AddressBase::Name(name), .. } => names.extend(name.split('.').next()),
        Operand::Pair(one, other) => names.extend([one, other]),
        Operand::VectorPair(all, other) => {
            all.iter().for_each(|operand| names_in(operand, names));
            names.push(other);
        }
        Operand::Vector(all) | Operand::List(all) | Operand::Tuple(all) => {
            all.iter().for_each(|operand| names_in(operand, names));
        }
        Operand::Number(_) | Operand::Address { .. } => {}
    }
}
