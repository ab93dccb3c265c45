//! A kernel's text and the mutants of the kernel.

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

/// The maximum number of similar instructions that are mutated in a section without labels and branches, spread from
/// the first to the last. Instructions are similar if they differ only in registers and numbers. Unrolled loops contain
/// thousands of similar instructions.
const MOST_ALIKE: usize = 8;

/// An entry of a rung and its PTX.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rung.
    pub rung: &'static Rung,
    /// The name of the entry.
    pub entry: String,
    /// The PTX of the entry and its dependencies.
    pub text: String,
}

/// A kernel with one change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kind of change.
    pub mutation: &'static Mutation,
    /// The edit of the kernel's text.
    pub edit: Edit,
    /// The text of the original instruction, with single blanks.
    pub instruction: String,
    /// The index of the instruction among the kernel's instructions that have this text.
    pub occurrence: usize,
    /// The lines of the kernel's text that the edit covers.
    pub(crate) lines: RangeInclusive<u32>,
    /// Whether the instruction affects control flow, like a branch. The effects of such an instruction, for example on
    /// the point where diverged threads reconverge, also depend on other instructions.
    pub(crate) is_control: bool,
}

impl Kernel {
    /// Creates the kernel of an entry. The text is the PTX for the newest architecture, which the simulator also runs,
    /// without source lines, comments and empty lines.
    ///
    /// # Errors
    /// Returns [`Error::NoPtx`] when the program does not contain the entry, or the entry cannot be extracted.
    pub fn new(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung, entry: String) -> Result<Self, Error> {
        let newest = catalog.kernels.newest_for(None)?;
        let text = newest.and_then(|ptx| extract(ptx.outline(), &entry, SourceLines::Drop));
        let text = bare(&text.ok_or_else(|| Error::NoPtx(entry.clone()))?);
        Ok(Self { ladder, rung, entry, text })
    }

    /// Creates the kernel of the entry that the rung launches by default.
    ///
    /// # Errors
    /// Returns [`Error::Engine`] when the rung cannot be launched for its ladder's default problem, and the errors of
    /// [`Kernel::new`].
    pub fn of_default_launch(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung) -> Result<Self, Error> {
        let problem = ladder.problem(&Options::default())?;
        let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default())?;
        Self::new(catalog, ladder, rung, launch.entry)
    }

    /// Returns the mutants in the order of the text. For each mutation, a section without labels and branches
    /// contributes at most eight mutants of similar instructions.
    ///
    /// # Errors
    /// Returns [`Error::NoPtx`] when the text cannot be parsed.
    pub fn mutants(&self) -> Result<Vec<Mutant>, Error> {
        let unreadable = || Error::NoPtx(self.entry.clone());
        let outline = Outline::new(self.text.as_str());
        let function = outline.entry(&self.entry).and_then(Result::ok).ok_or_else(unreadable)?;
        let used = function.used_labels();
        let means = |statement: &&Statement<'_>| match statement {
            Statement::Label { name, .. } => used.contains(name),
            other => other.instruction().is_some(),
        };
        let statements: Vec<&Statement<'_>> = function.statements().filter(means).collect();
        let source = Source::new(outline.text());
        let mut mutants = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        // Indices into `mutants`, by section, mutation and instruction.
        let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
        let mut stretch = 0;
        for (index, statement) in statements.iter().enumerate() {
            let Some(instruction) = statement.instruction() else {
                stretch += 1;
                continue;
            };
            let text = outline.text();
            let instruction_text = instruction.span.of(text);
            stretch += usize::from(instruction_text.contains("bra"));
            let occurrence = seen.entry(instruction_text).or_default();
            let is_control = matches!(class(instruction.opcode), Some(Class::Control));
            let place = InstructionSite { text, statements: &statements, index, instruction };
            for (mutation, edit) in mutations::edits(&place) {
                let instruction = instruction_text.split_whitespace().collect::<Vec<_>>().join(" ");
                let key = (stretch, mutation.name, without_numbers(&edit.what), without_numbers(&instruction));
                alike.entry(key).or_default().push(mutants.len());
                let line = |at: usize| source.line_column(at as u32).0;
                let lines = line(edit.range.start)..=line(edit.range.end - 1);
                mutants.push(Mutant { mutation, edit, instruction, occurrence: *occurrence, lines, is_control });
            }
            *occurrence += 1;
        }
        let spread = |group: &Vec<usize>| -> Vec<usize> {
            let count = group.len().min(MOST_ALIKE);
            (0..count).map(|place| group[place * (group.len() - 1) / (count - 1).max(1)]).collect()
        };
        let kept: HashSet<usize> = alike.values().flat_map(spread).collect();
        let mutants = mutants.into_iter().enumerate().filter(|(place, _)| kept.contains(place));
        Ok(mutants.map(|(_, mutant)| mutant).collect())
    }
}

/// Returns a text without its digits. The result is the same for copies of an instruction that differ only in registers
/// and constants.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// Returns a text without comments and empty lines.
fn bare(text: &str) -> String {
    // Most lines of an extracted entry are empty, because extraction keeps the line breaks of removed text.
    let lines = text.lines().filter(|line| !line.is_empty()).map(|line| match line.contains('"') {
        true => line,
        false => line.split("//").next().unwrap_or_default(),
    });
    let lines = lines.map(str::trim_end).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}
