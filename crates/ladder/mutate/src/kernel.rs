//! A kernel's text, and its mutants.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use engine::registry::{Ladder, Rung};
use engine::{Catalog, DeviceProperties, Options};
use ptx::ast::Statement;
use ptx::extract::{SourceLines, extract};
use ptx::{Outline, Source};
use simt_isa::{Class, class};

use crate::Error;
use crate::mutations::{self, Edit, InstructionSite, Mutation};

/// Of instructions in a stretch without labels and branches that are alike but for registers and numbers, as unrolled loops have
/// them by the thousand, so many are changed, from the first to the last.
const MOST_ALIKE: usize = 8;

/// An entry of a rung, with its text.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rung.
    pub rung: &'static Rung,
    /// The entry.
    pub entry: String,
    /// The PTX of the entry and of what it needs.
    pub text: String,
}

/// A kernel that was changed in one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was done.
    pub mutation: &'static Mutation,
    /// The edit of the kernel's text.
    pub edit: Edit,
    /// The instruction, as the text has it, with single blanks.
    pub instruction: String,
    /// Which of the kernel's instructions with this text it is, from 0 on.
    pub occurrence: usize,
    /// The lines of the kernel's text that the edit is about.
    pub(crate) lines: RangeInclusive<u32>,
    /// Whether it is a branch or another instruction that says where threads go on: what follows from it, such as where
    /// diverged threads meet again, follows from other instructions too.
    pub(crate) is_control: bool,
}

impl Kernel {
    /// Returns the entry of this name. The text is that of the newest architecture, which is what the simulator runs, without
    /// source lines, comments and empty lines.
    ///
    /// # Errors
    /// Returns [`Error::NoPtx`] when the program does not have it, or cannot cut it out.
    pub fn new(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung, entry: String) -> Result<Self, Error> {
        let newest = catalog.kernels.newest_for(None)?;
        let text = newest.and_then(|ptx| extract(ptx.outline(), &entry, SourceLines::Drop));
        let text = bare(&text.ok_or_else(|| Error::NoPtx(entry.clone()))?);
        Ok(Self { ladder, rung, entry, text })
    }

    /// Returns the entry that the rung is launched with by default.
    ///
    /// # Errors
    /// Returns [`Error::Engine`] when the rung cannot be launched on its ladder's default problem, and when [`Kernel::new`]
    /// fails.
    pub fn usual(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung) -> Result<Self, Error> {
        let problem = ladder.problem(&Options::default())?;
        let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default())?;
        Self::new(catalog, ladder, rung, launch.entry)
    }

    /// Returns all its mutants, in the order of the text; of many that are alike in a stretch without branches, eight.
    ///
    /// # Errors
    /// Returns [`Error::NoPtx`] when the text cannot be parsed.
    pub fn mutants(&self) -> Result<Vec<Mutant>, Error> {
        let unreadable = || Error::NoPtx(self.entry.clone());
        let outline = Outline::new(self.text.as_str());
        let function = outline.entry(&self.entry).and_then(Result::ok).ok_or_else(unreadable)?;
        let used = function.used_labels();
        let means = |own: &&Statement<'_>| match own {
            Statement::Label { name, .. } => used.contains(name),
            other => other.instruction().is_some(),
        };
        let statements: Vec<&Statement<'_>> = function.statements().filter(means).collect();
        let source = Source::new(outline.text());
        let mut mutants = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        // By the stretch, the mutation and the instruction: places in `mutants`.
        let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
        let mut stretch = 0;
        for (index, statement) in statements.iter().enumerate() {
            let Some(instruction) = statement.instruction() else {
                stretch += 1;
                continue;
            };
            let text = outline.text();
            let own = instruction.span.of(text);
            stretch += usize::from(own.contains("bra"));
            let occurrence = seen.entry(own).or_default();
            let is_control = matches!(class(instruction.opcode), Some(Class::Control));
            let place = InstructionSite { text, statements: &statements, index, instruction };
            for (mutation, edit) in mutations::edits(&place) {
                let instruction = own.split_whitespace().collect::<Vec<_>>().join(" ");
                let key = (stretch, mutation.name, without_numbers(&edit.what), without_numbers(&instruction));
                alike.entry(key).or_default().push(mutants.len());
                let line = |at: usize| source.line_column(at as u32).0;
                let lines = line(edit.range.start)..=line(edit.range.end - 1);
                mutants.push(Mutant { mutation, edit, instruction, occurrence: *occurrence, lines, is_control });
            }
            *occurrence += 1;
        }
        let spread = |own: &Vec<usize>| -> Vec<usize> {
            let count = own.len().min(MOST_ALIKE);
            (0..count).map(|place| own[place * (own.len() - 1) / (count - 1).max(1)]).collect()
        };
        let kept: HashSet<usize> = alike.values().flat_map(spread).collect();
        let mutants = mutants.into_iter().enumerate().filter(|(place, _)| kept.contains(place));
        Ok(mutants.map(|(_, mutant)| mutant).collect())
    }
}

/// A text without the digits in it: what it has in common with a copy of it that has other registers and constants.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|own| !own.is_ascii_digit()).collect()
}

/// A text without comments and empty lines.
fn bare(text: &str) -> String {
    // Most of what was cut out of a module is line breaks in the place of the rest.
    let lines = text.lines().filter(|line| !line.is_empty()).map(|line| match line.contains('"') {
        true => line,
        false => line.split("//").next().unwrap_or_default(),
    });
    let lines = lines.map(str::trim_end).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}
