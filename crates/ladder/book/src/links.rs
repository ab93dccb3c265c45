//! Resolves links to chapters, to documents of `docs`, and to files of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::FOLDER;
use crate::fault::at;

/// Returns the Markdown extensions that mdBook enables.
fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A link `[words](target)` in a text.
struct Link<'t> {
    range: Range<usize>,
    words: &'t str,
    target: String,
}

fn links(text: &str) -> Vec<Link<'_>> {
    let events = Parser::new_ext(text, options()).into_offset_iter();
    let links = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. }) => {
            let whole = &text[range.clone()];
            let words = whole.strip_prefix('[')?.rsplit_once("](")?.0;
            Some(Link { range, words, target: dest_url.into_string() })
        }
        _ => None,
    });
    links.collect()
}

/// Returns the path and the fragment of a link to a file, or `None` for links to other sites or within the page.
fn file_of(target: &str) -> Option<(&str, &str)> {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:") || target.starts_with('#');
    (!is_elsewhere).then(|| target.split_once('#').unwrap_or((target, "")))
}

/// Returns the path of a link in `file`, relative to the repository's root.
fn from_root(file: &str, path: &str) -> String {
    let mut whole = PathBuf::new();
    for part in Path::new(file).parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Normal(part) => whole.push(part),
            _ => {}
        }
    }
    whole.display().to_string()
}

/// Replaces the links in a text, from the last to the first.
fn replaced<'t>(text: &'t str, mut replacement: impl FnMut(&Link<'t>) -> Option<String>) -> String {
    let mut whole = text.to_owned();
    for link in links(text).iter().rev() {
        if let Some(new) = replacement(link) {
            whole.replace_range(link.range.clone(), &new);
        }
    }
    whole
}

/// Returns the text of a document, with links relative to the book's chapters.
pub(crate) fn from_the_book(document: &str, text: &str) -> String {
    replaced(text, |link| {
        let (path, fragment) = file_of(&link.target)?;
        let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        Some(format!("[{}](../../../{}{fragment})", link.words, from_root(document, path)))
    })
}

/// Returns the chapter's text with links to the site's pages: to chapters, and to documents that are chapters. Other
/// files of the repository are not on the site, so the text only names these files. A link to a missing file is a
/// fault.
pub(crate) fn resolved(
    file: &str,
    text: &str,
    chapters: &BTreeSet<String>,
    documents: &BTreeMap<String, String>,
    faults: &mut Vec<String>,
) -> String {
    let folder = format!("{FOLDER}/src/");
    replaced(text, |link| {
        let (path, fragment) = file_of(&link.target)?;
        let path = from_root(file, path);
        let chapter = path.strip_prefix(&folder).filter(|name| chapters.contains(*name));
        if let Some(chapter) = chapter.or(documents.get(&path).map(String::as_str)) {
            let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
            return Some(format!("[{}]({chapter}{fragment})", link.words));
        }
        if !Path::new(&path).exists() {
            let line = text[..link.range.start].lines().count().max(1);
            faults.push(at(file, format_args!("line {line} of the finished text: there is no {}", link.target)));
            return None;
        }
        let words = link.words.trim_matches('`');
        let is_name = path.ends_with(words.trim_end_matches('/'));
        Some(if is_name { format!("`{path}`") } else { format!("{} (`{path}`)", link.words) })
    })
}

/// Checks that each link's fragment is a heading of the target page.
pub(crate) fn anchors(chapters: &BTreeMap<String, String>, faults: &mut Vec<String>) {
    let headings: BTreeMap<&str, BTreeSet<String>> =
        chapters.iter().map(|(name, text)| (name.as_str(), headings(text))).collect();
    for (name, text) in chapters {
        for link in links(text) {
            let Some((path, fragment)) = link.target.split_once('#').filter(|(path, _)| !path.contains(':')) else {
                continue;
            };
            let page = if path.is_empty() { name.as_str() } else { path };
            if headings.get(page).is_some_and(|anchors| !anchors.contains(fragment)) {
                faults.push(at(format_args!("{FOLDER}/src/{name}"), format_args!("{page} has no heading #{fragment}")));
            }
        }
    }
}

/// Returns the anchors of a page's headings, in mdBook's format.
fn headings(text: &str) -> BTreeSet<String> {
    let (mut found, mut heading): (BTreeSet<String>, Option<String>) = (BTreeSet::new(), None);
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => found.extend(heading.take().map(|words| anchor(&words))),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let character = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.trim().chars().filter_map(character).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{anchors, from_the_book, resolved};

    #[test]
    fn links_lead_to_pages_or_name_files() {
        let chapters = BTreeSet::from(["warps.md".to_owned()]);
        let documents = BTreeMap::from([("docs/times.md".to_owned(), "a-times.md".to_owned())]);
        let mut faults = Vec::new();
        let text = "[a](warps.md#b) [b](../../times.md) [`Cargo.toml`](../../../Cargo.toml) [this](../../../Cargo.toml) [c](https://c) [d](no.md)";
        let found = resolved("docs/book/src/x.md", text, &chapters, &documents, &mut faults);
        // Cargo runs the tests of a crate in its folder, which contains a Cargo.toml.
        assert_eq!(
            found,
            "[a](warps.md#b) [b](a-times.md) `Cargo.toml` [this](../../../Cargo.toml) (`Cargo.toml`) [c](https://c) [d](no.md)"
                .replace("[this](../../../Cargo.toml)", "this")
        );
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(
            from_the_book("docs/a.md", "[x](times.md) [y](../README.md#z)"),
            "[x](../../../docs/times.md) [y](../../../README.md#z)"
        );
    }

    #[test]
    fn fragments_are_headings() {
        let chapters = [("a.md", "# A `b`, c\n\n[x](b.md#d-e) [y](#a-b-c) [z](b.md#f)\n"), ("b.md", "## D: E\n")];
        let chapters = chapters.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let mut faults = Vec::new();
        anchors(&chapters, &mut faults);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("#f"), "{faults:?}");
    }
}
