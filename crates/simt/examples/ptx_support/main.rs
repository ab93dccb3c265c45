//! Writes docs/ptx-support.md: for each instruction of the PTX ISA, the forms that are run.
//!
//! `cargo run -p simt-tests --example ptx_support > docs/ptx-support.md`
//!
//! Nothing is decided here: samples of each form go through the decoder.

use std::collections::{BTreeSet, HashMap};

use simt::forms::{Row, are_run, rows};

const ISA: &str = include_str!("isa.txt");
const DECLARATIONS: &str = ".reg .pred %p<2>; .reg .b8 %c<2>; .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; \
     .param .align 16 .b8 param[128];";
/// Behind the last instruction of a sample.
const LABEL: &str = " DONE:";
/// Samples that are decoded at once.
const AT_ONCE: usize = 400;

/// A section of the ISA: its title, the kind of types it is about, and its instructions.
struct Section {
    title: &'static str,
    kind: &'static str,
    instructions: Vec<&'static str>,
}

fn sections() -> Vec<Section> {
    let lines = ISA.lines().filter(|line| !line.starts_with(['#', '=']));
    let section = |line: &'static str| {
        let (title, instructions) = line.split_once(": ").expect("a title, then instructions");
        let (title, kind) = title.split_once(" [").unwrap_or((title, ""));
        Section { title, kind: kind.trim_end_matches(']'), instructions: instructions.split_whitespace().collect() }
    };
    lines.map(section).collect()
}

impl Section {
    /// Whether it is about an instruction, by its types.
    fn has(&self, words: &[&str]) -> bool {
        let types = words.iter().filter(|word| ptx::opcode::type_bytes(word).is_some() || ptx::opcode::is_float(word));
        let types: Vec<&str> = types.copied().collect();
        let is_half = |ty: &&str| ptx::opcode::is_float(ty) && ty.contains("f16");
        let is_mixed = types.len() == 2 && !types.iter().all(is_half) && types.iter().any(is_half);
        let of = match types.last() {
            _ if is_mixed => "mixed",
            Some(ty) if is_half(ty) => "half",
            Some(ty) if ptx::opcode::is_float(ty) => "float",
            _ => "integer",
        };
        self.kind.is_empty() || self.kind == of || (self.kind == "half" && is_mixed)
    }

    /// The most specific of its instructions that these words are.
    fn instruction(&self, words: &[&str]) -> Option<&'static str> {
        let mut found = None;
        for name in self.instructions.iter().filter(|_| self.has(words)) {
            let mut parts = name.split('.');
            let is_it = parts.next() == words.first().copied() && parts.all(|part| words.contains(&part));
            let longer = found.is_none_or(|other: &str| name.split('.').count() > other.split('.').count());
            if is_it && longer {
                found = Some(*name);
            }
        }
        found
    }
}

/// A form in one section: for each slot the words with which it is run, and without which it may be.
#[derive(Clone, Default)]
struct Running {
    is_run: bool,
    slots: Vec<BTreeSet<usize>>,
}

/// For each instruction of a section by its number: a row's forms.
type Found = HashMap<(usize, &'static str), Running>;

fn explore(row: &Row, sections: &[Section]) -> Found {
    let mut found = Found::new();
    let is_own = |name: &&str| name.split('.').next() == Some(row.name);
    let own = |section: &Section| Section {
        instructions: section.instructions.iter().copied().filter(is_own).collect(),
        ..*section
    };
    let sections: Vec<_> =
        sections.iter().map(own).enumerate().filter(|(_, own)| !own.instructions.is_empty()).collect();
    let count = row.opcodes();
    // In an order that meets each word early: those whose words are all known to be run need no decoding.
    let stride = [7919, 104_729, 1_299_709].into_iter().find(|prime| !count.is_multiple_of(*prime)).unwrap_or(1);
    let numbers = (0..count).map(|at| at * stride % count);
    let mut waiting = Vec::new();
    for (at, number) in numbers.enumerate() {
        let modifiers = row.modifiers(number);
        let words: Vec<&str> = [row.name].into_iter().chain(modifiers.iter().copied().flatten()).collect();
        for (section, of) in &sections {
            let Some(name) = of.instruction(&words) else {
                continue;
            };
            let known = found.entry((*section, name)).or_default();
            known.slots.resize(modifiers.len(), BTreeSet::new());
            let choice = row.choices(number);
            let is_new = !known.is_run || choice.iter().zip(&known.slots).any(|(own, known)| !known.contains(own));
            if is_new {
                waiting.push(((*section, name), choice, row.sample(&modifiers)));
            }
        }
        if waiting.len() >= AT_ONCE || at + 1 == count {
            let samples: Vec<String> = waiting.iter().map(|own| own.2.clone() + LABEL).collect();
            for ((place, choice, _), is_run) in waiting.drain(..).zip(are_run(DECLARATIONS, &samples)) {
                let known = found.entry(place).or_default();
                known.is_run |= is_run;
                for (known, own) in known.slots.iter_mut().zip(choice) {
                    if is_run {
                        known.insert(own);
                    }
                }
            }
        }
    }
    found
}

/// The form with these words: `add[.rn/.rz].f32`.
fn written(row: &Row, running: &Running) -> String {
    let mut text = row.name.to_owned();
    for (slot, running) in row.slots().iter().zip(&running.slots) {
        let words: Vec<String> = running.iter().filter_map(|at| slot[*at]).map(|word| format!(".{word}")).collect();
        let is_optional = running.iter().any(|at| slot[*at].is_none());
        match (words.is_empty(), is_optional) {
            (true, _) => {}
            (_, true) => text += &format!("[{}]", words.join("/")),
            _ => text += &words.join("/"),
        }
    }
    text
}

fn document() -> String {
    let sections = sections();
    let mut forms: HashMap<(usize, &str), Vec<String>> = HashMap::new();
    let mut refused: HashMap<(usize, &str), Vec<String>> = HashMap::new();
    for row in rows() {
        let found = explore(&row, &sections);
        let is_run = found.values().any(|running| running.is_run);
        for (place, mut running) in found {
            let list = match running.is_run {
                true => forms.entry(place).or_default(),
                // A form of other types, which other sections are about.
                false if is_run => continue,
                false => {
                    let slots = row.slots();
                    running.slots = slots.iter().map(|slot| (0..slot.len()).collect()).collect();
                    refused.entry(place).or_default()
                }
            };
            let text = written(&row, &running);
            if !list.contains(&text) {
                list.push(text);
            }
        }
    }
    let samples = ISA.lines().filter_map(|line| line.strip_prefix("= ")?.split_once(' '));
    for (name, text) in samples {
        let run = are_run(DECLARATIONS, &[text.to_owned() + LABEL]) == [true];
        let section = sections.iter().position(|section| section.instructions.contains(&name));
        let list = if run { &mut forms } else { &mut refused };
        let place = (section.expect("a section has it"), name);
        list.entry(place).or_default().push(name.to_owned());
    }
    let mut text = include_str!("head.md").to_owned();
    for (number, section) in sections.iter().enumerate() {
        text += &format!("\n## {}\n\n| Instruction | Runs | Refused |\n|---|---|---|\n", section.title);
        for name in &section.instructions {
            let cell = |list: &HashMap<(usize, &str), Vec<String>>| {
                let all = list.get(&(number, *name)).into_iter().flatten();
                let all: Vec<String> = all.map(|form| format!("`{form}`")).collect();
                all.join("<br>")
            };
            let (runs, mut not) = (cell(&forms), cell(&refused));
            if runs.is_empty() && not.is_empty() {
                not = "all".to_owned();
            }
            text += &format!("| {name} | {runs} | {not} |\n");
        }
    }
    text
}

fn main() {
    print!("{}", document());
}

#[cfg(test)]
mod tests;
