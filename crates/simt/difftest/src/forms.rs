//! The compared instructions: all instructions that `simt` supports and that compute a value from registers.
//!
//! This module does not list the instructions. `table` generates them from the table that `simt` uses for decoding, and
//! queries `simt` to find out which of them it can run. A newly supported instruction is therefore compared
//! automatically, and requires a new recording.

mod chains;
mod table;

use std::sync::LazyLock;

/// The registers that a form's text can name. Register 0 is the result, and operands start at register 1.
pub(crate) const REGISTERS: &str = ".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<8>; .reg .b8 %c<8>; \
     .reg .f32 %f<8>; .reg .f64 %fd<8>; .reg .pred %p<8>;";

/// The notation of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A register.
    Register,
    /// A predicate that is preceded by `!`.
    Negated,
    /// A number that is the same in all lanes.
    Immediate,
}

/// The type of an operand: its width, and the kind of random values that are chosen for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Ty {
    Pred,
    B16,
    B32,
    B64,
    /// Two 16-bit integers.
    B16x2,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// A 32-bit shift distance or count.
    Shift,
    /// An 8-bit constant: the table of `lop3`.
    Table,
}

impl Ty {
    /// Returns the width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::Table => 8,
            Ty::B16 | Ty::F16 | Ty::Bf16 => 16,
            Ty::B32 | Ty::B16x2 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 | Ty::Shift => 32,
            Ty::B64 | Ty::F64 => 64,
        }
    }

    /// Returns a mask of the used bits.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the prefix of the register file, as in the register names of [`crate::generate`].
    pub fn register(self) -> &'static str {
        match self {
            Ty::Pred => "%p",
            Ty::B16 | Ty::F16 | Ty::Bf16 => "%h",
            Ty::F32 => "%f",
            Ty::B64 => "%rd",
            Ty::F64 => "%fd",
            Ty::B32 | Ty::B16x2 | Ty::Shift | Ty::F16x2 | Ty::Bf16x2 | Ty::Table => "%r",
        }
    }
}

/// A form of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Form {
    /// The opcode, or complete instructions with semicolons that use the register names of [`crate::generate`].
    pub opcode: String,
    /// The type of the result.
    pub to: Ty,
    /// Whether the instruction also writes a predicate.
    pub and_predicate: bool,
    /// The types of the operands.
    pub from: Vec<Ty>,
}

/// Returns every form of every compared instruction.
pub fn all() -> &'static [Form] {
    static ALL: LazyLock<Vec<Form>> = LazyLock::new(|| [table::forms(), chains::forms()].concat());
    &ALL
}

impl Form {
    /// Returns the number of bits of the results.
    pub fn bits(&self) -> u32 {
        self.to.bits() + u32::from(self.and_predicate)
    }

    /// Returns the number of instances of this form in `rounds` rounds. Forms of an instruction with many forms get
    /// fewer instances.
    pub fn rounds(&self, rounds: usize) -> usize {
        let has = |word: &&str| self.opcode.contains(*word);
        let is_combined = self.and_predicate || [".and.", ".or.", ".xor."].iter().any(has);
        match self.opcode.split('.').next().unwrap_or_default() {
            "set" => rounds.min(1),
            "setp" if is_combined => rounds.min(1),
            "cvt" => rounds.div_ceil(3),
            _ if self.opcode.ends_with(';') => rounds.div_ceil(3),
            _ => rounds,
        }
    }

    /// Returns whether the ISA, or an optimization of ptxas, leaves the result for these operands undefined.
    pub fn is_undefined(&self, v: &[u64], written: &[Written]) -> bool {
        let name = self.opcode.split('.').next().unwrap_or_default();
        match (name, self.to) {
            // Division by zero, and the only quotient that overflows.
            ("div" | "rem", Ty::B16 | Ty::B32 | Ty::B64) => {
                let least = self.to.mask() / 2 + 1;
                v[1] == 0 || (v[0] == least && v[1] == self.to.mask())
            }
            // The position of the first bit must be from 0 to 31.
            ("fns", _) => v[1] > 31,
            // ptxas removes these conversions when it optimizes; otherwise they make the NaN quiet.
            ("cvt", _) if self.opcode == "cvt.f32.f32" => f32::from_bits(v[0] as u32).is_nan(),
            ("cvt", _) if self.opcode == "cvt.f64.f64" => f64::from_bits(v[0]).is_nan(),
            // ptxas may add the negated constant, whose NaN then has the opposite sign.
            ("sub", Ty::F64) if written[1] == Written::Immediate => f64::from_bits(v[1]).is_nan(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
