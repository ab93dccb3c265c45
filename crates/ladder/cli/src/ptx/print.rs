//! Prints one kernel's PTX, with or without the Rust lines that it comes from.

use std::collections::BTreeSet;

use ptx::ast::{Function, Statement};
use ptx::{PieceKind, pieces};

use super::Listing;
use super::highlight;
use super::source::Interleave;

/// Returns a function's PTX. If `verbatim`, every line is as the compiler wrote it; otherwise `.loc` directives,
/// comments, and labels that only debug information uses are removed. `interleave` adds source lines above each run of
/// instructions that comes from these lines.
pub(super) fn function(
    listing: &Listing<'_>,
    function: &Function<'_>,
    verbatim: bool,
    mut interleave: Option<Interleave>,
) -> String {
    let noise = match verbatim {
        true => BTreeSet::new(),
        false => noise(listing, function),
    };
    let mut instructions = function.located().peekable();
    let mut out = String::new();
    let (start, end) = (function.span.start, function.span.end);
    for number in listing.line(start)..=listing.line(end.saturating_sub(1)) {
        if noise.contains(&number) {
            continue;
        }
        let mut line = listing.source.line_text(number);
        if !verbatim {
            line = without_comment(line);
            if line.trim().is_empty() {
                continue;
            }
        }
        while let Some((_, loc)) = instructions.next_if(|(instruction, _)| listing.line(instruction.at) <= number) {
            if let (Some(interleave), Some(loc)) = (&mut interleave, loc) {
                out.push_str(&interleave.lines_for(listing, loc));
            }
        }
        out.push_str(&highlight::ptx(line));
        out.push('\n');
    }
    out.push_str(&interleave.map(Interleave::notes).unwrap_or_default());
    out
}

/// Returns the lines that do not affect execution: `.loc` directives, and labels that no instruction uses.
fn noise(listing: &Listing<'_>, function: &Function<'_>) -> BTreeSet<u32> {
    let used = function.used_labels();
    // A line on which a label precedes an instruction is kept.
    let instructions = function.instructions().map(|instruction| listing.line(instruction.at));
    let instructions: BTreeSet<u32> = instructions.collect();
    let is_noise = |statement: &Statement<'_>| match statement {
        Statement::Loc(loc) => Some(listing.line(loc.at)),
        Statement::Label { name, at } if !used.contains(name) => {
            Some(listing.line(*at)).filter(|line| !instructions.contains(line))
        }
        _ => None,
    };
    function.statements().filter_map(is_noise).collect()
}

/// Returns the line up to its comment.
fn without_comment(line: &str) -> &str {
    let pieces = pieces(line);
    let code = pieces.iter().take_while(|piece| piece.kind != PieceKind::Comment);
    line[..code.map(|piece| piece.text.len()).sum()].trim_end()
}
