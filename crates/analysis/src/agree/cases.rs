//! What is compared: a problem for each ladder, or two, that the simulator counts in seconds.

use super::AgreeError;
use crate::profile::ProfileError;
use crate::profile::plan::Given;
use engine::Catalog;
use engine::options::Options;
use engine::registry::Ladder;
use engine::run::{Climb, Plan};

/// A ladder's problem, with one block for all its rungs or each one's own.
#[derive(Clone, Debug)]
pub struct Case {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The options that are given, as they are written.
    pub options: Vec<Given>,
    /// The block, where one is given.
    pub block: Option<[u32; 3]>,
}

/// A case of the table below: ladder, options, and the block where it is not each rung's own.
type Written = (
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<[u32; 3]>,
);

/// The cases that are compared where nothing else is asked for. A ladder without one has its default problem.
const WRITTEN: &[Written] = &[
    ("reduce", &[("n", "2^20")], Some([128, 1, 1])),
    ("reduce", &[("n", "2^20")], Some([512, 1, 1])),
    ("transpose", &[("rows", "1024"), ("cols", "1024")], None),
    // A multiple of no tile leaves threads over at both edges.
    ("transpose", &[("rows", "999"), ("cols", "1023")], None),
    ("matmul", &[("m", "256"), ("n", "256"), ("k", "256")], None),
    ("histogram", &[("n", "2^20")], None),
];

/// The cases of these ladders, of all for none, in the ladders' order. Where an option or a block is given, each
/// has the one case of it: the options of its first with the given ones in their place.
///
/// # Errors
/// A name that is no ladder's, an option that none of them has.
pub fn cases(
    catalog: &Catalog,
    names: &[String],
    given: &[Given],
    block: Option<[u32; 3]>,
) -> Result<Vec<Case>, AgreeError> {
    for name in names {
        catalog.ladder(name)?;
    }
    let is_named = |own: &&Ladder| names.is_empty() || names.iter().any(|name| name == own.name);
    let chosen: Vec<&'static Ladder> = catalog.ladders.iter().filter(is_named).collect();
    let has = |ladder: &Ladder, option: &str| ladder.options.iter().any(|own| own.name == option);
    for (option, _) in given {
        if !chosen.iter().any(|ladder| has(ladder, option)) {
            let with = catalog.ladders.iter().filter(|ladder| has(ladder, option));
            return Err(AgreeError::Profile(ProfileError::OptionOfOthers {
                option: (*option).to_owned(),
                has: with.map(|ladder| ladder.name).collect(),
                chosen: chosen.iter().map(|ladder| ladder.name).collect(),
            }));
        }
    }
    let mut cases = Vec::new();
    for ladder in chosen {
        let mut own = of(ladder);
        let given: Vec<_> = given.iter().filter(|(name, _)| has(ladder, name)).collect();
        if !given.is_empty() || block.is_some() {
            own.truncate(1);
            for case in &mut own {
                case.block = block;
                for (name, value) in &given {
                    case.options.retain(|(old, _)| old != name);
                    case.options.push((name, value.clone()));
                }
            }
        }
        cases.extend(own);
    }
    Ok(cases)
}

/// A ladder's cases.
fn of(ladder: &'static Ladder) -> Vec<Case> {
    let case = |options: &[(&'static str, &str)], block| Case {
        ladder,
        options: options
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        block,
    };
    let written = WRITTEN.iter().filter(|(name, ..)| *name == ladder.name);
    let own: Vec<Case> = written
        .map(|(_, options, block)| case(options, *block))
        .collect();
    if own.is_empty() {
        vec![case(&[], None)]
    } else {
        own
    }
}

impl Case {
    /// Makes the problem and finds the launches of these rungs; of all for none.
    ///
    /// # Errors
    /// As [`Climb::plan`].
    pub fn plan(&self, rungs: &[String]) -> Result<Plan, AgreeError> {
        let mut options = Options::default();
        for (name, value) in &self.options {
            options = options.with(name, value);
        }
        let plan = Climb {
            ladder: self.ladder,
            rungs,
            options: &options,
            block: self.block,
            runs: None,
        }
        .plan()?;
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chosen(
        names: &[&str],
        given: &[Given],
        block: Option<[u32; 3]>,
    ) -> Result<Vec<Case>, AgreeError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        cases(&names, given, block)
    }

    #[test]
    fn every_rung_is_in_a_case() {
        assert!(
            WRITTEN
                .iter()
                .all(|(name, ..)| catalog.ladders.iter().any(|ladder| ladder.name == *name))
        );
        for ladder in catalog.ladders {
            let cases = chosen(&[ladder.name], &[], None).unwrap();
            let plans: Vec<Plan> = cases.iter().map(|case| case.plan(&[]).unwrap()).collect();
            let mut rungs = plans.iter().flat_map(Plan::rungs).map(|rung| rung.name);
            let all: Vec<&str> = rungs.by_ref().collect();
            for rung in ladder.rungs {
                assert!(all.contains(&rung.name), "{}", rung.name);
            }
        }
        assert_eq!(chosen(&[], &[], None).unwrap().len(), 7);
    }

    #[test]
    fn what_is_given_makes_one_case() {
        let given = [("n", "4k".to_owned()), ("op", "max".to_owned())];
        let cases = chosen(&["reduce"], &given, None).unwrap();
        assert_eq!((cases.len(), cases[0].block), (1, None));
        assert_eq!(cases[0].options, given);
        let cases = chosen(&["transpose"], &[("rows", "33".to_owned())], None).unwrap();
        let options: Vec<String> = cases[0]
            .options
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
