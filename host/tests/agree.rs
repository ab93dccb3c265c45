//! `lab agree` with a fake GPU and a fake Nsight Compute. The fake counts what the simulator counts, except for the
//! differences that a test specifies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::program::{assert_has, not_tested, without_device};
use crate::common::replay::{Difference, Replay, agree, agree_recorded};
use analysis::agree::class::Class;
use analysis::agree::metrics::METRICS;
use analysis::agree::record::{COUNTED, Comparisons};
use analysis::agree::{Explain as _, Tools};
use analysis::results;
use host::{CATALOG, KERNELS};
use tempfile::TempDir;
use toolkit::access::{Change, Effect, Kind};

const LOADS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const STORES: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const BY_INSTRUCTION: &str = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const LDGSTS: &str = "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum";

fn widened() -> Vec<Change> {
    vec![Change { kind: Kind::Lds, effect: Effect::Widened, ptx: 64, sass: 40 }]
}

fn differing(differs: Vec<Difference>) -> Replay {
    Replay { differs, ..Replay::default() }
}

/// Returns the cells of the summary line for all runs.
fn total(out: &str) -> Vec<&str> {
    let line = out.lines().find(|line| line.starts_with("| all ")).unwrap();
    line.split('|').map(str::trim).skip(3).take(8).collect()
}

#[test]
fn every_class_is_found_and_an_unexplained_difference_fails() {
    let replay = differing(vec![
        ("reduce_neighbored_less", SECTORS, |sectors| sectors * 1.005),
        ("reduce_smem_unroll4_", WAVES, |waves| waves + 66.0),
        ("reduce_smem_unroll4_", CONFLICTS, |conflicts| conflicts + 66.0),
        ("reduce_smem_5", WAVES, |waves| waves * 1.5),
        ("reduce_smem_5", BY_INSTRUCTION, |waves| waves * 1.5),
        // By instruction, the fake counts these like the simulator.
        ("reduce_shfl", WAVES, |waves| waves * 1.35),
        ("reduce_shfl", CONFLICTS, |conflicts| conflicts + 44.8),
        ("reduce_interleaved", LOADS, |loads| loads / 2.0),
    ]);
    let args = "reduce --n=64k --block=512";
    let out = agree(&replay, &widened(), args).ended_with(1);
    let differences = out
        .lines()
        .skip_while(|line| *line != "### What is not exact")
        .take_while(|line| *line != "### What counts different things")
        .filter(|line| !line.starts_with('#'));
    let differences: Vec<&str> = differences.collect();
    insta::assert_snapshot!(differences.join("\n"));
    // Without the changes by ptxas, one more difference is unexplained.
    let unexplained = |out: &str| total(out)[7].parse::<u32>().unwrap();
    let bare = agree(&replay, &[], args).ended_with(1);
    assert!(unexplained(&bare) > unexplained(&out), "{bare}");
}

/// Returns the differences of a rung in the section on inexact counts.
fn differences_of<'a>(out: &'a str, rung: &str) -> Vec<&'a str> {
    let rung = format!("| `{rung}`");
    let lines = out.lines().filter(|line| line.starts_with(&rung));
    let with_percentages = lines.filter(|line| line.contains('%'));
    with_percentages.map(|line| line.trim_matches(['|', ' '])).collect()
}

#[test]
fn kernels_that_wait_are_counted_again_and_must_differ_between_runs() {
    static RUN: AtomicU32 = AtomicU32::new(0);
    let replay = differing(vec![
        // The count grows with each run of a kernel that waits for other blocks.
        ("reduce_one_launch", LOADS, |loads| loads * 2.0 + f64::from(RUN.fetch_add(1, Ordering::Relaxed))),
        // The count of the same loads is the same in each run.
        ("reduce_one_launch", SECTORS, |sectors| sectors * 2.0),
        // The count of stores is the same in each run.
        ("reduce_one_launch", STORES, |stores| stores * 2.0),
        // The count grows with each run, as arbitration may cause in any kernel.
        ("reduce_one_launch", WAVES, |waves| waves * 2.0 + f64::from(RUN.load(Ordering::Relaxed))),
        ("reduce_one_launch", CONFLICTS, |conflicts| conflicts + f64::from(RUN.load(Ordering::Relaxed))),
        ("reduce_one_launch", BY_INSTRUCTION, |waves| waves * 2.0),
        // A kernel that does not wait.
        ("reduce_shfl", LOADS, |loads| loads * 2.0),
    ]);
    let out = agree(&replay, &[], "reduce --n=4k --block=128").ended_with(1);
    assert_eq!(total(&out)[6..], ["2", "5"], "{out}");
    let [loads, sectors, stores, shared @ ..] = &differences_of(&out, "reduce_one_launch")[..] else {
        panic!("{out}");
    };
    let runs = "waits: the kernel waits for other blocks, and 5 runs on the GPU";
    // 4096 elements, four per load, in 4 blocks of 4 warps, and the words of 3 blocks.
    assert_has(loads, &[&format!("{runs} count 66 to 70")]);
    let of_loads = format!("{runs} differ in global load requests");
    assert_has(sectors, &[&of_loads]);
    // Arbitration explains no difference, and loads of global memory do not explain differences in shared memory.
    assert_eq!(shared.len(), 3, "{out}");
    for unexplained in [&[*stores], shared].concat() {
        assert_has(unexplained, &["unexplained"]);
    }
    assert!(differences_of(&out, "reduce_shfl")[0].contains("unexplained"));
    assert_eq!(RUN.load(Ordering::Relaxed), 5);
}

#[test]
fn atomics_that_became_reductions_must_have_the_same_count() {
    const ATOM: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum";
    const RED: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum";
    let changes = [Change { kind: Kind::Atom, effect: Effect::Resultless, ptx: 1, sass: 1 }];
    let run_with = |red: fn(f64) -> f64| {
        let differs = vec![("histogram_global", ATOM, (|_| 0.0) as fn(f64) -> f64), ("histogram_global", RED, red)];
        agree(&differing(differs), &changes, "histogram --n=4k")
    };
    // 128 warps, and each accesses about 22 sectors.
    let out = run_with(|_| 2889.0).printed();
    let lines = differences_of(&out, "histogram_global");
    assert!(lines[0].contains("their results are not used; both kinds together are 2889 for sim's"), "{lines:?}");
    for red in [(|_| 2700.0) as fn(f64) -> f64, |_| 3100.0] {
        run_with(red).ended_with(1);
    }
}

#[test]
fn sectors_of_copies_that_bypass_l1_may_be_counted_repeatedly() {
    const SECTORS: &str = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum";
    const THROUGH: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum";
    const PAST: &str = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum";
    let run_with = |past: fn(f64) -> f64| {
        let replay = differing(vec![
            ("matmul_pipelined", SECTORS, |_| 3000.0),
            ("matmul_pipelined", THROUGH, |_| 500.0),
            ("matmul_pipelined", PAST, past),
        ]);
        agree(&replay, &[], "matmul --m=64 --n=64 --k=64")
    };
    let out = run_with(|_| 2500.0).printed();
    let why = "all of the difference is in copies that bypass L1: by instruction the GPU counts 2500 sectors for their";
    assert_has(differences_of(&out, "matmul_pipelined")[0], &[why]);
    // The parts must add up to the whole.
    run_with(|_| 2400.0).ended_with(1);
}

/// Returns a folder with an empty README, for a document that shows what `agree` compared on the test's GPU.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("README.md"), "").unwrap();
    folder
}

fn records(root: &Path) -> Comparisons {
    Comparisons::of_records(&results::read(&root.join("results/test-gpu/agree.jsonl")).unwrap()).unwrap()
}

#[test]
fn comparisons_are_recorded_and_shown() {
    let folder = repository();
    let root = folder.path();
    let replay = differing(vec![
        ("reduce_smem_1", WAVES, |waves| waves * 1.5),
        ("reduce_smem_1", BY_INSTRUCTION, |waves| waves * 1.5),
    ]);
    agree_recorded(&replay, &widened(), root, "reduce --n=4k --block=128").printed();

    let record = records(root);
    assert_eq!(Comparisons::of_records(&record.records()), Ok(record.clone()));
    assert_eq!(record.runs.len(), 1);
    let run = &record.runs[0];
    assert_eq!((&*run.ladder, run.request.block.as_deref()), ("reduce", Some("128")));
    let plan = run.plan(&CATALOG).unwrap();
    assert_eq!(plan.launches()[0].1.block, [128, 1, 1]);
    assert_eq!(run.request.capability, Some((9, 0)));
    let mut rows = run.rungs.iter();
    let row = rows.find(|row| row.rung == "reduce_smem").unwrap();
    let waves = &row.metrics[WAVES];
    assert_eq!(waves.class, Class::Explained);
    assert_eq!(waves.why, ["64 LDS of the PTX are 40 wider ones in SASS"]);
    assert_eq!(waves.ncu, Some(waves.sim.unwrap() * 1.5));
    assert!(!row.metrics.contains_key(LDGSTS) && run.request.metrics.contains(&LDGSTS.to_owned()));
    let missing = record.missing(&CATALOG);
    // `reduce_any` has no kernel for blocks of 128.
    let reduce: Vec<_> = missing.iter().filter(|(ladder, _)| *ladder == "reduce").collect();
    assert!(reduce.iter().all(|(_, rungs)| *rungs == ["reduce_any"]), "{reduce:?}");
    let (_, shuffles) = missing.iter().find(|entry| entry.0 == "shuffle").unwrap();
    assert!(shuffles.contains(&"shuffle_up"));

    // A document shows the records and is updated when they change.
    let doc = root.join("docs/agreement.md");
    let text = "a\n<!-- results: test-gpu/agree.jsonl -->\nold\n<!-- end of results -->\nb\n";
    fs::write(&doc, text).unwrap();
    let update = |option: &str| without_device(&format!("lab record --root {} {option}", root.display()));
    assert_eq!(update("--check").code, 1);
    assert_eq!(fs::read_to_string(&doc).unwrap(), text);
    update("").printed();
    let written = fs::read_to_string(&doc).unwrap();
    assert!(written.starts_with("a\n<!--") && written.ends_with("-->\nb\n"), "{written}");
    assert_has(&written, &["explained: 64 LDS of the PTX"]);
    update("--check").printed();
    agree_recorded(&Replay::default(), &[], root, "reduce --n=4k --block=128").printed();
    assert!(!fs::read_to_string(&doc).unwrap().contains("64 LDS"));
}

#[test]
fn a_failed_command_records_nothing() {
    let folder = repository();
    let replay = Replay { fails_at: "histogram", ..Replay::default() };
    let ended = agree_recorded(&replay, &[], folder.path(), "shuffle histogram --n=4k");
    assert_eq!(ended.code, 2);
    assert_has(
        &ended.err,
        &[
            "ncu 2025.3.1.0 (build 0) failed with exit code 1: ==ERROR== Out of patience",
            "nothing was recorded, because",
        ],
    );
    assert!(!folder.path().join("results").exists());
}

#[test]
fn missing_metrics_are_reported() {
    let without = |metric| {
        let unknown = vec![metric];
        let replay = Replay { unknown, ..Replay::default() };
        agree(&replay, &[], "reduce --n=4k")
    };
    let line = "- reduce: not counted: requests of copies from global to shared\n";
    assert_has(&without(LDGSTS).printed(), &[line]);
    without(LOADS).refused(&format!("Test GPU has no metric {LOADS}"));
}

#[test]
fn metric_names_are_unique_and_the_simulator_has_their_counters() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names.len(), METRICS.len());
    let counters = simt::counters::METRICS.iter();
    let counters: BTreeSet<&str> = counters.map(|counter| counter.name).collect();
    for metric in METRICS.iter() {
        for name in metric.sim.needs(&metric.name) {
            assert!(counters.contains(name.as_str()), "{}: {name}", metric.name);
        }
        for name in metric.gpu.needs(&metric.name) {
            assert!(!name.starts_with("ptx_") && name.contains("__"), "{name}");
        }
    }
}

#[test]
fn every_ladder_is_compared() {
    let folder = repository();
    let sizes = "--n=64 --m=32 --k=32 --rows=64 --cols=64 --queries=2 --heads=1";
    agree_recorded(&Replay::default(), &[], folder.path(), sizes).printed();
    let record = records(folder.path());
    assert_eq!(record.runs.len(), host::ladders().len());
    assert_eq!(record.missing(&CATALOG), []);
    let is_exact = |class| matches!(class, Some(Class::Exact) | None);
    for class in COUNTED.into_iter().filter(|class| !is_exact(*class)) {
        assert!(record.runs.iter().all(|run| run.count(class) == 0), "{class:?}");
    }
}

#[test]
fn changes_by_ptxas_are_found() {
    let tools = match Tools::find(&KERNELS, Some((9, 0))) {
        Ok(tools) => tools,
        Err(missing) => return not_tested(&missing.join("; ")),
    };
    let effects = |entry| -> Vec<(Kind, Effect)> {
        let changes = tools.changes(entry).unwrap().into_iter();
        changes.map(|change| (change.kind, change.effect)).collect()
    };
    assert!(effects("matmul_tiled_32x32").contains(&(Kind::Lds, Effect::Widened)));
    assert!(effects("histogram_global").contains(&(Kind::Atom, Effect::Resultless)));
    assert_eq!(effects("transpose_naive"), []);
    assert!(tools.changes("no_such_kernel").is_err());
    // No kernels are compiled for GPUs older than Turing.
    let missing = Tools::find(&KERNELS, Some((7, 0))).err().unwrap();
    assert_eq!(missing, ["the GPU is older than all kernels of this program"]);
}
