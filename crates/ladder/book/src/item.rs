//! Items of a Rust file by name, as rustfmt has laid them out.

/// What may stand before an item's keyword.
const BEFORE: [&str; 5] = ["pub ", "pub(super) ", "pub(crate) ", "unsafe ", "const "];

/// The words before an item's name.
const KEYWORDS: [&str; 10] =
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "static mut ", "type ", "macro_rules! ", "mod "];

/// Returns the item of this name without its documentation: a function with its attributes, a type, a constant or a macro,
/// or by how its line begins `impl …` or the call of a macro, `operations!`.
///
/// # Errors
/// When the file has no such item, or the item's end is not found.
pub(crate) fn item(text: &str, name: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| begins(line, name)).ok_or_else(|| format!("there is no item `{name}`"))?;
    let indent = indent_of(lines[start]);
    let end = (start..lines.len()).find(|index| ends(&lines, start, *index));
    let end = end.ok_or_else(|| format!("the end of `{name}` is not found"))?;
    let is_code = |line: &&str| !["///", "//!"].iter().any(|doc| line.trim_start().starts_with(doc));
    let code = lines[head(&lines, start)..=end].iter().copied().filter(is_code);
    Ok(code.map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n"))
}

/// Returns an item's lines from the first that contains `from` on, and before the next that contains `until`, with a
/// comment in the place of lines that are left out.
///
/// # Errors
/// When the item has no such line.
pub(crate) fn excerpt(item: &str, from: Option<&str>, until: Option<&str>) -> Result<String, String> {
    let lines: Vec<&str> = item.lines().collect();
    let find = |part: &str, start: usize| {
        let found = lines.iter().skip(start).position(|line| line.contains(part)).map(|place| place + start);
        found.ok_or_else(|| format!("no line of the item has `{part}`"))
    };
    let start = from.map_or(Ok(0), |part| find(part, 0))?;
    let end = until.map_or(Ok(lines.len()), |part| find(part, start + 1))?;
    let shown = &lines[start..end];
    let indent = shown.iter().filter(|line| !line.is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let shown = shown.iter().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n");
    let dots = |is_cut: bool| if is_cut { "// …" } else { "" };
    let parts = [dots(start > 0), shown.trim_end(), dots(end < lines.len())];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// The first line of an item's attributes and comments.
fn head(lines: &[&str], item: usize) -> usize {
    let indent = indent_of(lines[item]);
    let mut first = item;
    while let Some(above) = first.checked_sub(1) {
        let line = lines[above].trim_start();
        if line.starts_with("#[") || line.starts_with("//") {
            first = above;
        } else if line == ")]" && indent_of(lines[above]) == indent {
            // An attribute of several lines.
            let begins = |line: &&str| indent_of(line) == indent && line.trim_start().starts_with("#[");
            let Some(begin) = lines[..above].iter().rposition(begins) else { break };
            first = begin;
        } else {
            break;
        }
    }
    first
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
    let mut rest = line;
    loop {
        if KEYWORDS.iter().any(|word| rest.strip_prefix(word).is_some_and(is_name)) {
            return true;
        }
        let Some(shorter) = BEFORE.iter().find_map(|word| rest.strip_prefix(word)) else { return false };
        rest = shorter;
    }
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
    use super::{excerpt, item};

    const FILE: &str = "\
/// Documented.
#[rung(
    lesson = \"…\",
    in_place
)]
pub unsafe fn first(
    a: u32,
) {
    if a > 0 {
        b();
    }
}

pub(super) const LEN: usize =
    4;
const ONE: usize = 1;
static mut TWO: usize = 2;

impl Part {
    /// Inner.
    #[inline(always)]
    fn inner(&self) -> u32 {
        1
    }
}
";

    #[test]
    fn items_are_found_to_their_end() {
        let item = |name| item(FILE, name).expect("the item is there");
        let first = item("first");
        let attribute = "#[rung(\n    lesson = \"…\",\n    in_place\n)]\npub unsafe fn first(";
        assert!(first.starts_with(attribute) && first.ends_with("    }\n}"), "{first}");
        assert_eq!(item("LEN"), "pub(super) const LEN: usize =\n    4;");
        assert_eq!(item("ONE"), "const ONE: usize = 1;");
        assert_eq!(item("TWO"), "static mut TWO: usize = 2;");
        assert_eq!(item("inner"), "#[inline(always)]\nfn inner(&self) -> u32 {\n    1\n}");
        assert!(item("impl Part").ends_with("    }\n}"));
        assert!(super::item(FILE, "fourth").is_err());
    }

    #[test]
    fn lines_of_an_item_are_cut_where_the_directive_says() {
        let first = item(FILE, "first").expect("the item is there");
        assert_eq!(excerpt(&first, None, None).as_deref(), Ok(&*first));
        assert_eq!(excerpt(&first, Some("if a"), Some("}")).as_deref(), Ok("// …\nif a > 0 {\n    b();\n// …"));
        assert_eq!(excerpt(&first, Some("b();"), None).as_deref(), Ok("// …\n        b();\n    }\n}"));
        assert!(excerpt(&first, Some("c();"), None).is_err());
    }
}
