//! Extracts items of a Rust file by name, in lines that fit on a page.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// The maximum number of characters in a line of code.
const WIDEST: usize = 90;

/// The words that can precede an item's keyword.
const BEFORE: [&str; 5] = ["pub ", "pub(super) ", "pub(crate) ", "unsafe ", "const "];

/// The keywords before an item's name.
const KEYWORDS: [&str; 10] =
    ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "static mut ", "type ", "macro_rules! ", "mod "];

/// Returns an item without its documentation and without the attribute `rung`, which repeats the documentation. `name`
/// is the name of a function, type, constant or macro, or the start of its first line: `impl …`, or an invocation of a
/// macro such as `operations!`.
///
/// # Errors
/// Returns a message when the file has no such item, or when the end of the item is not found.
pub(crate) fn item(text: &str, name: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| begins(line, name)).ok_or_else(|| format!("there is no item `{name}`"))?;
    let indent = indent_of(lines[start]);
    let end = (start..lines.len()).find(|index| ends(&lines, start, *index));
    let end = end.ok_or_else(|| format!("the end of `{name}` was not found"))?;
    let is_code = |line: &&str| !["///", "//!"].iter().any(|doc| line.trim_start().starts_with(doc));
    let mut first = head(&lines, start);
    if let Some(rung) = lines[first..start].iter().position(|line| line.trim_start().starts_with("#[rung")) {
        let end = lines[first + rung..start].iter().position(|line| line.trim_end().ends_with(")]"));
        first += rung + end.map_or(0, |end| end + 1);
    }
    let code = lines[first..=end].iter().copied().filter(is_code);
    let code = code.map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n");
    Ok(narrowed(code))
}

/// Formats the code in lines of at most [`WIDEST`] characters. If rustfmt rejects the code, it stays unchanged, and the
/// page wraps it.
fn narrowed(code: String) -> String {
    if code.lines().all(|line| line.chars().count() <= WIDEST) {
        return code;
    }
    // A method is only valid as an item inside an `impl`.
    let is_method = ["self)", "self,"].iter().any(|word| code.contains(word)) && !code.contains("impl ");
    let formatted = match is_method {
        true => formatted(&format!("impl X {{\n{code}\n}}"), WIDEST + 4).map(|text| {
            let lines: Vec<&str> =
                text.trim_end().lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
            lines[1..lines.len() - 1].join("\n")
        }),
        false => formatted(&code, WIDEST),
    };
    with_narrow_comments(formatted.as_deref().unwrap_or(&code).trim_end())
}

/// Returns the code as formatted by rustfmt.
fn formatted(code: &str, width: usize) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--config", &format!("max_width={width},use_small_heuristics=Max")]);
    let rustfmt = rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = rustfmt.spawn().ok()?;
    child.stdin.take()?.write_all(code.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

/// Wraps each paragraph of comments that is too wide.
fn with_narrow_comments(code: &str) -> String {
    let comment = |line: &str| {
        let start = line.trim_start();
        start.starts_with("// ").then(|| format!("{}// ", &line[..line.len() - start.len()]))
    };
    let (mut shown, lines): (Vec<String>, Vec<&str>) = (Vec::new(), code.lines().collect());
    for run in lines.chunk_by(|a, b| comment(a).is_some() && comment(a) == comment(b)) {
        match comment(run[0]) {
            Some(before) if run.iter().any(|line| line.chars().count() > WIDEST) => {
                let words: Vec<&str> = run.iter().map(|line| &line[before.len()..]).collect();
                let options = textwrap::Options::new(WIDEST).initial_indent(&before).subsequent_indent(&before);
                shown.push(textwrap::fill(&words.join(" "), options));
            }
            _ => shown.extend(run.iter().map(|line| (*line).to_owned())),
        }
    }
    shown.join("\n")
}

/// Returns an item's lines from the first line that contains `from` up to the line before the next one that contains
/// `until`. A comment stands for omitted lines.
///
/// # Errors
/// Returns a message when the item has no such line.
pub(crate) fn excerpt(item: &str, from: Option<&str>, until: Option<&str>) -> Result<String, String> {
    let lines: Vec<&str> = item.lines().collect();
    let find = |part: &str, start: usize| {
        let found = lines.iter().skip(start).position(|line| line.contains(part)).map(|place| place + start);
        found.ok_or_else(|| format!("no line of the item contains `{part}`"))
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

/// Returns the first line of an item's attributes and comments.
fn head(lines: &[&str], item: usize) -> usize {
    let indent = indent_of(lines[item]);
    let mut first = item;
    while let Some(above) = first.checked_sub(1) {
        let line = lines[above].trim_start();
        if line.starts_with("#[") || line.starts_with("//") {
            first = above;
        } else if line == ")]" && indent_of(lines[above]) == indent {
            // An attribute can span several lines.
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

/// Returns whether an item with this name starts on a line.
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

/// Returns whether the item that starts on line `start` ends on this line.
fn ends(lines: &[&str], start: usize, line: usize) -> bool {
    let (first, last) = (lines[start].trim_end(), lines[line].trim_end());
    if first.ends_with(['{', '[', '(', '<']) {
        let closes = last.trim_start().starts_with(['}', ']', ')']);
        // The head of a function continues: `) -> u32 {` or `) where`, also on the next line.
        let next = lines.get(line + 1).map(|next| next.trim());
        let continues = last.ends_with('{') || last.ends_with("where") || next == Some("where");
        return line > start && indent_of(last) == indent_of(first) && closes && !continues;
    }
    last.ends_with(';') || last.ends_with('}')
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

fn generic<
    const N: usize,
>(
    a: [u32; N],
) where
    A: B,
{
    a;
}

fn result(
    a: u32,
) -> u32
where
    A: B,
{
    a
}
";

    #[test]
    fn items_are_found_to_their_end() {
        let item = |name| item(FILE, name).expect("the item is there");
        let first = item("first");
        assert!(first.starts_with("pub unsafe fn first(") && first.ends_with("    }\n}"), "{first}");
        assert!(item("generic").ends_with("{\n    a;\n}"), "{}", item("generic"));
        assert!(item("result").ends_with("{\n    a\n}"), "{}", item("result"));
        assert_eq!(item("LEN"), "pub(super) const LEN: usize =\n    4;");
        assert_eq!(item("ONE"), "const ONE: usize = 1;");
        assert_eq!(item("TWO"), "static mut TWO: usize = 2;");
        assert_eq!(item("inner"), "#[inline(always)]\nfn inner(&self) -> u32 {\n    1\n}");
        assert!(item("impl Part").ends_with("    }\n}"));
        assert!(super::item(FILE, "fourth").is_err());
    }

    #[test]
    fn wide_code_is_narrowed() {
        let words = "// SAFETY: ".to_owned() + &"word ".repeat(20);
        let method = format!(
            "    fn wide(&self) {{\n        {words}\n        add({}1);\n    }}\n",
            "first_argument, ".repeat(6)
        );
        let text = item(&format!("impl Part {{\n{method}}}\n"), "wide").expect("the item is there");
        assert!(text.starts_with("fn wide(&self) {\n    // SAFETY: word") && text.ends_with("    );\n}"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= super::WIDEST), "{text}");
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
