//! The problems that are compared: one or two for each ladder. The simulator counts each of them in seconds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::Error;
use crate::selection::selection as selected;
use engine::Catalog;
use engine::selection::{ALL, OptionText, Selection, select_with};
use profile::counters::rows;

/// A problem of a ladder, with one block for all its rungs or each rung's default block.
#[derive(Clone, Debug)]
pub struct Case {
    /// The ladder and its options.
    pub selection: Selection,
    /// The block, if one was given.
    pub block: Option<[u32; 3]>,
}

/// A case of `cases.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultCase {
    ladder: String,
    options: BTreeMap<String, String>,
    block: Option<[u32; 3]>,
}

static DEFAULTS: LazyLock<Vec<DefaultCase>> = LazyLock::new(|| rows("cases.toml", include_str!("cases.toml")));

/// Returns the cases of these ladders in the ladders' order; without names, returns the cases of all ladders. If an
/// option or a block is given, each ladder has a single case: its first default case, in which the given options
/// replace the default ones.
///
/// # Errors
/// Returns [`Error::Engine`] when a name is not the name of a ladder, and when none of the ladders has a given option.
pub fn cases(
    catalog: &Catalog,
    names: &[String],
    given: &[OptionText],
    block: Option<[u32; 3]>,
) -> Result<Vec<Case>, Error> {
    for name in names.iter().filter(|name| *name != ALL) {
        catalog.ladder(name)?;
    }
    let mut cases = Vec::new();
    for selection in select_with(catalog, names, given)? {
        let ladder = selection.ladder;
        let of_ladder = DEFAULTS.iter().filter(|case| case.ladder == ladder.name);
        let mut defaults: Vec<&DefaultCase> = of_ladder.collect();
        let without = DefaultCase::default();
        if defaults.is_empty() {
            defaults.push(&without);
        }
        let is_given = !selection.given.is_empty() || block.is_some();
        if is_given {
            defaults.truncate(1);
        }
        for default in defaults {
            let mut case = Case {
                selection: selected(ladder, Vec::new(), &default.options),
                block: if is_given { block } else { default.block },
            };
            let options = &mut case.selection.given;
            options.retain(|(name, _)| selection.given.iter().all(|(given, _)| given != name));
            options.extend(selection.given.iter().cloned());
            cases.push(case);
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests;
