//! The problems that are compared: one or two for each ladder, which the simulator counts in seconds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::AgreeError;
use crate::counters::embedded;
use crate::profile::plan;
use engine::Catalog;
use engine::registry::Ladder;
use engine::run::Plan;
use engine::selection::{ALL, OptionText, Selection, select_with};

/// A problem of a ladder, with one block for all its rungs or each rung's default block.
#[derive(Clone, Debug)]
pub struct Case {
    /// The ladder and its options.
    pub selection: Selection,
    /// The block, when one was given.
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

static DEFAULTS: LazyLock<Vec<DefaultCase>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        case: Vec<DefaultCase>,
    }
    embedded::<File>("cases.toml", include_str!("cases.toml")).case
});

/// The cases of these ladders in the ladders' order; no names select all ladders. When an option or a block is given,
/// each ladder has a single case: the options of its first default case, replaced by the given ones.
///
/// # Errors
/// [`AgreeError::Engine`] when a name is not a ladder's, and when none of the ladders has an option.
pub fn cases(
    catalog: &Catalog,
    names: &[String],
    given: &[OptionText],
    block: Option<[u32; 3]>,
) -> Result<Vec<Case>, AgreeError> {
    for name in names.iter().filter(|name| *name != ALL) {
        catalog.ladder(name)?;
    }
    let mut cases = Vec::new();
    for selection in select_with(catalog, names, given)? {
        let mut own = of_ladder(selection.ladder);
        if !selection.given.is_empty() || block.is_some() {
            own.truncate(1);
            for case in &mut own {
                case.block = block;
                let options = &mut case.selection.given;
                options.retain(|(name, _)| selection.given.iter().all(|(own, _)| own != name));
                options.extend(selection.given.iter().cloned());
            }
        }
        cases.extend(own);
    }
    Ok(cases)
}

/// The cases of a ladder when no option is given.
fn of_ladder(ladder: &'static Ladder) -> Vec<Case> {
    let own = DEFAULTS.iter().filter(|case| case.ladder == ladder.name);
    let mut own: Vec<DefaultCase> = own.cloned().collect();
    if own.is_empty() {
        own.push(DefaultCase::default());
    }
    let case = |default: DefaultCase| {
        let declared = ladder.options.iter();
        let given = declared.filter_map(|option| {
            let value = default.options.get(option.name)?;
            Some((option.name, value.clone()))
        });
        Case {
            selection: Selection {
                ladder,
                whole: true,
                named: Vec::new(),
                given: given.collect(),
            },
            block: default.block,
        }
    };
    own.into_iter().map(case).collect()
}

impl Case {
    /// Makes the problem and finds the launches.
    ///
    /// # Errors
    /// [`AgreeError::Profile`] when the options or the block are not possible.
    pub fn plan(&self) -> Result<Plan, AgreeError> {
        Ok(plan(&self.selection, self.block)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use host::CATALOG;

    fn chosen(
        names: &[&str],
        given: &[OptionText],
        block: Option<[u32; 3]>,
    ) -> Result<Vec<Case>, AgreeError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        cases(&CATALOG, &names, given, block)
    }

    #[test]
    fn every_ladder_has_a_case_and_every_case_a_ladder() {
        for case in DEFAULTS.iter() {
            let ladder = CATALOG.ladder(&case.ladder).unwrap();
            let has = |name: &String| ladder.options.iter().any(|option| option.name == name);
            assert!(case.options.keys().all(has), "{case:?}");
        }
        for ladder in CATALOG.ladders {
            let cases = chosen(&[ladder.name], &[], None).unwrap();
            let plans: Vec<Plan> = cases.iter().map(|case| case.plan().unwrap()).collect();
            let rungs = plans.iter().flat_map(Plan::rungs).map(|rung| rung.name);
            let all: Vec<&str> = rungs.collect();
            for rung in ladder.rungs {
                assert!(all.contains(&rung.name), "{}", rung.name);
            }
        }
        let all = chosen(&[], &[], None).unwrap();
        assert!(all.len() >= CATALOG.ladders.len().max(DEFAULTS.len()));
    }

    #[test]
    fn what_is_given_makes_one_case() {
        let given = [("n", "4k".to_owned()), ("op", "max".to_owned())];
        let cases = chosen(&["reduce"], &given, None).unwrap();
        assert_eq!((cases.len(), cases[0].block), (1, None));
        assert_eq!(cases[0].selection.given, given);
        let cases = chosen(&["transpose"], &[("rows", "33".to_owned())], None).unwrap();
        let options: Vec<String> = cases[0]
            .selection
            .given
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            (cases.len(), options),
            (1, vec!["cols=1024".into(), "rows=33".into()])
        );
        let cases = chosen(&["reduce"], &[], Some([256, 1, 1])).unwrap();
        assert_eq!((cases.len(), cases[0].block), (1, Some([256, 1, 1])));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let error = chosen(&["redcue"], &[], None).unwrap_err().to_string();
        assert!(error.contains("did you mean `reduce`?"), "{error}");
        let given = [("rows", "3".to_owned())];
        let error = chosen(&["reduce"], &given, None).unwrap_err().to_string();
        assert!(
            error.contains("--rows is an option of transpose"),
            "{error}"
        );
    }
}
