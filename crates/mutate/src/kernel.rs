//! A kernel's text, and its mutants.

use std::collections::HashMap;

use engine::registry::{Ladder, Rung};
use engine::{Catalog, Options};
use ptx::Outline;
use ptx::ast::Statement;
use ptx::extract::{SourceLines, extract};

use crate::Error;
use crate::mutations::{self, Edit, Mutation, Place};

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
}

impl Kernel {
    /// The entry of this name. The text is that of the newest architecture, which is what the SIMT machine runs, without
    /// source lines, comments and empty lines.
    ///
    /// # Errors
    /// [`Error::NoPtx`] when the program does not have it, or cannot cut it out.
    pub fn new(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung, entry: String) -> Result<Self, Error> {
        let newest = catalog.kernels.newest_for(None);
        let text = newest.and_then(|ptx| extract(ptx.outline(), &entry, SourceLines::Drop));
        let text = bare(&text.ok_or_else(|| Error::NoPtx(entry.clone()))?);
        Ok(Self { ladder, rung, entry, text })
    }

    /// The entry that the rung is launched with by default.
    ///
    /// # Errors
    /// [`Error::Engine`] when the rung cannot be launched on its ladder's default problem, and when [`Kernel::new`]
    /// fails.
    pub fn usual(catalog: &Catalog, ladder: &'static Ladder, rung: &'static Rung) -> Result<Self, Error> {
        let problem = ladder.problem(&Options::default())?;
        let launch = ladder.launch(rung, &*problem, None)?;
        Self::new(catalog, ladder, rung, launch.entry)
    }

    /// All its mutants, in the order of the text.
    ///
    /// # Errors
    /// [`Error::NoPtx`] when the text cannot be parsed.
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
        let mut mutants = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (index, statement) in statements.iter().enumerate() {
            let Some(instruction) = statement.instruction() else { continue };
            let text = outline.text();
            let own = instruction.span.of(text);
            let occurrence = seen.entry(own).or_default();
            let place = Place { text, statements: &statements, index, instruction };
            for (mutation, edit) in mutations::edits(&place) {
                let instruction = own.split_whitespace().collect::<Vec<_>>().join(" ");
                mutants.push(Mutant { mutation, edit, instruction, occurrence: *occurrence });
            }
            *occurrence += 1;
        }
        Ok(mutants)
    }
}

/// A text without comments and empty lines.
fn bare(text: &str) -> String {
    let lines = text.lines().map(|line| match line.contains('"') {
        true => line,
        false => line.split("//").next().unwrap_or_default(),
    });
    let lines = lines.map(str::trim_end).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}
