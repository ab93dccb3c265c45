//! The table of forms as data, for tools that go through all of them: what is run of each, and on a GPU with what result.

use std::collections::HashMap;
use std::sync::LazyLock;

use ptx::opcode::{self, Class};

use super::Kind;
use crate::matrix::layout::packed;
use crate::matrix::number::Element;

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

/// A line of the table with rows.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// The opcodes, with commas between them.
    pub(super) names: &'static str,
    modifiers: &'static str,
    operands: &'static str,
}

/// The sets of words that have a name in the table.
pub fn sets() -> &'static HashMap<&'static str, Vec<&'static str>> {
    static SETS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let mut sets = HashMap::new();
        for (name, words) in texts().filter_map(|text| text.split_once('=')) {
            sets.insert(name.trim_end(), alternatives(words.trim_start(), &sets));
        }
        sets
    });
    &SETS
}

/// All rows.
pub fn rows() -> Vec<Row> {
    lines().flat_map(|line| line.names.split(',').map(move |name| line.row(name))).collect()
}

fn texts() -> impl Iterator<Item = &'static str> {
    include_str!("../forms.txt").lines().filter(|text| !text.starts_with('#'))
}

/// The lines with rows.
pub(super) fn lines() -> impl Iterator<Item = Line> {
    texts().filter_map(|text| {
        let (opcode, operands) = text.rsplit_once(':').filter(|_| !text.contains('='))?;
        let (names, modifiers) = opcode.split_once(' ').unwrap_or((opcode, ""));
        Some(Line { names, modifiers, operands })
    })
}

impl Line {
    /// The row of one of the names.
    pub(super) fn row(&self, name: &'static str) -> Row {
        let slot = |word| Slot { words: alternatives(str::trim_matches(word, ['^', '>', '?']), sets()), marks: word };
        let slots = self.modifiers.split_whitespace().map(slot).collect();
        Row { name, slots, operands: self.operands.split_whitespace().collect() }
    }
}

/// The words of `a|b|SET`.
fn alternatives(words: &'static str, sets: &HashMap<&str, Vec<&'static str>>) -> Vec<&'static str> {
    let mut all = Vec::new();
    for word in words.split('|') {
        match word.starts_with(char::is_uppercase).then(|| sets.get(word)).flatten() {
            Some(set) => all.extend(set),
            None => all.push(word),
        }
    }
    all
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

    /// An instruction with these modifiers, with all operands or without those that may be missing. It has the registers
    /// `%p1`, `%c1`, `%h1`, `%r1`, `%rd1` and `%q1` by their width, and the variable `param`.
    pub fn sample(&self, modifiers: &[Option<&'static str>], all_operands: bool) -> String {
        let words: Vec<&str> = [self.name].into_iter().chain(modifiers.iter().copied().flatten()).collect();
        let operands = self.operands.iter().filter(|token| all_operands || !token.contains('~'));
        let operands: Vec<String> = operands.enumerate().map(|(at, token)| operand(at, token, &words)).collect();
        format!("{} {};", words.join("."), operands.join(", "))
    }

    /// Whether some operands may be missing.
    pub fn has_optional_operands(&self) -> bool {
        self.least() < self.operands.len()
    }
}

fn vector(register: &str, count: usize) -> String {
    format!("{{{}}}", vec![register; count].join(", "))
}

/// The registers of operand number `at` of an instruction on matrices.
fn fragment(at: usize, words: &[&str]) -> String {
    if let Some(count) = words.iter().find_map(|word| word.strip_prefix('x')?.parse().ok()) {
        return vector("%r1", count);
    }
    let [m, n, k] = opcode::sides(&words.join(".")).unwrap_or_default();
    let types: Vec<Element> = words.iter().filter_map(|word| Element::named(word)).collect();
    let is_group = words[0] == "wgmma";
    let part = match (words[0], words[1]) {
        ("wmma", "load" | "store") => ["a", "b", "c"].iter().position(|own| words[2] == *own).map_or(0, |own| own + 1),
        _ => at,
    };
    let element = match (&types[..], part) {
        ([_, _], 1 | 2) if !is_group => Element::F16,
        ([.., c], 3) => *c,
        (all, part) => all[part.min(all.len() - 1)],
    };
    let is_sparse = words.iter().any(|word| word.starts_with("sp"));
    let elements = match part {
        1 | 2 if is_group => return "%rd1".to_owned(),
        3 if is_group => return "%p1".to_owned(),
        0 if is_group => m / 4 * n,
        1 => m * k / if is_sparse { 2 } else { 1 },
        2 => n * k,
        _ => m * n,
    };
    let elements = if element == Element::Bits { elements / 32 } else { elements };
    let is_half = element == Element::F16;
    let count = match words[0] {
        "wmma" if is_half && matches!(part, 1 | 2) => 8,
        "mma" if [m, n, k] == [8, 8, 4] && types[1] == Element::F16 => elements * 4 / 32 / packed(element),
        _ => elements / 32 / packed(element),
    };
    vector(if element == Element::F64 { "%rd1" } else { "%r1" }, count)
}

fn operand(at: usize, token: &'static str, words: &[&str]) -> String {
    let kind = Kind::new(token);
    let has = |word: &str| words.contains(&word);
    let register = |ty: Option<&str>| match ty.map(super::width) {
        Some(1) => "%p1",
        Some(8) => "%c1",
        Some(16) => "%h1",
        Some(64) => "%rd1",
        Some(128) => "%q1",
        _ => "%r1",
    };
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
        'n' if words[0] == "wgmma" && at > 3 && (at > 4 || !has("sp")) => "1".to_owned(),
        'n' if matches!(words[0], "mma" | "wgmma") || has("replace") => "0".to_owned(),
        'n' if words[0] == "tensormap" => "128".to_owned(),
        'n' => "16".to_owned(),
        'l' => "_".to_owned(),
        'x' if words.contains(&"tensor") => {
            let sides = words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok()).unwrap_or(1);
            match has("prefetch") && at == 1 || at == 3 {
                true => vector("%h1", sides - 2),
                false => format!("[%rd1, {}]", vector("%r1", sides)),
            }
        }
        'x' if opcode::class(words[0]) == Some(Class::Matrix) => fragment(at, words),
        'h' if words[0] == "cp" => "%h1".to_owned(),
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
