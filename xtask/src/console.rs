//! Messages on the terminal: status lines, colors, and errors.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

/// An error: a message, a hint on how to fix it, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// 1 for a task that failed, 2 for an invalid request.
    pub(crate) code: u8,
}

/// The result of a task.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates the error of a task that failed, with exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, code: 1 }
    }

    /// Creates the error of an invalid request, with exit code 2.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(message) }
    }

    #[must_use]
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Creates the error of a file operation that failed: `verb` as in "cannot read".
    pub(crate) fn file(verb: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {verb} {}: {error}", path.display()))
    }

    /// Prints the error on standard error and returns the exit code for `main`.
    pub(crate) fn report(&self) -> ExitCode {
        let on = colored(&stderr());
        eprintln!("{}: {}", paint(on, BAD, "error"), self.message);
        if let Some(help) = &self.help {
            eprintln!("{}: {help}", paint(on, BOLD, "help"));
        }
        ExitCode::from(self.code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

/// The ANSI codes for success.
pub(crate) const GOOD: &str = "32";
/// The ANSI codes for errors.
pub(crate) const BAD: &str = "1;31";
/// The ANSI codes for emphasized text.
pub(crate) const BOLD: &str = "1";
const STATUS: &str = "1;32";

/// Returns whether to print colors on standard output.
pub(crate) fn colored_output() -> bool {
    colored(&stdout())
}

fn colored(stream: &impl IsTerminal) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").as_deref() == Some(OsStr::new("dumb"));
    stream.is_terminal() && !is_set("NO_COLOR") && !dumb
}

/// Returns the text in a style if `on` is set, and otherwise unchanged.
pub(crate) fn paint(on: bool, style: &str, text: &str) -> String {
    if on { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Prints a status line on standard error, like cargo's: a word in bold, and the details.
pub(crate) fn status(word: &str, rest: impl Display) {
    let word = format!("{word:>12}");
    eprintln!("{} {rest}", paint(colored(&stderr()), STATUS, &word));
}

/// Returns the known name that is nearest to `name`, if any is similar enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| match candidate.contains(&lower) {
            true => (1, candidate),
            false => (strsim::osa_distance(&lower, candidate), candidate),
        })
        .filter(|(changes, candidate)| changes * 3 <= candidate.len())
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::{nearest, paint};

    #[test]
    fn the_nearest_name() {
        let known = ["reduce_smem", "reduce_shfl", "transpose_naive"];
        assert_eq!(nearest("REDUCE_SHFL", known), Some("reduce_shfl"));
        assert_eq!(nearest("reduce_shlf", known), Some("reduce_shfl"));
        assert_eq!(nearest("shfl", known), Some("reduce_shfl"));
        assert_eq!(nearest("rnu", ["run", "test"]), Some("run"));
        assert_eq!(nearest("xyz", known), None);
    }

    #[test]
    fn colors_only_when_on() {
        assert_eq!(paint(false, "1", "text"), "text");
        assert_eq!(paint(true, "1", "text"), "\x1b[1mtext\x1b[0m");
    }
}
