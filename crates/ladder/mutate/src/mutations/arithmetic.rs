//! Arithmetic mutations: other operations, operands and constants.

use ptx::ast::{Number, Operand};
use simt_isa::{Class, class};

use super::{Edit, InstructionSite};

/// Operations and their replacements. Operations on predicates have the same names as bitwise operations.
const REPLACEMENTS: &[(&str, &str)] =
    &[("add", "sub"), ("sub", "add"), ("min", "max"), ("max", "min"), ("and", "or"), ("or", "and"), ("xor", "or")];

pub(super) fn operation(place: &InstructionSite<'_>) -> Vec<Edit> {
    if matches!(place.operation(), "atom" | "red") {
        // PTX has no atomic subtraction.
        let replacements = REPLACEMENTS.iter().filter(|pair| !matches!(pair.0, "add" | "sub"));
        return replacements.filter_map(|(old, new)| place.with_modifier(old, new)).collect();
    }
    let replacement = REPLACEMENTS.iter().find(|pair| pair.0 == place.operation());
    replacement.and_then(|(old, new)| place.with_modifier(old, new)).into_iter().collect()
}

pub(super) fn swap(place: &InstructionSite<'_>) -> Vec<Edit> {
    let commutes = !matches!(place.operation(), "sub" | "div" | "rem" | "shl" | "shr" | "selp");
    // The distance of a shift is a 32-bit register, so a 64-bit shift cannot swap its operands.
    let is_wide_shift = matches!(place.operation(), "shl" | "shr") && place.instruction.opcode.ends_with("64");
    if commutes || is_wide_shift {
        return Vec::new();
    }
    place.swapped(1, 2).into_iter().collect()
}

pub(super) fn constant(place: &InstructionSite<'_>) -> Vec<Edit> {
    let has_values =
        matches!(class(place.instruction.opcode), Some(Class::Integer | Class::Float | Class::Logic | Class::Compare));
    if !has_values && !matches!(place.operation(), "mov" | "st" | "atom" | "red") {
        return Vec::new();
    }
    let operands = place.operands();
    let edits = place.instruction.operands.iter().zip(&operands).flat_map(|(operand, range)| {
        let others = match *operand {
            Operand::Number(Number::Integer(value)) => {
                let value = value.cast_signed();
                vec![value.wrapping_add(1).to_string(), value.wrapping_sub(1).to_string()]
            }
            Operand::Number(Number::F32(0)) => vec!["0f3F800000".to_owned()],
            Operand::Number(Number::F32(_)) => vec!["0f00000000".to_owned()],
            Operand::Number(Number::F64(0)) => vec!["0d3FF0000000000000".to_owned()],
            Operand::Number(Number::F64(_)) => vec!["0d0000000000000000".to_owned()],
            _ => Vec::new(),
        };
        others.into_iter().map(|other| place.replaced(range.clone(), other))
    });
    edits.collect()
}
