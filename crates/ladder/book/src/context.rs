//! The data that directives use.

use std::collections::BTreeMap;

use engine::Rung;
use host::CATALOG;

use crate::Destination;
use crate::command::Commands;
use crate::record::Results;

/// The data that directives use.
pub(crate) struct Context<'a> {
    /// The chapter's file, relative to the repository's root.
    pub file: &'a str,
    pub commands: &'a Commands,
    pub results: &'a Results,
    /// The figures' files, to which directives add files.
    pub files: &'a mut BTreeMap<String, String>,
    pub destination: Destination,
}

/// Returns the rung with this name.
///
/// # Errors
/// Returns a message when no ladder has such a rung.
pub(crate) fn rung(name: &str) -> Result<&'static Rung, String> {
    let mut rungs = CATALOG.ladders.iter().flat_map(|ladder| ladder.rungs.iter());
    rungs.find(|rung| rung.name == name).ok_or_else(|| format!("no rung is named `{name}`"))
}
