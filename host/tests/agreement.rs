//! Compares the simulator's counters with recorded ones, for every measured rung. `cargo lab record -- agree` recorded
//! what a GPU counted (with Nsight Compute) and what the simulator counted for the same PTX, in
//! results/h100/agree.jsonl. The simulator must still return the same counts.
//!
//! Branches cannot agree: ncu counts SASS, in which ptxas has replaced short branches by predicates. Every branch that
//! diverges is accounted for. Of the other branches, the PTX has more.

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

/// The advice if the simulator is right and the results are old.
const REMEDY: &str = "if the new numbers are right, compare them with a GPU's: run `cargo lab record -- agree` on a \
                      machine with a GPU";

/// The largest size of a problem's data in bytes. Larger problems take minutes to simulate.
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

/// The simulator's current counts for the rungs of each run.
static COUNTED: LazyLock<Vec<Vec<(Launch, Numbers)>>> = LazyLock::new(|| RECORD.runs.iter().map(counted).collect());

fn counted(run: &ComparedRun) -> Vec<(Launch, Numbers)> {
    let plan = run.plan(&CATALOG).unwrap();
    let mut sim = Sim::open_as(&KERNELS, 0, run.request.capability).unwrap();
    let numbers = on_sim(&mut sim, &plan, |_| ()).unwrap();
    let launches = plan.launches().iter().map(|(_, launch)| launch.clone());
    launches.zip(numbers).collect()
}

/// Returns whether the simulator's number is unchanged. The records omit a number that is 0 or missing.
fn is_unchanged(was: Option<&Comparison>, now: Option<f64>) -> bool {
    let was = was.and_then(|comparison| comparison.sim);
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
            // How often a kernel polls depends on timing, on the simulator too. So every counter that includes polls
            // may differ: by much, or by little if it mostly counts other accesses.
            let waits = row
                .comparisons(run)
                .any(|(_, comparison)| comparison.is_some_and(|comparison| comparison.class == Class::Waits));
            let repeats = row.comparisons(run).filter(|(metric, comparison)| {
                let is_exact = comparison.is_none_or(|comparison| comparison.class == Class::Exact);
                metric.rule != Rule::Information && (is_exact || !waits)
            });
            for (metric, was) in repeats {
                let now = metric.sim.of(&metric.name, numbers);
                if !is_unchanged(was, now) {
                    let value = |side: fn(&Comparison) -> Option<f64>| was.map_or(Some(0.0), side);
                    wrong.push(format!(
                        "{place}: {}: the simulator counted {:?}, now {now:?}; the GPU {:?}",
                        metric.name,
                        value(|comparison| comparison.sim),
                        value(|comparison| comparison.ncu),
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
            assert!(known.is_ok(), "{} was measured but is no longer a rung: delete its lines in {RESULTS}", row.rung);
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

/// The rungs whose branches are not accounted for. Some have loops, which ptxas unrolls.
const NOT_ACCOUNTED_FOR: [&str; 5] =
    ["reduce_grid_stride", "reduce_vector", "reduce_one_launch", "reduce_atomic", "reduce_any"];

#[test]
fn branches_differ_only_where_ptxas_uses_predicates() {
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
                // In SASS, no branch of this kernel diverges. In PTX, each warp diverges where its lane 0 stores the
                // warp's sum. The block's first warp also diverges where it loads these sums, and where thread 0 stores
                // the block's sum.
                assert_eq!(ncu_parted, 0.0, "{place}");
                assert_eq!(parted, warps + 2.0 * blocks, "{place}");
            } else {
                // One branch of each block diverges in the PTX but not in SASS: the last branch of the first warp,
                // where thread 0 stores the block's sum.
                assert_eq!(parted - ncu_parted, blocks, "{place}");
            }
        }
    }
}
