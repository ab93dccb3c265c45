//! Checks an instruction's module and operands against its row of [`simt_isa`].
//!
//! The table lists what `ptxas` accepts; the decoders determine which of these forms the simulator supports.

use ptx::ast::{AddressBase, Number, Operand};
use ptx::opcode::type_bytes;
use simt_isa::{Expected, Kind, Predicate, Row, is_type};

use super::context::{Declared, is_special};
use super::{Decoded, Decoder};

/// A class of types. A register declared with one type is a valid operand for all other types of the same class.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Bits,
    Integer,
    Float,
    /// Pairs of integers.
    Pair,
    /// Types that no register can be declared with.
    Brain,
    Predicate,
}

fn class(ty: &str) -> Class {
    match ty {
        "pred" => Class::Predicate,
        "u16x2" | "s16x2" => Class::Pair,
        "bf16" | "bf16x2" | "tf32" | "f32x2" | "e4m3x2" | "e5m2x2" => Class::Brain,
        ty if ty.starts_with('f') => Class::Float,
        ty if ty.starts_with('b') => Class::Bits,
        _ => Class::Integer,
    }
}

/// Returns the number of bits of a value of this type; 1 for a predicate.
pub(crate) fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "u16x2" | "s16x2" | "tf32" => 32,
        "e4m3x2" | "e5m2x2" => 16,
        "f32x2" => 64,
        _ => type_bytes(ty).unwrap_or(0) * 8,
    }
}

/// Returns whether a declared register can hold values of the type `ty`. With `spare`, the register may be wider than
/// the type.
fn holds(declared: &Declared<'_>, ty: &str, spare: bool) -> bool {
    let (register, value) = (class(declared.ty), class(ty));
    let fits = match (register, value) {
        // A register declared as a pair of halves also accepts untyped bits.
        (Class::Float, Class::Pair) => declared.ty == "f16x2",
        (Class::Float, Class::Integer) => declared.ty == "f16x2" && spare,
        (Class::Float, Class::Float) => declared.ty == ty,
        (Class::Bits, _) | (_, Class::Bits) => register != Class::Predicate,
        (register, value) => register == value,
    };
    let spare = spare && !matches!(value, Class::Brain) && fits && (register, value) != (Class::Float, Class::Float);
    fits && (declared.bits == width(ty) || spare && declared.bits >= width(ty))
}

/// Returns whether a number literal is valid for a value of this type.
fn is_number_of(number: Number, ty: &str) -> bool {
    match number {
        Number::Integer(_) => matches!(class(ty), Class::Integer | Class::Bits | Class::Predicate),
        Number::F32(_) => matches!(ty, "f32" | "f64" | "b32"),
        Number::F64(_) => matches!(ty, "f32" | "f64" | "b64"),
    }
}

impl<'d> Decoder<'d, '_, '_> {
    /// Rejects an instruction that the module's PTX version or target does not support.
    pub(super) fn check_module(&self, form: &Row) -> Decoded<()> {
        let (opcode, module) = (self.opcode, self.module);
        let needs = form.needs(self.words, self.operands.len());
        let (major, minor) = needs.version;
        if !needs.has_version(module) {
            let (found_major, found_minor) = module.version;
            let found = format!("this module has {found_major}.{found_minor}");
            let message = format!("`{opcode}` needs PTX {major}.{minor} (`.version {major}.{minor}`), but {found}");
            return Err(self.invalid(message));
        }
        if !needs.has_target(module) {
            let (target, found) = (needs.target, module.target.join(", "));
            let message = format!("`{opcode}` needs {target} (`.target {target}`), but this module has {found}");
            return Err(self.invalid(message));
        }
        Ok(())
    }

    /// Rejects operands that the instruction's form does not allow.
    pub(super) fn check_operands(&self, form: &Row) -> Decoded<()> {
        if !form.takes(self.operands.len()) {
            let (least, most) = (form.least(), form.operands.len());
            return Err(self.operand_count(self.operands.len().clamp(least, most)));
        }
        let mut operands = form.operands.iter().zip(self.operands);
        operands.try_for_each(|(expected, operand)| self.check(*expected, expected.kind.ty(self.words), operand))
    }

    /// Rejects an operand that does not match the expected kind.
    pub(super) fn check(&self, expected: Expected, ty: Option<&str>, operand: &Operand<'_>) -> Decoded<()> {
        let Expected { kind, is_written, .. } = expected;
        let opcode = self.opcode;
        let wrong = |what: &str| Err(self.invalid(format!("`{opcode}` does not take {what} here")));
        match (operand, kind) {
            // The decoders check operands of these kinds.
            (
                _,
                Kind::Any
                | Kind::Fragment
                | Kind::Coordinates
                | Kind::Im2col
                | Kind::Texture
                | Kind::Sides
                | Kind::Offset,
            )
            | (Operand::Name("_"), Kind::Discarded) => Ok(()),
            (_, Kind::Discarded) => Err(self.invalid(format!("`{opcode}` does not write a register: use `_` here"))),
            (_, Kind::PredicateOrU32 | Kind::U32OrU64) => {
                let bits = match operand {
                    Operand::Not(_) => Some(1),
                    Operand::Name(name) => self.declared(name).map(|declared| declared.bits),
                    _ => None,
                };
                let ty = match (kind, bits) {
                    (Kind::PredicateOrU32, Some(1)) => "pred",
                    (Kind::U32OrU64, Some(64)) => "u64",
                    _ => "u32",
                };
                self.check(Expected::read(Kind::Of(ty)), Some(ty), operand)
            }
            (Operand::Address { base, .. }, Kind::Address) => self.check_address(base),
            (Operand::Number(Number::Integer(_)), Kind::Constant) => Ok(()),
            (_, Kind::Address) => Err(self.invalid("an address in brackets is expected here")),
            (_, Kind::Constant) => Err(self.invalid("a constant is expected here")),
            (Operand::Vector(elements), Kind::Elements | Kind::Last) if ty == Some("b128") => {
                let is_part = |element: &Operand<'_>| {
                    matches!(element, Operand::Element(name, _)
                        if self.declared(name).is_some_and(|declared| declared.ty == "b128"))
                };
                match elements.iter().all(is_part) {
                    true => Ok(()),
                    false => wrong("braces"),
                }
            }
            (Operand::Vector(elements), Kind::Elements | Kind::Texels) => {
                let element = |element: &Operand<'_>| match element {
                    Operand::Vector(_) => wrong("braces"),
                    Operand::Name("_") if is_written => Ok(()),
                    element => self.check(expected, ty, element),
                };
                elements.iter().try_for_each(element)
            }
            (Operand::VectorPair(elements, second), Kind::Texels) => {
                self.check(expected, ty, &Operand::Vector(elements.clone()))?;
                self.check(Expected::written(Kind::Of("pred")), Some("pred"), &Operand::Name(second))
            }
            (Operand::Pair(first, second), _) if expected.predicate != Predicate::None => {
                let without_predicate = Expected { predicate: Predicate::None, ..expected };
                self.check(without_predicate, ty, &Operand::Name(first))?;
                let predicate = Expected { allows_discard: true, ..Expected::written(Kind::Of("pred")) };
                self.check(predicate, Some("pred"), &Operand::Name(second))
            }
            _ if expected.predicate == Predicate::Required => {
                Err(self.invalid(format!("`{opcode}` writes a register and a predicate: `d|p`")))
            }
            (Operand::Name("_"), _) if is_written && expected.allows_discard => Ok(()),
            (Operand::Name("_"), _) => wrong("`_`"),
            (Operand::Not(name), _) if ty == Some("pred") && !is_written => {
                self.check(expected, ty, &Operand::Name(name))
            }
            (Operand::Number(number), _) if !is_written => match (*number, kind) {
                (Number::Integer(value), Kind::Byte) if value > 255 => {
                    Err(self.invalid(format!("{} is not between 0 and 255", value.cast_signed())))
                }
                (Number::Integer(value), Kind::Barrier) if value > 15 => {
                    Err(self.invalid(format!("{} is not a barrier: expected 0 to 15", value.cast_signed())))
                }
                (Number::Integer(0), Kind::Threads) if self.words.contains(&"arrive") => {
                    Err(self.invalid("no threads would arrive"))
                }
                (Number::Integer(value), Kind::Threads) if value % 32 != 0 => {
                    Err(self.invalid(format!("{} threads is not a multiple of 32", value.cast_signed())))
                }
                (number, _) if ty.is_some_and(|ty| is_number_of(number, ty)) => Ok(()),
                (Number::Integer(_), _) => wrong("an integer"),
                _ => wrong("a floating-point number"),
            },
            (Operand::Name(name), _) => match self.declared(name) {
                Some(declared) => self.check_register(expected, ty, name, &declared),
                None if is_written => Ok(()),
                None => self.check_name(expected, ty, name),
            },
            (Operand::Element(name, element), _) => match self.declared(name) {
                Some(declared) if declared.vector > 1 => self.check_register(expected, ty, name, &declared),
                None if name.starts_with('%') => Err(self.unknown(&format!("{name}.{element}"))),
                _ => {
                    let message = format!("`{name}.{element}` is not an element of a vector register");
                    Err(self.invalid(message))
                }
            },
            (Operand::NameOffset(..), Kind::Of("u64" | "u16")) if !expected.allows_variable => wrong("an address"),
            (Operand::NameOffset(..), _) if !is_written => match ty.map(class) {
                Some(Class::Integer | Class::Bits) => Ok(()),
                _ => wrong("an address"),
            },
            _ => Err(self.invalid("a register is expected here")),
        }
    }

    /// Rejects a name that is not a register if the operand must be a register.
    fn check_name(&self, expected: Expected, ty: Option<&str>, name: &str) -> Decoded<()> {
        let is_float = ty.map(class) == Some(Class::Float);
        let (is_taken, message) = if is_special(name) {
            let message = "is a special register, which only `mov` and integer `cvt` can read";
            (expected.allows_special && !is_float, message)
        } else if self.variable_declared(name).is_some() {
            let message = "is a variable, whose address only `mov` and `cvta` can read";
            (expected.allows_variable, message)
        } else {
            return Err(self.unknown(name));
        };
        match is_taken {
            true => Ok(()),
            false => Err(self.invalid(format!("`{name}` {message}"))),
        }
    }

    /// Rejects the base of an address if it cannot be an address.
    fn check_address(&self, base: &AddressBase<'_>) -> Decoded<()> {
        match base {
            AddressBase::Name(name) => match self.declared(name) {
                Some(found) if found.bits < 32 || !matches!(class(found.ty), Class::Integer | Class::Bits) => {
                    let what = if found.bits == 1 { "predicate" } else { "register" };
                    Err(self.invalid(format!("{what} `{name}` is not an address")))
                }
                _ => Ok(()),
            },
            AddressBase::Absolute(_) => Ok(()),
        }
    }

    fn check_register(&self, expected: Expected, ty: Option<&str>, name: &str, declared: &Declared<'_>) -> Decoded<()> {
        let Some(ty) = ty else { return Ok(()) };
        let is_brain = |word: &&str| is_type(word) && class(word) == Class::Brain;
        let spare = matches!(expected.kind, Kind::LastOrWider | Kind::FirstOrWider | Kind::Elements)
            && !self.words.iter().any(is_brain);
        if holds(declared, ty, spare) {
            return Ok(());
        }
        let (found, bits) = (declared.bits, width(ty));
        Err(self.invalid(match (found, bits) {
            (1, _) => {
                format!("expected a register of {bits} bits, found predicate `{name}`")
            }
            (_, 1) => format!("expected a predicate, found a register of {found} bits"),
            _ if spare && found < bits => {
                format!("register `{name}` of {found} bits is too narrow for a value of {bits}")
            }
            _ if found != bits && !spare => {
                format!("register `{name}` has {found} bits, but the instruction's type has {bits}")
            }
            _ => format!("expected .{ty}, but register `{name}` is declared .{}", declared.ty),
        }))
    }
}
