//! Colours for PTX and SASS.

use std::fmt::Write;

use ptx::{PieceKind, pieces};

use super::style::{DIM, DIRECTIVE, LABEL, NUMBER, OPCODE, REGISTER, paint};

/// A line of PTX, coloured.
pub(super) fn ptx(line: &str) -> String {
    let mut out = String::new();
    let pieces = pieces(line);
    // The first name of a statement is its opcode, or a label if `:` follows; later ones are operands.
    let mut first = true;
    let mut code = pieces.iter().filter(|piece| piece.kind != PieceKind::Blank);
    let is_label = code.nth(1).is_some_and(|piece| piece.text == ":");
    for piece in pieces {
        let style = match piece.kind {
            PieceKind::Comment => Some(DIM),
            PieceKind::String | PieceKind::Number => Some(NUMBER),
            PieceKind::Word if piece.text.starts_with('%') => Some(REGISTER),
            PieceKind::Directive => {
                first = false;
                Some(DIRECTIVE)
            }
            PieceKind::Word if piece.text.starts_with("$L") => Some(LABEL),
            PieceKind::Word if std::mem::take(&mut first) => {
                Some(if is_label { LABEL } else { OPCODE })
            }
            PieceKind::Sign | PieceKind::Blank | PieceKind::Word => None,
        };
        match style {
            Some(style) => out.push_str(&paint(style, piece.text)),
            None => out.push_str(piece.text),
        }
    }
    out
}

/// A line of SASS, coloured: `@!P0 IADD3 R9, R2, R9, RZ`.
pub(super) fn sass(line: &str) -> String {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    if body.ends_with(':') {
        return format!("{indent}{}", paint(LABEL, body));
    }
    let mut out = indent.to_owned();
    let mut rest = body;
    if body.starts_with('@')
        && let Some((guard, after)) = body.split_once(' ')
    {
        let _ = write!(out, "{} ", paint(REGISTER, guard));
        rest = after;
    }
    let (mnemonic, operands) = rest.split_once(' ').unwrap_or((rest, ""));
    out.push_str(&paint(OPCODE, mnemonic));
    if !operands.is_empty() {
        let _ = write!(out, " {operands}");
    }
    out
}
