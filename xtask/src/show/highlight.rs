//! Colours for PTX.

use std::fmt::Write;

use crate::ptx::{Kind, tokens};
use crate::style::{DIM, DIRECTIVE, LABEL, NUMBER, OPCODE, REGISTER, paint};

/// A line of PTX, coloured.
#[must_use]
pub fn ptx(line: &str) -> String {
    let mut out = String::new();
    // The first name of a statement is its opcode, or a label if `:` follows; later ones are operands.
    let mut first = true;
    let is_label = tokens(line)
        .filter(|token| token.kind != Kind::Space)
        .nth(1)
        .is_some_and(|t| t.text == ":");
    for token in tokens(line) {
        let style = match token.kind {
            Kind::Comment => Some(DIM),
            Kind::String => Some(NUMBER),
            Kind::Word if token.text.starts_with('%') => Some(REGISTER),
            Kind::Word if token.text.starts_with('.') => {
                first = false;
                Some(DIRECTIVE)
            }
            Kind::Word if token.text.starts_with(|c: char| c.is_ascii_digit()) => Some(NUMBER),
            Kind::Word if token.text.starts_with("$L") => Some(LABEL),
            Kind::Word if first => {
                first = false;
                Some(if is_label { LABEL } else { OPCODE })
            }
            Kind::Punctuation | Kind::Space | Kind::Word => None,
        };
        match style {
            Some(style) => out.push_str(&paint(style, token.text)),
            None => out.push_str(token.text),
        }
    }
    out
}

/// A line of SASS, coloured: `@!P0 IADD3 R9, R2, R9, RZ`.
#[must_use]
pub fn sass(line: &str) -> String {
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
