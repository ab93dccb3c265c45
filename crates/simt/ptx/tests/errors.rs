//! Tests of the error messages for texts that are not PTX.

use super::{refused, rows};
use ptx::parse;

/// Returns the message of an error.
fn display(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn an_error_shows_the_line() {
    let text = ".version 8.5\n.target sm_90\n.entry k()\n{\n\tadd.s32 \t%r1, %r2 %r3;\r\n}\n";
    assert_eq!(
        display(text),
        "line 5, column 20: expected `,` or `;`, found `%r3`\n    \tadd.s32 \t%r1, %r2 %r3;\n    \t        \t         ^"
    );
    let error = parse(text).unwrap_err();
    assert_eq!((error.at as usize, error.line, error.column), (text.find("%r3").unwrap(), 5, 20));
    assert_eq!(error.source_line, "\tadd.s32 \t%r1, %r2 %r3;");
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!(".version 8.5 .target sm_90 /*{}*/ ? {}", "ä".repeat(200), "b".repeat(200));
    let shown = display(&text);
    let lines: Vec<_> = shown.lines().collect();
    let [_, source, caret] = lines[..] else { panic!("{shown}") };
    assert!(source.starts_with("    …ä") && source.ends_with("b…") && source.chars().count() < 220, "{shown}");
    assert_eq!(source.chars().nth(caret.chars().count() - 1), Some('?'), "{shown}");
}

#[test]
fn other_texts_are_refused() {
    let first = |text: &str| display(text).lines().next().unwrap().to_owned();
    assert_eq!(
        first(""),
        "line 1, column 1: expected `.version`, with which every PTX text starts, found the end of the text"
    );
    assert_eq!(
        first("__global__ void k() {}"),
        "line 1, column 1: expected `.version`, with which every PTX text starts, found `__global__`"
    );
    assert_eq!(first("\u{feff}.version 8.5"), r"line 1, column 1: `\u{feff}` has no meaning in PTX");
    assert_eq!(first(".version six"), "line 1, column 10: expected a version such as `7.8`, found `six`");
    assert_eq!(first(".version 8 "), "line 1, column 10: expected a version such as `7.8`, found `8`");
    assert_eq!(
        first(".version 8.5\n.entry k"),
        "line 2, column 1: expected `.target`, which follows `.version`, found `.entry`"
    );
}

/// Rows with the line and column of the error, the text, and the message.
const IN_A_MODULE: &str = include_str!("fixtures/refused/modules.txt");

const IN_A_BODY: &str = include_str!("fixtures/refused/bodies.txt");

#[test]
fn errors_in_a_module_or_a_body() {
    for (head, table) in [("", IN_A_MODULE), (".entry k() {\n", IN_A_BODY)] {
        for (row, message) in rows(table) {
            let (place, text) = row.split_once(' ').unwrap();
            let error = refused(&format!("{head}{text}"));
            assert_eq!(error.message, message, "{text}");
            assert_eq!(format!("{}:{}", error.line, error.column), place, "{text}");
        }
    }
}

#[test]
fn nesting_is_refused_before_the_stack_overflows() {
    // Each opens something that the parser parses recursively.
    let openers = [
        (".entry k() {", "{"),
        (".entry k() { mov.b32 %r1, ", "{"),
        (".entry k() { mov.b32 %r1, ", "("),
        (".entry k() { mov.b32 %r1, ", "-"),
        (".entry k() { mov.b32 %r1, ", "~!+"),
        (".entry k() { mov.b32 %r1, ", "0?"),
        (".entry k() { mov.b32 %r1, ", "0?1:"),
        (".entry k() { mov.b32 %r1, ", "1||1&&1|1^1&1==1<1<<1+1*("),
        (".entry k() { mov.b32 %r1, ", "(.u64)-"),
        (".entry k() { mov.b32 %r1, ", "[a,"),
        (".entry k() { call ", "("),
        (".global .b32 x = ", "{"),
        (".global .b32 x = ", "1("),
    ];
    // Use a quarter of the default stack of a Rust thread, in a build without optimization.
    let check = move || {
        for (head, opener) in openers {
            let message = refused(&format!("{head}{}", opener.repeat(100_000))).message;
            assert_eq!(message, "nested more than 64 levels deep", "{head}{opener}");
        }
    };
    std::thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
    let deep = format!(".entry k() {}{}", "{".repeat(64), "}".repeat(64));
    super::module(&deep, |module| assert_eq!(module.functions.len(), 1));
}
