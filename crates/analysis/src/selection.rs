//! Selections of rungs that files describe.

use std::collections::BTreeMap;

use engine::registry::Ladder;
use engine::selection::Selection;

/// The rungs of these names, or all when none is named, with the options of a file that the ladder has.
pub(crate) fn selection(ladder: &'static Ladder, named: Vec<String>, options: &BTreeMap<String, String>) -> Selection {
    let declared = ladder.options.iter();
    let given = declared.filter_map(|own| Some((own.name, options.get(own.name)?.clone())));
    Selection { ladder, whole: named.is_empty(), named, given: given.collect() }
}
