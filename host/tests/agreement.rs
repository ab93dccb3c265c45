//! The simulator's counters against Nsight Compute's, for every rung that was measured: what a GPU counted,
//! and what the simulator counted of the same PTX then (results/h100/agree.jsonl, by `cargo lab record -- agree`).
//! Here the simulator has to count the same again.
//!
//! Branches do not agree, and cannot: ncu counts SASS, in which ptxas has turned the short ones into
//! predicates. Those that part a warp are accounted for, one by one; of the others the PTX has more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::common::program::without_device;

use analysis::agree::class::{Class, explanations};
use analysis::agree::metrics::{BRANCHES, Rule, UNIFORM};
use analysis::agree::record::{ComparedRun, Comparison, Comparisons};
use analysis::agree::rounded;
use analysis::profile::on_sim;
use analysis::results;
use host::device::Sim;
use host::launch::Launch;
use host::{CATALOG, KERNELS};
use profile::counters::Numbers;

const RESULTS: &str = "results/h100/agree.jsonl";

/// What to do where the simulator is right and the results are old.
const REMEDY: &str = "where the new numbers are right, have them compared with a GPU's: on a machine that has one, \
                      `cargo lab record -- agree`";

/// The most data of a problem in bytes: larger ones take minutes to simulate.
const MOST_BYTES: u64 = 1 << 24;

static RECORD: LazyLock<Comparisons> = LazyLock::new(|| {
    let records = results::read(&root().join(RESULTS)).unwrap();
    let mut all = Comparisons::of_records(&records).unwrap();
    all.runs.retain(|run| run.plan(&CATALOG).unwrap().problem().facts().bytes <= MOST_BYTES);
    all
});

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the simulator counts now of the rungs of each run.
static COUNTED: LazyLock<Vec<Vec<(Launch, Numbers)>>> = LazyLock::new(|| RECORD.runs.iter().map(counted).collect());

fn counted(run: &ComparedRun) -> Vec<(Launch, Numbers)> {
    let plan = run.plan(&CATALOG).unwrap();
    let mut sim = Sim::open_as(&KERNELS, 0, run.request.capability).unwrap();
    let numbers = on_sim(&mut sim, &plan, |_| ()).unwrap();
    let launches = plan.launches().iter().map(|(_, launch)| launch.clone());
    launches.zip(numbers).collect()
}

/// Whether the simulator's number is still what it was. One that is not written was 0 or nothing.
fn is_unchanged(was: Option<&Comparison>, now: Option<f64>) -> bool {
    let was = was.and_then(|both| both.sim);
    was.unwrap_or(0.0) == now.map_or(0.0, rounded)
}

#[test]
fn the_simulator_repeats_its_recorded_counts() {
    assert!(!RECORD.runs.is_empty());
    let mut wrong = Vec::new();
    for (run, counted) in RECORD.runs.iter().zip(&*COUNTED) {
        assert_eq!(counted.len(), run.rungs.len());
        for (row, (launch, numbers)) in run.rungs.iter().zip(counted) {
            let place = format!("{}, {}", row.rung, run.case);
            if row.launch != launch.to_string() {
                wrong.push(format!("{place}: was {}, is {launch}", row.launch));
            }
            // How often a kernel looks whether others are ready is as it happens, on the simulator too, and every counter of
            // these looks differs: by much or, where most of what it counts is something else, by little.
            let waits = row.comparisons(run).any(|(_, both)| both.is_some_and(|both| both.class == Class::Waits));
            let repeats = row.comparisons(run).filter(|(metric, both)| {
                let is_exact = both.is_none_or(|both| both.class == Class::Exact);
                metric.rule != Rule::Information && (is_exact || !waits)
            });
            for (metric, was) in repeats {
                let now = metric.sim.of(&metric.name, numbers);
                if !is_unchanged(was, now) {
                    let of = |side: fn(&Comparison) -> Option<f64>| was.map_or(Some(0.0), side);
                    wrong.push(format!(
                        "{place}: {}: the simulator counted {:?}, now {now:?}; the GPU {:?}",
                        metric.name,
                        of(|both| both.sim),
                        of(|both| both.ncu),
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{REMEDY}", wrong.join("\n"));
}

#[test]
fn every_measured_rung_exists_and_the_others_are_listed() {
    for run in &RECORD.runs {
        for row in &run.rungs {
            let known = CATALOG.ladder(&run.ladder).unwrap().rung(&row.rung);
            assert!(
                known.is_ok(),
                "{} was measured and is not a rung any more: delete its lines in {RESULTS}",
                row.rung
            );
        }
    }
    let missing = RECORD.missing(&CATALOG);
    let count: usize = missing.iter().map(|(_, rungs)| rungs.len()).sum();
    eprintln!("{count} rungs are not measured yet: {missing:?}");
    let measured = RECORD.runs.iter().flat_map(|run| &run.rungs);
    let measured: BTreeSet<&str> = measured.map(|row| row.rung.as_str()).collect();
    let all: usize = CATALOG.ladders.iter().map(|ladder| ladder.rungs.len()).sum();
    assert_eq!(measured.len() + count, all);
}

#[test]
fn classes_follow_from_the_numbers() {
    for run in &RECORD.runs {
        for row in &run.rungs {
            for (metric, both) in row.comparisons(run) {
                let Some(both) = both else { continue };
                let place = format!("{}, {}: {}", row.rung, run.case, metric.name);
                match Class::of(metric.rule, both.sim, both.ncu) {
                    Some(class) => assert_eq!((both.class, both.why.len()), (class, 0), "{place}"),
                    None if both.why.is_empty() => {
                        assert_eq!(both.class, Class::Unexplained, "{place}");
                        assert!(explanations(metric, both.sim, both.ncu, &[]).is_empty());
                    }
                    None => {
                        assert!(matches!(both.class, Class::Explained | Class::Waits), "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_documents_show_the_recorded_results() {
    without_device(&format!("lab record --check --root {}", root().display())).printed();
}

/// The rungs whose branches are not accounted for: some have loops, which ptxas unrolls.
const NOT_ACCOUNTED_FOR: [&str; 5] =
    ["reduce_grid_stride", "reduce_vector", "reduce_one_launch", "reduce_atomic", "reduce_any"];

#[test]
fn branches_differ_by_those_that_ptxas_turned_into_predicates() {
    assert!(RECORD.runs.iter().any(|run| run.ladder == "reduce"));
    for (run, counted) in RECORD.runs.iter().zip(&*COUNTED).filter(|(run, _)| run.ladder == "reduce") {
        for (row, (launch, numbers)) in run.rungs.iter().zip(counted) {
            if NOT_ACCOUNTED_FOR.contains(&row.rung.as_str()) {
                continue;
            }
            let place = format!("{}, {}", row.rung, run.case);
            let sim = |name: &str| *numbers.get(name).unwrap();
            let ncu = |name: &str| row.metrics.get(name).map_or(0.0, |both| both.ncu.unwrap());
            let branches = sim(BRANCHES);
            let parted = sim("smsp__sass_branch_targets_threads_divergent.sum");
            let ncu_parted = ncu(BRANCHES) - ncu(UNIFORM);
            assert!(branches >= ncu(BRANCHES), "{place}");
            let blocks = launch.blocks() as f64;
            let warps = sim("smsp__warps_launched.sum");
            if row.rung == "reduce_shfl" {
                // None that parts a warp is left of its branches. They part each warp where its lane 0 stores
                // the warp's sum, and the block's first warp where it loads these sums and where thread 0
                // stores theirs.
                assert_eq!(ncu_parted, 0.0, "{place}");
                assert_eq!(parted, warps + 2.0 * blocks, "{place}");
            } else {
                // One branch of each block parts its first warp here and not there: the last one, where
                // thread 0 stores the block's sum.
                assert_eq!(parted - ncu_parted, blocks, "{place}");
            }
        }
    }
}
