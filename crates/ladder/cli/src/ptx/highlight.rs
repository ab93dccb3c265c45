//! Colors for PTX and SASS.

use ptx::{PieceKind, pieces};

use super::style::{DIM, DIRECTIVE, LABEL, NUMBER, OPCODE, REGISTER, paint};

pub(super) fn ptx(line: &str) -> String {
    let mut out = String::new();
    let pieces = pieces(line);
    // The first name of a statement is its opcode, or a label if `:` follows. Later names are operands.
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
            PieceKind::Word if std::mem::take(&mut first) => Some(if is_label { LABEL } else { OPCODE }),
            PieceKind::Sign | PieceKind::Blank | PieceKind::Word => None,
        };
        out += &style.map_or(piece.text.to_owned(), |style| paint(style, piece.text));
    }
    out
}

/// Colors a line of SASS: `@!P0 IADD3 R9, R2, R9, RZ`.
pub(super) fn sass(line: &str) -> String {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    if body.ends_with(':') {
        return format!("{indent}{}", paint(LABEL, body));
    }
    let (guard, rest) = match body.split_once(' ') {
        Some((guard, rest)) if body.starts_with('@') => (paint(REGISTER, guard) + " ", rest),
        _ => (String::new(), body),
    };
    let (mnemonic, operands) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    format!("{indent}{guard}{}{}", paint(OPCODE, mnemonic), operands.trim_end_matches(' '))
}
