//! The program: what it prints, and its exit codes. What it refuses is in refused.rs.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::program::{Ended, alone, on, right};
use common::{Fake, Fault};
use host::ladder;

/// How many rungs a ladder has.
fn rungs(name: &str) -> usize {
    ladder(name).unwrap().rungs.len()
}

/// The row of a rung in JSON.
fn row<'a>(rows: &'a serde_json::Value, rung: &str) -> &'a serde_json::Value {
    let mut rows = rows.as_array().unwrap().iter();
    rows.find(|row| row["rung"] == rung).unwrap()
}

#[test]
fn without_a_driver_the_program_starts_and_says_so() {
    let Ended { code, err, .. } = alone(&["run", "reduce", "--device", "gpu"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("error: no CUDA driver"), "{err}");
    assert!(err.contains("--device sim needs no GPU"), "{err}");
    assert_eq!(err.trim_end().lines().count(), 1, "{err}");
    assert!(!err.contains('\u{1b}'), "colours in a pipe: {err}");
}

#[test]
fn without_a_driver_the_best_device_is_the_simt_machine() {
    let Ended { code, out, err } = alone(&["run", "reduce", "--n", "10000"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in [
        "instr. / warp",
        "used ld / st",
        "branches that keep a warp together",
        "reduce on SIMT machine, ",
        "one launch of each, counted and not timed",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("GB/s"), "{out}");
    let Ended { code, out, .. } = alone(&["check", "reduce", "--n", "1", "1000", "--block", "64"]);
    assert_eq!(code, 0);
    let checks = 2 * rungs("reduce");
    assert!(
        out.contains(&format!("{checks} checks")) && out.contains("on SIMT machine"),
        "{out}"
    );
    let Ended { code, out, .. } = alone(&["devices"]);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("sim                 SIMT machine, "),
        "{out}"
    );
}

#[test]
fn the_other_ladders_on_a_machine_without_a_driver() {
    for (args, parts) in [
        (
            &["run", "transpose", "--rows", "100", "--cols", "70"][..],
            &["100 × 70 f32", "waves ld / st", "copy_gmem"][..],
        ),
        (
            &["run", "matmul", "--m", "40", "--n", "30", "--k", "20"],
            &["m = 40, n = 30, k = 20", "matmul_coarsened8"],
        ),
        (
            &["run", "histogram", "--data", "Cargo.toml"],
            &["Cargo.toml bytes", "global atomics"],
        ),
        (
            &["run", "shuffle", "--delta", "1", "--type", "f32"],
            &[
                "warp_shuffle_up(value, 1) in segments of 16, right",
                "(0.5)",
            ],
        ),
        (
            &[
                "run", "reduce", "--op", "min", "--type", "f64", "--n", "1000",
            ],
            &["n = 1000, min of f64", "reduce_grid_stride"],
        ),
        (
            &["check", "matmul", "--m", "1", "17", "--n", "33", "--k", "5"],
            &["checks, with blocks of 16x16, 32x32, 128, 256", "m = 17"],
        ),
        (
            &["check", "--device", "sim", "shuffle", "--width", "4"],
            &["checks, with blocks of 4, 16", "width 4"],
        ),
    ] {
        let Ended { code, out, err } = alone(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
        assert!(!out.contains("WRONG"), "{args:?}: {out}");
        for part in parts {
            assert!(out.contains(part), "{args:?}, {part}: {out}");
        }
    }
}

#[test]
fn json_of_the_other_ladders_has_their_options() {
    let json = |args: &[&str]| -> serde_json::Value {
        let Ended { code, out, err } = alone(&[args, &["--json", "--no-time"]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        serde_json::from_str(&out).unwrap()
    };
    let rungs = json(&["run", "transpose", "--rows", "3", "--cols", "5"]);
    assert_eq!(
        (&rungs[0]["rows"], &rungs[0]["cols"]),
        (&3.into(), &5.into())
    );
    assert_eq!(rungs[0]["bytes"], 2 * 15 * 4);
    let rungs = json(&["run", "histogram", "--data", "Cargo.toml"]);
    let bytes = fs::metadata("Cargo.toml").unwrap().len();
    assert_eq!(
        (&rungs[0]["n"], &rungs[0]["data"]),
        (&bytes.into(), &"Cargo.toml".into())
    );
    let rungs = json(&["run", "matmul", "--m", "4", "--n", "3", "--k", "2"]);
    let all = rungs.as_array().unwrap();
    assert_eq!(all.len(), ladder("matmul").unwrap().rungs.len());
    assert!(all.iter().all(|rung| rung["k"] == 2));
}

#[test]
fn json_of_a_device_that_counts_has_counters_and_no_time() {
    let args = [
        "run",
        "reduce",
        "--n",
        "100k",
        "--device",
        "sim",
        "--rung",
        "reduce_smem",
        "--json",
    ];
    let Ended { code, out, err } = alone(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    let rungs: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rung = &rungs[0];
    assert_eq!(
        (&rung["device"], &rung["correct"]),
        (&"sim".into(), &true.into())
    );
    assert!(rung["time_ns"].is_null() && rung["gb_per_s"].is_null());
    let counters = &rung["counters"];
    assert_eq!(
        counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        3200
    );
    assert_eq!(
        counters["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
        4.0
    );
    assert!(counters["l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"] == 0);

    let unasked = alone(&[
        "run",
        "reduce",
        "--n",
        "100",
        "--device",
        "sim",
        "--no-time",
        "--json",
    ]);
    let rungs: serde_json::Value = serde_json::from_str(&unasked.out).unwrap();
    assert!(
        rungs
            .as_array()
            .unwrap()
            .iter()
            .all(|rung| rung.get("counters").is_none())
    );
}

#[test]
fn the_list_needs_no_device() {
    let Ended { code, out, .. } = alone(&["list"]);
    assert_eq!(code, 0);
    assert!(out.contains("reduce_shfl") && !out.contains('\u{1b}'));
    let Ended { code, out, .. } = alone(&["list", "reduce", "--json"]);
    assert_eq!(code, 0);
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), rungs("reduce"));
    let unrolled = row(&listed, "reduce_complete_unroll");
    assert_eq!(unrolled["entries"][3], "reduce_complete_unroll_512");
    let Ended { code, out, .. } = alone(&["list", "reduce_shfl", "shuffle", "--json"]);
    assert_eq!(code, 0);
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1 + rungs("shuffle"));
    let all: usize = host::ladders().iter().map(|own| own.rungs.len()).sum();
    for args in [&["list", "--json"][..], &["list", "all", "--json"]] {
        let listed: serde_json::Value = serde_json::from_str(&alone(args).out).unwrap();
        assert_eq!(listed.as_array().unwrap().len(), all, "{args:?}");
    }
    let Ended { code, out, err } = alone(&[]);
    assert!(
        code == 2 && out.is_empty() && err.contains("Usage: ladder <COMMAND>"),
        "{err}"
    );
    assert_eq!(alone(&["--help"]).code, 0);
    assert_eq!(alone(&["--version"]).code, 0);
}

#[test]
fn a_right_climb_ends_with_0_and_json_has_just_the_promised_fields() {
    let Ended { code, out, err } = on(
        right,
        &["run", "reduce", "--n", "4k", "--runs", "3", "--json"],
    );
    assert_eq!((code, err.as_str()), (0, ""));
    let rungs: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rungs.as_array().unwrap().len(), self::rungs("reduce"));
    let mut fields: Vec<&String> = rungs[0].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(
        fields,
        [
            "block",
            "bytes",
            "correct",
            "device",
            "device_name",
            "gb_per_s",
            "grid",
            "ladder",
            "n",
            "op",
            "rung",
            "shared_bytes",
            "speedup_vs_first",
            "time_ns",
            "type"
        ]
    );
    let dynamic = row(&rungs, "reduce_smem_dyn");
    assert_eq!(dynamic["shared_bytes"], 512);
    assert_eq!(dynamic["grid"], serde_json::json!([32, 1, 1]));
}

#[test]
fn rungs_can_be_named_together_or_one_by_one() {
    let together = on(
        right,
        &[
            "run",
            "reduce",
            "--n",
            "100",
            "--no-time",
            "--rung",
            "reduce_smem",
            "reduce_shfl",
            "--json",
        ],
    );
    let apart = on(
        right,
        &[
            "run",
            "reduce",
            "--rung",
            "reduce_shfl",
            "--n",
            "100",
            "--rung",
            "reduce_smem",
            "--no-time",
            "--json",
        ],
    );
    assert_eq!(together.code, 0, "{}", together.err);
    assert_eq!(together.out, apart.out);
    let rungs: serde_json::Value = serde_json::from_str(&apart.out).unwrap();
    assert_eq!(rungs.as_array().unwrap().len(), 2);
    assert!(rungs[1]["time_ns"].is_null() && rungs[1]["speedup_vs_first"].is_null());
}

#[test]
fn rungs_of_several_ladders_run_by_their_names() {
    let args = "run reduce_shfl transpose_naive --rows 33 --n 1000 --no-time --json";
    let args: Vec<&str> = args.split(' ').collect();
    let Ended { code, out, err } = alone(&args);
    assert_eq!((code, err.as_str()), (0, ""));
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(
        (&rows[0]["n"], &rows[1]["rows"]),
        (&1000.into(), &33.into())
    );
    let Ended { out, .. } = alone(&["run", "reduce_unrolling", "--n", "9", "--no-time", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let mut rows = rows.as_array().unwrap().iter();
    assert!(rows.all(|row| {
        row["rung"]
            .as_str()
            .unwrap()
            .starts_with("reduce_unrolling")
    }));
    let both = [
        "run",
        "reduce",
        "transpose",
        "--rung",
        "reduce_shfl",
        "--n",
        "9",
        "--json",
    ];
    let rows: serde_json::Value = serde_json::from_str(&alone(&both).out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
}

#[test]
fn rungs_that_have_no_tile_of_a_block_are_left_out() {
    let sizes = [
        "--device", "sim", "--rows", "33", "--cols", "7", "--block", "512",
    ];
    for command in ["run", "check"] {
        let Ended { code, out, err } = alone(&[&[command, "transpose"], &sizes[..]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{command}: {out}");
    }
    let named = [&["run", "transpose_smem"], &sizes[..]].concat();
    let Ended { code, err, .. } = alone(&named);
    assert_eq!(code, 2);
    let why = "transpose_smem was not compiled for a block of 512: it was for 32x16, 32x32, 16x16";
    assert!(err.contains(why), "{err}");
}

#[test]
fn a_wrong_result_is_shown_and_ends_with_1() {
    let wrong = || Fake::new(Some(Fault::WrongSum("reduce_unrolling8")));
    let Ended { code, out, err } = on(wrong, &["run", "reduce", "--n", "10000", "--no-time"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.contains("WRONG"), "{out}");
    assert!(
        out.contains("wrong: reduce_unrolling8<<<3, 512, 0>>>: block 2 of 3: its sum is"),
        "{out}"
    );

    let Ended { code, out, .. } = on(wrong, &["run", "reduce", "--n", "10000", "--json"]);
    assert_eq!(code, 1);
    let rungs: serde_json::Value = serde_json::from_str(&out).unwrap();
    for rung in rungs.as_array().unwrap() {
        assert_eq!(rung["correct"], rung["rung"] != "reduce_unrolling8");
    }
}

#[test]
fn a_failing_device_is_an_error_and_ends_with_1() {
    let fails = || Fake::new(Some(Fault::Fails("reduce_interleaved")));
    let Ended { code, err, .. } = on(fails, &["run", "reduce", "--n", "1000", "--block", "256"]);
    assert_eq!(code, 1);
    assert!(
        err.starts_with("error: reduce_interleaved<<<4, 256, 0>>> failed: IllegalAddress"),
        "{err}"
    );
}

#[test]
fn the_readme_is_rewritten_after_a_right_climb_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("README.md");
    let old = "<!-- ladder:reduce:begin -->\nold\n<!-- ladder:reduce:end -->\n";
    fs::write(&path, old).unwrap();
    let args = [
        "run",
        "reduce",
        "--n",
        "1000",
        "--update-readme",
        path.to_str().unwrap(),
    ];

    let wrong = on(|| Fake::new(Some(Fault::WrongSum("reduce_gmem"))), &args);
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.err.contains("is left as it was: a result is wrong"),
        "{}",
        wrong.err
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), old);

    assert_eq!(on(right, &args).code, 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("| `reduce_shfl`") && text.contains("Test GPU"),
        "{text}"
    );
    assert!(!text.contains("old"));
}

#[test]
fn a_sweep_is_a_matrix_and_ends_with_1_where_one_is_wrong() {
    let args = [
        "check", "reduce", "--n", "0", "1", "1000", "--block", "64", "512",
    ];
    let Ended { code, out, err } = on(right, &args);
    assert_eq!((code, err.as_str()), (0, ""));
    let checks = 3 * 2 * rungs("reduce");
    let line = format!("{checks} checks, with blocks of 64, 512");
    assert!(out.contains(&line), "{out}");
    assert!(!out.contains("WRONG"));

    let one = [&args[..], &["--rung", "reduce_gmem"]].concat();
    assert!(on(right, &one).out.contains("6 checks"));

    let wrong = || Fake::new(Some(Fault::OneTooMany("reduce_gmem")));
    let Ended { code, out, .. } = on(wrong, &args);
    assert_eq!(code, 1);
    assert!(out.contains("WRONG: 64, 512"), "{out}");
    assert!(
        out.contains("wrong: reduce_gmem_512<<<2, 512, 0>>> at n = 1000: byte 8 was written"),
        "{out}"
    );
}

#[test]
fn devices_are_described() {
    let Ended { code, out, .. } = on(right, &["devices"]);
    assert_eq!(code, 0);
    for line in [
        "gpu                 Test GPU",
        "compute capability  7.5",
        "peak bandwidth      320 GB/s",
    ] {
        assert!(out.contains(line), "{out}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&on(right, &["devices", "--json"]).out).unwrap();
    assert_eq!(json[0]["multiprocessors"], 40);
}

#[test]
fn what_the_device_is_too_old_for_is_told() {
    let too_old = || Fake::new(Some(Fault::TooOld("reduce_shfl")));
    let Ended { code, out, .. } = on(too_old, &["run", "reduce", "--n", "1000", "--no-time"]);
    assert_eq!(code, 0, "{out}");
    let why = "left out: reduce_shfl_128 needs compute capability 9.0, the device has 7.5";
    assert!(
        out.contains(why) && out.contains("reduce_smem_dyn"),
        "{out}"
    );
    let Ended { code, out, .. } = on(too_old, &["check", "reduce", "--n", "1", "31"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(out.matches(why).count(), 1, "{out}");
    let named = ["check", "reduce", "--n", "1", "--rung", "reduce_shfl"];
    let Ended { code, err, .. } = on(too_old, &named);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("needs compute capability 9.0"), "{err}");
}
