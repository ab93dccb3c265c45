//! Formats code as HTML: text with terminal colors, Rust, and the differences between two texts.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::output::escaped;

/// The number of unchanged lines that are shown around a change.
const CONTEXT: usize = 2;
/// The maximum number of lines of machine code that are shown. The code of an unrolled loop can have thousands of
/// lines.
const LINES: usize = 1000;

/// Converts the first lines of a text with terminal escape sequences to HTML. Each color becomes a class, from `t1`
/// (red) to `t5`, and dimmed text becomes `t0`. Registers get no class, because they make up half of the text. If lines
/// are left out, the HTML ends with `command`, which shows them.
pub(super) fn from_terminal(text: &str, command: &str) -> String {
    let end = text.match_indices('\n').nth(LINES - 1).map_or(text.len(), |(at, _)| at + 1);
    let (text, rest) = text.split_at(end);
    let more = match rest.lines().count() {
        0 => String::new(),
        count => format!("<span class=\"t0\">… {count} more lines: {}</span>\n", escaped(command)),
    };
    let mut parts = text.split('\u{1b}');
    let mut html = escaped(parts.next().unwrap_or_default());
    let mut is_open = false;
    for part in parts {
        let (sequence, rest) = part.split_once('m').unwrap_or(("", part));
        let class = match sequence.trim_start_matches('[') {
            "2" => Some("t0".to_owned()),
            color if color.len() == 2 && color.starts_with('3') && color != "36" => Some(format!("t{}", &color[1..])),
            _ => None,
        };
        if (class.is_some() || sequence == "[0") && std::mem::take(&mut is_open) {
            html += "</span>";
        }
        if let Some(class) = class {
            html += &format!("<span class=\"{class}\">");
            is_open = true;
        }
        html += &escaped(rest);
    }
    html + if is_open { "</span>" } else { "" } + &more
}

const KEYWORDS: [&str; 28] = [
    "as", "break", "const", "continue", "crate", "else", "enum", "extern", "fn", "for", "if", "impl", "in", "let",
    "loop", "match", "mod", "mut", "pub", "return", "static", "struct", "super", "trait", "type", "unsafe", "use",
    "while",
];

/// Converts Rust to HTML, with classes for keywords, strings and comments.
pub(super) fn from_rust(text: &str) -> String {
    let mut html = String::new();
    for line in text.split_inclusive('\n') {
        let (code, comment) = line.split_at(comment(line));
        let last = code.matches('"').count();
        for (number, part) in code.split('"').enumerate() {
            if number % 2 == 1 {
                let end = if number < last { "&quot;" } else { "" };
                html += &format!("<span class=\"t2\">&quot;{}{end}</span>", escaped(part));
            } else {
                words(part, &mut html);
            }
        }
        if !comment.is_empty() {
            let end = comment.len() - comment.trim_end().len();
            html += &format!("<span class=\"t0\">{}</span>{}", escaped(comment.trim_end()), "\n".repeat(end.min(1)));
        }
    }
    html
}

/// Returns the start of a line's comment.
fn comment(line: &str) -> usize {
    let is_outside = |at: &usize| line[..*at].matches('"').count().is_multiple_of(2);
    line.match_indices("//").map(|(at, _)| at).find(is_outside).unwrap_or(line.len())
}

fn words(code: &str, html: &mut String) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (part, remainder) = rest.split_at(end);
        *html += &match KEYWORDS.contains(&part) {
            true => format!("<span class=\"t5\">{part}</span>"),
            false => escaped(part),
        };
        rest = remainder;
    }
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// `+`, `-`, a blank, or `…` if lines are left out here.
    pub sign: char,
    /// The line without its sign.
    pub text: String,
}

/// Returns the changes from one text to another, with a few equal lines around each change. Returns no lines if the
/// texts are equal.
pub fn difference(old: &str, new: &str) -> Vec<Changed> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push(Changed { sign: '…', text: String::new() });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(Changed { sign, text: change.value().trim_end().to_owned() });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_colored_and_escaped() {
        assert_eq!(
            from_terminal("a<\u{1b}[1m\u{1b}[34mmov\u{1b}[0m \u{1b}[36m%r1\u{1b}[0m\u{1b}[2m// b\u{1b}[0m", ""),
            "a&lt;<span class=\"t4\">mov</span> %r1<span class=\"t0\">// b</span>"
        );
        let long = from_terminal(&"a\n".repeat(LINES + 2), "a <b>");
        assert!(long.ends_with("\na\n<span class=\"t0\">… 2 more lines: a &lt;b&gt;</span>\n"), "{long}");
        assert_eq!(
            from_rust("let a = \"// <b>\"; // c & d\nx\n"),
            "<span class=\"t5\">let</span> a = <span class=\"t2\">&quot;// &lt;b&gt;&quot;</span>; \
             <span class=\"t0\">// c &amp; d</span>\nx\n"
        );
    }

    #[test]
    fn a_difference_has_the_lines_around_it() {
        let signs = |old, new| difference(old, new).iter().map(|line| line.sign).collect::<String>();
        assert_eq!(signs("a\nb\nc\nd\n", "a\nb\nc\ne\n"), "  -+");
        assert_eq!(signs("a\n1\n2\n3\n4\n5\n6\nb\n", "x\n1\n2\n3\n4\n5\n6\ny\n"), "-+  …  -+");
        assert_eq!(signs("a\n", "a\n"), "");
    }
}
