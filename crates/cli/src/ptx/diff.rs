//! Two kernels as a unified diff, with registers, labels and names of variables told apart by what they do and not by
//! how the compiler numbered them.

mod line;

use std::fmt::Write;

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices};

use super::listing::Listing;
use super::style::{BAD, DIM, GOOD, paint};
use line::{Line, Names};
use ptx::ast::Function;

/// Equal lines shown around a difference.
const CONTEXT: usize = 3;

/// The comparison of two functions of a module.
pub(super) fn text(listing: &Listing<'_>, a: &Function<'_>, b: &Function<'_>) -> String {
    let (left, right) = alike(listing, a, b);
    let [left, right] = [&left, &right].map(|lines| lines.iter().map(String::as_str).collect());
    let (left, right): (Vec<&str>, Vec<&str>) = (left, right);
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .diff_slices(&left, &right);
    let mut out = format!(
        "{}\n{}\n",
        paint(BAD, format_args!("--- {}", a.name)),
        paint(GOOD, format_args!("+++ {}", b.name))
    );
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let _ = writeln!(out, "{}", paint(DIM, hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.value();
            let _ = match change.tag() {
                ChangeTag::Equal => writeln!(out, " {line}"),
                ChangeTag::Delete => writeln!(out, "{}", paint(BAD, format_args!("-{line}"))),
                ChangeTag::Insert => writeln!(out, "{}", paint(GOOD, format_args!("+{line}"))),
            };
        }
    }
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|own| own.tag() == tag)
            .count()
    };
    let (same, removed, added) = (
        count(ChangeTag::Equal),
        count(ChangeTag::Delete),
        count(ChangeTag::Insert),
    );
    let _ = if removed + added == 0 {
        writeln!(
            out,
            "the same {same} lines, but for the names of registers, labels and variables"
        )
    } else {
        writeln!(
            out,
            "{same} equal lines, {removed} only in {}, {added} only in {}",
            a.name, b.name,
        )
    };
    out
}

/// The lines of both. They are aligned by their shapes, and aligned lines get the same names.
fn alike(listing: &Listing<'_>, a: &Function<'_>, b: &Function<'_>) -> (Vec<String>, Vec<String>) {
    let (left, right) = (line::lines(listing, a), line::lines(listing, b));
    let shapes = |lines: &[Line<'_>]| lines.iter().map(Line::shape).collect::<Vec<_>>();
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
    (
        left.iter().map(|line| names.left(line)).collect(),
        right.iter().map(|line| names.right(line)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::listing::Listing;
    use super::text;

    fn compare(a: &str, b: &str) -> String {
        let entry = |name: &str, body: &str| {
            format!(".visible .entry {name}(.param .u64 {name}_p)\n{{\n{body}}}\n")
        };
        let module = format!(
            ".version 6.3\n.target sm_75\n{}{}",
            entry("a", a),
            entry("b", b)
        );
        let listing = Listing::new(&module).expect("written here");
        let [a, b] = &listing.tree.functions[..] else {
            panic!("two entries");
        };
        anstream::adapter::strip_str(&text(&listing, a, b)).to_string()
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
        @@ -1,4 +1,4 @@
         mov.b32 %r1, 1;
         mov.b32 %r2, 2;
        -add.s32 %r3, %r1, %r2;
        +add.s32 %r3, %r1, %r1;
         ret;
        3 equal lines, 1 only in a, 1 only in b
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
        @@ -1,3 +1,4 @@
        +mov.u32 %r3, %tid.x;
         mov.b32 %r1, 1;
         add.s32 %r2, %r1, 4;
         st.shared.b32 [%r2], %r1;
        4 equal lines, 0 only in a, 1 only in b
        ");
    }
}
