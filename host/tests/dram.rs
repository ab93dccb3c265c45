//! Compares the trace of a rung with the simulator's counters. The output of `ladder why --dram` is in cli/dram.txt.

use crate::common::program::run_without_driver;
use analysis::dram_trace as trace;
use host::device::Sim;
use host::problem::Verdict;
use host::{DeviceProperties, KERNELS, Options, ladder};
use profile::dram::Dram;
use serde_json::Value;

#[test]
fn a_trace_has_the_same_counts_as_the_counters() {
    // A burst is as long as a sector here, so the bursts of a request equal its sectors.
    for (rung, options) in [
        ("reduce_neighbored", "--n 10000"),
        ("reduce_any", "--n 10000 --op max --type f64"),
        ("matmul_pipelined", "--m 70 --n 50 --k 33"),
        ("histogram_lanes", "--n 5000"),
    ] {
        let trace = run_without_driver(&format!("why {rung} --dram --json --burst 32 {options}")).json();
        let run = run_without_driver(&format!("run {rung} --device sim --json {options}")).json();
        let counters = &run[0]["counters"];
        for (kind, op) in [("load", "ld"), ("store", "st")] {
            let accesses = trace["accesses"].as_array().unwrap();
            let access = accesses.iter().find(|access| access["kind"] == kind);
            let counter = |what: &str| counters[format!("l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum")].clone();
            let counted = |what: &str| access.map_or(Value::from(0), |access| access[what].clone());
            assert_eq!(counted("requests"), counter("requests"), "{rung}, {kind}");
            assert_eq!(counted("bursts"), counter("sectors"), "{rung}, {kind}");
        }
    }
}

#[test]
fn a_trace_reports_a_wrong_result() {
    let reduce = ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default().with("n", 1000)).unwrap();
    let rung = reduce.rung("reduce_smem").unwrap();
    let mut launch = reduce.launch(rung, &*problem, None, DeviceProperties::default()).unwrap();
    let mut of_blocks = |blocks: u32| {
        launch.grid = [blocks, 1, 1];
        let mut sim = Sim::open(&KERNELS, 1).unwrap();
        trace::trace(&mut sim, reduce, rung, &*problem, &launch, Dram::FIGURE, 3).unwrap()
    };
    // 1000 elements are 8 blocks of 128.
    let right = of_blocks(8);
    assert!(right.correct, "{:?}", right.verdict);
    let windows = right.accesses[0].windows.iter();
    let blocks: Vec<(u64, u64)> = windows.map(|window| (window.first_block, window.blocks)).collect();
    assert_eq!(blocks, [(0, 3), (3, 3), (6, 2)]);
    let wrong = of_blocks(1);
    assert!(matches!(&wrong.verdict, Verdict::Wrong(why) if !why.is_empty()));
    assert_eq!(serde_json::to_value(&wrong).unwrap()["correct"], false);
}
