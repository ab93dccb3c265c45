//! The program: what it prints, what it refuses in which words, and its exit codes.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::process::Command;

use common::{Fake, Fault};
use host::cli::{self, Surroundings};
use host::{Device, Error};

struct Ended {
    code: u8,
    out: String,
    err: String,
}

/// Runs the program on a device of the test's.
fn on(device: impl Fn() -> Fake, args: &[&str]) -> Ended {
    let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(device())) };
    let surroundings = Surroundings {
        open: &open,
        terminal: false,
    };
    let (mut out, mut err) = (
        anstream::StripStream::new(Vec::new()),
        anstream::StripStream::new(Vec::new()),
    );
    let args = ["ladder"].iter().chain(args).map(Into::into);
    let code = cli::main(args, &surroundings, &mut out, &mut err);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code,
        out: text(out.into_inner()),
        err: text(err.into_inner()),
    }
}

fn right() -> Fake {
    Fake::new(None)
}

/// Runs the program itself, on a machine without a driver.
fn alone(args: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(args)
        .env(libcuda::OVERRIDE, "no/such/libcuda.so")
        .output()
        .unwrap();
    Ended {
        code: u8::try_from(output.status.code().unwrap()).unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn bad_input_is_one_line_with_a_hint_and_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "redcue"],
            "no ladder is named `redcue`; did you mean `reduce`?",
        ),
        (
            &["run", "quicksort"],
            "no ladder is named `quicksort`; the ladders are reduce, transpose, shuffle, matmul, histogram",
        ),
        (
            &["run", "reduce", "--rung", "reduce_shfl", "reduce_neighbor"],
            "the ladder reduce has no rung `reduce_neighbor`; did you mean `reduce_neighbored`?",
        ),
        (
            &["run", "reduce", "--block", "100"],
            "it must be a power of two from 64 to 1024",
        ),
        (
            &["run", "reduce", "--block", "2048"],
            "it must be a power of two from 64 to 1024",
        ),
        (
            &["run", "reduce", "--block", "0"],
            "it must be a power of two from 64 to 1024",
        ),
        (
            &["run", "reduce", "--block", "32x16"],
            "a block of 32x16 is not possible",
        ),
        (&["run", "reduce", "--block", "x"], "`x` is not a block"),
        (
            &["run", "reduce", "--n", "many"],
            "write 16777216, 1_000_000, 2^24 or 16M",
        ),
        (
            &["run", "reduce", "--n", "-5"],
            "`-5` is not a size: it is negative",
        ),
        (
            &["run", "reduce", "--n", "2^31"],
            "out of bounds for the ladder reduce: it takes 0 to 2147483647",
        ),
        (&["run", "reduce", "--runs", "0"], "--runs takes 1 or more"),
        (
            &["run", "reduce", "--runs", "x"],
            "invalid value 'x' for '--runs <K>'",
        ),
        (
            &["run", "reduce", "--device", "tpu"],
            "[possible values: auto, gpu, sim]",
        ),
        (
            &["run", "reduce", "--update-readme", "no/such.md"],
            "cannot update no/such.md",
        ),
        (
            &["run", "reduce", "--json", "--markdown"],
            "cannot be used with",
        ),
        (
            &["run", "reduce", "--rungs", "x"],
            "a similar argument exists",
        ),
        (
            &["run", "reduce", "--op", "mean"],
            "`mean` is not possible for --op",
        ),
        (
            &["run", "reduce", "--op", "max", "--rung", "reduce_gmem"],
            "reduce_gmem was not compiled for max of i32; it is in reduce_smem, reduce_shfl",
        ),
        (
            &["run", "reduce", "--op", "max", "--block", "512"],
            "reduce_smem was not compiled for a block of 512: it was for 128",
        ),
        (
            &["run", "transpose", "--rows", "0"],
            "rows = 0 is out of bounds for the ladder transpose: it takes 1 to 2147483647",
        ),
        (
            &["run", "transpose", "--rows", "100k", "--cols", "100k"],
            "102400 × 102400 is too large for the ladder transpose: it takes up to 2147483647 elements",
        ),
        (
            &["run", "transpose", "--block", "64x8"],
            "it must be 32x16, 32x32 or 16x16, the tiles that were compiled in",
        ),
        (
            &["run", "transpose", "--n", "5"],
            "unexpected argument '--n' found",
        ),
        (
            &["run", "matmul", "--k", "0"],
            "k = 0 is out of bounds for the ladder matmul: it takes 1 to 2147483647",
        ),
        (
            &["run", "matmul", "--block", "64x64"],
            "it must be 16x16 or 32x32",
        ),
        (
            &["run", "matmul", "--rung", "matmul_coarsened16"],
            "did you mean `matmul_coarsened1`?",
        ),
        (
            &["run", "histogram", "--data", "no/such/file"],
            "cannot read no/such/file: No such file or directory (os error 2); --data takes uniform, skewed, \
             constant or the path of a file",
        ),
        (
            &["run", "histogram", "--data", "src", "--n", "5"],
            "cannot read src: Is a directory",
        ),
        (
            &["run", "shuffle", "--width", "5"],
            "width = 5 is out of bounds for the ladder shuffle: it takes 2, 4, 8, 16 or 32",
        ),
        (
            &["run", "shuffle", "--block", "32"],
            "16 values, 32 with --width 32",
        ),
        (
            &["check", "matmul", "--m", "1", "0"],
            "m = 0 is out of bounds",
        ),
        (
            &["check", "transpose", "--block", "8"],
            "a block of 8 is not possible",
        ),
        (&["check", "nothing"], "no ladder is named `nothing`"),
        (&["run"], "required arguments were not provided: <LADDER>;"),
        (&["climb"], "unrecognized subcommand 'climb'"),
        (&["list", "redcue"], "did you mean `reduce`?"),
        (
            &["check", "reduce", "--n", "1", "2^31"],
            "it takes 0 to 2147483647",
        ),
        (
            &["check", "reduce", "--block", "64", "65"],
            "a block of 65 is not possible",
        ),
    ];
    for (args, message) in cases {
        let Ended { code, out, err } = on(|| panic!("no device is opened for {args:?}"), args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(
            err.starts_with("error: ") && err.contains(message),
            "{args:?}: {err}"
        );
        assert_eq!(err.trim_end().lines().count(), 1, "{args:?}: {err}");
        assert!(out.is_empty(), "{args:?}: {out}");
    }
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
    assert!(
        out.contains("34 checks") && out.contains("on SIMT machine"),
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
            &["32 checks, with blocks of 16x16, 32x32", "m = 17"],
        ),
        (
            &["check", "--device", "sim", "shuffle", "--width", "4"],
            &["7 checks, with blocks of 4, 16", "width 4"],
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
    assert_eq!(rungs.as_array().unwrap().len(), 8);
    assert_eq!(rungs[7]["k"], 2);
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
    let rungs: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rungs.as_array().unwrap().len(), 17);
    assert_eq!(rungs[8]["entries"][3], "reduce_complete_unroll_512");
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
    assert_eq!(rungs.as_array().unwrap().len(), 17);
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
    assert_eq!(rungs[12]["rung"], "reduce_smem_dyn");
    assert_eq!(rungs[12]["shared_bytes"], 512);
    assert_eq!(rungs[12]["grid"], serde_json::json!([32, 1, 1]));
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
    assert!(out.contains("102 checks, with blocks of 64, 512"), "{out}");
    assert!(!out.contains("WRONG"));

    let one = [&args[..], &["--rung", "reduce_gmem"]].concat();
    assert!(on(right, &one).out.contains("6 checks"));

    let wrong = || Fake::new(Some(Fault::OneTooMany("reduce_gmem")));
    let Ended { code, out, .. } = on(wrong, &args);
    assert_eq!(code, 1);
    assert!(out.contains("WRONG: 64, 512"), "{out}");
    assert!(
        out.contains("wrong: reduce_gmem_512<<<2, 512, 0>>> at n = 1000: word 2 was written"),
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
