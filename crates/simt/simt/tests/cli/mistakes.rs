//! Tests that a user's mistake is reported as an error with help or with its place, and that the exit code is 2.

use proptest::prelude::*;

use super::{FILE, Outcome, VARIABLES, run, run_file, simt};

/// Asserts that the program ended with one error that contains `words`.
#[track_caller]
fn assert_mistake(outcome: &Outcome, words: &str, case: &str) {
    assert_eq!(outcome.code, 2, "{case}: {}", outcome.err);
    assert!(is_diagnostic(outcome), "{case}: {}", outcome.err);
    assert!(outcome.err.starts_with("error: "), "{case}: {}", outcome.err);
    assert!(outcome.err.contains(words), "{case}: {}", outcome.err);
    assert_eq!(outcome.out, "", "{case}");
}

/// Returns whether the error is followed only by notes and help, or shows a place in a text.
fn is_diagnostic(outcome: &Outcome) -> bool {
    let is_labeled = |line: &str| line.starts_with("note: ") || line.starts_with("help: ");
    outcome.err.lines().skip(1).all(is_labeled) || outcome.err.contains("--> ")
}

/// Rows: arguments after `simt run small.ptx`, and words of the error.
const ARGUMENTS: &str = include_str!("../fixtures/cli/mistakes.txt");

/// Rows: arguments after `simt run variables.ptx`, and words of the error. A row without `--launch` runs the kernel
/// `scale`.
const LAUNCHES_AND_SYMBOLS: &str = include_str!("../fixtures/cli/mistakes_in_launches.txt");

/// Runs `simt run variables.ptx --entry scale …`.
fn scale(line: &str) -> Outcome {
    run_file(VARIABLES, &format!("--entry scale --grid 1 --block 1 {line}"))
}

#[test]
fn bad_arguments_are_an_error_with_help_and_exit_code_2() {
    let rows = |table: &'static str| table.lines().map(|row| row.split_once(" => ").unwrap());
    for (line, expected) in rows(ARGUMENTS) {
        assert_mistake(&run(line), expected, line);
    }
    for (line, expected) in rows(LAUNCHES_AND_SYMBOLS) {
        let outcome = match line.starts_with("--launch") {
            true => run_file(VARIABLES, line),
            false => scale(line),
        };
        assert_mistake(&outcome, expected, line);
    }
}

/// Rows: parameters of a kernel, arguments, and words of the error. The source's description of a parameter follows a
/// `~`.
const KINDS: &str = include_str!("../fixtures/cli/kinds.txt");

#[test]
fn arguments_that_do_not_fit_are_reported_with_help() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ptx");
    for row in KINDS.lines() {
        let [params, args, expected] = row.split(" => ").collect::<Vec<_>>()[..] else { panic!("{row}") };
        let count = params.split(", ").count();
        let named = params.split(", ").enumerate().map(|(at, param)| {
            let (ty, declared) = param.split_once(" ~ ").unwrap_or((param, ""));
            let param = match ty.split_once('[') {
                Some((ty, count)) => format!(".param .align 8 .{ty} p{at}[{count}"),
                None => format!(".param .{ty} p{at}"),
            };
            let comma = if at + 1 < count { "," } else { "" };
            let comment = if declared.is_empty() { String::new() } else { format!(" // rust: {declared}") };
            format!("{param}{comma}{comment}\n")
        });
        let params: String = named.collect();
        // The NUL that ends a C string is not part of the text.
        let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k({params}) {{ ret; }}\n\0");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let outcome = run_file(path, &format!("--grid 2x1 --block 4x2x1 --arg {args}"));
        match expected {
            "runs" => assert_eq!(outcome.code, 0, "{row}: {}", outcome.err),
            words => assert_mistake(&outcome, words, row),
        }
        assert_eq!(simt(&["check", path]).code, 0);
    }
}

#[test]
fn files_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let path = file.display();
    std::fs::write(&file, "").unwrap();
    let empty = scale(&format!("--arg bytes:file:{path}"));
    assert_mistake(&empty, "is empty", "an empty file");
    std::fs::write(&file, [0; 8]).unwrap();
    let line = format!("--arg f32[1] --symbol factor=bytes:file:{path}");
    let outcome = scale(&line);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    if std::path::Path::new("/dev/zero").exists() {
        let line = "--entry fill --grid 1 --block 32 --arg u32[32]=file:/dev/zero";
        let words = "/dev/zero has more bytes than the 128 of u32[32]";
        assert_mistake(&run(line), words, "a file without end");
    }
}

#[test]
fn files_that_are_not_ptx_are_refused_with_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ptx");
    let head = ".version 8.0\n.target sm_80\n.address_size";
    for (bytes, words) in [
        (format!("{head} 64\n.entry k( {{\n").as_bytes(), "x.ptx:4:"),
        (format!("{head} 64\n.entry k( {{\n").as_bytes(), ".entry k( {"),
        (b"\x7fELF\x02\x01\xff", "this is an ELF file"),
        (b"ok\xff", "byte 2 is not UTF-8"),
        (format!("{head} 32\n").as_bytes(), "only .address_size 64"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_mistake(&simt(&["check", path.to_str().unwrap()]), words, words);
    }
    let missing = simt(&["check", "no/such.ptx"]);
    assert_mistake(&missing, "cannot read no/such.ptx", "a missing file");
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut err = Vec::new();
    let words = ["simt".into(), "--help".into()];
    assert_eq!(simt_cli::main(words, &mut Full, &mut err), 2);
    assert!(String::from_utf8(err).unwrap().contains("cannot write the output"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any arguments either run or give one error.
    #[test]
    fn any_arguments_run_or_give_one_error(
        spec in "([iuf](8|16|32|64))?(\\[[0-9]{0,3}\\]|:)?(=)?(iota|rand:|uninit|file:)?[-a-z0-9.é]{0,6}",
        print in "[0-9:x-]{0,4}",
        grid in "[0-9,x]{0,4}",
    ) {
        let outcome = simt(&[
            "run", FILE, "--entry", "fill", "--grid", &grid, "--block", "32", "--arg", &spec, "--print", &print,
            "--max-instructions", "10000",
        ]);
        prop_assert!(outcome.code <= 2);
        if outcome.code > 0 {
            prop_assert!(is_diagnostic(&outcome), "{}", outcome.err);
        }
    }
}
