//! The optimization checklist: its data, and that every pair of rungs shows what it is there for.

use crate::common::program::{assert_has, without_device};
use crate::common::{Fake, Fault};
use analysis::checklist::{measure, pair_selection};
use host::device::Sim;
use host::{CATALOG, DeviceProperties, KERNELS, ladder};
use profile::checklist::{Better, Optimization, entries, gain};

/// The checklist's order.
const ORDER: [&str; 7] =
    ["occupancy", "coalescing", "bank conflicts", "divergence", "tiling", "privatization", "coarsening"];

#[test]
fn each_optimization_has_an_entry_in_the_checklists_order() {
    let order = entries().iter().map(|entry| entry.optimization.to_string());
    assert!(order.eq(ORDER));
    for entry in entries() {
        let name = entry.optimization.to_string();
        assert_eq!(entry.optimization.entry().optimization, entry.optimization);
        assert_eq!(serde_json::to_value(entry.optimization).unwrap(), *name);
        assert!(!entry.compute.is_empty(), "{name}");
        // Divergence is a matter of the cores alone.
        assert_eq!(entry.memory.is_empty(), name == "divergence", "{name}");
        assert!(!entry.strategies.is_empty() && !entry.pairs.is_empty());
    }
}

#[test]
fn every_named_rung_exists_and_can_be_launched() {
    for pair in entries().iter().flat_map(|entry| &entry.pairs) {
        let ladder = ladder(&pair.ladder).unwrap();
        let options = pair_selection(pair, &CATALOG).unwrap().options();
        let problem = ladder.problem(&options).unwrap();
        for (name, value) in &pair.options {
            assert_eq!(options.get(name).unwrap().to_string(), *value);
        }
        for rung in [&pair.before, &pair.after] {
            let rung = ladder.rung(rung).unwrap();
            ladder.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
        }
        assert!(!pair.gains.is_empty());
        assert!(pair.gains.iter().all(|name| gain(name).is_some()));
    }
}

#[test]
fn every_pair_gains_what_it_says() {
    let mut sim = Sim::open(&KERNELS, 0).unwrap();
    let mut heard = Vec::new();
    let all = measure(&CATALOG, &mut sim, |pair| {
        heard.push((&pair.before, &pair.after));
    })
    .unwrap();
    assert_eq!(heard.len(), all.len());
    for measured in &all {
        for numbers in &measured.gains {
            assert!(
                numbers.is_gain(),
                "{} -> {}: {}: {} -> {}",
                measured.pair.before,
                measured.pair.after,
                numbers.what,
                numbers.before,
                numbers.after
            );
        }
    }
}

#[test]
fn what_the_second_rung_is_for_is_found_from_the_first() {
    let tiling = Optimization::Tiling.entry();
    let pair = tiling.pair("matmul", "matmul_tiled").unwrap();
    assert_eq!(pair.after, "matmul_register_tile");
    assert!(tiling.pair("matmul", "matmul_register_tile").is_none());
    assert!(tiling.pair("reduce", "matmul_tiled").is_none());
}

#[test]
fn less_or_more_is_better() {
    assert!(Better::Less.is_gain(2.0, 1.0) && !Better::Less.is_gain(1.0, 1.0));
    assert!(Better::More.is_gain(1.0, 2.0) && !Better::More.is_gain(1.0, 1.0));
}

#[test]
fn a_wrong_result_is_not_a_gain() {
    let mut device = Fake::new(Some(Fault::WrongSum("reduce_smem")));
    let error = measure(&CATALOG, &mut device, |_| ()).unwrap_err();
    assert!(error.is_failure());
    let text = error.to_string();
    assert!(text.starts_with("the device failed while measuring the checklist: reduce_smem_128<<<512"), "{text}");
    assert_eq!(device.allocated(), 0);
}

#[test]
fn the_table_and_json_have_each_pair() {
    // No other device is opened than the one that counts.
    let (text, printed) =
        (without_device("why --checklist --all").printed(), without_device("why --checklist --json").json());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let entries = printed.as_array().unwrap();
    assert_eq!(entries.len(), profile::checklist::entries().len());
    for (entry, described) in entries.iter().zip(profile::checklist::entries()) {
        assert_eq!(entry["optimization"], described.optimization.to_string());
        assert_eq!(entry["pairs"].as_array().unwrap().len(), described.pairs.len());
        assert_eq!(entry["strategies"].as_array().unwrap().len(), described.strategies.len());
        for pair in &described.pairs {
            assert_has(&text, &[&format!(" {} → {}, ", pair.before, pair.after)]);
            assert!(pair.gains.iter().all(|gain| text.contains(gain)), "{:?}: {text}", pair.gains);
        }
    }
    // The counts in the book: 32 sectors per store, and 4.
    let pair = &entries[1]["pairs"][0];
    assert_eq!([&pair["before"], &pair["after"]], ["transpose_naive", "transpose_smem"]);
    assert_eq!(pair["options"]["rows"], "256");
    let stores = serde_json::json!({"what": "sectors per store", "better": "less", "before": 32.0, "after": 4.0});
    assert_eq!(pair["metrics"][0], stores);
    assert!(entries[3]["memory"].is_null());
}
