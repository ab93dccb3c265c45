//! Parses LLVM IR text: just enough of its grammar to find names, values and functions.
//!
//! Grammar: LLVM Language Reference, "Identifiers", "Global Variables", "Functions".

use std::ops::Range;

use memchr::memmem;

/// Returns whether a text contains another text. This search is fast even for many megabytes of text.
pub fn has(text: &str, part: &str) -> bool {
    memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Parses a global's name in IR, without the `@` and the quotes: `@"a b"` is `a b`.
pub fn global_name(at: &str) -> Option<(&str, &str)> {
    let rest = at.strip_prefix('@')?;
    if let Some(quoted) = rest.strip_prefix('"') {
        let end = quoted.find('"')?;
        return Some((&quoted[..end], &quoted[end + 1..]));
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c))).unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}

/// A mention of something that is defined elsewhere in the module.
pub enum Mention<'a> {
    /// `@name`.
    Symbol(&'a str),
    /// `!1` or `#1`: metadata or attributes.
    Number(char, u32),
}

/// Returns the mentions in IR text, except those in strings and comments.
pub fn mentions(text: &str) -> impl Iterator<Item = (Range<usize>, Mention<'_>)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(distance) = bytes[at..].iter().position(|byte| b"\";@!#".contains(byte)) {
            let start = at + distance;
            at = start + 1;
            let rest = &text[at..];
            match bytes[start] {
                b'"' => at += rest.find('"').map_or(rest.len(), |end| end + 1),
                b';' => at += rest.find('\n').unwrap_or(rest.len()),
                b'@' => {
                    let Some((name, after)) = global_name(&text[start..]) else {
                        continue;
                    };
                    at = text.len() - after.len();
                    return Some((start..at, Mention::Symbol(name)));
                }
                sigil => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                    let Ok(number) = rest[..digits].parse() else {
                        continue;
                    };
                    at += digits;
                    return Some((start..at, Mention::Number(char::from(sigil), number)));
                }
            }
        }
        None
    })
}

/// Returns the local values that a text mentions: `%x`, `%12`, `%"a b"`.
pub fn locals(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map_or(rest.len(), |end| end + 2),
            None => rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-$._".contains(c))).unwrap_or(rest.len()),
        };
        &text[at..at + 1 + end]
    })
}

/// Splits a type or a value off the front of `text`: one word, or one balanced group of brackets.
///
/// `[4 x i32] undef, align 4` is split into `[4 x i32]` and ` undef, align 4`.
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
                // `<{ … }>` has two closing brackets, and a string constant is written `c"…"`.
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

/// Returns the index of the bracket that closes the bracket at the start of `text`.
pub fn closing(text: &str) -> Option<usize> {
    let (group, _) = split_item(text)?;
    group.ends_with([')', ']', '}', '>']).then(|| group.len() - 1)
}

/// A line that opens a function's body: its name, and whether it is a kernel.
pub struct Define<'a> {
    /// The function's symbol.
    pub name: &'a str,
    /// Whether the function is an entry point (`ptx_kernel`).
    pub kernel: bool,
}

/// Parses `define … @name(…) … {`.
pub fn define(line: &str) -> Option<Define<'_>> {
    if !line.starts_with("define ") {
        return None;
    }
    let (name, _) = global_name(&line[line.find('@')?..])?;
    Some(Define { name, kernel: line.contains(" ptx_kernel ") })
}

/// Returns the function that contains a line of the text.
pub fn function_at<'a>(ir: &'a str, line: &str) -> Option<Define<'a>> {
    let at = (line.as_ptr() as usize).checked_sub(ir.as_ptr() as usize)?;
    ir.get(..at)?.lines().rev().find_map(define)
}

/// Inserts function attributes into a `define` line, before its metadata and its body.
pub fn with_function_attributes(line: &str, attributes: &str) -> String {
    let body = line.rfind('{').unwrap_or(line.len());
    let at = line.find(" !dbg ").map_or(body, |dbg| (dbg + 1).min(body));
    format!("{}{attributes} {}", &line[..at], &line[at..])
}

/// Returns a symbol in source notation: `kernels_gpu::reduce::TILE`.
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
    fn mentions_are_not_in_strings_and_comments() {
        let line = "store ptr @TILE, c\"@TILE !2\", !x !1, @\"T 2\"(mail@) #7 ; @TILE";
        let found: Vec<_> = mentions(line).map(|(range, _)| &line[range]).collect();
        assert_eq!(found, ["@TILE", "!1", "@\"T 2\"", "#7"]);
    }

    #[test]
    fn items_are_words_or_balanced_groups() {
        for (item, rest) in [
            ("i32", " undef"),
            ("[2 x [3 x i8]]", " undef, align 4"),
            ("<{ [4 x i8], i32 }>", " <{ x }>"),
            ("%T", " undef"),
            ("undef", ""),
        ] {
            for text in [format!("{item}{rest}"), format!(" {item}{rest}")] {
                assert_eq!(split_item(&text), Some((item, rest)));
            }
        }
        assert_eq!(split_item("[2 x i8"), None);
    }

    #[test]
    fn attributes_are_inserted_before_the_metadata() {
        assert_eq!(
            with_function_attributes("define void @f() #0 !dbg !1 {", "convergent"),
            "define void @f() #0 convergent !dbg !1 {"
        );
        assert_eq!(with_function_attributes("define void @f() {", "convergent"), "define void @f() convergent {");
    }
}
