//! A table between two markers of a file.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

/// A file whose table could not be replaced. It is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot update {path}: {why}")]
pub struct DocumentError {
    /// The file.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// The marker before a ladder's table.
pub fn begin(ladder: &str) -> String {
    format!("<!-- ladder:{ladder}:begin -->")
}

/// The marker after a ladder's table.
pub fn end(ladder: &str) -> String {
    format!("<!-- ladder:{ladder}:end -->")
}

/// What lies between a ladder's markers in a text. `None` unless both are there, once each and in order.
pub fn body<'a>(text: &'a str, ladder: &str) -> Option<&'a str> {
    between(text, ladder).ok().map(|range| &text[range])
}

/// Whether `path` can be rewritten: asked before anything is measured for it.
///
/// # Errors
/// [`DocumentError`] for a file that cannot be read, or without its markers once each and in order.
pub fn check(path: &Path, ladder: &str) -> Result<(), DocumentError> {
    let (text, _) = read(path)?;
    between(&text, ladder)
        .map(drop)
        .map_err(|why| rewrite(path, why))
}

/// Puts `body` between the ladder's markers in `path` and leaves every other byte as it is. The file is
/// replaced in one step, and not at all if it holds `body` already.
///
/// # Errors
/// As [`check`], and for a file that cannot be replaced. The file is untouched then.
pub fn update(path: &Path, ladder: &str, body: &str) -> Result<(), DocumentError> {
    let (text, permissions) = read(path)?;
    let range = between(&text, ladder).map_err(|why| rewrite(path, why))?;
    let newline = if text[range.start..].starts_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut block = String::from(newline);
    for line in body.trim_end().lines() {
        block += line;
        block += newline;
    }
    if text[range.clone()] == block {
        return Ok(());
    }
    let io = |error: std::io::Error| rewrite(path, error.to_string());
    // Beside the target, or beside what a link points to, so that the rename stays on one file system.
    let target = fs::canonicalize(path).map_err(io)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    for part in [&text[..range.start], &block, &text[range.end..]] {
        file.write_all(part.as_bytes()).map_err(io)?;
    }
    file.as_file().set_permissions(permissions).map_err(io)?;
    file.persist(&target).map_err(|error| io(error.error))?;
    Ok(())
}

fn read(path: &Path) -> Result<(String, fs::Permissions), DocumentError> {
    let io = |error: std::io::Error| rewrite(path, error.to_string());
    let permissions = fs::metadata(path).map_err(io)?.permissions();
    Ok((fs::read_to_string(path).map_err(io)?, permissions))
}

/// What lies between the markers: from behind the first to before the last.
fn between(text: &str, ladder: &str) -> Result<Range<usize>, String> {
    let (begin, end) = (begin(ladder), end(ladder));
    let start = only(text, &begin)? + begin.len();
    let stop = only(text, &end)?;
    if stop < start {
        return Err(format!("`{end}` stands before `{begin}`; exchange them"));
    }
    Ok(start..stop)
}

fn only(text: &str, marker: &str) -> Result<usize, String> {
    let mut places = text.match_indices(marker).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(format!(
            "it has no line `{marker}`; add one where the table shall be"
        )),
        (Some(_), Some(_)) => Err(format!("it has `{marker}` more than once; keep one")),
    }
}

fn rewrite(path: &Path, why: impl Into<String>) -> DocumentError {
    DocumentError {
        path: path.display().to_string(),
        why: why.into(),
    }
}
