//! `ladder ptx` on this program's kernels and on files. Needs no tool of NVIDIA's and no GPU.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

/// The program, with these arguments behind `ladder ptx`.
fn ptx(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ladder"))
        .arg("ptx")
        .args(arguments)
        .output()
        .unwrap()
}

/// What it prints, and it exits with 0.
fn printed(arguments: &[&str]) -> String {
    let output = ptx(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it says of an error, with the exit code; it prints nothing.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = ptx(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// The entries that a text has.
fn entries(text: &str) -> Vec<&str> {
    let after = text.lines().filter_map(|line| line.split_once(".entry "));
    after
        .map(|(_, rest)| rest.trim_end_matches(['(', ')']))
        .collect()
}

const SUMS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/ptx/tests/fixtures/ptx/sums.ptx"
);

#[test]
fn a_rung_is_its_default_entry_and_a_ladder_those_of_its_rungs() {
    let rung = printed(&["reduce_shfl"]);
    assert_eq!(entries(&rung).len(), 1, "{rung}");
    assert!(entries(&rung)[0].starts_with("reduce_shfl_"), "{rung}");
    assert_eq!(rung, printed(&[entries(&rung)[0]]));

    let ladder = host::ladder("transpose").unwrap();
    assert_eq!(entries(&printed(&["transpose"])).len(), ladder.rungs.len());
    let two = printed(&["reduce_shfl", "reduce_neighbored"]);
    assert_eq!(entries(&two)[1], "reduce_neighbored");
}

#[test]
fn instructions_stand_under_their_rust_lines() {
    let text = printed(&["reduce_neighbored", "--rust"]);
    let has = |what: &str| text.lines().any(|line| line.contains(what));
    assert!(has("// kernels-gpu/src/reduce"), "{text}");
    // What was inlined, under the line that it was called from.
    assert!(text.lines().any(|line| line.starts_with("//   ")), "{text}");
    assert!(!has(".loc"), "{text}");
}

#[test]
fn two_kernels_and_their_ir() {
    let diff = printed(&["--diff", "reduce_smem", "reduce_shfl"]);
    assert!(diff.starts_with("--- reduce_smem_"), "{diff}");
    assert!(diff.contains("\n+shfl.sync.bfly.b32 "), "{diff}");
    let ir = printed(&["reduce_neighbored", "--llvm"]);
    assert!(ir.starts_with("define ") && ir.ends_with("}\n"), "{ir}");
}

#[test]
fn an_architecture_without_kernels_is_refused() {
    let oldest = printed(&["reduce_neighbored", "--arch", "compute_75"]);
    assert_eq!(entries(&oldest), ["reduce_neighbored"]);
    for arguments in [
        &["reduce_neighbored", "--arch", "sm_50", "--sass"][..],
        &["reduce_neighbored", "--arch", "sm_80"],
    ] {
        let (code, said) = refused(arguments);
        assert_eq!(code, Some(2));
        assert!(
            said.contains("compiled for sm_75 and sm_90"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn names_that_will_not_do_are_told() {
    for (name, says) in [
        ("reduce_shlf", "did you mean `reduce_shfl`?"),
        ("REDUCE_SHFL", "reduce_shfl"),
        ("rduce", "did you mean `reduce`?"),
        ("quicksort_64", "`ladder ptx` lists the kernels"),
        ("shfl_", "kernels, give one of their names in full:"),
    ] {
        let (code, said) = refused(&[name]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(says), "{name}: {said}");
    }
}

#[test]
fn a_file_has_kernels_of_its_own() {
    let fill = printed(&["--file", SUMS, "fill"]);
    assert_eq!(entries(&fill), ["fill"]);
    assert!(!fill.contains('\u{1b}'), "piped output is plain: {fill}");
    for (name, says) in [
        ("sum", "matches 2 kernels"),
        ("nothing", "no kernel's name contains `nothing`"),
        ("reduce_shfl", "no kernel's name contains `reduce_shfl`"),
    ] {
        let (code, said) = refused(&["--file", SUMS, name]);
        assert_eq!(code, Some(2));
        assert!(said.contains(says), "{said}");
    }
    let (code, said) = refused(&["--file", "no/such.ptx"]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("error: cannot read no/such.ptx: "),
        "{said}"
    );
}
