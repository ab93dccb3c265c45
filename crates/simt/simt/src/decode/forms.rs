//! The forms of instructions: which modifiers an opcode has, in whatever order, and what its operands are.
//!
//! The table says what `ptxas` takes; the decoders say what of it this machine runs.

pub(crate) mod table;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use ptx::ast::{AddressBase, Number, Operand};
use ptx::opcode::type_bytes;

use super::context::{Declared, is_special};
use super::{Decoded, Decoder};
use table::{Line, Row, Slot};

/// What an operand may be: the letter and the marks of the table.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    letter: char,
    marks: &'static str,
}

/// The lines of the table with an opcode, and their rows once an instruction has asked for them.
type Rows = (Vec<Line>, OnceLock<Vec<Row>>);

/// The rows of the table, by opcode.
static FORMS: LazyLock<HashMap<&str, Rows>> = LazyLock::new(|| {
    let mut forms = HashMap::<_, Rows>::new();
    for line in table::lines() {
        for name in line.names.split(',') {
            forms.entry(name).or_default().0.push(line);
        }
    }
    forms
});

/// The rows of an opcode.
fn rows_of(name: &str) -> Option<&'static [Row]> {
    let (name, (lines, rows)) = FORMS.get_key_value(name)?;
    Some(rows.get_or_init(|| lines.iter().map(|line| line.row(name)).collect()))
}

impl Row {
    /// The opcode's words in the order of the table; `None` if it is not of this form.
    fn order<'w>(&self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        let mut places = vec![0; self.slots.len()];
        let mut named = 1;
        for (slot, place) in self.slots.iter().zip(&mut places) {
            if slot.has('^') && words.get(named).is_some_and(|word| slot.words.contains(word)) {
                *place = named;
                named += 1;
            }
        }
        for (at, word) in words.iter().enumerate().skip(named) {
            let mut slots = self.slots.iter().zip(&mut places);
            let is_free =
                |(slot, place): &(&Slot, &mut usize)| **place == 0 && !slot.has('^') && slot.words.contains(word);
            *slots.find(is_free)?.1 = at;
        }
        let is_filled = |at: usize| self.slots[at].has('?') || places[at] > 0;
        let is_behind = |at: usize| !self.slots[at].has('>') || places[at - 1] < places[at];
        let is_of_it = (0..places.len()).all(|at| is_filled(at) && is_behind(at));
        let placed = places.into_iter().filter(|place| *place > 0).map(|place| words[place]);
        is_of_it.then(|| words[..1].iter().copied().chain(placed).collect())
    }

    fn takes(&self, operands: usize) -> bool {
        (self.least()..=self.operands.len()).contains(&operands)
    }

    /// How many operands there are at least.
    fn least(&self) -> usize {
        self.operands.iter().filter(|kind| !kind.contains('~')).count()
    }
}

/// The opcode's words in the order in which decoders match them, and the form that it has with so many operands.
pub(super) fn form(opcode: &str, operands: usize) -> Option<(Vec<&str>, &'static Row)> {
    let words: Vec<&str> = opcode.split('.').collect();
    let forms = rows_of(words[0])?.iter();
    let mut forms = forms.filter_map(|form| Some((form.order(&words)?, form)));
    let first = forms.next()?;
    if first.1.takes(operands) {
        return Some(first);
    }
    forms.find(|(_, form)| form.takes(operands)).or(Some(first))
}

/// What types have in common: a register that was declared with a type is an operand of any other of the same class.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Bits,
    Integer,
    Float,
    /// Pairs of integers.
    Pair,
    /// The types of which there are no registers.
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

/// Bits of a value of this type; 1 for a predicate.
fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "u16x2" | "s16x2" | "tf32" => 32,
        "e4m3x2" | "e5m2x2" => 16,
        "f32x2" => 64,
        _ => type_bytes(ty).unwrap_or(0) * 8,
    }
}

/// Whether a register that was declared with one type holds values of another: exactly, or with room to spare.
fn holds(declared: &Declared<'_>, ty: &str, spare: bool) -> bool {
    let (register, value) = (class(declared.ty), class(ty));
    let fits = match (register, value) {
        // A pair of halves is as good as bits.
        (Class::Float, Class::Pair) => declared.ty == "f16x2",
        (Class::Float, Class::Integer) => declared.ty == "f16x2" && spare,
        (Class::Float, Class::Float) => declared.ty == ty,
        (Class::Bits, _) | (_, Class::Bits) => register != Class::Predicate,
        (register, value) => register == value,
    };
    let spare = spare && !matches!(value, Class::Brain) && fits && (register, value) != (Class::Float, Class::Float);
    fits && (declared.bits == width(ty) || spare && declared.bits >= width(ty))
}

/// Whether a number can stand for a value of this type.
fn is_number_of(number: Number, ty: &str) -> bool {
    match number {
        Number::Integer(_) => matches!(class(ty), Class::Integer | Class::Bits | Class::Predicate),
        Number::F32(_) => matches!(ty, "f32" | "f64" | "b32"),
        Number::F64(_) => matches!(ty, "f32" | "f64" | "b64"),
    }
}

impl Kind {
    pub(super) fn new(token: &'static str) -> Self {
        let letter = token.trim_start_matches('~').chars().next();
        Self { letter: letter.unwrap_or('x'), marks: token }
    }

    fn has(self, mark: char) -> bool {
        self.marks.contains(mark)
    }

    /// The type of such an operand, if it has one.
    fn ty<'w>(self, words: &[&'w str]) -> Option<&'w str> {
        let types = || words[1..].iter().filter(|word| is_type(word));
        let last = || types().next_back().copied();
        Some(match self.letter.to_ascii_lowercase() {
            't' | 'm' => last()?,
            'c' if self.letter == 'c' => last()?,
            'f' | 'c' | 'v' => types().next().copied()?,
            'w' => match last()? {
                "u16" => "u32",
                "s16" => "s32",
                "u32" => "u64",
                _ => "s64",
            },
            'u' | 'y' | 'i' | 'k' => "u32",
            's' => "s32",
            'b' => "b32",
            'h' => "u16",
            'd' => "b64",
            'e' => "u64",
            'g' => "f32",
            'p' => "pred",
            _ => return None,
        })
    }
}

/// Whether a modifier is a type.
fn is_type(word: &str) -> bool {
    matches!(word, "pred" | "u16x2" | "s16x2" | "tf32" | "f32x2" | "e4m3x2" | "e5m2x2") || type_bytes(word).is_some()
}

impl<'d> Decoder<'d, '_, '_> {
    /// Refuses operands that the instruction's form does not have.
    pub(super) fn check_operands(&self, form: &Row) -> Decoded<()> {
        if !form.takes(self.operands.len()) {
            let (least, most) = (form.least(), form.operands.len());
            return Err(self.operand_count(self.operands.len().clamp(least, most)));
        }
        let mut operands = form.operands.iter().zip(self.operands);
        operands.try_for_each(|(kind, operand)| {
            let kind = Kind::new(kind);
            self.check(kind, kind.ty(self.words), operand)
        })
    }

    /// Refuses an operand that is not of this kind.
    pub(super) fn check(&self, kind: Kind, ty: Option<&str>, operand: &Operand<'_>) -> Decoded<()> {
        let is_written = kind.letter.is_ascii_uppercase();
        let opcode = self.opcode;
        let wrong = |what: &str| Err(self.invalid(format!("`{opcode}` does not take {what} here")));
        match (operand, kind.letter) {
            (_, 'h') if self.words[0] != "cp" => Ok(()),
            (_, 'x' | 'j' | 'o') | (Operand::Name("_"), 'l') => Ok(()),
            (_, 'l') => Err(self.invalid(format!("`{opcode}` writes no register: `_` stands here"))),
            (_, 'q' | 'z') => {
                let bits = match operand {
                    Operand::Not(_) => Some(1),
                    Operand::Name(name) => self.declared(name).map(|own| own.bits),
                    _ => None,
                };
                let (kind, ty) = match (kind.letter, bits) {
                    ('q', Some(1)) => ("p", "pred"),
                    ('z', Some(64)) => ("e", "u64"),
                    _ => ("u", "u32"),
                };
                self.check(Kind::new(kind), Some(ty), operand)
            }
            (Operand::Address { base, .. }, 'a') => self.check_address(base),
            (Operand::Number(Number::Integer(_)), 'n') => Ok(()),
            (_, 'a') => Err(self.invalid("an address in brackets is expected here")),
            (_, 'n') => Err(self.invalid("a constant is expected here")),
            (Operand::Vector(elements), 'm' | 'M' | 't' | 'T') if ty == Some("b128") => {
                let is_part = |element: &Operand<'_>| {
                    matches!(element, Operand::Element(name, _)
                        if self.declared(name).is_some_and(|own| own.ty == "b128"))
                };
                match elements.iter().all(is_part) {
                    true => Ok(()),
                    false => wrong("braces"),
                }
            }
            (Operand::Vector(elements), 'm' | 'M' | 'V') => {
                let element = |element: &Operand<'_>| match element {
                    Operand::Vector(_) => wrong("braces"),
                    Operand::Name("_") if is_written => Ok(()),
                    element => self.check(kind, ty, element),
                };
                elements.iter().try_for_each(element)
            }
            (Operand::VectorPair(elements, second), 'V') => {
                self.check(kind, ty, &Operand::Vector(elements.clone()))?;
                self.check(Kind::new("P"), Some("pred"), &Operand::Name(second))
            }
            (Operand::Pair(first, second), _) if kind.has('|') => {
                let marks = if kind.has('_') { "_" } else { "" };
                self.check(Kind { marks, ..kind }, ty, &Operand::Name(first))?;
                self.check(Kind::new("P_"), Some("pred"), &Operand::Name(second))
            }
            _ if kind.marks.ends_with("|P") => {
                Err(self.invalid(format!("`{opcode}` writes a register and a predicate: `d|p`")))
            }
            (Operand::Name("_"), _) if is_written && kind.has('_') => Ok(()),
            (Operand::Name("_"), _) => wrong("`_`"),
            (Operand::Not(name), _) if ty == Some("pred") && !is_written => self.check(kind, ty, &Operand::Name(name)),
            (Operand::Number(number), _) if !is_written => match (*number, kind.letter) {
                (Number::Integer(value), 'y') if value > 255 => {
                    Err(self.invalid(format!("{} is not between 0 and 255", value.cast_signed())))
                }
                (Number::Integer(value), 'i') if value > 15 => {
                    Err(self.invalid(format!("{} is no barrier: there are 0 to 15", value.cast_signed())))
                }
                (Number::Integer(0), 'k') if self.words.contains(&"arrive") => {
                    Err(self.invalid("no threads would arrive"))
                }
                (Number::Integer(value), 'k') if value % 32 != 0 => {
                    Err(self.invalid(format!("{} threads are no whole warps", value.cast_signed())))
                }
                (number, _) if ty.is_some_and(|ty| is_number_of(number, ty)) => Ok(()),
                (Number::Integer(_), _) => wrong("an integer"),
                _ => wrong("a floating-point number"),
            },
            (Operand::Name(name), _) => match self.declared(name) {
                Some(declared) => self.check_register(kind, ty, name, &declared),
                None if is_written => Ok(()),
                None => self.check_name(kind, ty, name),
            },
            (Operand::Element(name, element), _) => match self.declared(name) {
                Some(declared) if declared.vector > 1 => self.check_register(kind, ty, name, &declared),
                None if name.starts_with('%') => Err(self.unknown(&format!("{name}.{element}"))),
                _ => {
                    let message = format!("`{name}.{element}` is no element of a vector register");
                    Err(self.invalid(message))
                }
            },
            (Operand::NameOffset(..), 'e' | 'h') if !kind.has('&') => wrong("an address"),
            (Operand::NameOffset(..), _) if !is_written => match ty.map(class) {
                Some(Class::Integer | Class::Bits) => Ok(()),
                _ => wrong("an address"),
            },
            _ => Err(self.invalid("a register is expected here")),
        }
    }

    /// Refuses a name that is not a register's where only those are read.
    fn check_name(&self, kind: Kind, ty: Option<&str>, name: &str) -> Decoded<()> {
        let is_float = ty.map(class) == Some(Class::Float);
        let (is_taken, message) = if is_special(name) {
            let message = "is a special register, which only `mov` and `cvt` of integers read";
            (kind.has('!') && !is_float, message)
        } else if self.variable_declared(name).is_some() {
            let message = "is a variable, whose address only `mov` and `cvta` take";
            (kind.has('&'), message)
        } else {
            return Err(self.unknown(name));
        };
        match is_taken {
            true => Ok(()),
            false => Err(self.invalid(format!("`{name}` {message}"))),
        }
    }

    /// Refuses a base of an address that is not one.
    fn check_address(&self, base: &AddressBase<'_>) -> Decoded<()> {
        match base {
            AddressBase::Name(name) => match self.declared(name) {
                Some(own) if own.bits < 32 || !matches!(class(own.ty), Class::Integer | Class::Bits) => {
                    let what = if own.bits == 1 { "predicate" } else { "register" };
                    Err(self.invalid(format!("{what} `{name}` is no address")))
                }
                _ => Ok(()),
            },
            AddressBase::Absolute(_) => Ok(()),
        }
    }

    fn check_register(&self, kind: Kind, ty: Option<&str>, name: &str, declared: &Declared<'_>) -> Decoded<()> {
        let Some(ty) = ty else { return Ok(()) };
        let is_brain = |word: &&str| is_type(word) && class(word) == Class::Brain;
        let spare = matches!(kind.letter, 'c' | 'C' | 'm' | 'M') && !self.words.iter().any(is_brain);
        if holds(declared, ty, spare) {
            return Ok(());
        }
        let (found, bits) = (declared.bits, width(ty));
        Err(self.invalid(match (found, bits) {
            (1, _) => {
                format!("`{name}` is a predicate, and a register of {bits} bits belongs here")
            }
            (_, 1) => format!("a register of {found} bits stands where a predicate belongs"),
            _ if spare && found < bits => {
                format!("register `{name}` of {found} bits is too narrow for a value of {bits}")
            }
            _ if found != bits && !spare => {
                format!("register `{name}` has {found} bits, and the instruction's type {bits}")
            }
            _ => format!("register `{name}` is declared .{}, and .{ty} belongs here", declared.ty),
        }))
    }
}
