//! Reading LLVM IR text: just enough of its grammar to find names, values and functions.
//!
//! Grammar: LLVM Language Reference, "Identifiers", "Global Variables", "Functions".

use std::ops::Range;

/// A global's name as it stands in IR, without the `@` and the quotes: `@"a b"` is `a b`.
pub fn global_name(at: &str) -> Option<(&str, &str)> {
    let rest = at.strip_prefix('@')?;
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find('"')?;
        return Some((&quoted[..end], &quoted[end + 1..]));
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c)))
        .unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

/// The places of `@name` in a line, with the `@` and any quotes.
pub fn mentions(line: &str, name: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].find('@').map(|at| from + at) {
        match global_name(&line[at..]) {
            Some((this, rest)) => {
                let end = line.len() - rest.len();
                if this == name {
                    found.push(at..end);
                }
                from = end;
            }
            None => from = at + 1,
        }
    }
    found
}

/// Splits a type or a value off the front of `text`: one word, or one balanced group of brackets.
///
/// `[4 x i32] undef, align 4` gives `[4 x i32]` and ` undef, align 4`.
pub fn split_item(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let mut depth = 0usize;
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '{' | '<' | '(' => depth += 1,
            ']' | '}' | '>' | ')' => {
                depth = depth.checked_sub(1)?;
                let end = at + c.len_utf8();
                // `<{ … }>` closes twice; a string constant is `c"…"`.
                if depth == 0 {
                    return Some(text.split_at(end));
                }
            }
            ' ' | ',' if depth == 0 => return (at > 0).then(|| text.split_at(at)),
            _ => {}
        }
    }
    (depth == 0 && !quoted && !text.is_empty()).then_some((text, ""))
}

/// The bracket that closes the one at the start of `text`: its place.
pub fn closing(text: &str) -> Option<usize> {
    let (group, _) = split_item(text)?;
    group
        .ends_with([')', ']', '}', '>'])
        .then(|| group.len() - 1)
}

/// A line that opens a function's body: its name, and whether it is a kernel.
pub struct Define<'a> {
    /// The function's symbol.
    pub name: &'a str,
    /// Whether it is an entry point (`ptx_kernel`).
    pub kernel: bool,
}

/// Reads `define … @name(…) … {`.
pub fn define(line: &str) -> Option<Define<'_>> {
    if !line.starts_with("define ") {
        return None;
    }
    let (name, _) = global_name(&line[line.find('@')?..])?;
    Some(Define {
        name,
        kernel: line.contains(" ptx_kernel "),
    })
}

/// Writes function attributes into a `define` line, before its metadata and its body.
pub fn with_function_attributes(line: &str, attributes: &str) -> String {
    let body = line.rfind('{').unwrap_or(line.len());
    let at = line.find(" !dbg ").map_or(body, |dbg| (dbg + 1).min(body));
    format!("{}{attributes} {}", &line[..at], &line[at..])
}

/// A symbol as a person wrote it: `kernels_gpu::reduce::TILE`.
pub fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_where_llvm_ends_them() {
        assert_eq!(global_name("@a.b$c-1_, x"), Some(("a.b$c-1_", ", x")));
        assert_eq!(global_name("@\"a b\"(x)"), Some(("a b", "(x)")));
        assert_eq!(global_name("@, x"), None);
    }

    #[test]
    fn a_longer_name_is_no_mention() {
        let line = "store ptr @TILE, ptr @TILE2, !x @\"TILE\"";
        assert_eq!(mentions(line, "TILE"), [10..15, 32..39]);
        assert_eq!(mentions("mail@", "TILE"), []);
    }

    #[test]
    fn items_are_words_or_balanced_groups() {
        assert_eq!(split_item("i32 undef"), Some(("i32", " undef")));
        assert_eq!(
            split_item(" [2 x [3 x i8]] undef, align 4"),
            Some(("[2 x [3 x i8]]", " undef, align 4"))
        );
        assert_eq!(
            split_item("<{ [4 x i8], i32 }> <{ x }>"),
            Some(("<{ [4 x i8], i32 }>", " <{ x }>"))
        );
        assert_eq!(split_item("%T undef"), Some(("%T", " undef")));
        assert_eq!(split_item("undef"), Some(("undef", "")));
        assert_eq!(split_item("[2 x i8"), None);
    }

    #[test]
    fn attributes_go_before_the_metadata() {
        assert_eq!(
            with_function_attributes("define void @f() #0 !dbg !1 {", "convergent"),
            "define void @f() #0 convergent !dbg !1 {"
        );
        assert_eq!(
            with_function_attributes("define void @f() {", "convergent"),
            "define void @f() convergent {"
        );
    }
}
