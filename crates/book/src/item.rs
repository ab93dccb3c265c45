//! Items of a Rust file by name, as rustfmt has laid them out.

/// What may stand before an item's keyword.
const BEFORE: [&str; 5] = ["pub ", "pub(super) ", "pub(crate) ", "unsafe ", "const "];

/// The words before an item's name.
const KEYWORDS: [&str; 9] =
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "macro_rules! ", "mod "];

/// The item of this name, without its documentation: a function, a type, a constant, a macro, a kernel of `entries!`, the
/// description `rung! { name`, and by how its line begins `impl …` or the call of a macro, `operations!`.
///
/// # Errors
/// When the file has none, or its end is not found.
pub(crate) fn item(text: &str, name: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| begins(line, name)).ok_or_else(|| format!("there is no item `{name}`"))?;
    let start = call_around(&lines, start);
    let indent = indent_of(lines[start]);
    let is_head = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with("#[") || line.starts_with("///") || line.starts_with("//")
    };
    let head = lines[..start].iter().rev().take_while(is_head).count();
    let end = (start..lines.len()).find(|index| ends(&lines, start, *index));
    let end = end.ok_or_else(|| format!("the end of `{name}` is not found"))?;
    let is_code = |line: &&str| !["///", "//!"].iter().any(|doc| line.trim_start().starts_with(doc));
    let code = lines[start - head..=end].iter().copied().filter(is_code);
    Ok(code.map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n"))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether an item of this name begins in a line.
fn begins(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let is_name = |rest: &str| {
        let rest = rest.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    };
    if name.starts_with("impl") || name.ends_with('!') {
        return line.starts_with(name);
    }
    if line
        .strip_prefix("rung! { ")
        .is_some_and(|rest| name.strip_prefix("rung ").is_some_and(|own| rest.starts_with(&format!("{own}:"))))
    {
        return true;
    }
    // A kernel of `entries!`, whose arguments have types.
    if is_name(line) && line[name.len()..].starts_with('(') && line.contains(": ") {
        return true;
    }
    let mut rest = line;
    loop {
        if KEYWORDS.iter().any(|word| rest.strip_prefix(word).is_some_and(is_name)) {
            return true;
        }
        let Some(shorter) = BEFORE.iter().find_map(|word| rest.strip_prefix(word)) else { return false };
        rest = shorter;
    }
}

/// The line of the macro's call around a line, or the line itself.
fn call_around(lines: &[&str], line: usize) -> usize {
    let indent = indent_of(lines[line]);
    let outer = (0..line).rev().find(|above| !lines[*above].trim().is_empty() && indent_of(lines[*above]) < indent);
    outer.filter(|above| lines[*above].trim_start().starts_with("entries! {")).unwrap_or(line)
}

/// Whether the item from line `start` on ends in this line.
fn ends(lines: &[&str], start: usize, line: usize) -> bool {
    let (first, own) = (lines[start].trim_end(), lines[line].trim_end());
    if first.ends_with(['{', '[', '(']) {
        let closes = own.trim_start().starts_with(['}', ']', ')']) && !own.ends_with('{');
        return line > start && indent_of(own) == indent_of(first) && closes;
    }
    own.ends_with(';') || own.ends_with('}')
}

#[cfg(test)]
mod tests {
    use super::item;

    const FILE: &str = "\
/// Documented.
#[kernel]
pub unsafe fn first(
    a: u32,
) {
    if a > 0 {
        b();
    }
}

rung! { second: GLOBAL {
    lesson: \"…\",
} }

pub(super) const LEN: usize =
    4;
const ONE: usize = 1;

impl Part {
    /// Inner.
    #[inline(always)]
    fn inner(&self) -> u32 {
        1
    }
}

entries! {
    /// Documented.
    third(input: *const i32) for BLOCK in [64];
    => unsafe { body() }
}
";

    #[test]
    fn items_are_found_to_their_end() {
        let item = |name| item(FILE, name).expect("the item is there");
        assert!(item("first").starts_with("#[kernel]\npub unsafe fn first(") && item("first").ends_with("    }\n}"));
        assert_eq!(item("rung second"), "rung! { second: GLOBAL {\n    lesson: \"…\",\n} }");
        assert_eq!(item("LEN"), "pub(super) const LEN: usize =\n    4;");
        assert_eq!(item("ONE"), "const ONE: usize = 1;");
        assert_eq!(item("inner"), "#[inline(always)]\nfn inner(&self) -> u32 {\n    1\n}");
        assert_eq!(
            item("third"),
            "entries! {\n    third(input: *const i32) for BLOCK in [64];\n    => unsafe { body() }\n}"
        );
        assert!(item("impl Part").ends_with("    }\n}"));
        assert!(super::item(FILE, "fourth").is_err());
    }
}
