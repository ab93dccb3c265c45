//! What directives are resolved with.

use std::collections::BTreeMap;

use crate::Destination;
use crate::command::Commands;
use crate::record::Results;

/// What directives are resolved with.
pub(crate) struct Context<'a> {
    /// The chapter's file, from the repository's root.
    pub file: &'a str,
    pub commands: &'a Commands,
    pub results: &'a Results,
    /// The files that stand beside the pages; directives add to them.
    pub files: &'a mut BTreeMap<String, String>,
    pub destination: Destination,
}
