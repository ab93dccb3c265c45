//! A TOML file of the mutants that are known to survive, each with the reason.
//!
//! ```toml
//! [[unnoticed]]
//! rung = "reduce_shfl"
//! mutation = "compare"
//! instruction = "setp.gt.u32 %p9, %r4, 3;"
//! equivalent = true
//! reason = "lanes from 4 on add zeros"
//! ```

use std::path::Path;

use serde::Deserialize;

use crate::Error;
use crate::kernel::{Kernel, Mutant};

/// The reason why some mutants survive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The name of the rung; `*` matches any characters.
    pub rung: String,
    /// The name of the [mutation](crate::mutations::Mutation); `*` matches any characters.
    pub mutation: String,
    /// The instruction's text, with single blanks; `*` matches any characters, for example register numbers.
    pub instruction: String,
    /// The description of the edit, as in [`Edit::what`](crate::mutations::Edit). If the description is absent, the
    /// reason applies to any edit.
    #[serde(default = "anything")]
    pub edit: String,
    /// Indices among the kernel's instructions with this text. If the indices are absent, the reason applies to all of
    /// these instructions.
    pub occurrences: Option<Vec<usize>>,
    /// Whether the mutants are equivalent to the kernel, so that no check can detect them.
    pub equivalent: bool,
    /// The reason, in words.
    pub reason: String,
}

fn anything() -> String {
    "*".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasons {
    #[serde(default)]
    unnoticed: Vec<Reason>,
}

impl Reason {
    /// Returns whether the reason applies to this mutant of the kernel.
    #[must_use]
    pub fn is_about(&self, kernel: &Kernel, mutant: &Mutant) -> bool {
        matches(&self.rung, kernel.rung.name)
            && matches(&self.mutation, mutant.mutation.name)
            && matches(&self.instruction, &mutant.instruction)
            && matches(&self.edit, &mutant.edit.what)
            && self.occurrences.as_ref().is_none_or(|occurrences| occurrences.contains(&mutant.occurrence))
    }
}

/// Reads a file of reasons.
///
/// # Errors
/// Returns [`Error::File`] when the file cannot be read or has another format.
pub fn read(path: &Path) -> Result<Vec<Reason>, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    let reasons: Reasons = toml::from_str(&text).map_err(|error| Error::file("read", path, error))?;
    Ok(reasons.unnoticed)
}

/// Returns whether a text matches a pattern, in which `*` matches any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, remainder)) = text.split_once(part) else { return false };
        text = remainder;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_any_characters() {
        assert!(matches("setp.ge.u32 *, *, 3;", "setp.ge.u32 %p1, %r2, 3;"));
        assert!(matches("*", "") && matches("a*", "a") && matches("*b*", "abc") && matches("abc", "abc"));
        assert!(!matches("abc", "abcd") && !matches("a*c", "ab") && !matches("ab*bc", "abc"));
    }
}
