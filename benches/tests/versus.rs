//! Tests of the program on the simulator with a fake clock: its tables, and its messages about missing or wrong
//! contestants.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::stand_in::clocked::Clocked;
use crate::common::{FakeNvcc, LIBRARY, clocked};
use analysis::profile::ncu::System;
use analysis::results::{self, Unit};
use benches::Failure;
use benches::cuda_code::CudaCode;
use benches::nvcc::Nvcc;
use benches::versus::{self, VERSUS};
use clap::ArgMatches;
use cli::Env;
use cli::command::Output;
use cli::output::{Form, OutputStyle};
use cli::targets::Scope;
use host::{CATALOG, Catalog, Ladder, Provenance};
use serde_json::{Value, json};

/// Runs the program, and returns its exit code, stdout and stderr.
fn run(device: fn() -> Clocked, cuda: &dyn Fn() -> CudaCode, args: &[&str]) -> (u8, String, String) {
    run_of(&CATALOG, device, cuda, args)
}

/// Like [`run`], with these ladders.
fn run_of(
    catalog: &'static Catalog,
    device: fn() -> Clocked,
    cuda: &dyn Fn() -> CudaCode,
    args: &[&str],
) -> (u8, String, String) {
    run_as(Form::Text, catalog, device, cuda, args)
}

/// Like [`run_of`], with this form of output.
fn run_as(
    form: Form,
    catalog: &'static Catalog,
    device: fn() -> Clocked,
    cuda: &dyn Fn() -> CudaCode,
    args: &[&str],
) -> (u8, String, String) {
    let command = [&["lab", "versus"], args].concat();
    run_with(form, catalog, device, args, &command, None, |matches, env, to| versus::execute(cuda, matches, env, to))
}

/// Runs the program with `execute`, like the process of a command, with the request to a child.
fn run_with(
    form: Form,
    catalog: &'static Catalog,
    device: fn() -> Clocked,
    args: &[&str],
    command: &[&str],
    request: Option<&str>,
    execute: impl Fn(&ArgMatches, &Env<'_>, &mut Output<'_>) -> Result<u8, cli::Error>,
) -> (u8, String, String) {
    let provenance =
        |_: &host::device::DeviceInfo| Provenance { date: "2026-04-01".into(), toolchain: "some rustc".into() };
    let args: Vec<OsString> = ["lab", "versus"].iter().chain(args).map(Into::into).collect();
    let command: Vec<OsString> = command.iter().map(Into::into).collect();
    let env = Env {
        program: &lab::LAB,
        catalog,
        shared: &[],
        open: &|_| Ok(Box::new(device())),
        command: Some(&command),
        request,
        terminal: false,
        form,
        wide: false,
        width: 100,
        runner: &System,
        explain: &|_| Err(Vec::new()),
        provenance: &provenance,
    };
    let parser = (VERSUS.arguments)(clap::Command::new("versus"), &Scope::of(catalog, &args));
    let matches = parser.try_get_matches_from(&args[1..]).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = execute(&matches, &env, &mut Output { out: &mut out, err: &mut err });
    let code = code.unwrap_or_else(|error| {
        err.extend(format!("error: {error}\n").bytes());
        error.exit_code()
    });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (code, text(out), text(err))
}

/// Returns an nvcc that also builds the library of baselines.
fn nvcc_with_library() -> FakeNvcc {
    FakeNvcc::new(Some(&LIBRARY))
}

/// Returns the transpose with only its first two rungs, so that the output does not change with the ladder.
fn two_rungs() -> &'static Catalog {
    let transpose = host::ladder("transpose").unwrap();
    let ladders = Box::leak(Box::new([Ladder { rungs: &transpose.rungs[..2], ..*transpose }]));
    Box::leak(Box::new(Catalog { ladders, ..CATALOG }))
}

const TRANSPOSE: [&str; 7] = ["transpose", "--rows", "100", "--cols", "50", "--runs", "5"];

#[test]
fn rungs_and_cuda_ports_and_baselines_in_a_table() {
    let nvcc = nvcc_with_library();
    let (code, out, err) = run_of(two_rungs(), || clocked(""), &|| nvcc.cuda(), &TRANSPOSE);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    insta::assert_snapshot!(out);
}

#[test]
fn the_same_as_json() {
    let nvcc = nvcc_with_library();
    let args = ["transpose_naive", "--rows", "100", "--cols", "50", "--runs", "5", "--json"];
    let (code, out, err) = run(|| clocked(""), &|| nvcc.cuda(), &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let _: Value = serde_json::from_str(&out).unwrap();
    insta::assert_snapshot!(out);
}

#[test]
fn missing_contestants_are_reported_and_the_rest_is_measured() {
    let nvcc = FakeNvcc::new(None);
    let args = ["histogram", "--n", "3000", "--runs", "5"];
    let (code, out, _) = run(|| clocked(""), &|| nvcc.cuda(), &args);
    assert_eq!(code, 0);
    assert!(out.contains("no baselines: nvcc could not compile baselines.cu: baselines.cu(20): fatal error"), "{out}");
    assert!(out.contains("0.909 (0.909–0.909)"), "{out}");

    let none = || CudaCode::with(Nvcc::at("no/such/nvcc".into()), PathBuf::new(), "no/such/python".into());
    let (code, out, _) = run(|| clocked(""), &none, &args);
    assert_eq!(code, 0);
    for what in ["no CUDA ports: no nvcc: ", "no baselines: no nvcc: "] {
        assert!(out.contains(what), "{out}");
    }
    assert!(out.contains("\nhistogram_private "), "{out}");

    let args = ["softmax_block", "--m", "3", "--n", "40", "--runs", "5"];
    let (code, out, _) = run(|| clocked(""), &none, &args);
    assert_eq!(code, 0);
    assert!(out.contains("no PyTorch: cannot start no/such/python: "), "{out}");
}

#[test]
fn a_wrong_cuda_port_is_named_and_not_timed() {
    let nvcc = nvcc_with_library();
    let idle = || {
        let mut device = clocked("");
        device.is_idle = true;
        device
    };
    let args = ["transpose_naive", "--rows", "100", "--cols", "50", "--runs", "5"];
    let (code, out, _) = run(idle, &|| nvcc.cuda(), &args);
    assert_eq!(code, 1);
    assert!(out.contains("wrong: transpose_naive (CUDA C++): "), "{out}");
    assert!(out.contains("  WRONG  "), "{out}");
}

#[test]
fn slow_contestants_run_once_and_are_left_out() {
    let nvcc = nvcc_with_library();
    let slow = || clocked("transpose_naive");
    let (code, out, err) = run(slow, &|| nvcc.cuda(), &TRANSPOSE);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let row = out.lines().find(|line| line.contains("transpose_naive ")).unwrap();
    for what in ["left out (1000.000 ms)", "left out (1100.000 ms)"] {
        assert!(row.contains(what), "{row}");
    }
    let left = host::ladder("transpose").unwrap().rungs.len() - 1;
    assert!(out.lines().any(|line| line.contains(&format!("  {left}  "))), "{left} rungs remain to compare: {out}");
}

#[test]
fn the_results_are_records() {
    let nvcc = nvcc_with_library();
    let (code, out, err) = run_as(Form::Records, two_rungs(), || clocked(""), &|| nvcc.cuda(), &TRANSPOSE);
    assert_eq!((code, err.as_str()), (0, ""));
    let records = results::parse(&out).unwrap();
    let first = &records[0];
    assert_eq!((&*first.rung, &*first.subject()), ("copy_gmem", "transpose: 100 × 50 f32"));
    assert_eq!(first.value("time"), Some(&results::Value::new(100_000.0, Unit::Nanoseconds)));
    let naive = records.iter().find(|record| record.rung == "transpose_naive").unwrap();
    assert_eq!(naive.value("rung / CUDA C++").unwrap().to_string(), "0.909 (0.909–0.909)");
    assert!(records.iter().any(|record| record.kind == "against" && record.rung == "memcpy"));
    assert!(first.toolchain.contains("nvcc 13.0.88") && first.conditions.contains("5 alternating rounds"));
}

#[test]
fn a_rung_that_cannot_run_a_problem_is_left_out_with_the_reason() {
    let nvcc = FakeNvcc::new(None);
    let run = |args: &str| run(|| clocked(""), &|| nvcc.cuda(), &args.split(' ').collect::<Vec<_>>());
    let shape = "--m 20 --n 20 --k 9 --runs 5";
    let (code, out, err) = run(&format!("gemm {shape}"));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("\ngemm_mma ") && !out.contains("\ngemm_tma "), "{out}");
    assert!(out.contains("left out: gemm_tma cannot compute this: "), "{out}");

    let (code, out, err) = run(&format!("gemm_tma {shape}"));
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.starts_with("error: gemm_tma cannot compute this: "), "{err}");
}

#[test]
fn pytorch_is_a_baseline_in_another_process() {
    let nvcc = FakeNvcc::new(None);
    let run = |more: &str| {
        let args = format!("attention_naive --heads 1 --queries 32 --runs 5 {more}");
        run(|| clocked(""), &|| nvcc.cuda(), &args.trim().split(' ').collect::<Vec<_>>())
    };
    let (code, out, err) = run("");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("PyTorch 1.2.3"), "{out}");
    let row = out.lines().find(|line| line.starts_with("PyTorch, cuDNN")).unwrap();
    assert!(row.contains("50.00 µs") && row.contains("attention_naive") && row.contains("2.000"), "{row}");
    let left_out = "left out: PyTorch, FlashAttention-2 does not compute this: it has no head of 128";
    assert!(out.contains(left_out), "{out}");

    for (more, why) in [
        ("--causal yes", "wrong: PyTorch, cuDNN: its relative error is 0.5"),
        ("--d 64", "wrong: PyTorch, cuDNN: PyTorch, cuDNN failed: the Python process exited without an answer"),
    ] {
        let (code, out, _) = run(more);
        assert_eq!(code, 1, "{out}");
        assert!(out.contains(why), "{out}");
    }
}

#[test]
fn invalid_requests_are_refused() {
    let nvcc = nvcc_with_library();
    for line in [
        "reduce --runs 4 => 4 runs are too few for quartiles",
        "redcue => did you mean `reduce`?",
        "reduce_shfll => did you mean `reduce_shfl`?",
        "nothing_like_it => no ladder or rung is named `nothing_like_it`",
        "reduce --n many => `many` is not a size",
    ] {
        let (args, message) = line.split_once(" => ").unwrap();
        let args = &args.split(' ').collect::<Vec<_>>();
        let (code, out, err) = run(|| clocked(""), &|| nvcc.cuda(), args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(message), "{err}");
    }
}

#[test]
fn after_a_contestant_breaks_the_device_the_next_process_measures_the_others() {
    let none = || CudaCode::with(Nvcc::at("no/such/nvcc".into()), PathBuf::new(), "no/such/python".into());
    let device = || {
        let mut device = clocked("");
        device.faulty = "transpose_naive";
        device
    };
    let child = |failures: &[Failure]| {
        let request = json!({ "style": OutputStyle::default(), "failures": failures }).to_string();
        let command = [&["lab", "versus"], &TRANSPOSE[..]].concat();
        let (code, out, err) =
            run_with(Form::Text, two_rungs(), device, &TRANSPOSE, &command, Some(&request), |matches, env, to| {
                versus::execute(&none, matches, env, to)
            });
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<Value>(out.strip_prefix("#message-of-ladder ").unwrap()).unwrap()["Ok"].take()
    };
    let failure: Failure = serde_json::from_value(child(&[])["Unusable"].take()).unwrap();
    let Failure { ladder, contestant, why, .. } = &failure;
    assert_eq!((ladder.as_str(), contestant.as_str()), ("transpose", "transpose_naive"));
    assert!(why.contains("an illegal address"), "{why}");

    let complete = child(&[failure]);
    let out = complete["Complete"][0].as_str().unwrap();
    assert_eq!(complete["Complete"][1], 1, "{out}");
    assert!(out.contains("an illegal address"), "{out}");
    let copy = out.lines().find(|line| line.contains("copy_gmem")).unwrap();
    assert!(copy.contains("100.00 µs"), "{out}");
    assert!(out.trim_end().ends_with("`cargo lab versus transpose --rows 100 --cols 50 --runs 5`"), "{out}");
}

/// Returns a child that logs each start. The first two children break the device and then run `then`. The next child
/// reports the number of failures in its request.
fn breaking(then: &str) -> String {
    format!(
        r##"echo start >> "$0"
        if [ "$(grep -c start "$0")" -le 2 ]; then
            echo '#message-of-ladder {{"Ok":{{"Unusable":{{"ladder":"l","case":"","contestant":"c","why":"w"}}}}}}'
            {then}
        fi
        failures=$(echo "$LADDER_REQUEST" | grep -o contestant | wc -l)
        echo "#message-of-ladder {{\"Ok\":{{\"Complete\":[\"$failures failures\",1]}}}}""##
    )
}

#[test]
fn a_child_that_breaks_the_device_is_replaced() {
    let parent = |script: &str| {
        let notes = tempfile::NamedTempFile::new().unwrap();
        let command = ["sh", "-c", script, notes.path().to_str().unwrap()];
        let (code, out, err) =
            run_with(Form::Text, two_rungs(), || clocked(""), &TRANSPOSE, &command, None, VERSUS.execute);
        (code, out, err, fs::read_to_string(notes.path()).unwrap())
    };
    // `exec`, because only the shell is killed: a child of the shell would keep the output of the tests open.
    for then in ["exit 1", "exec sleep 100"] {
        let start = Instant::now();
        let (code, out, err, notes) = parent(&breaking(then));
        assert_eq!((code, out.as_str(), notes), (1, "2 failures", "start\n".repeat(3)), "{then}");
        assert_eq!(err.matches("c made the device unusable: w").count(), 2, "{then}: {err}");
        assert!(start.elapsed() < Duration::from_secs(20), "{then}");
    }
    let (code, _, err, _) = parent("exit 3");
    assert_eq!((code, err.as_str()), (1, "error: its process exited without a result (exit status: 3)\n"));
}
