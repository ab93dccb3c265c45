//! The types and modifiers of `cvt` (PTX ISA §9.7.9.21).

use crate::alu::float::exact::{Format, Rounding};
use crate::alu::modifiers::Modifiers;

/// A type that `cvt` converts from or to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// An integer: its width, and whether it is signed.
    Int(Bits, bool),
    /// A floating-point format.
    Float(Format),
}

/// An integer's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the widths")]
pub enum Bits {
    B8 = 8,
    B16 = 16,
    B32 = 32,
    B64 = 64,
}

impl Type {
    pub(crate) fn new(name: &str) -> Option<Self> {
        let bits = || match &name[1..] {
            "8" => Some(Bits::B8),
            "16" => Some(Bits::B16),
            "32" => Some(Bits::B32),
            "64" => Some(Bits::B64),
            _ => None,
        };
        Some(match name {
            "f16" => Type::Float(Format::F16),
            "bf16" => Type::Float(Format::Bf16),
            "f32" => Type::Float(Format::F32),
            "f64" => Type::Float(Format::F64),
            "tf32" => Type::Float(Format::Tf32),
            _ if name.starts_with(['u', 's']) => Type::Int(bits()?, name.starts_with('s')),
            _ => return None,
        })
    }

    /// Returns the source type with this name; `None` for `.tf32`, which can only be a destination type.
    pub(crate) fn source(name: &str) -> Option<Self> {
        Self::new(name).filter(|ty| *ty != Type::Float(Format::Tf32))
    }

    /// Returns the width of the type in a register.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Type::Int(bits, _) => bits as u32,
            Type::Float(Format::F16 | Format::Bf16) => 16,
            Type::Float(Format::F32 | Format::Tf32) => 32,
            Type::Float(Format::F64) => 64,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::Float(_))
    }
}

/// A conversion of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    /// The source type.
    pub from: Type,
    /// The destination type.
    pub to: Type,
    /// The width of the destination register, to which the result is extended.
    pub width: u8,
    /// The rounding mode: for rounding to an integer if `modifiers` contains `INTEGRAL`, otherwise for rounding to the
    /// format.
    pub rounding: Rounding,
    /// The modifiers.
    pub modifiers: Modifiers,
}

impl Conversion {
    /// Returns whether this is `cvt.rn` of an `f32` to `format`, without other modifiers.
    #[inline(always)]
    pub(crate) fn rounds_to(self, format: Format) -> bool {
        let Self { from, to, rounding, modifiers, width } = self;
        (from, to) == (Type::Float(Format::F32), Type::Float(format))
            && (rounding, modifiers, width) == (Rounding::Nearest, Modifiers::NONE, 16)
    }
}
