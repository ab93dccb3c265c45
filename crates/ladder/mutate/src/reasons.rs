//! The mutants that are known to remain unnoticed, each with the reason: a file of TOML.
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

/// Why mutants of one kind remain unnoticed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The rung, in which `*` stands for any characters.
    pub rung: String,
    /// The [mutation](crate::mutations::Mutation), in which `*` stands for any characters.
    pub mutation: String,
    /// The instruction's text, with single blanks; `*` stands for any characters, as for the numbers of registers.
    pub instruction: String,
    /// What was done, as [`Edit::what`](crate::mutations::Edit) says it; anything where there is none.
    #[serde(default = "anything")]
    pub edit: String,
    /// Which of the kernel's instructions with this text it is about, from 0 on; about all where there is none.
    pub occurrences: Option<Vec<usize>>,
    /// Whether the changed kernel means the same, so that there is nothing to notice.
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
    /// Returns whether it is about this mutant of a kernel.
    #[must_use]
    pub fn is_about(&self, kernel: &Kernel, mutant: &Mutant) -> bool {
        matches(&self.rung, kernel.rung.name)
            && matches(&self.mutation, mutant.mutation.name)
            && matches(&self.instruction, &mutant.instruction)
            && matches(&self.edit, &mutant.edit.what)
            && self.occurrences.as_ref().is_none_or(|own| own.contains(&mutant.occurrence))
    }
}

/// Reads a file of reasons.
///
/// # Errors
/// Returns [`Error::File`] when it cannot be read, or is not such a file.
pub fn read(path: &Path) -> Result<Vec<Reason>, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    let reasons: Reasons = toml::from_str(&text).map_err(|error| Error::file("read", path, error))?;
    Ok(reasons.unnoticed)
}

/// Returns whether a text has the form of a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = text.split_once(part) else { return false };
        text = behind;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("setp.ge.u32 *, *, 3;", "setp.ge.u32 %p1, %r2, 3;"));
        assert!(matches("*", "") && matches("a*", "a") && matches("*b*", "abc") && matches("abc", "abc"));
        assert!(!matches("abc", "abcd") && !matches("a*c", "ab") && !matches("ab*bc", "abc"));
    }
}
