//! Text for pages and terminals.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Breaks text between words into lines of at most `width` columns. Line breaks are kept. Continuation lines are
/// indented like the first line, with two more blanks within a list item. A word longer than `width` gets a separate
/// line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let lines = text.split('\n').flat_map(|line| {
        let item = line.trim_start_matches(' ');
        let hanging = if item.starts_with("- ") { "  " } else { "" };
        let indent = " ".repeat(line.len() - item.len()) + hanging;
        let options = Options::new(width).subsequent_indent(&indent).break_words(false);
        let options = options.word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation);
        let lines = textwrap::wrap(line, options.wrap_algorithm(textwrap::WrapAlgorithm::FirstFit));
        lines.into_iter().map(|line| line.into_owned()).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Escapes text for XML and HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
