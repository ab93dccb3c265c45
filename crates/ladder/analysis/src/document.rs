//! A table between two markers of a file.

use crate::Error;
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

/// The marker before a ladder's table.
pub fn begin(ladder: &str) -> String {
    format!("<!-- ladder:{ladder}:begin -->")
}

/// The marker after a ladder's table.
pub fn end(ladder: &str) -> String {
    format!("<!-- ladder:{ladder}:end -->")
}

/// The text between a ladder's markers. `None` unless both markers are there, once each and in order.
pub fn body<'a>(text: &'a str, ladder: &str) -> Option<&'a str> {
    between(text, ladder).ok().map(|range| &text[range])
}

/// Checks that `path` can be rewritten, before anything is measured for it.
///
/// # Errors
/// [`Error`] when the file cannot be read, or does not have the markers once each and in order.
pub fn check(path: &Path, ladder: &str) -> Result<(), Error> {
    let text = read(path)?;
    let range = between(&text, ladder);
    range.map(drop).map_err(|why| update_error(path, why))
}

/// Puts `body` between the ladder's markers in `path` and leaves every other byte as it is. The file is
/// replaced in one step, and not at all if it holds `body` already.
///
/// # Errors
/// [`Error`] when the file cannot be read or replaced, or does not have the markers once each and in order.
/// The file is then unchanged.
pub fn update(path: &Path, ladder: &str, body: &str) -> Result<(), Error> {
    let text = read(path)?;
    let range = between(&text, ladder).map_err(|why| update_error(path, why))?;
    let newline = if text[range.start..].starts_with("\r\n") { "\r\n" } else { "\n" };
    let mut block = String::from(newline);
    for line in body.trim_end().lines() {
        block += line;
        block += newline;
    }
    if text[range.clone()] == block {
        return Ok(());
    }
    let text = [&text[..range.start], &block, &text[range.end..]].concat();
    replace(path, &text).map_err(|error| update_error(path, error))
}

/// Writes a file atomically: it has either its old or its new contents. If the path is a symbolic link, its target is
/// written. Permissions are kept.
///
/// # Errors
/// When no temporary file can be written next to it, or when that file cannot be renamed.
pub fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = beside(&target)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(&target) {
        Ok(old) => file.as_file().set_permissions(old.permissions())?,
        // A temporary file is only readable by the user; a new file gets the user's default permissions.
        #[cfg(unix)]
        Err(_) => {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            file.as_file().set_permissions(permissions)?;
        }
        #[cfg(not(unix))]
        Err(_) => {}
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Makes sure that a file can be written, before anything is made for it.
///
/// # Errors
/// When no temporary file can be written next to it.
pub fn check_new(path: &Path) -> std::io::Result<()> {
    beside(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())).map(drop)
}

/// A temporary file in the folder of another one, so that renaming it stays on one file system.
fn beside(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| update_error(path, error))
}

/// The range between the markers.
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
        (None, _) => Err(format!("it has no line `{marker}`; add one where the table shall be")),
        (Some(_), Some(_)) => Err(format!("it has `{marker}` more than once; keep one")),
    }
}

fn update_error(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::file("update", path, why)
}
