//! Extracts one entry from a module: only the text that a driver must compile to run the entry.
//!
//! A driver takes seconds to compile a module that contains all kernels, but only milliseconds to compile one entry.

use std::collections::BTreeSet;

use logos::Logos;

use super::outline::{Item, Kind, Outline, breaks};
use super::token::Token;

/// How an extract treats source lines (Rust or C++).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLines {
    /// Keeps `.file` and `.loc`.
    Keep,
    /// Drops `.file` and `.loc`, because a driver does not need them.
    Drop,
}

/// Returns the part of a module that an entry needs: the items that it mentions, directly or through other items. Empty
/// lines replace all other items, so that line numbers stay the same.
///
/// Returns `None` if there is no such entry, or if the module has parts that this crate does not support. Also returns
/// `None` if the entry shares a variable in global memory with other code, because the extract would contain a separate
/// copy of the variable.
#[must_use]
pub fn extract(outline: &Outline<'_>, entry: &str, lines: SourceLines) -> Option<String> {
    if !outline.is_divisible() || !outline.has_entry(entry) {
        return None;
    }
    let needed = needed(outline, entry);
    if shares_globals(outline, &needed) {
        return None;
    }
    let mut out = String::new();
    let mut line = 0;
    for (place, item) in outline.items().iter().enumerate() {
        let is_kept = match item.kind {
            Kind::Header => true,
            Kind::File => lines == SourceLines::Keep,
            Kind::Section => false,
            _ => needed.contains(&place),
        };
        if is_kept {
            let text = &outline.text()[item.bytes.clone()];
            // Two items may share a line.
            out.push(' ');
            out.extend(std::iter::repeat_n('\n', item.line - line));
            match lines {
                SourceLines::Keep => out.push_str(text),
                SourceLines::Drop => push_without_lines(&mut out, text),
            }
            line = item.line + breaks(text);
        }
    }
    out.push('\n');
    Some(out)
}

/// Returns the items that an entry mentions, directly or through other items.
fn needed(outline: &Outline<'_>, entry: &str) -> BTreeSet<usize> {
    let mut needed = BTreeSet::new();
    let mut open = outline.named(entry).to_vec();
    while let Some(place) = open.pop() {
        if !needed.insert(place) {
            continue;
        }
        let mut tokens = Token::lexer(&outline.text()[outline.items()[place].bytes.clone()]);
        while let Some(token) = tokens.next() {
            if token == Ok(Token::Word) {
                // In an opcode or a name with selectors, only the part before the first dot is a name.
                let name = tokens.slice().split('.').next().unwrap_or_default();
                open.extend(outline.named(name));
            }
        }
    }
    needed
}

fn shares_globals(outline: &Outline<'_>, needed: &BTreeSet<usize>) -> bool {
    let items = || outline.items().iter().enumerate();
    let globals: Vec<&str> = items()
        .filter(|(place, item)| item.kind == Kind::Global && needed.contains(place))
        .map(|(_, item)| outline.name_of(item))
        .collect();
    let is_other_code = |place: usize, item: &Item| {
        !matches!(item.kind, Kind::Header | Kind::File | Kind::Section) && !needed.contains(&place)
    };
    !globals.is_empty()
        && items().any(|(place, item)| {
            let text = &outline.text()[item.bytes.clone()];
            is_other_code(place, item) && globals.iter().any(|name| text.contains(name))
        })
}

/// Appends a text without its `.loc` directives. Each `.loc` is the last directive on its line.
fn push_without_lines(out: &mut String, text: &str) {
    let mut tokens = Token::lexer(text);
    let mut kept = 0;
    while let Some(token) = tokens.next() {
        if token != Ok(Token::Directive) || tokens.slice() != ".loc" {
            continue;
        }
        let start = tokens.span().start;
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let code = text[start..end].split("//").next().unwrap_or_default();
        if !code.contains(['{', '}', ';', '*']) {
            out.push_str(text[kept..start].trim_end_matches([' ', '\t']));
            kept = end;
        }
    }
    out.push_str(&text[kept..]);
}
