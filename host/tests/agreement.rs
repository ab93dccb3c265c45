//! The SIMT machine's counters against Nsight Compute's, for every rung at n = 2^20 with blocks of 128 and
//! 512: the same PTX, run here and on an H100 (simt/tests/fixtures/ncu/reduce.txt).
//!
//! Requests, sectors and bytes used agree to the last digit: ptxas kept every load and store of these
//! kernels. Shared wavefronts on the GPU exceed those here by up to 6 %, by requests that get in each
//! other's way; which, differs from run to run.
//!
//! Branches do not agree, and cannot: ncu counts SASS, in which ptxas has turned the short ones into
//! predicates. Those that part a warp are accounted for, one by one; of the others the PTX has more.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use host::device::Sim;
use host::run::{Climb, Outcome, climb};
use host::{Options, ladder};

const FIXTURE: &str = include_str!("../../simt/tests/fixtures/ncu/reduce.txt");

/// The rungs that are younger than the fixture.
const YOUNGER: [&str; 4] = [
    "reduce_grid_stride",
    "reduce_vector",
    "reduce_one_launch",
    "reduce_atomic",
];

/// ncu's counts of one kernel, by column.
type Row = BTreeMap<&'static str, f64>;

/// By kernel and block.
fn fixture() -> BTreeMap<(&'static str, u32), Row> {
    let mut lines = FIXTURE.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(' ').collect();
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words.len(), header.len(), "{line}");
            let numbers = header[2..]
                .iter()
                .zip(&words[2..])
                .map(|(name, word)| (*name, word.parse().unwrap()))
                .collect();
            ((words[0], words[1].parse().unwrap()), numbers)
        })
        .collect()
}

fn outcomes(block: u32) -> Vec<Outcome> {
    let plan = Climb {
        ladder: ladder("reduce").unwrap(),
        rungs: &[],
        options: &Options::default().with("n", 1 << 20),
        block: Some([block, 1, 1]),
        runs: Some(1),
    };
    let mut sim = Sim::open(0).unwrap();
    let report = climb(&mut sim, &plan.plan().unwrap(), |_| {}).unwrap();
    assert!(report.all_right());
    report.outcomes
}

#[test]
fn traffic_agrees() {
    let fixture = fixture();
    let mut compared = 0;
    for block in [128, 512] {
        for outcome in outcomes(block) {
            let entry = outcome.launch.entry.as_str();
            let Some(row) = fixture.get(&(entry, block)) else {
                assert!(YOUNGER.contains(&outcome.rung.name), "{entry}");
                continue;
            };
            assert_eq!(row["grid"], f64::from(outcome.launch.grid[0]), "{entry}");
            let sim = |name: &str| outcome.counter(name);
            for op in ["ld", "st"] {
                for (column, name) in [
                    (
                        "requests",
                        format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"),
                    ),
                    (
                        "sectors",
                        format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"),
                    ),
                ] {
                    let ncu = row[format!("{op}_{column}").as_str()];
                    assert_eq!(sim(&name), Some(ncu), "{entry}, block {block}: {name}");
                }
                let used = sim(&format!(
                    "smsp__sass_average_data_bytes_per_sector_mem_global_op_{op}.pct"
                ))
                .unwrap();
                let ncu = row[format!("{op}_bytes_pct").as_str()];
                // ncu prints two places.
                assert!(
                    (used - ncu).abs() <= 0.005 + 1e-9,
                    "{entry}, block {block}: {used} % of the bytes of {op}, ncu {ncu}"
                );

                let waves = sim(&format!(
                    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
                ))
                .unwrap();
                let ncu = row[format!("{op}_wavefronts").as_str()];
                assert!(
                    waves <= ncu && ncu <= waves * 1.06,
                    "{entry}, block {block}: {waves} wavefronts of {op}, ncu {ncu}"
                );
                // What ncu calls conflicts is all that is beyond the ideal.
                let conflicts = sim(&format!(
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"
                ))
                .unwrap();
                let ideal = waves - conflicts;
                assert_eq!(
                    ncu - row[format!("{op}_conflicts").as_str()],
                    ideal,
                    "{entry}, block {block}: wavefronts of {op} without conflicts"
                );
                let local = sim(&format!("l1tex__t_requests_pipe_lsu_mem_local_op_{op}.sum"));
                assert_eq!((local, row["local_requests"]), (Some(0.0), 0.0), "{entry}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 32);
}

#[test]
fn branches_differ_by_what_ptxas_made_predicates_of() {
    let fixture = fixture();
    for block in [128, 512] {
        for outcome in outcomes(block) {
            let entry = outcome.launch.entry.as_str();
            let Some(row) = fixture.get(&(entry, block)) else {
                assert!(YOUNGER.contains(&outcome.rung.name), "{entry}");
                continue;
            };
            let sim = |name: &str| outcome.counter(name).unwrap();
            let branches = sim("smsp__sass_branch_targets.sum");
            let parted = sim("smsp__sass_branch_targets_threads_divergent.sum");
            let ncu_parted = row["branches"] - row["uniform"];
            assert!(branches >= row["branches"], "{entry}, block {block}");
            let blocks = outcome.launch.blocks() as f64;
            let warps = sim("smsp__warps_launched.sum");
            if outcome.rung.name == "reduce_shfl" {
                // Nothing is left of its branches. They part each warp where its lane 0 stores the warp's
                // sum, and the block's first warp where it loads these sums and where thread 0 stores
                // theirs.
                assert_eq!(row["branches"], 0.0, "{entry}");
                assert_eq!(parted, warps + 2.0 * blocks, "{entry}, block {block}");
            } else {
                // One branch of each block parts its first warp here and not there: the last one, where
                // thread 0 stores the block's sum.
                assert_eq!(parted - ncu_parted, blocks, "{entry}, block {block}");
            }
        }
    }
}
