//! Lines and columns of a text.

use super::ast::At;

/// A text with a table of its lines, which turns places into lines and columns.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    text: &'a str,
    /// Where each line starts; the first is 0.
    starts: Vec<At>,
}

impl<'a> Source<'a> {
    /// Makes the table: one pass over the text. Text beyond 4 GiB counts as part of the last line before.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map_while(|(at, _)| At::try_from(at + 1).ok())).collect();
        Self { text, starts }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Line and column of a place, both from 1. Columns count bytes, which are characters wherever PTX
    /// allows only ASCII: everywhere but in comments and strings. O(log lines).
    #[must_use]
    pub fn line_column(&self, at: At) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts[line - 1];
        (u32::try_from(line).unwrap_or(u32::MAX), (at - start).saturating_add(1))
    }

    /// A line, from 1, without its end; empty if there is no such line.
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
