//! Compares two kernels as a unified diff. Registers, labels and variables are matched by their use, not by the names
//! that the compiler gave them.

mod line;

use std::fmt::Write;

use similar::{Algorithm, ChangeTag, DiffTag, TextDiff, capture_diff_slices};

use super::Listing;
use super::style::{BAD, DIM, GOOD, paint};
use line::{Line, Names};
use ptx::ast::Function;

/// The number of unchanged lines that are shown around a difference.
const CONTEXT: usize = 3;

pub(super) fn text(listing: &Listing<'_>, a: &Function<'_>, b: &Function<'_>) -> String {
    let (left, right) = alike(listing, a, b);
    let [left, right] = [&left, &right].map(|lines| lines.iter().map(String::as_str).collect());
    let (left, right): (Vec<&str>, Vec<&str>) = (left, right);
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&left, &right);
    let mut out =
        format!("{}\n{}\n", paint(BAD, format_args!("--- {}", a.name)), paint(GOOD, format_args!("+++ {}", b.name)));
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let _ = writeln!(out, "{}", paint(DIM, hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.value();
            out += &match change.tag() {
                ChangeTag::Equal => format!(" {line}"),
                ChangeTag::Delete => paint(BAD, format_args!("-{line}")),
                ChangeTag::Insert => paint(GOOD, format_args!("+{line}")),
            };
            out += "\n";
        }
    }
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let [same, removed, added] = [ChangeTag::Equal, ChangeTag::Delete, ChangeTag::Insert].map(count);
    let _ = match removed + added {
        0 => writeln!(out, "the same {same} lines, except for the names of registers, labels and variables"),
        _ => writeln!(out, "{same} equal lines, {removed} only in {}, {added} only in {}", a.name, b.name,),
    };
    out
}

/// Returns the lines of both functions. Lines are aligned by their shapes, and aligned lines get the same names.
fn alike(listing: &Listing<'_>, a: &Function<'_>, b: &Function<'_>) -> (Vec<String>, Vec<String>) {
    let (left, right) = (line::lines(listing, a), line::lines(listing, b));
    let shapes = |lines: &[Line<'_>]| lines.iter().map(Line::shape).collect::<Vec<_>>();
    let steps = capture_diff_slices(Algorithm::Patience, &shapes(&left), &shapes(&right));

    let mut names = Names::default();
    left.iter().for_each(|line| names.number_left(line));
    // Aligned lines are numbered first: a name that only one side has must not take a number that a later aligned line
    // needs.
    for step in steps.iter().filter(|step| step.tag() == DiffTag::Equal) {
        let pairs = left[step.old_range()].iter().zip(&right[step.new_range()]);
        pairs.for_each(|(left, right)| names.align(left, right));
    }
    right.iter().for_each(|line| names.number_right(line));
    (left.iter().map(|line| names.left(line)).collect(), right.iter().map(|line| names.right(line)).collect())
}

#[cfg(test)]
mod tests;
