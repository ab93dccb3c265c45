//! Lines and columns of a text.

use super::ast::At;

/// A text and a table of its lines, which together convert positions to lines and columns.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    text: &'a str,
    /// The start of each line; the first is 0.
    starts: Vec<At>,
}

impl<'a> Source<'a> {
    /// Creates the table in one pass over the text. Text beyond 4 GiB counts as part of the last line before it.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map_while(|(at, _)| At::try_from(at + 1).ok())).collect();
        Self { text, starts }
    }

    /// Returns the whole text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the line and column of a position, both starting at 1, in O(log lines). Columns count bytes. Outside
    /// comments and strings, PTX allows only ASCII, so each byte is a character.
    #[must_use]
    pub fn line_column(&self, at: At) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts[line - 1];
        (u32::try_from(line).unwrap_or(u32::MAX), (at - start).saturating_add(1))
    }

    /// Returns a line without its line break, or an empty text if there is no such line. Lines start at 1.
    #[must_use]
    pub fn line_text(&self, line: u32) -> &'a str {
        let index = line.wrapping_sub(1) as usize;
        let Some(&start) = self.starts.get(index) else {
            return "";
        };
        let end = self.starts.get(index + 1).map_or(self.text.len(), |&next| next as usize);
        let line = &self.text[start as usize..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }
}
