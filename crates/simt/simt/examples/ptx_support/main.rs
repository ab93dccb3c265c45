//! Writes docs/ptx-support.md: the supported forms of each instruction of the PTX ISA.
//!
//! `cargo run -p simt-tests --example ptx_support > docs/ptx-support.md`
//!
//! The decoder decides which forms are supported, by decoding samples of each form.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use simt::forms::{are_run, are_run_for, kind_of, sample};
use simt_isa::{Row, Slot, rows, sets};

const ISA: &str = include_str!("isa.txt");
const DECLARATIONS: &str = ".reg .pred %p<2>; .reg .b8 %c<2>; .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; \
     .reg .b128 %q<2>; .param .align 16 .b8 param[128];";
/// The label after the last instruction of a sample.
const LABEL: &str = " DONE:";
/// The number of samples that are decoded at once.
const AT_ONCE: usize = 400;
/// Targets that have instructions which earlier targets do not have.
const TARGETS: [&str; 3] = ["sm_90", "sm_90a", "sm_100"];

/// A section of the ISA: its title, the kind of types that it covers, and its instructions.
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
    /// Returns whether the section covers an instruction, by its types.
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

    /// Returns the most specific instruction of the section that matches these words, and its number of words.
    fn instruction(&self, words: &[&str]) -> Option<(usize, &'static str)> {
        let place = |part| words.iter().position(|word| word.split("::").next() == Some(part));
        let names = self.instructions.iter().filter(|_| self.has(words));
        let found = names.filter_map(|name| {
            let places: Option<Vec<usize>> = name.split('.').map(place).collect();
            let places = places.filter(|places| places[0] == 0)?;
            // Between `mbarrier.arrive` and `mbarrier.expect_tx`, the instruction whose words come first wins.
            Some((places.len(), Reverse(places), *name))
        });
        found.max().map(|(count, _, name)| (count, name))
    }
}

/// Returns the sections that cover an instruction with these words, and its name in each.
fn places(sections: &[Section], words: &[&str]) -> Vec<Place> {
    let found = sections.iter().enumerate();
    let found: Vec<_> = found.filter_map(|(at, section)| Some((at, section.instruction(words)?))).collect();
    let most = found.iter().map(|(_, (count, _))| *count).max();
    let best = found.into_iter().filter(|(_, (count, _))| Some(*count) == most);
    best.map(|(section, (_, name))| (section, name)).collect()
}

/// A form in one section: the supported words of each slot, where an absent word is also a choice.
type Running = Vec<BTreeSet<usize>>;

/// The number of a section, and an instruction.
type Place = (usize, &'static str);

/// The forms of a row for each instruction, by the number of the oldest target. Forms without a target are absent.
type Found = HashMap<Place, BTreeMap<usize, Running>>;

/// Returns for each sample the number of the first target that supports it, if any does.
fn oldest_targets(samples: &[String]) -> Vec<Option<usize>> {
    let mut targets = vec![None; samples.len()];
    let of_any = are_run_for(&TARGETS.join(", "), DECLARATIONS, samples);
    for (number, target) in TARGETS.iter().enumerate() {
        let left = (0..samples.len()).filter(|at| of_any[*at] && targets[*at].is_none());
        let left: Vec<usize> = left.collect();
        let texts: Vec<String> = left.iter().map(|at| samples[*at].clone()).collect();
        for (at, is_run) in left.into_iter().zip(are_run_for(target, DECLARATIONS, &texts)) {
            targets[at] = is_run.then_some(number);
        }
    }
    targets
}

fn explore(row: &Row, sections: &[Section]) -> Found {
    let mut found = Found::new();
    // All sections are kept so that their numbers stay the same, but only with instructions that have the row's name.
    let has_row_name = |name: &&str| name.split('.').next() == Some(row.name);
    let with_names_of_row = |section: &Section| Section {
        instructions: section.instructions.iter().copied().filter(has_row_name).collect(),
        ..*section
    };
    let sections: Vec<_> = sections.iter().map(with_names_of_row).collect();
    let count = row.opcodes();
    // This order reaches each word early. Forms whose words are all known to be supported need no decoding.
    let stride = [7919, 104_729, 1_299_709].into_iter().find(|prime| !count.is_multiple_of(*prime)).unwrap_or(1);
    let numbers = (0..count).map(|at| at * stride % count);
    let mut waiting = Vec::new();
    for (at, number) in numbers.enumerate() {
        let modifiers = row.modifiers(number);
        let words: Vec<&str> = [row.name].into_iter().chain(modifiers.iter().copied().flatten()).collect();
        for place in places(&sections, &words) {
            let known = found.entry(place).or_default();
            let choice = row.choices(number);
            let is_known = |running: &Running| {
                choice.iter().zip(running).all(|(slot, known): (_, &BTreeSet<_>)| known.contains(slot))
            };
            if !known.values().any(is_known) {
                waiting.push((place, choice, modifiers.clone()));
            }
        }
        if waiting.len() >= AT_ONCE || at + 1 == count {
            let samples = |all_operands| -> Vec<String> {
                waiting.iter().map(|entry| sample(row, &entry.2, all_operands) + LABEL).collect()
            };
            let mut targets = oldest_targets(&samples(false));
            if row.least() < row.operands.len() {
                let others = oldest_targets(&samples(true));
                targets = targets.into_iter().zip(others).map(|(few, all)| few.or(all)).collect();
            }
            for ((place, choice, _), target) in waiting.drain(..).zip(targets) {
                let Some(target) = target else { continue };
                let known = found.entry(place).or_default().entry(target).or_default();
                known.resize(choice.len(), BTreeSet::new());
                for (known, chosen) in known.iter_mut().zip(choice) {
                    known.insert(chosen);
                }
            }
        }
    }
    found
}

/// The sets of words that the document names instead of listing.
static SETS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let is_long = |(_, words): &(&str, Vec<&str>)| words.len() > 4 && !words[0].starts_with("m64n");
    sets().clone().into_iter().filter(is_long).collect()
});

/// Joins the words with `/`, or returns the name of their set. `.m64n8k16`, `.m64n16k16` and so on become
/// `.m64n8k16/.m64n16k16/…/.m64n256k16`.
fn joined(words: &[&str]) -> String {
    if let Some((name, _)) = SETS.iter().find(|(_, set)| *set == words) {
        return format!(".{name}");
    }
    let number = |word: &str| word.strip_prefix("m64n")?.split_once('k')?.0.parse::<i32>().ok();
    let numbers: Option<Vec<i32>> = words.iter().map(|word| number(word)).collect();
    let is_step = |at: usize| {
        let numbers = numbers.as_ref()?;
        Some(numbers.get(at)? - numbers.get(at.checked_sub(1)?)?)
    };
    // Words between two equal steps are omitted.
    let is_between = |at: usize| at > 1 && is_step(at).is_some() && is_step(at) == is_step(at + 1);
    let mut parts: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match is_between(at) {
            false => parts.push(format!(".{word}")),
            true if parts.last().is_none_or(|last| last != "…") => parts.push("…".to_owned()),
            true => {}
        }
    }
    parts.join("/")
}

/// Returns the form with these words: `add[.rn/.rz].f32`.
fn written(row: &Row, running: &Running) -> String {
    let mut text = row.name.to_owned();
    for (slot, running) in row.slots.iter().map(Slot::choices).zip(running) {
        let words: Vec<&str> = running.iter().filter_map(|at| slot[*at]).collect();
        let is_optional = running.iter().any(|at| slot[*at].is_none());
        match (words.is_empty(), is_optional) {
            (true, _) => {}
            (_, true) => text += &format!("[{}]", joined(&words)),
            _ => text += &joined(&words),
        }
    }
    text
}

/// The supported and the refused forms of each instruction, and the rows that are completely refused.
#[derive(Default)]
struct Support {
    sections: Vec<Section>,
    forms: HashMap<Place, Vec<String>>,
    refused: HashMap<Place, Vec<String>>,
    refused_rows: Vec<Row>,
}

fn support() -> Support {
    let mut all = Support { sections: sections(), ..Support::default() };
    for row in rows() {
        let found = explore(&row, &all.sections);
        let is_run = found.values().any(|targets| !targets.is_empty());
        for (place, targets) in found {
            for (target, running) in &targets {
                let mut text = format!("`{}`", written(&row, running));
                if *target > 0 {
                    text += &format!(" ({})", TARGETS[*target]);
                }
                let list = all.forms.entry(place).or_default();
                if !list.contains(&text) {
                    list.push(text);
                }
            }
            // Another section may cover the types of a supported form.
            if !is_run {
                let every = row.slots.iter().map(|slot| (0..slot.choices().len()).collect()).collect();
                all.refused.entry(place).or_default().push(format!("`{}`", written(&row, &every)));
            }
        }
        if !is_run {
            all.refused_rows.push(row);
        }
    }
    let samples = ISA.lines().filter_map(|line| line.strip_prefix("= ")?.split_once(' '));
    for (name, text) in samples {
        let run = are_run(DECLARATIONS, &[text.to_owned() + LABEL]) == [true];
        let section = all.sections.iter().position(|section| section.instructions.contains(&name));
        let list = if run { &mut all.forms } else { &mut all.refused };
        let place = (section.expect("a section has it"), name);
        list.entry(place).or_default().push(format!("`{name}`"));
    }
    all
}

fn document(all: &Support) -> String {
    let mut text = include_str!("head.md").to_owned();
    for (name, words) in &*SETS {
        text += &format!("- `{name}`: `.{}`\n", words.join("/."));
    }
    for (number, section) in all.sections.iter().enumerate() {
        text += &format!("\n## {}\n\n| Instruction | Runs | Refused |\n|---|---|---|\n", section.title);
        for name in &section.instructions {
            let cell = |list: &HashMap<Place, Vec<String>>| {
                list.get(&(number, *name)).map_or(String::new(), |forms| forms.join("<br>"))
            };
            let (runs, mut not) = (cell(&all.forms), cell(&all.refused));
            if runs.is_empty() && not.is_empty() {
                not = kind_of(name).map_or("all".to_owned(), |kind| format!("all, {kind}"));
            }
            text += &format!("| {name} | {runs} | {not} |\n");
        }
    }
    text
}

fn main() {
    print!("{}", document(&support()));
}

#[cfg(test)]
mod tests;
