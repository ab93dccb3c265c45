//! The list of metrics, the statements and the choice of what to profile, on made-up numbers.

#![allow(clippy::unwrap_used)]

mod verdicts;

use std::collections::BTreeSet;

use super::metrics::{METRICS, defaults, find};
use super::plan::choose;
use super::statements::{Check, Found, STATEMENTS, Statement};
use super::*;
use engine::registry::{ladder, ladders};

#[test]
fn metrics_are_named_once_and_need_counters_that_there_are() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
    let counters: BTreeSet<&str> = simt::counters::METRICS
        .iter()
        .map(|counter| counter.name)
        .collect();
    for metric in METRICS {
        for name in metric.sim.needs(metric.name) {
            assert!(counters.contains(name.as_str()), "{}: {name}", metric.name);
        }
        let somewhere = [metric.sim, metric.gpu];
        assert!(somewhere.iter().any(|source| source.missing().is_none()));
        assert!(!metric.meaning.is_empty() && !metric.heading.is_empty());
    }
    // What the texts measure.
    for seed in [
        "smsp__average_inst_executed_per_warp.ratio",
        "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second",
        "smsp__sass_average_branch_targets_threads_uniform.pct",
        "dram__bytes_read.sum.per_second",
        "dram__bytes_write.sum.per_second",
        "smsp__warp_issue_stalled_barrier_per_warp_active.pct",
        "smsp__warp_issue_stalled_membar_per_warp_active.pct",
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ] {
        assert!(names.contains(seed), "{seed}");
    }
    assert!(defaults().len() > 10);
}

#[test]
fn a_metric_can_be_a_counter_or_on_a_gpu_anything_of_nsights_form() {
    assert!(
        find("ptx_inst_executed.sum", false)
            .unwrap()
            .gpu
            .missing()
            .is_some()
    );
    let blocks = find("sm__ctas_launched.sum", false).unwrap();
    assert_eq!((blocks.sim, blocks.gpu), (Source::Same, Source::Same));
    let any = find("sm__cycles_active.avg", true).unwrap();
    assert!(any.sim.missing().is_some());
    assert_eq!(any.gpu.needs(any.name), ["sm__cycles_active.avg"]);
    assert!(find("launch__registers_per_thread", true).is_ok());
    for (name, on_gpu, part) in [
        (
            "sm__cycles_active.avg",
            false,
            "--device gpu asks Nsight Compute",
        ),
        ("sm__cycles_active", true, "no metric is named"),
        ("__x.sum", true, "no metric is named"),
        ("sm__x.sum; rm", true, "no metric is named"),
        ("", true, "no metric is named"),
        (
            "gpu__time_duration.sun",
            false,
            "did you mean `gpu__time_duration.sum`?",
        ),
        ("ptx_barriers", false, "ptx_barriers.sum"),
    ] {
        let error = find(name, on_gpu).unwrap_err().to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn a_source_has_no_number_where_there_is_nothing_to_divide_by() {
    let numbers: Numbers = [("a", 3.0), ("b", 0.0), ("c", 2.0)].into_iter().collect();
    let quotient = |under| Source::Quotient(&["a", "c"], under, 100.0).of("x", &numbers);
    assert_eq!(quotient(&["c"]), Some(250.0));
    assert_eq!(quotient(&["b"]), None);
    assert_eq!(quotient(&["nowhere"]), None);
    assert_eq!(Source::SameUnlessZero("b").of("a", &numbers), None);
    assert_eq!(Source::SameUnlessZero("c").of("a", &numbers), Some(3.0));
    assert_eq!(Source::Sum(&["a", "c"], 2.0).of("x", &numbers), Some(10.0));
    assert_eq!(Source::Missing("why").of("a", &numbers), None);
}

#[test]
fn statements_are_about_rungs_and_metrics_that_there_are() {
    for statement in STATEMENTS {
        let ladder = ladder(statement.ladder).unwrap();
        for rung in statement.check.rungs() {
            assert!(ladder.rung(rung).is_ok(), "{rung}");
        }
        assert!(METRICS.iter().any(|metric| metric.name == statement.metric));
    }
}

#[test]
fn a_statement_holds_or_not() {
    let below = |numbers: [f64; 2]| {
        Check::Below {
            rung: "",
            than: "",
            times: 0.5,
        }
        .holds(&numbers)
    };
    assert!(below([4.9, 10.0]) && !below([5.0, 10.0]));
    assert!(Check::Same(["", ""]).holds(&[98.2, 98.1]));
    assert!(!Check::Same(["", ""]).holds(&[98.2, 97.0]));
    assert!(Check::About("", 8.0).holds(&[8.4]) && !Check::About("", 8.0).holds(&[16.0]));
    assert!(Check::Rising(&["", "", ""]).holds(&[1.0, 2.0, 3.0]));
    assert!(!Check::Rising(&["", "", ""]).holds(&[1.0, 2.0, 2.0]));
    let times = Check::Times {
        rung: "",
        than: "",
        times: 1.13,
    };
    assert!(times.holds(&[1.15, 1.0]) && !times.holds(&[1.0, 1.0]));
}

/// A profile of the first rungs of the reduction with made-up instructions.
fn made_up(instructions: &[f64]) -> Profile {
    let chosen = choose(&["reduce".to_owned()], &[]).unwrap();
    let plan = chosen[0].plan(None).unwrap();
    let rows = plan.launches().iter().zip(instructions);
    Profile {
        ladder: chosen[0].ladder,
        title: String::new(),
        rows: rows
            .map(|((rung, launch), &number)| Row {
                rung,
                launch: launch.clone(),
                sim: Some(
                    [("ptx_inst_executed_per_warp.ratio", number)]
                        .into_iter()
                        .collect(),
                ),
                gpu: None,
                verdict: None,
            })
            .collect(),
        left_out: Vec::new(),
    }
}

#[test]
fn a_statement_is_checked_where_its_rungs_are() {
    let metric = &METRICS[0];
    let check = |profile: &Profile, side| {
        let profiles = [profile.clone()];
        let mut about = Statement::about(metric.name, &profiles);
        let (statement, profile) = about.next().unwrap();
        statement.check(metric, profile, side)
    };
    let numbers = "reduce_neighbored_less 40.00, reduce_neighbored 100.00".to_owned();
    assert_eq!(
        check(&made_up(&[100.0, 40.0]), Side::Sim),
        Found::Holds(numbers)
    );
    assert!(matches!(
        check(&made_up(&[100.0, 60.0]), Side::Sim),
        Found::DoesNot(_)
    ));
    let missing = Found::Unknown(vec!["reduce_neighbored_less"]);
    assert_eq!(check(&made_up(&[100.0]), Side::Sim), missing);
    assert!(matches!(
        check(&made_up(&[100.0, 40.0]), Side::Gpu),
        Found::Unknown(_)
    ));
}

#[test]
fn targets_are_ladders_and_rungs_and_options_go_to_those_that_have_them() {
    let chosen_of = |targets: &[&str], options: &[(&'static str, &str)]| {
        let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
        let options: Vec<_> = options
            .iter()
            .map(|&(name, text)| (name, text.to_owned()))
            .collect();
        choose(&targets, &options)
    };
    assert_eq!(chosen_of(&[], &[]).unwrap().len(), ladders().len());
    let mixed = chosen_of(
        &[
            "transpose_smem",
            "reduce_unrolling",
            "matmul",
            "matmul_naive",
        ],
        &[("n", "64"), ("rows", "32")],
    )
    .unwrap();
    let chosen: Vec<_> = mixed
        .iter()
        .map(|one| {
            let options: Vec<&str> = one.options.iter().map(|(name, _)| *name).collect();
            (
                one.ladder.name,
                one.whole,
                one.named.join(" "),
                options.join(" "),
            )
        })
        .collect();
    let row = |ladder, whole, named: &str, options: &str| {
        (ladder, whole, named.to_owned(), options.to_owned())
    };
    assert_eq!(
        chosen,
        [
            row("reduce", false, "reduce_unrolling", "n"),
            row("transpose", false, "transpose_smem", "rows"),
            row("matmul", true, "matmul_naive", "n"),
        ]
    );
    let rungs: Vec<&str> = mixed[0]
        .plan(None)
        .unwrap()
        .rungs()
        .iter()
        .map(|rung| rung.name)
        .collect();
    assert_eq!(
        rungs,
        [
            "reduce_unrolling2",
            "reduce_unrolling4",
            "reduce_unrolling8"
        ]
    );
    assert_eq!(
        chosen_of(&["shuffle", "histogram"], &[("rows", "1")])
            .unwrap_err()
            .to_string(),
        "--rows is an option of transpose, and what is profiled is shuffle, histogram"
    );
    // What was named beside its ladder has to be possible too.
    let max = chosen_of(&["reduce", "reduce_neighbored"], &[("op", "max")]).unwrap();
    assert!(matches!(max[0].plan(None), Err(Error::NotOffered { .. })));
}
