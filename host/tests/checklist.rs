//! The optimization checklist: its data, and that every pair of rungs shows what it is there for.

use crate::common::program::on_none;
use crate::common::{Fake, Fault};
use analysis::checklist::{self, Better, Optimization, entries, gain, measure};
use host::device::Sim;
use host::{CATALOG, KERNELS, ladder};

/// The checklist's order.
const ORDER: &str = "occupancy coalescing divergence tiling privatization coarsening";

#[test]
fn each_optimization_has_an_entry_in_the_checklists_order() {
    let order = entries().iter().map(|entry| entry.optimization.to_string());
    assert!(order.eq(ORDER.split(' ')));
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
        let options = pair.selection(&CATALOG).unwrap().options();
        let problem = ladder.problem(&options).unwrap();
        for (name, value) in &pair.options {
            assert_eq!(options.get(name).unwrap().to_string(), *value);
        }
        for rung in [&pair.before, &pair.after] {
            let rung = ladder.rung(rung).unwrap();
            ladder.launch(rung, &*problem, None).unwrap();
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
fn a_wrong_result_is_no_gain() {
    let mut device = Fake::new(Some(Fault::WrongSum("reduce_shfl")));
    let error = measure(&CATALOG, &mut device, |_| ()).unwrap_err();
    assert!(error.is_failure());
    let text = error.to_string();
    assert!(text.starts_with("the device failed while measuring the checklist: reduce_shfl_128<<<512"), "{text}");
    assert_eq!(device.allocated(), 0);
}

#[test]
fn the_table_has_a_row_for_each_optimization_and_each_pair() {
    // No other device is opened than the one that counts.
    let out = on_none("checklist").printed();
    let (optimizations, rungs) = out.split_once("\nthe rungs that show it\n").unwrap();
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_matches('│');
        inner.split('┆').map(|cell| cell.trim().to_owned()).collect()
    };
    // Of the rows' first lines, which alone have something in the first cell.
    let rows = |table: &str| -> Vec<Vec<String>> {
        let lines = table.lines().filter(|line| line.starts_with('│'));
        lines.map(cells).filter(|row| !row[0].is_empty()).collect()
    };
    let (header, entries) = (&rows(optimizations)[0], &rows(optimizations)[1..]);
    assert_eq!(header, &["optimization", "for the cores", "for the memory", "how"]);
    let names: Vec<&str> = entries.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names.join(" "), ORDER);
    // Divergence gains nothing for the memory.
    assert_eq!(entries[2][2], "–");
    let named: Vec<String> = rows(rungs)[1..].iter().map(|row| row[0].clone()).collect();
    assert_eq!(named, names);
    for pair in checklist::entries().iter().flat_map(|entry| &entry.pairs) {
        for part in [&format!(" {} ", pair.before), &format!("→ {} ", pair.after)] {
            assert!(rungs.contains(part), "{part}: {rungs}");
        }
        for gain in &pair.gains {
            assert!(rungs.contains(gain), "{gain}: {rungs}");
        }
    }
}

#[test]
fn json_has_the_numbers_before_and_after() {
    let printed = on_none("checklist --json").json();
    let entries = printed.as_array().unwrap();
    assert_eq!(entries.len(), checklist::entries().len());
    assert!(entries[2]["memory"].is_null());
    let coalescing = &entries[1];
    assert_eq!(coalescing["optimization"], "coalescing");
    let pair = &coalescing["pairs"][0];
    let rungs = [&pair["ladder"], &pair["before"], &pair["after"]];
    assert_eq!(rungs, ["transpose", "transpose_naive", "transpose_smem"]);
    assert_eq!(pair["options"]["rows"], "256");
    // The book's own counts: 32 sectors a store, and 4.
    let stores = &pair["metrics"][0];
    assert_eq!([&stores["what"], &stores["better"]], ["sectors a store", "less"]);
    assert_eq!([&stores["before"], &stores["after"]], [32.0, 4.0]);
    for (entry, own) in entries.iter().zip(checklist::entries()) {
        assert_eq!(entry["pairs"].as_array().unwrap().len(), own.pairs.len());
        assert_eq!(entry["strategies"].as_array().unwrap().len(), own.strategies.len());
    }
}
