//! Queries on the tree that many tools need: the instructions of a function, and the parts of an opcode.

use std::collections::HashSet;

use super::ast::{Function, Init, Instruction, Loc, Operand, Space, Statement, Variable};
use super::opcode;

impl<'a> Function<'a> {
    /// Returns the statements in the order of the text, including those in inner scopes.
    pub fn statements(&self) -> impl Iterator<Item = &Statement<'a>> {
        let mut open = vec![self.body.as_deref().unwrap_or_default().iter()];
        std::iter::from_fn(move || {
            loop {
                match open.last_mut()?.next() {
                    Some(Statement::Scope(inner)) => open.push(inner.iter()),
                    Some(statement) => return Some(statement),
                    None => drop(open.pop()),
                }
            }
        })
    }

    /// Returns the instructions in the order of the text.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction<'a>> {
        self.statements().filter_map(Statement::instruction)
    }

    /// Returns the instructions, each with the `.loc` that applies to it.
    pub fn located(&self) -> impl Iterator<Item = (&Instruction<'a>, Option<&Loc>)> {
        let mut last = None;
        self.statements().filter_map(move |statement| {
            if let Statement::Loc(loc) = statement {
                last = Some(loc);
            }
            Some((statement.instruction()?, last))
        })
    }

    /// Returns the labels that instructions branch to or list as targets.
    #[must_use]
    pub fn used_labels(&self) -> HashSet<&'a str> {
        let mut used = HashSet::new();
        for statement in self.statements() {
            match statement {
                Statement::Instruction(instruction) => {
                    used.extend(instruction.operands.iter().filter_map(Operand::name));
                }
                Statement::BranchTargets { targets, .. } => used.extend(targets),
                _ => {}
            }
        }
        used
    }

    /// Returns the branches to an earlier label. Each loop contains at least one such branch.
    pub fn backward_branches(&self) -> impl Iterator<Item = &Instruction<'a>> {
        let mut earlier_labels = HashSet::new();
        self.statements().filter_map(move |statement| {
            if let Statement::Label { name, .. } = statement {
                earlier_labels.insert(*name);
            }
            let instruction = statement.instruction()?;
            let target = instruction.operands.first().and_then(Operand::name);
            let goes_back =
                instruction.operation() == "bra" && target.is_some_and(|label| earlier_labels.contains(label));
            goes_back.then_some(instruction)
        })
    }
}

impl<'a> Statement<'a> {
    /// Returns the instruction, if the statement is an instruction.
    #[must_use]
    pub fn instruction(&self) -> Option<&Instruction<'a>> {
        match self {
            Self::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }
}

impl<'a> Operand<'a> {
    /// Returns the name, if the operand consists of only a name.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl<'a> Instruction<'a> {
    /// Returns the operation without its modifiers: `ld` for `ld.global.v4.b32`.
    #[must_use]
    pub fn operation(&self) -> &'a str {
        self.opcode.split('.').next().unwrap_or(self.opcode)
    }

    /// Returns the modifiers in order: `global`, `v4`, `b32`.
    pub fn modifiers(&self) -> impl Iterator<Item = &'a str> {
        self.opcode.split('.').skip(1)
    }

    /// Returns whether the instruction has this modifier.
    #[must_use]
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers().any(|word| word == modifier)
    }

    /// Returns whether the instruction accesses memory through an address, which is true for `ld`, `st`, `ldu`, `atom`
    /// and `red`.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(self.operation(), "ld" | "ldu" | "st" | "atom" | "red")
    }

    /// Returns the state space that the opcode of a memory instruction names, or `None` for a generic address. A
    /// sub-qualifier, as in `shared::cta` or `param::entry`, is ignored.
    #[must_use]
    pub fn space(&self) -> Option<Space> {
        opcode::space(self.opcode)
    }

    /// Returns whether this is a memory instruction with a generic address, which the hardware must resolve.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.is_memory() && self.space().is_none()
    }

    /// Returns the number of elements that the instruction moves at once (1, 2, 4 or 8), and the number of bits of each
    /// element. Returns `None` if its type has no width, as for a matrix fragment.
    #[must_use]
    pub fn access(&self) -> Option<(u32, u32)> {
        let mut elements = 1;
        let mut bits = None;
        for modifier in self.modifiers() {
            let count = modifier.strip_prefix('v').and_then(|count| count.parse().ok());
            elements = count.unwrap_or(elements);
            bits = type_bits(modifier).or(bits);
        }
        bits.map(|bits| (elements, bits))
    }
}

impl<'a> Init<'a> {
    /// Returns the variables and functions whose addresses are in the initializer.
    #[must_use]
    pub fn addresses(&self) -> Vec<&'a str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::List(items) => items.iter().flat_map(Self::addresses).collect(),
            Self::Mask { of, .. } => of.addresses(),
            Self::Address { name, .. } => vec![name],
        }
    }
}

impl Variable<'_> {
    /// Returns the size in bytes, or `None` if the variable is an array without a size, or its type has no size
    /// (`pred`, textures).
    #[must_use]
    pub fn bytes(&self) -> Option<u32> {
        let element = type_bits(self.ty)? / 8 * self.vector;
        self.dims.iter().try_fold(element, |bytes, dim| bytes.checked_mul(u32::try_from((*dim)?).ok()?))
    }
}

/// Returns the width of a type in bits: 32 for `f32`, 64 for `b64`, 32 for the packed pair `f16x2`.
fn type_bits(ty: &str) -> Option<u32> {
    let digits = ty.strip_prefix("bf").or_else(|| ty.strip_prefix(['b', 'u', 's', 'f']))?;
    let (bits, count) = digits.split_once('x').unwrap_or((digits, "1"));
    let (bits, count) = (bits.parse::<u32>().ok()?, count.parse::<u32>().ok()?);
    bits.checked_mul(count)
}
