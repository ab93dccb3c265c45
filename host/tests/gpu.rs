//! The program and its GPU device from end to end, on a driver that is compiled here: what is asked of a
//! driver, that all of it is given back, and what becomes of a driver's errors.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod stand_in;

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use host::Options;

/// The stand-in and the folder that it is removed with.
static DRIVER: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| stand_in::driver());

/// Runs the program on the stand-in: exit code, stdout, stderr.
fn ladder(fault: &str, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(args)
        .env(libcuda::OVERRIDE, &DRIVER.1)
        .env("LADDER_STAND_IN", fault)
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn every_rung_gets_its_arguments_and_everything_is_given_back() {
    let sizes = ["0", "1", "31", "1000", "100_003"];
    let args = [&["check", "reduce", "--n"], &sizes[..]].concat();
    let (code, out, err) = ladder("", &args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let reduce = host::ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default()).unwrap();
    let rungs = reduce.select(&[], &*problem).unwrap().into_iter();
    let launches = rungs.map(|rung| reduce.blocks_of(rung, &*problem).len());
    let checks = sizes.len() * launches.sum::<usize>();
    let expected = format!("{checks} checks, with blocks of 64, 128, 256, 512, 1024");
    assert!(out.contains(&expected), "{out}");
    assert!(!out.contains("WRONG"));
}

#[test]
fn times_are_the_events() {
    let (code, out, err) = ladder(
        "",
        &["run", "reduce", "--n", "1M", "--device", "gpu", "--json"],
    );
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let rungs: serde_json::Value = serde_json::from_str(&out).unwrap();
    for rung in rungs.as_array().unwrap() {
        assert_eq!(rung["device_name"], "Stand-in");
        assert_eq!(rung["time_ns"], 250_000.0);
        assert_eq!(rung["correct"], true);
        assert_eq!(rung["speedup_vs_first"], 1.0);
    }
}

#[test]
fn the_device_is_described() {
    let (code, out, _) = ladder("", &["devices"]);
    assert_eq!(code, 0);
    for line in [
        "gpu                 Stand-in\n",
        "compute capability  9.0\n",
        "multiprocessors     7\n",
        "clock               1500 MHz\n",
        "L2 cache            4.0 MiB\n",
        "memory              2.0 GiB\n",
        "peak bandwidth      64 GB/s\n",
        "CUDA 13.0",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
}

#[test]
fn a_drivers_errors_are_told_in_one_line() {
    let run = ["run", "reduce", "--n", "1000", "--device", "gpu"];
    for (fault, code, message) in [
        ("no_device", 2, "finds no GPU (NoDevice)"),
        (
            "bad_ptx",
            1,
            "InvalidPtx (ptxas fatal: Unsupported .version 9.9)",
        ),
        (
            "faults",
            1,
            "reduce_neighbored<<<2, 512, 0>>> failed: IllegalAddress",
        ),
    ] {
        let (found, out, err) = ladder(fault, &run);
        assert_eq!((found, out.as_str()), (code, ""), "{err}");
        assert!(err.starts_with("error: ") && err.contains(message), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // A driver without a GPU leaves the SIMT machine; a GPU that fails does not.
    let (found, out, err) = ladder("no_device", &run[..4]);
    assert_eq!((found, err.as_str()), (0, ""));
    assert!(out.contains("on SIMT machine"), "{out}");
    assert_eq!(ladder("bad_ptx", &run[..4]).0, 1);
}

#[test]
fn too_much_for_the_device_says_what_it_needs_and_has() {
    let (code, _, err) = ladder("small", &["run", "reduce", "--n", "2147483647"]);
    assert_eq!(code, 2);
    let message =
        "error: n = 2147483647 needs 16.2 GiB of the device's memory, which has 0.1 GiB free; --n 100000 fits";
    assert_eq!(err.trim_end(), message);
}

#[test]
fn a_wrong_sum_is_wrong() {
    let (code, out, err) = ladder("wrong", &["run", "reduce", "--n", "1000", "--no-time"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(
        out.contains("wrong: reduce_shfl_128<<<8, 128, 0>>>: block 0 of 8"),
        "{out}"
    );
}
