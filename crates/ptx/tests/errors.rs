//! The error messages for texts that are not PTX.

use super::{refused, rows};
use ptx::parse;

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
    assert_eq!(first("\u{feff}.version 8.5"), r"line 1, column 1: `\u{feff}` has no meaning in PTX");
    assert_eq!(first(".version six"), "line 1, column 10: expected a version such as `7.8`, found `six`");
    assert_eq!(first(".version 8 "), "line 1, column 10: expected a version such as `7.8`, found `8`");
    assert_eq!(
        first(".version 8.5\n.entry k"),
        "line 2, column 1: expected `.target`, which follows `.version`, found `.entry`"
    );
}

/// Rows: the line and column of the error, the text, and the message.
const IN_A_MODULE: &str = r#"
4:15 .address_size 16 => expected 32 or 64, found `16`
4:1 .version 7.0 => a second `.version`
4:1 .entri k => expected a function, a variable or another directive, found `.entri`
4:1 ret; => expected a function, a variable or another directive, found `ret`
4:10 .visible .loc 1 1 1 => expected a function, a variable or another directive, found `.loc`
4:9 .global .b7 x; => expected a type such as `.b32`, found `.b7`
4:9 .global x; => expected a type such as `.b32`, found `x`
4:14 .global .b32 .align 8 x; => expected a name, found `.align`
4:14 .global .b32 .v2 x; => expected a name, found `.v2`
4:27 .global .b64 x = generic(y+8); => expected `)`, found `+`
4:14 .global .b32 .b32 x; => expected a name, found `.b32`
4:16 .global .align 12 .b32 x; => an alignment of 12 is no power of two
4:15 .global .b32 x => expected `,`, `;`, `=` or `[`, found the end of the text
4:16 .global .b32 x[1.0]; => expected the number of elements, found a floating-point number
4:21 .global .b32 x = {1,}; => expected a number, an address or `{`, found `}`
4:18 .global .b32 x = 1.0(y); => a mask has to be an integer such as `0xFF00`
4:1 .reg .b32 x; => registers of the module's scope do not exist with PTX's ABI: declare them in a function
4:8 .entry 5() => expected the entry's name, found `5`
4:8 .entry a.b() => expected the entry's name without dots or colons, found `a.b`
4:12 .entry k() .reg .b32 x; => expected `{`, `;` or a directive such as `.maxntid`, found `.reg`
4:21 .entry k(.param .b32) => expected a parameter's name, found `)`
4:24 .entry k(.param .b32 x y) => expected `,` or `)`, found `y`
4:21 .section .debug_str {\n{} => this `{` is never closed
5:2 .section .debug_str {\n /*  => this comment is never closed: `*/` is missing
4:9 .file 1 "a => this string has no closing quote on its line
4:1 /* a * => this comment is never closed: `*/` is missing
4:1 # => `#` has no meaning in PTX
4:1 é => `é` has no meaning in PTX
5:1 .entry k(\n => expected `.param` or `.reg`, found the end of the text
"#;

const IN_A_BODY: &str = r#"
5:4 ret => expected an operand, found the end of the text
4:12 ret; => this `{` is never closed
6:1 bra L\nret;} => expected `,` or `;`, found `ret`
5:14 mov.u32 %r1, ;} => expected an operand, found `;`
5:5 mov .u32 %r1;} => expected an operand, found `.u32`
5:1 %r1 = 3;} => expected an instruction or a label, found `%r1`
5:1 a.b: ret;} => `a.b` is no label: dots and colons cannot be in one
5:1 = 3;} => expected an instruction, a label, a directive or `}`, found `=`
5:5 ret;;} => expected an instruction, a label, a directive or `}`, found `;`
5:3 @p;} => expected an instruction, found `;`
5:2 @3 ret;} => expected a predicate register, found `3`
5:1 .align 4;} => expected a declaration, `.loc` or `.pragma`, found `.align`
5:14 .reg .b32 %r<x>;} => expected the number of registers, found `x`
5:14 .reg .b32 %r<4294967296>;} => the number of registers has to fit 32 bits
5:22 .reg .b32 %r;.loc 1 2;} => expected a column, found `;`
5:13 .loc 1 2 3, at 4} => expected `function_name` or `inlined_at`, found `at`
5:18 ld.b32 %r1, [%r1+%r2];} => expected a number, found `%r2`
5:14 ld.b32 %r1, [];} => expected a register, a variable or a number, found `]`
5:17 ld.b32 %r1, [%r1;} => expected `]`, `+`, `-` or `,`, found `;`
5:18 mov.b64 {%r1, %r2;} => expected `,` or `}`, found `;`
5:11 call (r, f;} => expected `,` or `)`, found `;`
5:13 mov.u32 %r1|3, 1;} => expected the second register of a pair, found `3`
5:19 L: .branchtargets 1;} => expected a label, found `1`
6:1 add.s32 %r1, %r2\n} => expected `,` or `;`, found `}`
5:8 .loc 1 x 2\nret;} => expected a line, found `x`
"#;

#[test]
fn what_is_wrong_in_a_module_or_a_body() {
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
    std::thread::Builder::new().stack_size(1 << 19).spawn(check).unwrap().join().unwrap();
    let deep = format!(".entry k() {}{}", "{".repeat(64), "}".repeat(64));
    super::module(&deep, |module| assert_eq!(module.functions.len(), 1));
}
