//! Checks that `simt` gives the same answers as an H100 and an H200.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::LazyLock;

use difftest::compare::differences;
use difftest::plan::{Plan, Set};
use difftest::record::Record;
use difftest::sim;

const RECORDED: &[u8] = include_bytes!("../fixtures/h100.bin");

/// The parsed record. It is parsed once, because generating its plan takes seconds.
static READ: LazyLock<(Record, Plan)> = LazyLock::new(|| Record::from_bytes(RECORDED).unwrap());

/// Checks all records, of instructions on values and on matrices.
#[test]
fn simt_gives_every_recorded_answer() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let (record, plan) = Record::from_bytes(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let least = if record.set == Set::Values { 100_000 } else { 10_000 };
        assert!(plan.results() > least, "{} answers", plan.results());
        let results = sim::run(&plan).unwrap();
        let found = differences(&plan, &record.results, &results);
        assert!(found.is_empty(), "{} differ, first {}", found.len(), found[0]);
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (record, plan) = &*READ;
    let mut results = record.results.clone();
    results[17] ^= 1;
    let found = differences(plan, &record.results, &results);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(&plan.answers[0].name), "{}", found[0]);
}

#[test]
fn records_round_trip() {
    let (record, plan) = &*READ;
    assert_eq!(record.to_bytes(), RECORDED);
    let again = Plan::new(record.set, record.seed, record.rounds);
    assert_eq!(plan.results(), again.results());
    assert!(Record::from_bytes(&RECORDED[..1000]).is_err());
    assert!(Record::from_bytes(b"something else\n").is_err());
    assert!(Record::from_bytes(b"").is_err());
}

/// Checks that `simt` runs every form of a matrix instruction, and that its answers can be recorded and read.
#[test]
fn matrices_are_multiplied_and_recorded() {
    let plan = Plan::new(Set::Matrices, 3, 1);
    let results = sim::run(&plan).unwrap();
    assert_eq!(results.len(), difftest::tiles::all().len());
    let record = Record { set: Set::Matrices, seed: 3, rounds: 1, origin: "simt".to_owned(), results };
    let mut bytes = record.to_bytes();
    assert_eq!(Record::from_bytes(&bytes).unwrap().0, record);
    *bytes.last_mut().unwrap() ^= 1;
    let (wrong, plan) = Record::from_bytes(&bytes).unwrap();
    let found = differences(&plan, &record.results, &wrong.results);
    assert_eq!(found.len(), 1, "{found:?}");
}
