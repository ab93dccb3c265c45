//! Selections of rungs that files describe, and selections with smaller problems.

use std::collections::BTreeMap;

use crate::Error;
use engine::options::{Kind, Value};
use engine::problem::Problem;
use engine::registry::Ladder;
use engine::selection::Selection;

/// Returns the named rungs, or all rungs if none is named, with the subset of `options` that the ladder has.
pub(crate) fn selection(ladder: &'static Ladder, named: Vec<String>, options: &BTreeMap<String, String>) -> Selection {
    let declared = ladder.options.iter();
    let given = declared.filter_map(|option| Some((option.name, options.get(option.name)?.clone())));
    Selection { ladder, whole: named.is_empty(), named, given: given.collect() }
}

/// Returns whether the user gave sizes for a selection.
pub fn has_sizes(selection: &Selection) -> bool {
    let is_size = |name: &str| {
        let option = selection.ladder.options.iter().find(|option| option.name == name);
        option.is_some_and(|option| matches!(option.kind, Kind::Size | Kind::SizeOr(_)))
    };
    selection.given.iter().any(|(name, _)| is_size(name))
}

/// Shrinks the sizes of a selection. Afterwards, its problem has at most about `share` times the bytes of `problem`. The
/// sizes are powers of two, so that rows start at sector boundaries.
///
/// # Errors
/// Returns [`Error::Engine`] when the ladder does not accept the new sizes.
pub fn shrink(selection: &mut Selection, problem: &dyn Problem, share: f64) -> Result<(), Error> {
    let Some(sizes) = problem.smaller(share) else { return Ok(()) };
    for option in selection.ladder.options {
        let Some(value) = sizes.get(option.name) else { continue };
        if let Value::Size(size) = option.parse(&value.to_string())? {
            let size = 1u64 << size.max(1).ilog2();
            selection.given.push((option.name, size.to_string()));
        }
    }
    Ok(())
}
