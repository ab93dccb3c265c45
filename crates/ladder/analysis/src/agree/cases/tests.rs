#![allow(clippy::unwrap_used)]
use super::*;
use crate::profile::plan;
use engine::DeviceProperties;
use engine::run::Plan;
use host::CATALOG;

fn chosen(names: &[&str], given: &[OptionText], block: Option<[u32; 3]>) -> Result<Vec<Case>, Error> {
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
        let plan = |case: &Case| plan(&case.selection, case.block, DeviceProperties::default()).unwrap();
        let plans: Vec<Plan> = cases.iter().map(plan).collect();
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
fn given_options_and_blocks_make_one_case() {
    let given = [("n", "4k".to_owned()), ("op", "max".to_owned())];
    let cases = chosen(&["reduce"], &given, None).unwrap();
    assert_eq!((cases.len(), cases[0].block), (1, None));
    assert_eq!(cases[0].selection.given, given);
    let cases = chosen(&["transpose"], &[("rows", "33".to_owned())], None).unwrap();
    let options: Vec<String> = cases[0].selection.given.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!((cases.len(), options), (1, vec!["cols=1024".into(), "rows=33".into()]));
    let cases = chosen(&["reduce"], &[], Some([256, 1, 1])).unwrap();
    assert_eq!((cases.len(), cases[0].block), (1, Some([256, 1, 1])));
}

#[test]
fn unknown_names_and_options_are_refused() {
    let error = chosen(&["redcue"], &[], None).unwrap_err().to_string();
    assert!(error.contains("did you mean `reduce`?"), "{error}");
    let given = [("rows", "3".to_owned())];
    let error = chosen(&["reduce"], &given, None).unwrap_err().to_string();
    assert!(error.contains("--rows is an option of transpose"), "{error}");
}
