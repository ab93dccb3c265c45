//! What an H200 answered, `simt` answers too.
#![allow(clippy::unwrap_used, reason = "a test")]

use difftest::compare::differences;
use difftest::generate::{LANES, instances, module};
use difftest::record::Record;
use difftest::sim;

const RECORDED: &[u8] = include_bytes!("../fixtures/h200.bin");

#[test]
fn every_recorded_answer_is_simts_too() {
    let (record, instances) = Record::from_bytes(RECORDED).unwrap();
    assert!(
        instances.len() * LANES > 100_000,
        "{} instances of {LANES} lanes",
        instances.len()
    );
    let results = sim::run(&module(&instances), &instances).unwrap();
    let found = differences(&instances, &record.results, &results);
    assert!(
        found.is_empty(),
        "{} differ, first {}",
        found.len(),
        found[0]
    );
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (record, instances) = Record::from_bytes(RECORDED).unwrap();
    let mut results = record.results.clone();
    results[17] ^= 1;
    let found = differences(&instances, &record.results, &results);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(&instances[0].text()), "{}", found[0]);
}

#[test]
fn records_survive_being_written() {
    let (record, instances) = Record::from_bytes(RECORDED).unwrap();
    assert_eq!(record.to_bytes(), RECORDED);
    assert_eq!(
        instances.len(),
        self::instances(record.seed, record.rounds).len()
    );
    assert!(Record::from_bytes(&RECORDED[..1000]).is_err());
    assert!(Record::from_bytes(b"something else\n").is_err());
    assert!(Record::from_bytes(b"").is_err());
}
