//! The parsed table of instructions.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use crate::class::Section;
use crate::expected::Expected;
use crate::needs::Needs;

/// Alternative modifiers. An opcode contains one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The modifiers.
    pub words: Vec<&'static str>,
    /// Whether the modifier can be omitted.
    pub is_optional: bool,
    /// Whether the modifier belongs to the instruction's name, in which modifiers keep the order of the table.
    pub is_of_name: bool,
    /// Whether the modifier must come after the previous slot, although other slots can be in any order.
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
    /// The needs of all instructions of the row.
    needs: Needs,
    /// The additional needs of some instructions of the row.
    rules: Vec<Rule>,
}

impl Slot {
    /// Returns the words, preceded by `None` if the slot is optional.
    #[must_use]
    pub fn choices(&self) -> Vec<Option<&'static str>> {
        let none = self.is_optional.then_some(None);
        none.into_iter().chain(self.words.iter().copied().map(Some)).collect()
    }
}

impl Row {
    /// Returns the needs of an instruction of the row, with these words in the order of the row and this number of
    /// operands.
    #[must_use]
    pub fn needs(&self, words: &[&str], operands: usize) -> Needs {
        let rules = self.rules.iter().filter(|rule| rule.is_about(words, operands));
        rules.fold(self.needs, |needs, rule| needs.and(rule.needs))
    }

    /// Returns the number of opcodes that the modifiers can form.
    #[must_use]
    pub fn opcodes(&self) -> usize {
        self.slots.iter().map(|slot| slot.choices().len()).product()
    }

    /// Returns, for each slot, the index in its [choices](Slot::choices) for the opcode with this number.
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

    /// Returns, for each slot, the modifier of the opcode with this number, or `None`.
    #[must_use]
    pub fn modifiers(&self, number: usize) -> Vec<Option<&'static str>> {
        let chosen = self.choices(number).into_iter().zip(&self.slots);
        chosen.map(|(at, slot)| slot.choices()[at]).collect()
    }
}

/// A line of the table that defines rows.
#[derive(Debug, Clone)]
struct Line {
    /// The names, with `|` between them.
    names: &'static str,
    section: Section,
    /// The modifiers that belong to the name, and the other modifiers.
    modifiers: [&'static str; 2],
    operands: &'static str,
    needs: Needs,
    /// The indented lines that follow: the additional needs of some of the instructions.
    rules: Vec<&'static str>,
}

/// The lines of the table that define one name.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    name: &'static str,
    lines: Vec<&'static Line>,
    /// The rows, computed at the first use, because few programs use all of them.
    rows: OnceLock<Vec<Row>>,
    /// The result of [`Row::written`], if it is the same for all rows.
    written: OnceLock<Option<(usize, bool)>>,
}

/// The operands column of instructions whose operands are not in the table.
const OPEN: &str = "...";

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let mut section = Section::Arithmetic;
    let mut lines: Vec<Line> = Vec::new();
    for text in texts().skip_while(|text| !text.starts_with("# ")) {
        match (text.strip_prefix("# "), text.strip_prefix("    ")) {
            (Some(header), _) => section = Section::named(header).expect("each header names a section"),
            (_, Some(rule)) => lines.last_mut().expect("a rule follows its row").rules.push(rule),
            _ => lines.push(Line::new(text, section)),
        }
    }
    lines
});

/// The additional needs of modifiers in all rows of some names; the name `*` stands for all names.
static RULES: LazyLock<Vec<(&str, Rule)>> = LazyLock::new(|| {
    let texts = texts().take_while(|text| !text.starts_with("# ")).filter(|text| !text.contains(" = "));
    let rule = |text: &'static str| {
        let (names, rest) = text.split_once(' ').expect("a rule has names");
        (names.trim_matches(['(', ')']), rule(rest))
    };
    texts.map(rule).collect()
});

static ENTRIES: LazyLock<HashMap<&str, Entry>> = LazyLock::new(|| {
    let mut entries = HashMap::new();
    for line in &*LINES {
        for name in line.names.split('|') {
            let entry = entries.entry(name).or_insert_with(|| Entry { name, ..Entry::default() });
            entry.lines.push(line);
        }
    }
    entries
});

/// Returns the lines of the table.
fn texts() -> impl Iterator<Item = &'static str> {
    include_str!("instructions.txt").lines().filter(|text| !text.is_empty() && !text.starts_with("//"))
}

/// Returns the named sets of words in the table.
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

/// Returns the names of all instructions.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.keys().copied()
}

/// Returns all rows, in the order of the table.
#[must_use]
pub fn rows() -> Vec<Row> {
    let lines = LINES.iter().filter(|line| line.operands != OPEN);
    lines.flat_map(|line| line.names.split('|').map(|name| line.row(name))).collect()
}

/// Returns the table's lines for an opcode, which can be given with or without its modifiers.
pub(crate) fn entry(opcode: &str) -> Option<&'static Entry> {
    ENTRIES.get(opcode.split('.').next()?)
}

impl Entry {
    /// Returns the rows, or no rows if the table does not contain the operands.
    pub(crate) fn rows(&self) -> &[Row] {
        self.rows.get_or_init(|| {
            let lines = self.lines.iter().filter(|line| line.operands != OPEN);
            lines.map(|line| line.row(self.name)).collect()
        })
    }

    /// Returns the number of leading operands that are written, and whether they are also read, if all rows agree.
    pub(crate) fn written(&self) -> Option<(usize, bool)> {
        *self.written.get_or_init(|| {
            let mut rows = self.rows().iter().map(Row::written);
            let first = rows.next().unwrap_or_default();
            rows.all(|row| row == first).then_some(first)
        })
    }

    /// Returns the section of an opcode with this name: the section of the first row that the opcode matches.
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
        let (instruction, rest) = text.split_once("  ").unwrap_or((text, ""));
        let (operands, needs) = needed(rest);
        let (name, modifiers) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let end = match name.starts_with('(') {
            true => name.find(')').map(|end| end + 1),
            false => name.find(['.', '{', '(']),
        };
        let (names, of_name) = name.split_at(end.unwrap_or(name.len()));
        let names = names.trim_matches(['(', ')']);
        Self { names, section, modifiers: [of_name, modifiers], operands, needs, rules: Vec::new() }
    }

    /// Returns the row for one of the names.
    fn row(&self, name: &'static str) -> Row {
        let [of_name, others] = self.modifiers.map(slots);
        let of_name = of_name.into_iter().map(|slot| Slot { is_of_name: true, ..slot });
        let operands = self.operands.split(", ").filter(|operand| !operand.is_empty());
        let operands = operands.map(|text| Expected::parse(text).expect("each operand has a known kind")).collect();
        let of_all =
            RULES.iter().filter(|(names, _)| names.split('|').any(|rule_name| rule_name == "*" || rule_name == name));
        let rules = of_all.map(|(_, rule)| rule.clone()).chain(self.rules.iter().map(|text| rule(text)));
        Row { name, slots: of_name.chain(others).collect(), operands, needs: self.needs, rules: rules.collect() }
    }
}

/// Splits off the last column if it contains needs, and returns the columns before it.
fn needed(columns: &'static str) -> (&'static str, Needs) {
    let (before, last) = columns.rsplit_once("  ").unwrap_or(("", columns));
    match Needs::parse(last) {
        Some(needs) => (before.trim(), needs),
        None => (columns.trim(), Needs::default()),
    }
}

/// Parses a rule such as `.a(.b|.c)  7.8 sm_90` or `3 operands  7.8`.
fn rule(text: &'static str) -> Rule {
    let (condition, needs) = needed(text);
    let operands = condition.strip_suffix(" operands").and_then(|count| count.parse().ok());
    Rule { slots: if operands.is_some() { Vec::new() } else { slots(condition) }, operands, needs }
}

/// Parses the slots of `.a{.b|.c}(.d|.e)>.f`.
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

/// Returns the words of `.a|.b|.SET`, and of a range `.m64n(8..256 by 8)k16`.
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

/// Returns the words of a range. `before` is the text before its parenthesis, and `range` the text after it.
fn in_range(before: &str, range: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<&str> = range.split([')', ' ', '.']).filter(|part| !part.is_empty()).collect();
    let number = |at: usize| -> usize { parts[at].parse().expect("a range has numbers") };
    let (from, to, step) = (number(0), number(1), number(3));
    // The words of the table live as long as the program.
    (from..=to).step_by(step).map(move |number| &*format!("{before}{number}{}", parts[4]).leak())
}

/// The additional needs of some instructions.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// Words of the opcode, one for each slot.
    pub(crate) slots: Vec<Slot>,
    /// The number of operands, if the rule depends on it.
    pub(crate) operands: Option<usize>,
    pub(crate) needs: Needs,
}

impl Rule {
    /// Returns whether the rule applies to an instruction with these words, in the order of its row.
    pub(crate) fn is_about(&self, words: &[&str], operands: usize) -> bool {
        let mut last = 0;
        let has = |slot: &Slot| {
            let first = if slot.follows { last + 1 } else { 1 };
            let found = (first..words.len()).find(|at| slot.words.contains(&words[*at]));
            last = found.unwrap_or(last);
            found.is_some()
        };
        self.operands.is_none_or(|count| count == operands) && self.slots.iter().all(has)
    }
}
