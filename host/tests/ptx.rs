//! `ladder ptx` on this program's kernels and on files. Needs no tool of NVIDIA's and no GPU.

use crate::common::program::{Arguments, Ended, all_refused, alone, assert_has};

fn ptx(args: impl Arguments) -> Ended {
    alone(("ptx", args))
}

fn printed(args: &str) -> String {
    ptx(args).printed()
}

/// The entries that a text has.
fn entries(text: &str) -> Vec<&str> {
    let after = text.lines().filter_map(|line| line.split_once(".entry "));
    after.map(|(_, rest)| rest.trim_end_matches(['(', ')'])).collect()
}

const SUMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/ptx/tests/fixtures/ptx/sums.ptx");

#[test]
fn a_rung_is_its_default_entry_and_a_ladder_those_of_its_rungs() {
    let rung = printed("reduce_shfl");
    assert_eq!(entries(&rung).len(), 1, "{rung}");
    assert!(entries(&rung)[0].starts_with("reduce_shfl_"), "{rung}");
    assert_eq!(rung, printed(entries(&rung)[0]));

    let ladder = host::ladder("transpose").unwrap();
    assert_eq!(entries(&printed("transpose")).len(), ladder.rungs.len());
    let two = printed("reduce_shfl reduce_neighbored");
    assert_eq!(entries(&two)[1], "reduce_neighbored");
}

#[test]
fn instructions_stand_under_their_rust_lines() {
    let text = printed("reduce_neighbored --rust");
    let has = |what: &str| text.lines().any(|line| line.contains(what));
    assert!(has("// kernels-gpu/src/reduce"), "{text}");
    // What was inlined, under the line that it was called from.
    assert!(text.lines().any(|line| line.starts_with("//   ")), "{text}");
    assert!(!has(".loc"), "{text}");
}

#[test]
fn two_kernels_and_their_ir() {
    let diff = printed("--diff reduce_smem reduce_shfl");
    assert!(diff.starts_with("--- reduce_smem_"), "{diff}");
    assert_has(&diff, &["\n+shfl.sync.bfly.b32 "]);
    let ir = printed("reduce_neighbored --llvm");
    assert!(ir.starts_with("define ") && ir.ends_with("}\n"), "{ir}");
}

#[test]
fn an_architecture_without_kernels_is_refused() {
    let oldest = printed("reduce_neighbored --arch compute_75");
    assert_eq!(entries(&oldest), ["reduce_neighbored"]);
    all_refused(
        |args| ptx(args),
        "
        reduce_neighbored --arch sm_50 --sass => compiled for sm_75 and sm_90
        reduce_neighbored --arch sm_80 => compiled for sm_75 and sm_90
        ",
    );
}

#[test]
fn names_that_will_not_do_are_told() {
    all_refused(
        |args| ptx(args),
        "
        reduce_shlf => did you mean `reduce_shfl`?
        REDUCE_SHFL => reduce_shfl
        rduce => did you mean `reduce`?
        quicksort_64 => `ladder ptx` lists the kernels
        ",
    );
    // What fits is listed below the first line.
    let several = ptx("shfl_");
    assert_eq!((several.code, several.out.as_str()), (2, ""));
    assert_has(&several.err, &["kernels, give one of their names in full:\n"]);
}

#[test]
fn a_file_has_kernels_of_its_own() {
    let fill = ptx((["--file", SUMS], "fill")).printed();
    assert_eq!(entries(&fill), ["fill"]);
    assert!(!fill.contains('\u{1b}'), "piped output is plain: {fill}");
    let several = ptx((["--file", SUMS], "sum"));
    assert_eq!((several.code, several.out.as_str()), (2, ""));
    assert_has(&several.err, &["matches 2 kernels"]);
    for (name, says) in
        [("nothing", "no kernel's name contains `nothing`"), ("reduce_shfl", "no kernel's name contains `reduce_shfl`")]
    {
        ptx((["--file", SUMS], name)).refused(says);
    }
    let err = ptx("--file no/such.ptx").failed_with(1);
    assert_has(&err, &["error: cannot read no/such.ptx: "]);
}
