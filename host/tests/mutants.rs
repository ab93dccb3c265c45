//! A sample of the kernels' mutants. The ladders' checks catch each mutant, or mutants.toml explains why they cannot.

use std::collections::BTreeSet;
use std::path::Path;

use host::{CATALOG, selection};
use mutate::reasons::{self, Reason};
use mutate::{MutantVerdict, Plan};

/// The number of mutants in the sample. `cargo lab mutate` runs all of them.
const COUNT: usize = 12;

fn known() -> Vec<Reason> {
    reasons::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants.toml")).unwrap()
}

#[test]
fn the_checks_catch_a_sample_of_mutants() {
    let selected = selection::select(&CATALOG, &[]).unwrap();
    let plan = Plan::new(&CATALOG, &selected).unwrap().sample(COUNT, 17);
    assert_eq!(plan.count(), COUNT);
    let reasons = known();
    let outcomes = plan.run(&CATALOG, 2, None, &reasons, |_| {}).unwrap();
    assert_eq!(outcomes.len(), COUNT);
    for outcome in &outcomes {
        let (rung, mutation, instruction) =
            (outcome.kernel.rung.name, outcome.mutant.mutation.name, &outcome.mutant.instruction);
        assert!(!outcome.is_unexplained(), "{rung}, {mutation} at {instruction}: {:?}", outcome.verdict);
        assert!(
            !matches!(outcome.verdict, MutantVerdict::Refused { .. }),
            "{rung}, {mutation} at {instruction}: {:?}",
            outcome.verdict
        );
    }
    let rungs: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.kernel.rung.name).collect();
    let all: usize = CATALOG.ladders.iter().map(|ladder| ladder.rungs.len()).sum();
    assert_eq!(rungs.len(), all.min(COUNT));
    let caught = outcomes.iter().filter(|outcome| outcome.verdict.caught().is_some()).count();
    assert!(caught * 10 > COUNT * 7, "{caught} of {COUNT}");
}

#[test]
fn a_reason_names_a_mutation_and_says_why() {
    for Reason { mutation, reason, .. } in known() {
        assert!(mutation.contains('*') || mutate::mutations::named(&mutation).is_some(), "{mutation}");
        assert!(reason.len() > 10, "{reason}");
    }
}
