//! Two kernels side by side or as a unified diff, with registers, labels and names of variables told apart
//! by what they do and not by how the compiler numbered them.

mod line;

use std::fmt::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::ptx::{Function, Module};
use crate::style::{BAD, BOLD, CHANGED, DIM, GOOD, paint};
use line::{Line, Names};

/// Equal lines shown around a difference.
const CONTEXT: usize = 3;
/// The narrowest column that two kernels beside each other are readable in.
const NARROWEST: usize = 40;

/// How the two are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One under the other, as `diff -u` does.
    Unified,
    /// Beside each other, in this many columns in all.
    SideBySide(usize),
}

impl Layout {
    /// Beside each other if the terminal is wide enough; one under the other if not, or without a terminal.
    #[must_use]
    pub fn for_width(width: Option<usize>) -> Self {
        match width {
            Some(width) if width >= 2 * NARROWEST + 3 => Self::SideBySide(width),
            _ => Self::Unified,
        }
    }
}

/// A line of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Row {
    Same(String),
    Changed(String, String),
    Removed(String),
    Added(String),
}

/// The comparison of two functions of a module.
#[must_use]
pub fn text(module: &Module, a: &Function, b: &Function, layout: Layout) -> String {
    let rows = rows(module, a, b);
    let count = |wanted: fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
    let same = count(|row| matches!(row, Row::Same(_)));
    let mut out = match layout {
        Layout::Unified => {
            format!(
                "{}\n{}\n",
                paint(BAD, format_args!("--- {}", a.name)),
                paint(GOOD, format_args!("+++ {}", b.name))
            )
        }
        Layout::SideBySide(width) => {
            let column = (width - 3) / 2;
            format!(
                "{}   {}\n",
                paint(BOLD, fitted(&a.name, column)),
                paint(BOLD, &b.name)
            )
        }
    };
    let (shown, hidden_at_end) = shown(&rows);
    for (row, hidden) in shown {
        out.push_str(&left_out(hidden));
        match layout {
            Layout::Unified => unified(&mut out, row),
            Layout::SideBySide(width) => side_by_side(&mut out, row, (width - 3) / 2),
        }
    }
    if same < rows.len() {
        out.push_str(&left_out(hidden_at_end));
    }
    if same == rows.len() {
        let _ = writeln!(
            out,
            "the same {same} lines, but for the names of registers, labels and variables"
        );
    } else {
        let _ = writeln!(
            out,
            "{same} equal lines, {} changed, {} only in {}, {} only in {}",
            count(|row| matches!(row, Row::Changed(..))),
            count(|row| matches!(row, Row::Removed(_))),
            a.name,
            count(|row| matches!(row, Row::Added(_))),
            b.name,
        );
    }
    out
}

/// Aligns the two by the shapes of their lines, gives aligned lines the same names, and calls those equal
/// whose texts then are.
fn rows(module: &Module, a: &Function, b: &Function) -> Vec<Row> {
    let (left, right) = (line::lines(module, a), line::lines(module, b));
    let shapes = |lines: &[Line]| lines.iter().map(Line::shape).collect::<Vec<_>>();
    let steps = capture_diff_slices(Algorithm::Patience, &shapes(&left), &shapes(&right));

    let mut names = Names::default();
    left.iter().for_each(|line| names.number_left(line));
    // What aligned lines have in common comes first: a name that only one side has must not take a number
    // that a later aligned line would give to another.
    for step in &steps {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *step
        {
            left[old_index..old_index + len]
                .iter()
                .zip(&right[new_index..new_index + len])
                .for_each(|(left, right)| names.align(left, right));
        }
    }
    right.iter().for_each(|line| names.number_right(line));

    let mut rows = Vec::new();
    for step in steps {
        let (old, new) = (step.old_range(), step.new_range());
        let old = left[old].iter().map(|line| names.left(line));
        let new = right[new].iter().map(|line| names.right(line));
        match step {
            DiffOp::Equal { .. } => {
                rows.extend(old.zip(new).map(|(a, b)| {
                    if a == b {
                        Row::Same(a)
                    } else {
                        Row::Changed(a, b)
                    }
                }));
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                rows.extend(old.map(Row::Removed));
                rows.extend(new.map(Row::Added));
            }
        }
    }
    rows
}

/// The rows that are shown, each with the number of equal ones left out before it, and how many are left
/// out after the last.
fn shown(rows: &[Row]) -> (Vec<(&Row, usize)>, usize) {
    let differs: Vec<bool> = rows
        .iter()
        .map(|row| !matches!(row, Row::Same(_)))
        .collect();
    let mut shown = Vec::new();
    let mut hidden = 0;
    for (index, row) in rows.iter().enumerate() {
        let around = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(rows.len());
        if differs[around].contains(&true) {
            shown.push((row, std::mem::take(&mut hidden)));
        } else {
            hidden += 1;
        }
    }
    (shown, hidden)
}

fn left_out(lines: usize) -> String {
    match lines {
        0 => String::new(),
        1 => paint(DIM, "… 1 equal line") + "\n",
        _ => paint(DIM, format_args!("… {lines} equal lines")) + "\n",
    }
}

fn unified(out: &mut String, row: &Row) {
    let (removed, added) = match row {
        Row::Same(line) => {
            let _ = writeln!(out, " {line}");
            return;
        }
        Row::Changed(a, b) => (Some(a), Some(b)),
        Row::Removed(a) => (Some(a), None),
        Row::Added(b) => (None, Some(b)),
    };
    if let Some(line) = removed {
        let _ = writeln!(out, "{}", paint(BAD, format_args!("-{line}")));
    }
    if let Some(line) = added {
        let _ = writeln!(out, "{}", paint(GOOD, format_args!("+{line}")));
    }
}

fn side_by_side(out: &mut String, row: &Row, column: usize) {
    let _ = match row {
        Row::Same(line) => writeln!(
            out,
            "{}   {}",
            fitted(line, column),
            fitted(line, column).trim_end()
        ),
        Row::Changed(a, b) => writeln!(
            out,
            "{} | {}",
            paint(CHANGED, fitted(a, column)),
            paint(CHANGED, fitted(b, column).trim_end())
        ),
        Row::Removed(a) => writeln!(out, "{} <", paint(BAD, fitted(a, column))),
        Row::Added(b) => writeln!(
            out,
            "{:column$} > {}",
            "",
            paint(GOOD, fitted(b, column).trim_end())
        ),
    };
}

/// The text in exactly this many columns: padded, or cut with an ellipsis.
fn fitted(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return format!("{text:columns$}");
    }
    text.chars()
        .take(columns.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Layout, text};
    use crate::ptx::Module;

    fn compare(a: &str, b: &str) -> String {
        let entry = |name: &str, body: &str| {
            format!(".visible .entry {name}(.param .u64 {name}_p)\n{{\n{body}}}\n")
        };
        let module = Module::parse(&(entry("a", a) + &entry("b", b))).expect("written here");
        let (a, b) = (
            module.function("a").expect("a"),
            module.function("b").expect("b"),
        );
        anstream::adapter::strip_str(&text(&module, a, b, Layout::Unified)).to_string()
    }

    #[test]
    fn names_make_no_difference() {
        let shown = compare(
            "$L__tmp0:\nld.param.b64 %rd1, [a_p];\n$L1:\nadd.s64 %rd2, %rd1, 4;\nbra.uni $L1;\nret;\n",
            "ld.param.b64 %rd7, [b_p];\n$X9:\nadd.s64 %rd3, %rd7, 4;\nbra.uni $X9;\n$L__tmp8:\nret;\n",
        );
        insta::assert_snapshot!(shown, @r"
        --- a
        +++ b
        the same 5 lines, but for the names of registers, labels and variables
        ");
    }

    #[test]
    fn an_operand_that_is_another_register_is_a_difference() {
        let shown = compare(
            "mov.b32 %r1, 1;\nmov.b32 %r2, 2;\nadd.s32 %r3, %r1, %r2;\nret;\n",
            "mov.b32 %r5, 1;\nmov.b32 %r6, 2;\nadd.s32 %r7, %r5, %r5;\nret;\n",
        );
        insta::assert_snapshot!(shown, @r"
        --- a
        +++ b
         mov.b32 %r1, 1;
         mov.b32 %r2, 2;
        -add.s32 %r3, %r1, %r2;
        +add.s32 %r3, %r1, %r1;
         ret;
        3 equal lines, 1 changed, 0 only in a, 0 only in b
        ");
    }

    #[test]
    fn an_instruction_more_does_not_rename_the_rest() {
        let shown = compare(
            "mov.b32 %r1, 1;\nadd.s32 %r2, %r1, 4;\nst.shared.b32 [%r2], %r1;\nret;\n",
            "mov.u32 %r1, %tid.x;\nmov.b32 %r2, 1;\nadd.s32 %r3, %r2, 4;\nst.shared.b32 [%r3], %r2;\nret;\n",
        );
        insta::assert_snapshot!(shown, @r"
        --- a
        +++ b
        +mov.u32 %r3, %tid.x;
         mov.b32 %r1, 1;
         add.s32 %r2, %r1, 4;
         st.shared.b32 [%r2], %r1;
        … 1 equal line
        4 equal lines, 0 changed, 0 only in a, 1 only in b
        ");
    }
}
