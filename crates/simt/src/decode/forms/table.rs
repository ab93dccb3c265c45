//! The table of forms as data, for tools that go through all of them: what is run of each, and on a GPU with what result.

use std::collections::HashMap;

use super::Kind;

/// Modifiers of which an opcode has one, or may have one.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) words: Vec<&'static str>,
    /// As the table marks it: `?`, `^`, `>`.
    pub(super) marks: &'static str,
}

impl Slot {
    pub(super) fn has(&self, mark: char) -> bool {
        self.marks.contains(mark)
    }

    /// The words, after `None` where it may be left out.
    fn choices(&self) -> Vec<Option<&'static str>> {
        let none = self.has('?').then_some(None);
        let words = self.words.iter().copied().map(Some);
        none.into_iter().chain(words).collect()
    }
}

/// A row of the table, for one of its names.
pub struct Row {
    /// The name.
    pub name: &'static str,
    pub(super) slots: Vec<Slot>,
    /// The operands, as the table writes them.
    pub operands: Vec<&'static str>,
}

/// All rows.
pub fn rows() -> Vec<Row> {
    let (mut sets, mut found) = (HashMap::new(), Vec::new());
    let rows = include_str!("../forms.txt").lines();
    for row in rows.filter(|row| !row.starts_with('#')) {
        if let Some((name, words)) = row.split_once(" = ") {
            sets.insert(name, alternatives(words, &sets));
        } else if let Some((opcode, operands)) = row.rsplit_once(" :") {
            let (names, modifiers) = opcode.split_once(' ').unwrap_or((opcode, ""));
            let slot = |word: &'static str| Slot {
                words: alternatives(word.trim_matches(['^', '>', '?']), &sets),
                marks: word,
            };
            found.extend(names.split(',').map(|name| Row {
                name,
                slots: modifiers.split_whitespace().map(slot).collect(),
                operands: operands.split_whitespace().collect(),
            }));
        }
    }
    found
}

/// The words of `a|b|SET`.
fn alternatives(words: &'static str, sets: &HashMap<&str, Vec<&'static str>>) -> Vec<&'static str> {
    let one = |word| sets.get(word).cloned().unwrap_or_else(|| vec![word]);
    words.split('|').flat_map(one).collect()
}

impl Row {
    /// How many opcodes the modifiers make.
    pub fn opcodes(&self) -> usize {
        let counts = self.slots.iter().map(|slot| slot.choices().len());
        counts.product()
    }

    /// For each slot the words, after `None` where it may be left out.
    pub fn slots(&self) -> Vec<Vec<Option<&'static str>>> {
        self.slots.iter().map(Slot::choices).collect()
    }

    /// The words of one of the opcodes, by its number: for each slot which of them.
    pub fn choices(&self, mut number: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        for slot in self.slots.iter().rev() {
            let count = slot.words.len() + usize::from(slot.has('?'));
            chosen.push(number % count);
            number /= count;
        }
        chosen.reverse();
        chosen
    }

    /// The modifiers of one of the opcodes, by its number: for each slot a word, or none.
    pub fn modifiers(&self, number: usize) -> Vec<Option<&'static str>> {
        let chosen = self.choices(number).into_iter().zip(&self.slots);
        let chosen = chosen.map(|(at, slot)| slot.choices()[at]);
        chosen.collect()
    }

    /// An instruction with these modifiers and without the operands that may be missing. It has the registers `%p1`,
    /// `%c1`, `%h1`, `%r1` and `%rd1` by their width, and the variable `param`.
    pub fn sample(&self, modifiers: &[Option<&'static str>]) -> String {
        let words: Vec<&str> = [self.name].into_iter().chain(modifiers.iter().copied().flatten()).collect();
        let operands = self.operands.iter().filter(|token| !token.contains('~'));
        let operands: Vec<String> = operands.map(|token| operand(token, &words)).collect();
        format!("{} {};", words.join("."), operands.join(", "))
    }
}

fn operand(token: &'static str, words: &[&str]) -> String {
    let kind = Kind::new(token);
    let has = |word: &str| words.contains(&word);
    let register = |ty: Option<&str>| match ty.map(super::width) {
        Some(1) => "%p1",
        Some(8) => "%c1",
        Some(16) => "%h1",
        Some(64) => "%rd1",
        _ => "%r1",
    };
    let vector = |register: &str, count| format!("{{{}}}", vec![register; count].join(", "));
    let own = register(kind.ty(words).or_else(|| Kind::new("t").ty(words)));
    let of_side = |layer: usize| match words.iter().find_map(|word| {
        let sides = ["1d", "2d", "3d", "cube", "2dms"].iter().position(|own| word.trim_start_matches('a') == *own);
        Some((sides?, word.starts_with('a')))
    }) {
        Some((0, layered)) => 1 + layer * usize::from(layered),
        Some((1, layered)) if layer == 0 || !layered => 2,
        _ => 4,
    };
    match kind.letter {
        'a' if words[0] == "st" && words.iter().any(|word| word.starts_with("param")) => "[param]".to_owned(),
        'a' => "[%rd1]".to_owned(),
        'n' => "16".to_owned(),
        'i' => "0".to_owned(),
        'k' => "32".to_owned(),
        'z' => "%rd1".to_owned(),
        'h' => format!("[%rd1, {}]", vector("%r1", of_side(1))),
        'j' => vector("%r1", of_side(0)),
        'v' | 'V' => vector(own, if has("v2") { 2 } else { 4 }),
        'm' | 'M' => match ["v2", "v4", "v8"].iter().position(|word| has(word)) {
            Some(power) => vector(own, 2 << power),
            None => own.to_owned(),
        },
        _ if kind.marks.ends_with("|P") => format!("{own}|%p1"),
        _ => own.to_owned(),
    }
}
