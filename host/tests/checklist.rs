//! The optimization checklist: its data, and that every pair of rungs shows what it is there for.

#![allow(clippy::unwrap_used)]

use host::checklist::{ENTRIES, Optimization, measure};
use host::device::Sim;
use host::{Options, ladder};

#[test]
fn each_optimization_has_an_entry_in_the_checklists_order() {
    let order: Vec<Optimization> = ENTRIES.iter().map(|entry| entry.optimization).collect();
    assert_eq!(order, Optimization::ALL);
    for entry in ENTRIES {
        let name = entry.optimization.name();
        assert_eq!(entry.optimization.entry().optimization, entry.optimization);
        assert_eq!(serde_json::to_value(entry.optimization).unwrap(), name);
        assert!(!entry.compute.is_empty(), "{name}");
        // Divergence is a matter of the cores alone.
        assert_eq!(entry.memory.is_empty(), name == "divergence", "{name}");
        assert!(!entry.strategies.is_empty() && !entry.pairs.is_empty());
    }
}

#[test]
fn every_named_rung_exists_and_can_be_launched() {
    for pair in ENTRIES.iter().flat_map(|entry| entry.pairs) {
        let ladder = ladder(pair.ladder).unwrap();
        let options = pair
            .options
            .iter()
            .fold(Options::default(), |all, (name, value)| {
                all.with(name, value)
            });
        let problem = ladder.problem(&options).unwrap();
        for rung in [pair.before, pair.after] {
            let rung = ladder.rung(rung).unwrap();
            ladder.launch(rung, &*problem, pair.block).unwrap();
        }
        assert!(!pair.metrics.is_empty());
    }
}

#[test]
fn every_pair_gains_what_it_says() {
    let mut sim = Sim::open(0).unwrap();
    let mut heard = Vec::new();
    let all = measure(&mut sim, |pair| heard.push((pair.before, pair.after))).unwrap();
    assert_eq!(heard.len(), all.len());
    for measured in &all {
        for numbers in &measured.gains {
            assert!(
                numbers.is_gain(),
                "{} -> {}: {}: {} -> {}",
                measured.pair.before,
                measured.pair.after,
                numbers.gain.what,
                numbers.before,
                numbers.after
            );
        }
    }
}
