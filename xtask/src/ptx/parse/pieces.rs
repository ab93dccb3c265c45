//! The parts of one statement.

use crate::ptx::lex::{Kind, Token};
use crate::ptx::{FileName, Location, ParseError, Place};

/// The words of a line.
pub(super) fn words(tokens: &[Token<'_>]) -> Vec<String> {
    tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| token.text.to_owned())
        .collect()
}

/// Splits a statement's tokens at the commas outside brackets.
pub(super) fn operands(statement: &[Token<'_>]) -> Vec<String> {
    let mut operands = Vec::new();
    let mut operand = String::new();
    let mut depth = 0usize;
    for token in statement {
        match token.text {
            "," if depth == 0 => operands.push(std::mem::take(&mut operand)),
            "," => operand.push_str(", "),
            text => {
                match text {
                    "{" | "[" | "(" => depth += 1,
                    "}" | "]" | ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                operand.push_str(text);
            }
        }
    }
    if !operand.is_empty() || !operands.is_empty() {
        operands.push(operand);
    }
    operands
}

/// What follows `.loc` on its line: `1 9 14, function_name $L__info, inlined_at 1 47 42`, and LLVM's comment
/// `// src/a.rs:9:14 @[ src/a.rs:47:42 @[ src/a.rs:51:13 ] ]`.
pub(super) fn location(
    directive_line: usize,
    tokens: &[Token<'_>],
) -> Result<Location, ParseError> {
    let malformed = || {
        let message = "expected `.loc FILE LINE COLUMN`".to_owned();
        ParseError {
            line: directive_line,
            message,
        }
    };
    let code: Vec<&str> = tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| token.text)
        .collect();
    let place = place_of(&code).ok_or_else(malformed)?;
    let comment = tokens.iter().find(|token| token.kind == Kind::Comment);
    let mut inlined_at = comment.map_or_else(Vec::new, |token| chain(token.text));
    if inlined_at.is_empty()
        && let Some(at) = code.iter().position(|word| *word == "inlined_at")
    {
        inlined_at.push(place_of(&code[at + 1..]).ok_or_else(malformed)?);
    }
    Ok(Location {
        place,
        inlined_at,
        directive_line,
    })
}

fn place_of(words: &[&str]) -> Option<Place> {
    let [file, line, column, ..] = words else {
        return None;
    };
    Some(Place {
        file: FileName::Number(file.parse().ok()?),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

/// The call sites in LLVM's comment, the innermost first; what is not understood is left out.
fn chain(comment: &str) -> Vec<Place> {
    comment
        .split("@[")
        .skip(1)
        .filter_map(|frame| {
            let frame = frame
                .trim_end_matches(|end: char| end == ']' || end.is_whitespace())
                .trim();
            let (rest, column) = frame.rsplit_once(':')?;
            let (path, line) = rest.rsplit_once(':')?;
            Some(Place {
                file: FileName::Path(path.to_owned()),
                line: line.parse().ok()?,
                column: column.parse().ok()?,
            })
        })
        .collect()
}
