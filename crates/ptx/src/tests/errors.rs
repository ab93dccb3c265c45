//! The error messages for texts that are not PTX.

use super::{HEAD, refused};
use crate::parse;

/// An error's display, its first line without the module's head.
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
    assert_eq!(
        (error.at as usize, error.line, error.column),
        (text.find("%r3").unwrap(), 5, 20)
    );
    assert_eq!(error.source_line, "\tadd.s32 \t%r1, %r2 %r3;");
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!(
        ".version 8.5 .target sm_90 /*{}*/ ? {}",
        "ä".repeat(200),
        "b".repeat(200)
    );
    let shown = display(&text);
    let lines: Vec<_> = shown.lines().collect();
    let [_, source, caret] = lines[..] else {
        panic!("{shown}")
    };
    assert!(
        source.starts_with("    …ä") && source.ends_with("b…") && source.chars().count() < 220,
        "{shown}"
    );
    assert_eq!(
        source.chars().nth(caret.chars().count() - 1),
        Some('?'),
        "{shown}"
    );
}

#[test]
fn texts_that_are_no_modules() {
    let first = |text: &str| display(text).lines().next().unwrap().to_owned();
    assert_eq!(
        first(""),
        "line 1, column 1: expected `.version`, with which every PTX text starts, found the end of the text"
    );
    assert_eq!(
        first("__global__ void k() {}"),
        "line 1, column 1: expected `.version`, with which every PTX text starts, found `__global__`"
    );
    assert_eq!(
        first("\u{feff}.version 8.5"),
        r"line 1, column 1: `\u{feff}` has no meaning in PTX"
    );
    assert_eq!(
        first(".version 8 "),
        "line 1, column 10: expected a version such as `7.8`, found `8`"
    );
    assert_eq!(
        first(".version 8.5\n.entry k"),
        "line 2, column 1: expected `.target`, which follows `.version`, found `.entry`"
    );
}

#[test]
fn what_is_wrong_in_a_module() {
    for (text, place, message) in [
        (".address_size 16", (4, 15), "expected 32 or 64, found `16`"),
        (".version 7.0", (4, 1), "a second `.version`"),
        (
            ".entri k",
            (4, 1),
            "expected a function, a variable or another directive, found `.entri`",
        ),
        (
            "ret;",
            (4, 1),
            "expected a function, a variable or another directive, found `ret`",
        ),
        (
            ".visible .loc 1 1 1",
            (4, 10),
            "expected a function, a variable or another directive, found `.loc`",
        ),
        (
            ".global .b7 x;",
            (4, 9),
            "expected a type such as `.b32`, found `.b7`",
        ),
        (
            ".global x;",
            (4, 9),
            "expected a type such as `.b32`, found `x`",
        ),
        (
            ".global .b32 .align 8 x;",
            (4, 14),
            "expected a name, found `.align`",
        ),
        (
            ".global .b32 .v2 x;",
            (4, 14),
            "expected a name, found `.v2`",
        ),
        (
            ".global .b64 x = generic(y+8);",
            (4, 27),
            "expected `)`, found `+`",
        ),
        (
            ".global .b32 .b32 x;",
            (4, 14),
            "expected a name, found `.b32`",
        ),
        (
            ".global .align 12 .b32 x;",
            (4, 16),
            "an alignment of 12 is no power of two",
        ),
        (
            ".global .b32 x",
            (4, 15),
            "expected `,`, `;`, `=` or `[`, found the end of the text",
        ),
        (
            ".global .b32 x[1.0];",
            (4, 16),
            "expected the number of elements, found a floating-point number",
        ),
        (
            ".global .b32 x = {1,};",
            (4, 21),
            "expected a number, an address or `{`, found `}`",
        ),
        (
            ".global .b32 x = 1.0(y);",
            (4, 18),
            "a mask has to be an integer such as `0xFF00`",
        ),
        (
            ".reg .b32 x;",
            (4, 1),
            "registers of the module's scope do not exist with PTX's ABI: declare them in a function",
        ),
        (".entry 5()", (4, 8), "expected the entry's name, found `5`"),
        (
            ".entry a.b()",
            (4, 8),
            "expected the entry's name without dots or colons, found `a.b`",
        ),
        (
            ".entry k() .reg .b32 x;",
            (4, 12),
            "expected `{`, `;` or a directive such as `.maxntid`, found `.reg`",
        ),
        (
            ".entry k(.param .b32)",
            (4, 21),
            "expected a parameter's name, found `)`",
        ),
        (
            ".entry k(.param .b32 x y)",
            (4, 24),
            "expected `,` or `)`, found `y`",
        ),
        (
            ".section .debug_str {\n{}",
            (4, 21),
            "this `{` is never closed",
        ),
        (
            ".section .debug_str {\n /* ",
            (5, 2),
            "this comment is never closed: `*/` is missing",
        ),
        (
            ".file 1 \"a",
            (4, 9),
            "this string has no closing quote on its line",
        ),
        (
            "/* a *",
            (4, 1),
            "this comment is never closed: `*/` is missing",
        ),
        ("#", (4, 1), "`#` has no meaning in PTX"),
        ("é", (4, 1), "`é` has no meaning in PTX"),
    ] {
        let error = refused(text);
        assert_eq!(error.message, message, "{text}");
        assert_eq!((error.line, error.column), place, "{text}");
    }
}

#[test]
fn what_is_wrong_in_a_body() {
    for (text, column, message) in [
        ("ret", 4, "expected an operand, found the end of the text"),
        ("ret;", 0, "this `{` is never closed"),
        ("bra L\nret;}", 1, "expected `,` or `;`, found `ret`"),
        ("mov.u32 %r1, ;}", 14, "expected an operand, found `;`"),
        ("mov .u32 %r1;}", 5, "expected an operand, found `.u32`"),
        (
            "%r1 = 3;}",
            1,
            "expected an instruction or a label, found `%r1`",
        ),
        (
            "a.b: ret;}",
            1,
            "`a.b` is no label: dots and colons cannot be in one",
        ),
        (
            "= 3;}",
            1,
            "expected an instruction, a label, a directive or `}`, found `=`",
        ),
        (
            "ret;;}",
            5,
            "expected an instruction, a label, a directive or `}`, found `;`",
        ),
        ("@p;}", 3, "expected an instruction, found `;`"),
        ("@3 ret;}", 2, "expected a predicate register, found `3`"),
        (
            ".align 4;}",
            1,
            "expected a declaration, `.loc` or `.pragma`, found `.align`",
        ),
        (
            ".reg .b32 %r<x>;}",
            14,
            "expected the number of registers, found `x`",
        ),
        (
            ".reg .b32 %r<4294967296>;}",
            14,
            "the number of registers has to fit 32 bits",
        ),
        (
            ".reg .b32 %r;.loc 1 2;}",
            22,
            "expected a column, found `;`",
        ),
        (
            ".loc 1 2 3, at 4}",
            13,
            "expected `function_name` or `inlined_at`, found `at`",
        ),
        (
            "ld.b32 %r1, [%r1+%r2];}",
            18,
            "expected a number, found `%r2`",
        ),
        (
            "ld.b32 %r1, [];}",
            14,
            "expected a register, a variable or a number, found `]`",
        ),
        (
            "ld.b32 %r1, [%r1;}",
            17,
            "expected `]`, `+`, `-` or `,`, found `;`",
        ),
        ("mov.b64 {%r1, %r2;}", 18, "expected `,` or `}`, found `;`"),
        ("call (r, f;}", 11, "expected `,` or `)`, found `;`"),
        (
            "mov.u32 %r1|3, 1;}",
            13,
            "expected the second register of a pair, found `3`",
        ),
        ("L: .branchtargets 1;}", 19, "expected a label, found `1`"),
    ] {
        let text = format!("{HEAD}.entry k() {{\n{text}");
        let error = parse(&text).unwrap_err();
        assert_eq!(error.message, message, "{text}");
        assert_eq!(
            error.column,
            if column == 0 { 12 } else { column },
            "{text}"
        );
    }
}

#[test]
fn nesting_ends_before_the_stack_does() {
    // Each opens something the parser goes into by recursion.
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
    // A quarter of what a thread of Rust gets, in a build without optimization.
    let check = move || {
        for (head, opener) in openers {
            let message = refused(&format!("{head}{}", opener.repeat(100_000))).message;
            assert_eq!(message, "nested more than 64 levels deep", "{head}{opener}");
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 19)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
    let deep = format!(".entry k() {}{}", "{".repeat(64), "}".repeat(64));
    super::module(&deep, |module| assert_eq!(module.functions.len(), 1));
}
