//! Text for pages and terminals.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Text in lines of at most `width` columns, broken between words. Line breaks are kept. The continuation of a line has
/// the indentation of that line, and two blanks more in an item of a list. A longer word has a line to itself.
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

/// Text as XML and HTML have it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
