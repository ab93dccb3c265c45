//! The table as data.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use crate::class::Section;
use crate::expected::Expected;

/// Modifiers of which an opcode has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The modifiers.
    pub words: Vec<&'static str>,
    /// Whether an opcode can have none of them.
    pub is_optional: bool,
    /// Whether it belongs to the instruction's name, and stands there in the order of the table.
    pub is_of_name: bool,
    /// Whether it follows the one before it, in whatever order the others are.
    pub follows: bool,
}

/// A row of the table, for one of its names.
#[derive(Debug, Clone)]
pub struct Row {
    /// The name.
    pub name: &'static str,
    /// The modifiers.
    pub slots: Vec<Slot>,
    /// The operands.
    pub operands: Vec<Expected>,
}

impl Slot {
    /// The words, after `None` if the slot is optional.
    #[must_use]
    pub fn choices(&self) -> Vec<Option<&'static str>> {
        let none = self.is_optional.then_some(None);
        none.into_iter().chain(self.words.iter().copied().map(Some)).collect()
    }
}

impl Row {
    /// The number of opcodes that the modifiers make.
    #[must_use]
    pub fn opcodes(&self) -> usize {
        self.slots.iter().map(|slot| slot.choices().len()).product()
    }

    /// For each slot the index in its [choices](Slot::choices), of the opcode with this number.
    #[must_use]
    pub fn choices(&self, mut number: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        for slot in self.slots.iter().rev() {
            let count = slot.words.len() + usize::from(slot.is_optional);
            chosen.push(number % count);
            number /= count;
        }
        chosen.reverse();
        chosen
    }

    /// For each slot a word or none, of the opcode with this number.
    #[must_use]
    pub fn modifiers(&self, number: usize) -> Vec<Option<&'static str>> {
        let chosen = self.choices(number).into_iter().zip(&self.slots);
        chosen.map(|(at, slot)| slot.choices()[at]).collect()
    }
}

/// A line of the table with rows.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// The names, with `|` between them.
    names: &'static str,
    section: Section,
    /// The modifiers that belong to the name, and the others.
    modifiers: [&'static str; 2],
    operands: &'static str,
}

/// The lines of one name.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    name: &'static str,
    lines: Vec<Line>,
    /// The rows, once an instruction has asked for them: few programs use all.
    rows: OnceLock<Vec<Row>>,
    /// What [`Row::written`] says, where all rows say the same.
    written: OnceLock<Option<(usize, bool)>>,
}

/// The operands of instructions whose operands are not in the table.
const OPEN: &str = "...";

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let mut section = Section::Arithmetic;
    let mut lines = Vec::new();
    for text in texts().filter(|text| !text.contains(" = ")) {
        match text.strip_prefix("# ") {
            Some(header) => section = Section::named(header).expect("headers are those of sections"),
            None => lines.push(Line::new(text, section)),
        }
    }
    lines
});

static ENTRIES: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| {
    let mut entries = HashMap::new();
    for line in &*LINES {
        for name in line.names.split('|') {
            let entry = entries.entry(name).or_insert_with(|| Entry { name, ..Entry::default() });
            entry.lines.push(*line);
        }
    }
    entries
});

/// The table's lines.
fn texts() -> impl Iterator<Item = &'static str> {
    include_str!("instructions.txt").lines().filter(|text| !text.is_empty() && !text.starts_with("//"))
}

/// The sets of words that have a name in the table.
pub fn sets() -> &'static HashMap<&'static str, Vec<&'static str>> {
    static SETS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let mut sets = HashMap::new();
        for (name, words) in texts().filter_map(|text| text.split_once(" = ")) {
            sets.insert(name, alternatives(words, &sets));
        }
        sets
    });
    &SETS
}

/// The names of all instructions.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.keys().copied()
}

/// All rows, in the order of the table.
#[must_use]
pub fn rows() -> Vec<Row> {
    let lines = LINES.iter().filter(|line| line.operands != OPEN);
    lines.flat_map(|line| line.names.split('|').map(|name| line.row(name))).collect()
}

/// The lines of an opcode, given with or without its modifiers.
pub(crate) fn entry(opcode: &str) -> Option<&'static Entry> {
    ENTRIES.get(opcode.split('.').next()?)
}

impl Entry {
    /// The rows. There are none if the table does not know the operands.
    pub(crate) fn rows(&self) -> &[Row] {
        self.rows.get_or_init(|| {
            let lines = self.lines.iter().filter(|line| line.operands != OPEN);
            lines.map(|line| line.row(self.name)).collect()
        })
    }

    /// How many of the first operands are written, and whether they are read as well, if it is the same for all rows.
    pub(crate) fn written(&self) -> Option<(usize, bool)> {
        *self.written.get_or_init(|| {
            let mut rows = self.rows().iter().map(Row::written);
            let first = rows.next().unwrap_or_default();
            rows.all(|row| row == first).then_some(first)
        })
    }

    /// The section of an opcode with this name: of the first row that it matches.
    pub(crate) fn section(&self, opcode: &str) -> Section {
        let first = self.lines[0].section;
        if self.lines.iter().all(|line| line.section == first) {
            return first;
        }
        let words: Vec<&str> = opcode.split('.').collect();
        let mut rows = self.lines.iter().zip(self.rows());
        rows.find(|(_, row)| row.order(&words).is_some()).map_or(first, |(line, _)| line.section)
    }
}

impl Line {
    fn new(text: &'static str, section: Section) -> Self {
        let (instruction, operands) = text.split_once("  ").unwrap_or((text, ""));
        let (name, modifiers) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let end = match name.starts_with('(') {
            true => name.find(')').map(|end| end + 1),
            false => name.find(['.', '{', '(']),
        };
        let (names, of_name) = name.split_at(end.unwrap_or(name.len()));
        let names = names.trim_matches(['(', ')']);
        Self { names, section, modifiers: [of_name, modifiers], operands: operands.trim() }
    }

    /// The row of one of the names.
    fn row(&self, name: &'static str) -> Row {
        let [of_name, others] = self.modifiers.map(slots);
        let of_name = of_name.into_iter().map(|slot| Slot { is_of_name: true, ..slot });
        let operands = self.operands.split(", ").filter(|operand| !operand.is_empty());
        let operands = operands.map(|text| Expected::parse(text).expect("the table's head lists all kinds")).collect();
        Row { name, slots: of_name.chain(others).collect(), operands }
    }
}

/// The slots of `.a{.b|.c}(.d|.e)>.f`.
fn slots(mut text: &'static str) -> Vec<Slot> {
    let mut slots = Vec::new();
    while !text.is_empty() {
        let open = text.trim_start_matches('>');
        let end = match open.as_bytes()[0] {
            b'{' => open.find('}').map(|end| end + 1),
            b'(' => open.find(')').map(|end| end + 1),
            _ => open[1..].find(['.', '{', '(', '>']).map(|end| end + 1),
        };
        let (words, rest) = open.split_at(end.unwrap_or(open.len()));
        slots.push(Slot {
            words: alternatives(words.trim_matches(['{', '}', '(', ')']), sets()),
            is_optional: words.starts_with('{'),
            is_of_name: false,
            follows: text.starts_with('>'),
        });
        text = rest;
    }
    slots
}

/// The words of `.a|.b|.SET`, and of a range `.m64n(8..256 by 8)k16`.
fn alternatives(words: &'static str, sets: &HashMap<&str, Vec<&'static str>>) -> Vec<&'static str> {
    let mut all = Vec::new();
    for word in words.split('|').map(|word| word.trim_start_matches('.')) {
        match (sets.get(word), word.split_once('(')) {
            (Some(set), _) => all.extend(set),
            (None, Some((before, range))) => all.extend(in_range(before, range)),
            (None, None) => all.push(word),
        }
    }
    all
}

/// The words of a range: what is before its parenthesis, and what follows.
fn in_range(before: &str, range: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<&str> = range.split([')', ' ', '.']).filter(|part| !part.is_empty()).collect();
    let number = |at: usize| -> usize { parts[at].parse().expect("a range has numbers") };
    let (from, to, step) = (number(0), number(1), number(3));
    // The table's words live as long as the program.
    (from..=to).step_by(step).map(move |number| &*format!("{before}{number}{}", parts[4]).leak())
}
