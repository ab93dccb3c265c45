//! The instructions that are compared: whatever `simt` runs of those that compute a value from registers.
//!
//! They are not listed here. `table` makes them from the table by which `simt` decodes, and asks `simt` which of them
//! it runs; so an instruction that `simt` learns is compared from then on, and asks for a new recording.

mod chains;
mod table;

use std::sync::LazyLock;

/// The registers that a form's text may name: 0 is the result, operands follow from 1 on.
pub(crate) const REGISTERS: &str = ".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %h<8>; .reg .b8 %c<8>; \
     .reg .f32 %f<8>; .reg .f64 %fd<8>; .reg .pred %p<8>;";

/// How an operand is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// As a register.
    Register,
    /// As a predicate with `!` before it.
    Negated,
    /// As a number, the same in all lanes.
    Immediate,
}

/// The type of an operand: its width, and the kind of random values chosen for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are PTX's types")]
pub enum Ty {
    Pred,
    B16,
    B32,
    B64,
    /// Two integers of 16 bits.
    B16x2,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// A distance or a count of 32 bits.
    Shift,
    /// A constant of 8 bits: the table of `lop3`.
    Table,
}

impl Ty {
    /// Its width.
    pub fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::Table => 8,
            Ty::B16 | Ty::F16 | Ty::Bf16 => 16,
            Ty::B32 | Ty::B16x2 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 | Ty::Shift => 32,
            Ty::B64 | Ty::F64 => 64,
        }
    }

    /// A mask of the bits that it uses.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The register file's letter, as [`crate::generate`] names registers.
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

/// One form of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Form {
    /// The opcode; or whole instructions, each with its semicolon, of the registers as [`crate::generate`] names them.
    pub opcode: String,
    /// The result.
    pub to: Ty,
    /// Whether the instruction writes a predicate besides.
    pub and_predicate: bool,
    /// The operands.
    pub from: Vec<Ty>,
}

/// Every form of every instruction that is compared.
pub fn all() -> &'static [Form] {
    static ALL: LazyLock<Vec<Form>> = LazyLock::new(|| [table::forms(), chains::forms()].concat());
    &ALL
}

impl Form {
    /// Bits of the results.
    pub fn bits(&self) -> u32 {
        self.to.bits() + u32::from(self.and_predicate)
    }

    /// How often it is compared of so many rounds: the more forms an instruction has, the less often each.
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

    /// Whether the ISA, or what ptxas may make of the instruction, leaves the result of these operands open.
    pub fn is_undefined(&self, v: &[u64], written: &[Written]) -> bool {
        let name = self.opcode.split('.').next().unwrap_or_default();
        match (name, self.to) {
            // By zero, and the one quotient that does not fit.
            ("div" | "rem", Ty::B16 | Ty::B32 | Ty::B64) => {
                let least = self.to.mask() / 2 + 1;
                v[1] == 0 || (v[0] == least && v[1] == self.to.mask())
            }
            // The first bit's number is one of 0 to 31.
            ("fns", _) => v[1] > 31,
            // ptxas leaves these conversions out when it optimizes; here it makes the NaN quiet.
            ("cvt", _) if self.opcode == "cvt.f32.f32" => f32::from_bits(v[0] as u32).is_nan(),
            ("cvt", _) if self.opcode == "cvt.f64.f64" => f64::from_bits(v[0]).is_nan(),
            // ptxas may add the negative of a constant, whose NaN then has the other sign.
            ("sub", Ty::F64) if written[1] == Written::Immediate => f64::from_bits(v[1]).is_nan(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
