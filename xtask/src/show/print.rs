//! One kernel's PTX, with or without the Rust it comes from.

use std::collections::BTreeSet;

use super::highlight;
use super::source::{Interleave, Sources};
use crate::ptx::{Function, Kind, Module, Statement, tokens};

/// How a kernel is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Every line as the compiler wrote it. Otherwise `.loc` directives, comments, and labels that only
    /// debug information uses are left out.
    pub verbatim: bool,
}

/// A function's PTX. With `sources`, each run of instructions stands under the source lines it comes from.
pub fn function(
    module: &Module,
    function: &Function,
    options: Options,
    sources: Option<&mut Sources>,
) -> String {
    let noise = if options.verbatim {
        BTreeSet::new()
    } else {
        noise(function)
    };
    let mut interleave = sources.map(|sources| Interleave::new(module, sources));
    let mut instructions = function.instructions().peekable();
    let mut out = String::new();
    let (start, end) = function.lines.clone().into_inner();
    for (number, line) in (start..=end).zip(module.text.lines().skip(start.saturating_sub(1))) {
        if noise.contains(&number) {
            continue;
        }
        let line = if options.verbatim {
            line
        } else {
            without_comment(line)
        };
        if line.trim().is_empty() && !options.verbatim {
            continue;
        }
        while let Some(instruction) = instructions.next_if(|instruction| instruction.line <= number)
        {
            let location = instruction
                .location
                .and_then(|index| function.locations.get(index));
            if let (Some(interleave), Some(location)) = (&mut interleave, location) {
                out.push_str(&interleave.lines_for(location));
            }
        }
        out.push_str(&highlight::ptx(line));
        out.push('\n');
    }
    out.push_str(&interleave.map(Interleave::notes).unwrap_or_default());
    out
}

/// Lines that say nothing about what runs: `.loc`, and labels that no instruction names.
fn noise(function: &Function) -> BTreeSet<usize> {
    let labels = function
        .body
        .iter()
        .filter_map(|statement| match statement {
            Statement::Label { name, line } if !function.uses_label(name) => Some(*line),
            _ => None,
        });
    // A label may share its line with an instruction; then the line stays.
    let instructions: BTreeSet<usize> = function
        .instructions()
        .map(|instruction| instruction.line)
        .collect();
    let locations = function
        .locations
        .iter()
        .map(|location| location.directive_line);
    labels
        .filter(|line| !instructions.contains(line))
        .chain(locations)
        .collect()
}

/// The line up to its comment.
fn without_comment(line: &str) -> &str {
    let code: usize = tokens(line)
        .take_while(|token| token.kind != Kind::Comment)
        .map(|token| token.text.len())
        .sum();
    line[..code].trim_end()
}
