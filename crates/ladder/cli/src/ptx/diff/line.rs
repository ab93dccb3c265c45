//! Splits a statement into plain text and compiler-generated names.

use std::collections::{HashMap, HashSet};

use ptx::ast::{Function, Instruction, Statement};
use ptx::{PieceKind, pieces};

use crate::ptx::Listing;

/// A generated name: its kind, and the name. Names of the same kind have the same shape.
type Name<'a> = (&'a str, &'a str);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part<'a> {
    Text(String),
    Name(Name<'a>),
}

/// A label or an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a>(Vec<Part<'a>>);

/// Returns a function's instructions, and the labels that its branches name.
pub(super) fn lines<'a>(listing: &Listing<'a>, function: &Function<'a>) -> Vec<Line<'a>> {
    let reader = Reader::new(listing, function);
    let used = function.used_labels();
    let line = |statement: &Statement<'a>| match statement {
        Statement::Label { name, .. } => {
            used.contains(name).then(|| Line(vec![reader.word(name), Part::Text(":".to_owned())]))
        }
        Statement::Instruction(instruction) => Some(reader.instruction(instruction)),
        _ => None,
    };
    function.statements().filter_map(line).collect()
}

struct Reader<'a> {
    text: &'a str,
    /// The generated names of this function, with the kind of each.
    known: HashMap<&'a str, &'a str>,
    /// The index of each parameter. Parameters of two functions match if their indices are equal.
    parameters: HashMap<&'a str, usize>,
}

impl<'a> Reader<'a> {
    fn new(listing: &Listing<'a>, function: &Function<'a>) -> Self {
        let variables = listing.tree.variables.iter();
        let variables = variables.map(|variable| (variable.name, variable.space.name()));
        let declared = function.statements().filter_map(|statement| match statement {
            Statement::Variable(variable) => Some((variable.name, variable.space.name())),
            Statement::Label { name, .. } => Some((*name, "L")),
            _ => None,
        });
        let parameters = function.params.iter().map(|parameter| parameter.name);
        Self {
            text: listing.source.text(),
            known: variables.chain(declared).collect(),
            parameters: parameters.zip(0..).collect(),
        }
    }

    fn word(&self, word: &'a str) -> Part<'a> {
        if let Some(index) = self.parameters.get(word) {
            return Part::Text(format!("param{index}"));
        }
        let class = self.known.get(word).copied();
        match class.or_else(|| register_class(word)) {
            Some(class) => Part::Name((class, word)),
            None => Part::Text(word.to_owned()),
        }
    }

    /// Formats `@%p1 st.global.b32 [%rd1], %r1;` with one space after the guard, the opcode and each comma.
    fn instruction(&self, instruction: &Instruction<'a>) -> Line<'a> {
        let text = |text: &str| Part::Text(text.to_owned());
        let mut parts = Vec::new();
        if let Some(guard) = instruction.guard {
            let sign = if guard.negated { "@!" } else { "@" };
            parts.extend([text(sign), self.word(guard.register), text(" ")]);
        }
        parts.push(text(instruction.opcode));
        let opcode_end = instruction.at as usize + instruction.opcode.len();
        let operands = self.text.get(opcode_end..instruction.span.end as usize);
        let mut blank = true;
        for piece in pieces(operands.unwrap_or_default()) {
            if matches!(piece.kind, PieceKind::Blank | PieceKind::Comment) {
                continue;
            }
            if std::mem::take(&mut blank) && piece.text != ";" {
                parts.push(text(" "));
            }
            parts.push(match piece.kind {
                PieceKind::Word => self.word(piece.text),
                _ => text(piece.text),
            });
            blank = piece.text == ",";
        }
        Line(parts)
    }
}

/// Returns `%rd` for the virtual register `%rd12`, and `None` for a special register such as `%tid.x` or `%clock64`.
fn register_class(word: &str) -> Option<&str> {
    let class = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let letters = class.strip_prefix('%')?;
    let special = ["clock", "globaltimer", "envreg", "pm"].contains(&letters);
    let is_virtual = class.len() < word.len() && letters.chars().all(|c| c.is_ascii_alphabetic()) && !special;
    is_virtual.then_some(class)
}

impl<'a> Line<'a> {
    fn names(&self) -> impl Iterator<Item = &Name<'a>> {
        self.0.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::Text(_) => None,
        })
    }

    /// Returns the line with every generated name replaced by its kind.
    pub(super) fn shape(&self) -> String {
        self.with(|(class, _)| (*class).to_owned())
    }

    fn with(&self, shown: impl Fn(&Name<'a>) -> String) -> String {
        let text = |part: &Part<'a>| match part {
            Part::Text(text) => text.clone(),
            Part::Name(name) => shown(name),
        };
        self.0.iter().map(text).collect()
    }
}

/// The numbers of generated names. Names that match in both functions have the same number.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    left: HashMap<Name<'a>, usize>,
    right: HashMap<Name<'a>, usize>,
    /// The numbers of the left function's names that a name of the right function already shares.
    taken: HashSet<(&'a str, usize)>,
    /// For each kind, the highest number that a name has.
    last: HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    /// Numbers the names of a line of the left function in the order of their appearance.
    pub(super) fn number_left(&mut self, line: &Line<'a>) {
        number(&mut self.left, &mut self.last, line);
    }

    /// Gives each name of the right line the number of the corresponding name of the left line, unless either name is
    /// already matched.
    pub(super) fn align(&mut self, left: &Line<'a>, right: &Line<'a>) {
        for (left, right) in left.names().zip(right.names()) {
            if let Some(number) = self.left.get(left)
                && !self.right.contains_key(right)
                && self.taken.insert((left.0, *number))
            {
                self.right.insert(*right, *number);
            }
        }
    }

    /// Numbers the names that only the right function has, after all names of the left function.
    pub(super) fn number_right(&mut self, line: &Line<'a>) {
        number(&mut self.right, &mut self.last, line);
    }

    pub(super) fn left(&self, line: &Line<'a>) -> String {
        line.with(|name| numbered(&self.left, name))
    }

    pub(super) fn right(&self, line: &Line<'a>) -> String {
        line.with(|name| numbered(&self.right, name))
    }
}

/// Gives each unnumbered name of a line the next number of its kind.
fn number<'a>(numbers: &mut HashMap<Name<'a>, usize>, last: &mut HashMap<&'a str, usize>, line: &Line<'a>) {
    for name in line.names() {
        numbers.entry(*name).or_insert_with(|| {
            let number = last.entry(name.0).or_default();
            *number += 1;
            *number
        });
    }
}

fn numbered(numbers: &HashMap<Name<'_>, usize>, name: &Name<'_>) -> String {
    match numbers.get(name) {
        Some(number) => format!("{}{number}", name.0),
        None => name.1.to_owned(),
    }
}
