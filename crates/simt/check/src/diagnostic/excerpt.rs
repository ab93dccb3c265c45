//! The source lines that a diagnostic shows, and the part of them that it underlines.

use std::ops::Range;
use std::path::Path;

/// A place in the source and the PTX of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// The source line: file and line.
    pub(super) source: Option<(String, u32)>,
    /// The column in the source line, in bytes from 1; 0 if it is unknown.
    pub(super) column: u32,
    /// The line of the PTX: its number and its text.
    pub(super) ptx: (u32, String),
    /// The file of the PTX and the column in the line, if they are known.
    pub(super) ptx_file: Option<(String, u32)>,
}

/// Lines of a text, with a part to underline.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) column: usize,
    /// The number of the text's first line.
    pub(super) first_line: u32,
    /// The lines; `None` if they cannot be read.
    pub(super) text: Option<String>,
    /// The part to underline, in bytes of the text.
    pub(super) span: Range<usize>,
    pub(super) label: String,
    /// A note about the excerpt.
    pub(super) note: Option<String>,
    /// The file that the text was read from.
    file: Option<String>,
}

impl Spot {
    /// Returns whether the source line can be read.
    pub(super) fn is_readable(&self) -> bool {
        self.source.as_ref().is_some_and(|(file, line)| lines_of(file, *line, *line).is_some())
    }

    /// Returns the text to show: the source line if it can be read, otherwise the line of the PTX.
    pub(super) fn excerpt(&self, width: usize) -> Excerpt {
        let source = self.source.as_ref().map(|(file, line)| (file, *line, lines_of(file, *line, *line)));
        let (ptx_line, ptx) = &self.ptx;
        let (path, line, text, file) = match source {
            Some((file, line, Some(text))) => (shown(file), line, Some(text), Some(file.clone())),
            Some((file, line, None)) if ptx.is_empty() => (shown(file), line, None, None),
            _ => {
                let path = self.ptx_file.as_ref().map_or("PTX".to_owned(), |(file, _)| shown(file));
                (path, *ptx_line, Some(ptx.clone()).filter(|ptx| !ptx.is_empty()), None)
            }
        };
        let is_source = file.is_some();
        let span = match (&text, is_source, &self.ptx_file) {
            (None, ..) => 0..0,
            (Some(text), true, _) => expression(text, self.column),
            (Some(text), false, Some((_, column))) => statement(text, *column),
            (Some(text), false, None) => statement(text, 0),
        };
        // A longer underlined part would make the shown line too long.
        let max_length = width.saturating_sub(30).max(1);
        let span = match &text {
            Some(text) if span.len() > max_length => {
                span.start..text.floor_char_boundary(span.start + max_length).max(span.start)
            }
            _ => span,
        };
        let unread = self.source.as_ref().filter(|_| !is_source && text.is_some());
        Excerpt {
            path: front_cut(&path, width.saturating_sub(20)),
            line,
            column: self.column as usize,
            first_line: line,
            text,
            span,
            label: String::new(),
            note: unread.map(|(file, line)| format!("the source is {}:{line}, which cannot be read here", shown(file))),
            file,
        }
    }
}

impl Excerpt {
    /// Returns whether both excerpts underline the same part of the same line.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        (&self.path, self.line, &self.span) == (&other.path, other.line, &other.span)
    }

    /// Returns whether both excerpts have the same text.
    pub(super) fn is_in_text_of(&self, other: &Self) -> bool {
        (&self.path, self.first_line, &self.text) == (&other.path, other.first_line, &other.text)
    }

    /// Replaces the texts of two excerpts of one file with a common text that contains both lines.
    pub(super) fn join(&mut self, other: &mut Self) {
        let (Some(file), true) = (self.file.clone(), self.file == other.file) else { return };
        let (first, last) = (self.line.min(other.line), self.line.max(other.line));
        let Some(text) = lines_of(&file, first, last) else { return };
        for excerpt in [self, other] {
            let lines_before = text.split_inclusive('\n').take((excerpt.line - first) as usize);
            let before: usize = lines_before.map(str::len).sum();
            excerpt.span = excerpt.span.start + before..excerpt.span.end + before;
            excerpt.first_line = first;
            excerpt.text = Some(text.clone());
        }
    }
}

/// Returns the lines `first` to `last` of a file, or `None` if they cannot be read.
fn lines_of(file: &str, first: u32, last: u32) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let lines = text.lines().skip(first.checked_sub(1)? as usize).take((last - first) as usize + 1);
    let lines: Vec<&str> = lines.collect();
    let is_whole = lines.len() == (last - first) as usize + 1 && !lines[0].trim().is_empty();
    is_whole.then(|| lines.join("\n"))
}

/// Formats a path: relative to the current directory if the path is in that directory or in a sibling of it.
pub(super) fn shown(path: &str) -> String {
    let current_dir = std::env::current_dir().unwrap_or_default();
    let relative_to =
        |folder: &Path| folder.parent().and(Path::new(path).strip_prefix(folder).ok()).map(Path::to_owned);
    let in_sibling = || Some(Path::new("..").join(relative_to(current_dir.parent()?)?));
    relative_to(&current_dir).or_else(in_sibling).unwrap_or_else(|| path.into()).display().to_string()
}

/// Cuts the front of a path that is longer than `max_length`.
fn front_cut(path: &str, max_length: usize) -> String {
    match path.len().checked_sub(max_length.max(10)) {
        None | Some(0) => path.to_owned(),
        Some(more) => format!("...{}", &path[path.ceil_char_boundary(more + 3)..]),
    }
}

/// Breaks a text into lines of at most `width` columns, between words if possible.
pub(super) fn cut(text: &str, width: usize) -> String {
    let width = width.max(10);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let indent = paragraph.len() - paragraph.trim_start().len();
        let mut line = paragraph[..indent].to_owned();
        for word in paragraph.split_whitespace() {
            let mut word: Vec<char> = word.chars().collect();
            let used = line.chars().count();
            let is_first = line.trim().is_empty();
            if !is_first && used + 1 + word.len() > width {
                lines.push(std::mem::take(&mut line));
            } else if !is_first {
                line.push(' ');
            }
            while word.len() > width {
                line.extend(word.drain(..width - line.chars().count().min(width - 1)));
                lines.push(std::mem::take(&mut line));
            }
            line.extend(word);
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Returns the range of a line without surrounding blanks and without a trailing comment.
fn whole(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    let code = line.split_once(" //").map_or(line, |(code, _)| code).trim_end();
    if code.len() > start { start..code.len() } else { start..line.trim_end().len().max(start) }
}

/// Returns the range of the PTX statement that starts at a column.
fn statement(line: &str, column: u32) -> Range<usize> {
    let all = whole(line);
    let start = (column as usize).saturating_sub(1).clamp(all.start, line.len());
    let start = line.floor_char_boundary(start);
    let rest = &line[start..];
    let length = rest.find(';').map_or(rest.trim_end().len(), |end| end + 1);
    start..(start + length).max(start)
}

/// Returns the range of the expression that starts at a column, by a simple rule. The expression is a chain of names,
/// calls, fields and indices. If the chain is assigned to or starts with a keyword, the range is the whole statement.
/// If the column is unknown, the range is the whole line.
fn expression(line: &str, column: u32) -> Range<usize> {
    const KEYWORDS: [&str; 8] = ["let", "if", "while", "for", "match", "return", "unsafe", "loop"];
    let start = (column as usize).wrapping_sub(1);
    let Some(rest) = line.get(start..).filter(|rest| !rest.trim().is_empty() && !rest.starts_with(' ')) else {
        return whole(line);
    };
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let end = match KEYWORDS.contains(&word.as_str()) {
        true => end_of_statement(rest),
        false => {
            let chain = end_of_chain(rest);
            let next = rest[chain..].trim_start();
            let operator = next.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
            let is_assigned = operator.starts_with('=') && !operator.starts_with("==") && !operator.starts_with("=>");
            let is_comparison = next.starts_with("<=") || next.starts_with(">=");
            if is_assigned && !is_comparison { end_of_statement(rest) } else { chain }
        }
    };
    match rest[..end].trim_end().len() {
        0 => start..start + rest.chars().next().map_or(0, char::len_utf8),
        length => start..start + length,
    }
}

/// Returns the length of a chain of names, calls, fields and indices, including the operators before it.
fn end_of_chain(rest: &str) -> usize {
    let begin = rest.len() - rest.trim_start_matches(['*', '&', '!', '-', '~']).len();
    let mut depth = 0_u32;
    let mut before = ' ';
    let mut chars = rest[begin..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let is_part = match c {
            '(' | '[' => {
                depth += 1;
                true
            }
            // `::<f32>`
            '<' if before == ':' => {
                depth += 1;
                true
            }
            ')' | ']' if depth == 0 => false,
            ')' | ']' => {
                depth -= 1;
                true
            }
            '>' if depth > 0 && before != '-' && before != '=' => {
                depth -= 1;
                true
            }
            _ if depth > 0 => true,
            ':' => before == ':' || next == ':',
            '-' => next == '>',
            '>' => before == '-',
            // A macro call.
            '!' => matches!(next, '(' | '['),
            c => c.is_alphanumeric() || matches!(c, '_' | '.' | '?' | '$' | '"'),
        };
        if !is_part {
            return begin + at;
        }
        before = c;
    }
    rest.len()
}

/// Returns the length of a statement: up to a semicolon, an opening brace outside brackets, or a trailing comment.
fn end_of_statement(rest: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' => depth -= 1,
            ';' | '{' if depth == 0 => return at,
            '/' if rest[at..].starts_with("//") => return at,
            _ => {}
        }
    }
    rest.len()
}
