//! Tests of the list of metrics, the statements and the choice of what to profile, with made-up numbers.

#![allow(clippy::unwrap_used)]

mod verdicts;

use std::collections::BTreeSet;

use super::metrics::find;
use super::statements::{Finding, Relation, STATEMENTS, Statement};
use super::*;
use ::profile::counters::Source;
use ::profile::metrics::{METRICS, defaults};
use engine::selection::{Selection, select_with};
use host::{CATALOG, Error, ladder, ladders};

#[test]
fn metric_names_are_unique_and_their_counters_exist() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names.len(), METRICS.len());
    let counters = simt::counters::METRICS.iter();
    let counters: BTreeSet<&str> = counters.map(|counter| counter.name).collect();
    for metric in METRICS.iter() {
        for name in metric.sim.needs(&metric.name) {
            assert!(counters.contains(name.as_str()), "{}: {name}", metric.name);
        }
        let somewhere = [&metric.sim, &metric.gpu];
        assert!(somewhere.iter().any(|source| source.missing().is_none()));
        assert!(!metric.meaning.is_empty() && !metric.heading.is_empty());
    }
    // The metrics that the source texts use.
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
fn a_metric_is_a_counter_or_on_a_gpu_any_name_in_nsights_format() {
    let of_ptx = find("ptx_inst_executed.sum", false).unwrap();
    assert!(of_ptx.gpu.missing().is_some());
    let blocks = find("sm__ctas_launched.sum", false).unwrap();
    assert_eq!((blocks.sim, blocks.gpu), (Source::Same, Source::Same));
    let any = find("sm__cycles_active.avg", true).unwrap();
    assert!(any.sim.missing().is_some());
    assert_eq!(any.gpu.needs(&any.name), ["sm__cycles_active.avg"]);
    assert!(find("launch__registers_per_thread", true).is_ok());
    let refused = |name: &str, on_gpu, part: &str| {
        let error = find(name, on_gpu).unwrap_err().to_string();
        assert!(error.contains(part), "{name}: {error}");
    };
    refused("sm__cycles_active.avg", false, "--device gpu counts it");
    for name in ["sm__cycles_active", "__x.sum", "sm__x.sum; rm", ""] {
        refused(name, true, "no metric is named");
    }
    let near = "did you mean `gpu__time_duration.sum`?";
    refused("gpu__time_duration.sun", false, near);
    refused("ptx_barriers", false, "ptx_barriers.sum");
}

#[test]
fn rungs_and_metrics_of_statements_exist() {
    for statement in STATEMENTS.iter() {
        let ladder = ladder(&statement.ladder).unwrap();
        for rung in &statement.rungs {
            assert!(ladder.rung(rung).is_ok(), "{rung}");
        }
        assert!(METRICS.iter().any(|metric| metric.name == statement.metric));
    }
}

#[test]
fn a_statement_holds_or_does_not_hold() {
    use Relation::{About, Below, Rising, Same, Times};
    let holds = |relation: Relation, numbers: &[f64], number| relation.holds(numbers, number);
    assert!(holds(Below, &[4.9, 10.0], 0.5) && !holds(Below, &[5.0, 10.0], 0.5));
    assert!(holds(Same, &[98.2, 98.1], 1.0) && !holds(Same, &[98.2, 97.0], 1.0));
    assert!(holds(About, &[8.4], 8.0) && !holds(About, &[16.0], 8.0));
    assert!(holds(Rising, &[1.0, 2.0, 3.0], 1.0) && !holds(Rising, &[1.0, 2.0, 2.0], 1.0));
    assert!(holds(Times, &[1.15, 1.0], 1.13) && !holds(Times, &[1.0, 1.0], 1.13));
}

/// Returns a profile of the first rungs of the reduction with made-up instruction counts.
fn made_up(instructions: &[f64], side: Side) -> Profile {
    let selected = select_with(&CATALOG, &["reduce".to_owned()], &[]).unwrap();
    let plan = plan(&selected[0], None, DeviceProperties::default()).unwrap();
    let rows = plan.launches().iter().zip(instructions);
    let name = "ptx_inst_executed_per_warp.ratio";
    let numbers = |number| Numbers::from([(name.to_owned(), number)]);
    Profile {
        ladder: selected[0].ladder,
        side,
        title: String::new(),
        rows: rows
            .map(|((rung, launch), &number)| RungProfile {
                rung,
                launch: launch.clone(),
                numbers: numbers(number),
                verdict: None,
            })
            .collect(),
        left_out: Vec::new(),
    }
}

#[test]
fn a_statement_is_checked_if_its_rungs_are_profiled() {
    let metric = &METRICS[0];
    let check = |instructions: &[f64], side| {
        let profiles = [made_up(instructions, side)];
        let mut about = Statement::about(&metric.name, &profiles);
        let (statement, profile) = about.next().unwrap();
        statement.check(metric, profile)
    };
    let numbers = "reduce_neighbored_less 40.00, reduce_neighbored 100.00".to_owned();
    assert_eq!(check(&[100.0, 40.0], Side::Sim), Finding::Holds(numbers));
    assert!(matches!(check(&[100.0, 60.0], Side::Sim), Finding::DoesNot(_)));
    let missing = Finding::Unknown(vec!["reduce_neighbored_less".to_owned()]);
    assert_eq!(check(&[100.0], Side::Sim), missing);
    assert!(matches!(check(&[100.0, 40.0], Side::Gpu), Finding::Unknown(_)));
}

#[test]
fn options_apply_to_the_named_ladders_that_have_them() {
    let selected = |targets: &[&str], options: &[(&'static str, &str)]| {
        let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
        let options = options.iter().map(|&(name, text)| (name, text.to_owned()));
        select_with(&CATALOG, &targets, &options.collect::<Vec<_>>())
    };
    assert_eq!(selected(&[], &[]).unwrap().len(), ladders().len());
    let targets = ["transpose_smem", "reduce_unrolling", "matmul", "matmul_naive"];
    let mixed = selected(&targets, &[("n", "64"), ("rows", "32")]).unwrap();
    let row = |selection: &Selection| {
        let options: Vec<&str> = selection.given.iter().map(|(name, _)| *name).collect();
        let (ladder, named, options) = (selection.ladder.name, selection.named.join(" "), options.join(" "));
        format!("{ladder}, {}, {named}, {options}", selection.whole)
    };
    let rows = [
        "reduce, false, reduce_unrolling, n",
        "transpose, false, transpose_smem, rows",
        "matmul, true, matmul_naive, n",
    ];
    assert_eq!(mixed.iter().map(row).collect::<Vec<_>>(), rows);
    let plan_of_reduce = plan(&mixed[0], None, DeviceProperties::default()).unwrap();
    let rungs = plan_of_reduce.rungs();
    let rungs: Vec<&str> = rungs.iter().map(|rung| rung.name).collect();
    let three = "reduce_unrolling2 reduce_unrolling4 reduce_unrolling8";
    assert_eq!(rungs.join(" "), three);
    assert_eq!(
        selected(&["shuffle", "histogram"], &[("rows", "1")]).unwrap_err().to_string(),
        "--rows is an option of transpose, and not of shuffle, histogram; it has --type, --src, --delta, --mask, --width, \
         --n, --data"
    );
    // A rung that was named in addition to its ladder must also be possible.
    let max = selected(&["reduce", "reduce_neighbored"], &[("op", "max")]).unwrap();
    assert!(matches!(
        plan(&max[0], None, DeviceProperties::default()),
        Err(crate::Error::Engine(Error::NotOffered { .. }))
    ));
}
