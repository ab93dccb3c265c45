//! A statement as pieces: text, and names that the compiler made up.

use std::collections::{HashMap, HashSet};

use crate::ptx::{Function, Kind, Module, Statement, tokens};

/// A made-up name: what kind of thing it names, and the name. Two of the same kind are alike in shape.
type Name = (String, String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(Name),
}

/// A label or an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line(Vec<Piece>);

/// A function's labels that something branches to, and its instructions.
pub(super) fn lines(module: &Module, function: &Function) -> Vec<Line> {
    let reader = Reader::new(module, function);
    let line = |statement: &Statement| match statement {
        Statement::Label { name, .. } if !function.uses_label(name) => None,
        Statement::Label { name, .. } => Some(reader.line(&format!("{name}:"))),
        Statement::Instruction(instruction) => {
            let guard = instruction
                .guard
                .as_ref()
                .map_or_else(String::new, |guard| format!("{guard} "));
            let operands = instruction.operands.join(", ");
            let space = if operands.is_empty() { "" } else { " " };
            Some(reader.line(&format!("{guard}{}{space}{operands};", instruction.opcode)))
        }
    };
    function.body.iter().filter_map(line).collect()
}

struct Reader<'m> {
    /// Names that mean something in this function, and what kind of thing each names.
    known: HashMap<&'m str, String>,
    /// Parameters by name: a parameter is the same in both functions if its position is.
    parameters: HashMap<&'m str, usize>,
}

impl<'m> Reader<'m> {
    fn new(module: &'m Module, function: &'m Function) -> Self {
        let variables = module.variables.iter().chain(&function.variables);
        let mut known: HashMap<_, _> = variables
            .map(|variable| (variable.name.as_str(), variable.space.clone()))
            .collect();
        for statement in &function.body {
            if let Statement::Label { name, .. } = statement {
                known.insert(name, "L".to_owned());
            }
        }
        let parameters = function
            .parameters
            .iter()
            .enumerate()
            .map(|(index, name)| (name.as_str(), index));
        Self {
            known,
            parameters: parameters.collect(),
        }
    }

    fn line(&self, text: &str) -> Line {
        let piece = |token: crate::ptx::Token<'_>| {
            let word = token.text;
            if token.kind != Kind::Word {
                return Piece::Text(word.to_owned());
            }
            if let Some(index) = self.parameters.get(word) {
                return Piece::Text(format!("param{index}"));
            }
            let class = self
                .known
                .get(word)
                .cloned()
                .or_else(|| register_class(word));
            match class {
                Some(class) => Piece::Name((class, word.to_owned())),
                None => Piece::Text(word.to_owned()),
            }
        };
        Line(tokens(text).map(piece).collect())
    }
}

/// `%rd` of the virtual register `%rd12`; nothing for a special register such as `%tid.x` or `%clock64`.
fn register_class(word: &str) -> Option<String> {
    let class = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let letters = class.strip_prefix('%')?;
    let special = ["clock", "globaltimer", "envreg", "pm"].contains(&letters);
    let is_virtual =
        class.len() < word.len() && letters.chars().all(|c| c.is_ascii_alphabetic()) && !special;
    is_virtual.then(|| class.to_owned())
}

impl Line {
    fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(name),
            Piece::Text(_) => None,
        })
    }

    /// The line with every made-up name replaced by its kind.
    pub(super) fn shape(&self) -> String {
        self.with(|(class, _)| class.clone())
    }

    fn with(&self, shown: impl Fn(&Name) -> String) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(name) => shown(name),
        };
        self.0.iter().map(text).collect()
    }
}

/// Numbers for made-up names, so that what is the same in both functions has the same one.
#[derive(Debug, Default)]
pub(super) struct Names {
    left: HashMap<Name, usize>,
    right: HashMap<Name, usize>,
    /// Numbers on the left that a name on the right has.
    taken: HashSet<(String, usize)>,
    /// The highest number of each kind.
    last: HashMap<String, usize>,
}

impl Names {
    fn fresh(last: &mut HashMap<String, usize>, class: &str) -> usize {
        let number = last.entry(class.to_owned()).or_default();
        *number += 1;
        *number
    }

    /// Numbers a left line's names in the order they appear.
    pub(super) fn number_left(&mut self, line: &Line) {
        for name in line.names() {
            self.left
                .entry(name.clone())
                .or_insert_with(|| Self::fresh(&mut self.last, &name.0));
        }
    }

    /// Gives the right line's names the numbers of the left line's, where neither has a partner yet.
    pub(super) fn align(&mut self, left: &Line, right: &Line) {
        for (left, right) in left.names().zip(right.names()) {
            let Some(number) = self.left.get(left) else {
                continue;
            };
            if !self.right.contains_key(right) && self.taken.insert((left.0.clone(), *number)) {
                self.right.insert(right.clone(), *number);
            }
        }
    }

    /// Numbers the names that only the right has, after all of the left's.
    pub(super) fn number_right(&mut self, line: &Line) {
        for name in line.names() {
            self.right
                .entry(name.clone())
                .or_insert_with(|| Self::fresh(&mut self.last, &name.0));
        }
    }

    pub(super) fn left(&self, line: &Line) -> String {
        line.with(|name| numbered(&self.left, name))
    }

    pub(super) fn right(&self, line: &Line) -> String {
        line.with(|name| numbered(&self.right, name))
    }
}

fn numbered(numbers: &HashMap<Name, usize>, name: &Name) -> String {
    numbers
        .get(name)
        .map_or_else(|| name.1.clone(), |number| format!("{}{number}", name.0))
}
