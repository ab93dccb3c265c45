//! Tests of the parser and of the queries on its trees.

#![allow(clippy::unwrap_used)]

use ptx::ast::{Module, Operand, Statement};
use ptx::{ParseError, Source, parse};

mod compilers;
mod constants;
mod declarations;
mod declared;
mod errors;
mod extracts;
mod outlines;
mod queries;
mod random;
mod statements;

/// The directives at the start of every module.
const HEAD: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// Calls `check` with the module that consists of these directives.
fn module<T>(text: &str, check: impl FnOnce(Module<'_>) -> T) -> T {
    let text = format!("{HEAD}{text}");
    check(parse(&text).unwrap_or_else(|error| panic!("{error}")))
}

/// Calls `check` with the statements of an entry with this body.
fn body<T>(text: &str, check: impl FnOnce(&[Statement<'_>]) -> T) -> T {
    module(&format!(".entry k() {{ {text} }}"), |module| check(module.functions[0].body.as_ref().unwrap()))
}

/// Calls `check` with the operands of this instruction.
fn operands<T>(text: &str, check: impl FnOnce(&[Operand<'_>]) -> T) -> T {
    body(text, |body| match body {
        [Statement::Instruction(instruction)] => check(&instruction.operands),
        other => panic!("{other:?}"),
    })
}

/// Returns the error of a module with these directives.
fn refused(text: &str) -> ParseError {
    parse(&format!("{HEAD}{text}")).unwrap_err()
}

/// Returns the rows `text => expected` of a table. In the texts, `\n` stands for a line break.
fn rows(table: &str) -> impl Iterator<Item = (String, &str)> {
    table
        .lines()
        .map(|row| row.split_once(" => ").unwrap())
        .map(|(text, expected)| (text.replace("\\n", "\n"), expected))
}

#[test]
fn places_become_lines_and_columns() {
    let source = Source::new("ab\ncd\r\n\nlast");
    let places: Vec<_> = (0..=12).map(|at| source.line_column(at)).collect();
    let first = [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3], [2, 4], [3, 1]];
    assert_eq!(places[..8], first.map(<(u32, u32)>::from));
    assert_eq!(places[8..], [(4, 1), (4, 2), (4, 3), (4, 4), (4, 5)]);
    let lines: Vec<_> = (0..6).map(|line| source.line_text(line)).collect();
    assert_eq!(lines, ["", "ab", "cd", "", "last", ""]);
    assert_eq!(Source::new("").line_column(7), (1, 8));
    assert_eq!(source.text(), "ab\ncd\r\n\nlast");
}
