//! The program: what it prints, and its exit codes. What it refuses is in refused.rs.

use std::fs;

use crate::common::program::{alone, assert_has, cells, on, right};
use crate::common::{Fake, Fault};
use host::ladder;
use serde_json::{Value, json};

/// How many rungs a ladder has.
fn rungs(name: &str) -> usize {
    ladder(name).unwrap().rungs.len()
}

/// The rows of a JSON list.
fn rows(list: &Value) -> &[Value] {
    list.as_array().unwrap()
}

/// The row of a rung in JSON.
fn row<'a>(list: &'a Value, rung: &str) -> &'a Value {
    rows(list).iter().find(|row| row["rung"] == rung).unwrap()
}

#[test]
fn without_a_driver_the_program_starts_and_says_so() {
    let err = alone("run reduce --device gpu").failed_with(2);
    assert!(err.starts_with("error: no CUDA driver"), "{err}");
    assert_has(&err, &["--device sim needs no GPU"]);
    assert!(!err.contains('\u{1b}'), "colours in a pipe: {err}");
}

#[test]
fn without_a_driver_the_best_device_is_the_simt_machine() {
    let out = alone("run reduce --n 10000").printed();
    let parts = [
        "instr. / warp",
        "used ld / st",
        "branches that keep a warp together",
        "reduce on SIMT machine, ",
        "one launch of each, counted and not timed",
    ];
    assert_has(&out, &parts);
    assert!(!out.contains("GB/s"), "{out}");
    let out = alone("check reduce --n 1 1000 --block 64").printed();
    let checks = format!("{} checks", 2 * rungs("reduce"));
    assert_has(&out, &[&checks, "on SIMT machine"]);
    let out = alone("devices").printed();
    assert!(out.starts_with("sim                 SIMT machine, "), "{out}");
}

#[test]
fn the_other_ladders_on_a_machine_without_a_driver() {
    let table = "
        run transpose --rows 100 --cols 70 => 100 × 70 f32 | waves ld / st | copy_gmem
        run matmul --m 40 --n 30 --k 20 => m = 40, n = 30, k = 20 | matmul_coarsened8
        run histogram --data Cargo.toml => Cargo.toml bytes | global atomics
        run shuffle --delta 1 --type f32 => warp_shuffle_up(value, 1) in segments of 16, right | (0.5)
        run reduce --op min --type f64 --n 1000 => n = 1000, min of f64 | reduce_grid_stride
        check matmul --m 1 17 --n 33 --k 5 => checks, with blocks of 16x16, 32x32, 128, 256 | m = 17
        check --device sim shuffle --width 4 => checks, with blocks of 4, 16 | width 4
        ";
    for [args, parts] in cells(table) {
        let out = alone(args).printed();
        assert!(!out.contains("WRONG"), "{args}: {out}");
        assert_has(&out, &parts.split(" | ").collect::<Vec<_>>());
    }
}

#[test]
fn json_of_the_other_ladders_has_their_options() {
    let json = |args: &str| alone((args, "--json --no-time")).json();
    let list = json("run transpose --rows 3 --cols 5");
    let first = &list[0];
    assert_eq!([&first["rows"], &first["cols"]], [3, 5]);
    assert_eq!(first["bytes"], 2 * 15 * 4);
    let list = json("run histogram --data Cargo.toml");
    assert_eq!(list[0]["n"], fs::metadata("Cargo.toml").unwrap().len());
    assert_eq!(list[0]["data"], "Cargo.toml");
    let list = json("run matmul --m 4 --n 3 --k 2");
    assert_eq!(rows(&list).len(), rungs("matmul"));
    assert!(rows(&list).iter().all(|rung| rung["k"] == 2));
}

#[test]
fn json_of_a_device_that_counts_has_counters_and_no_time() {
    let list = alone("run reduce --n 100k --device sim --rung reduce_smem --json").json();
    let rung = &list[0];
    assert_eq!(rung["device"], "sim");
    assert_eq!(rung["correct"], true);
    assert!(rung["time_ns"].is_null() && rung["gb_per_s"].is_null());
    let counters = &rung["counters"];
    let requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
    assert_eq!(counters[requests], 3200);
    let sectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
    assert_eq!(counters[sectors], 4.0);
    assert_eq!(counters["l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"], 0);

    let uncounted = alone("run reduce --n 100 --device sim --no-time --json").json();
    let mut uncounted = rows(&uncounted).iter();
    assert!(uncounted.all(|rung| rung.get("counters").is_none()));
}

#[test]
fn the_list_needs_no_device() {
    let out = alone("list").printed();
    assert!(out.contains("reduce_shfl") && !out.contains('\u{1b}'));
    let list = alone("list reduce --json").json();
    assert_eq!(rows(&list).len(), rungs("reduce"));
    let unrolled = row(&list, "reduce_complete_unroll");
    assert_eq!(unrolled["entries"][3], "reduce_complete_unroll_512");
    let list = alone("list reduce_shfl shuffle --json").json();
    assert_eq!(rows(&list).len(), 1 + rungs("shuffle"));
    let all: usize = host::ladders().iter().map(|own| own.rungs.len()).sum();
    for args in ["list --json", "list all --json"] {
        assert_eq!(rows(&alone(args).json()).len(), all, "{args}");
    }
    let ended = alone("");
    assert!(ended.code == 2 && ended.out.is_empty(), "{ended:?}");
    assert_has(&ended.err, &["Usage: ladder <COMMAND>"]);
    assert_eq!(alone("--help").code, 0);
    assert_eq!(alone("--version").code, 0);
}

#[test]
fn a_right_run_ends_with_0_and_json_has_just_the_promised_fields() {
    let list = on(right, "run reduce --n 4k --runs 3 --json").json();
    assert_eq!(rows(&list).len(), rungs("reduce"));
    let mut fields: Vec<&str> = list[0].as_object().unwrap().keys().map(|key| &**key).collect();
    fields.sort();
    assert_eq!(
        fields.join(" "),
        "block bytes correct device device_name gb_per_s grid ladder n op rung shared_bytes speedup_vs_first time_ns type"
    );
    let dynamic = row(&list, "reduce_smem_dyn");
    assert_eq!(dynamic["shared_bytes"], 512);
    assert_eq!(dynamic["grid"], json!([32, 1, 1]));
}

#[test]
fn rungs_can_be_named_together_or_one_by_one() {
    let json = |args| on(right, args).json();
    let together = json("run reduce --n 100 --no-time --rung reduce_smem reduce_shfl --json");
    let apart = json("run reduce --rung reduce_shfl --n 100 --rung reduce_smem --no-time --json");
    assert_eq!(together, apart);
    assert_eq!(rows(&apart).len(), 2);
    assert!(apart[1]["time_ns"].is_null() && apart[1]["speedup_vs_first"].is_null());
}

#[test]
fn rungs_of_several_ladders_run_by_their_names() {
    let list = alone("run reduce_shfl transpose_naive --rows 33 --n 1000 --no-time --json").json();
    assert_eq!(rows(&list).len(), 2);
    assert_eq!([&list[0]["n"], &list[1]["rows"]], [1000, 33]);
    let list = alone("run reduce_unrolling --n 9 --no-time --json").json();
    for row in rows(&list) {
        let name = row["rung"].as_str().unwrap();
        assert!(name.starts_with("reduce_unrolling"), "{name}");
    }
    let list = alone("run reduce transpose --rung reduce_shfl --n 9 --json").json();
    assert_eq!(rows(&list).len(), 1);
}

#[test]
fn rungs_that_have_no_tile_of_a_block_are_left_out() {
    let sizes = "--device sim --rows 33 --cols 7 --block 512";
    for command in ["run transpose", "check transpose"] {
        alone((command, sizes)).printed();
    }
    alone(("run transpose_smem", sizes))
        .refused("transpose_smem was not compiled for a block of 512: it was for 32x16, 32x32, 16x16");
}

#[test]
fn a_wrong_result_is_shown_and_ends_with_1() {
    let wrong = || Fake::new(Some(Fault::WrongSum("reduce_unrolling8")));
    let out = on(wrong, "run reduce --n 10000 --no-time").ended_with(1);
    let why = "wrong: reduce_unrolling8<<<3, 512, 0>>>: block 2 of 3: its sum is";
    assert_has(&out, &["WRONG", why]);

    let out = on(wrong, "run reduce --n 10000 --json").ended_with(1);
    let list: Value = serde_json::from_str(&out).unwrap();
    for rung in rows(&list) {
        assert_eq!(rung["correct"], rung["rung"] != "reduce_unrolling8");
    }
}

#[test]
fn a_failing_device_is_an_error_and_ends_with_1() {
    let fails = || Fake::new(Some(Fault::Fails("reduce_smem_dyn")));
    let ended = on(fails, "run reduce --n 1000 --block 256");
    assert_eq!(ended.code, 1);
    let why = "error: reduce_smem_dyn_256<<<4, 256, 1024>>> failed: IllegalAddress";
    assert!(ended.err.starts_with(why), "{ended:?}");
}

#[test]
fn the_readme_is_rewritten_after_a_right_run_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("README.md");
    let old = "<!-- ladder:reduce:begin -->\nold\n<!-- ladder:reduce:end -->\n";
    fs::write(&path, old).unwrap();
    let args = ("run reduce --n 1000 --update-readme", [path.to_str().unwrap()]);

    let wrong = on(|| Fake::new(Some(Fault::WrongSum("reduce_gmem"))), args);
    assert_eq!(wrong.code, 1);
    assert_has(&wrong.err, &["is left as it was: a result is wrong"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), old);

    assert_eq!(on(right, args).code, 0);
    let text = fs::read_to_string(&path).unwrap();
    assert_has(&text, &["| `reduce_shfl`", "Test GPU"]);
    assert!(!text.contains("old"));
}

#[test]
fn a_sweep_is_a_matrix_and_ends_with_1_where_one_is_wrong() {
    let args = "check reduce --n 0 1 1000 --block 64 512";
    let out = on(right, args).printed();
    let checks = 3 * 2 * rungs("reduce");
    assert_has(&out, &[&format!("{checks} checks, with blocks of 64, 512")]);
    assert!(!out.contains("WRONG"));

    let one = on(right, (args, "--rung reduce_gmem"));
    assert_has(&one.out, &["6 checks"]);

    let wrong = || Fake::new(Some(Fault::OneTooMany("reduce_gmem")));
    let ended = on(wrong, args);
    assert_eq!(ended.code, 1);
    let why = "wrong: reduce_gmem_512<<<2, 512, 0>>> at n = 1000: byte 8 was written";
    assert_has(&ended.out, &["WRONG: 64, 512", why]);
}

#[test]
fn devices_are_described() {
    let out = on(right, "devices").printed();
    let lines = ["gpu                 Test GPU", "compute capability  7.5", "peak bandwidth      320 GB/s"];
    assert_has(&out, &lines);
    let list = on(right, "devices --json").json();
    assert_eq!(list[0]["multiprocessors"], 40);
}

#[test]
fn what_the_device_is_too_old_for_is_told() {
    let too_old = || Fake::new(Some(Fault::TooOld("reduce_shfl")));
    let needs = "needs compute capability 9.0, the device has 7.5; --device sim runs it";
    let why = &format!("left out: reduce_shfl_128 {needs}");
    let ended = on(too_old, "run reduce --n 1000 --no-time");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_has(&ended.out, &[why, "reduce_smem_dyn"]);
    let ended = on(too_old, "check reduce --n 1 31");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.out.matches(why).count(), 1, "{}", ended.out);
    for command in ["check", "run"] {
        on(too_old, (command, "reduce --n 1 --rung reduce_shfl")).refused(needs);
    }
}
