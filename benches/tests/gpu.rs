//! Tests of the program with the device for real GPUs, on the stand-in driver of host's tests.

use std::path::Path;
use std::process::Command;

use crate::common::stand_in::DRIVER;
use crate::common::{FakeNvcc, LIBRARY};

/// Runs the program, and returns its exit code, stdout and stderr.
fn versus(driver: &Path, fault: &str, nvcc: &FakeNvcc, args: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .arg("versus")
        .args(args.split(' '))
        .env(libcuda::OVERRIDE, driver)
        .env_remove(libcuda::CHOICE)
        .env("LADDER_STAND_IN", fault)
        .env("NVCC", nvcc.program())
        .env("LADDER_CACHE", nvcc.cache())
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

const ARGS: &str = "reduce_neighbored reduce_shfl --n 2^16 --runs 5";

#[test]
fn contestants_alternate_and_all_resources_are_freed() {
    let nvcc = FakeNvcc::new(Some(&LIBRARY));
    let (code, out, err) = versus(&DRIVER, "", &nvcc, &format!("{ARGS} --json"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let contestants = found["cases"][0]["contestants"].as_array().unwrap();
    let kinds = |kind: &str| {
        let all = contestants.iter();
        all.filter(|contestant| contestant["kind"] == kind).count()
    };
    let all = ["rung", "cuda_port", "baseline", "read"].map(kinds);
    assert_eq!(all, [2, 2, 1, 1]);
    for contestant in contestants {
        assert_eq!(contestant["time_ns"]["median"], 250_000.0, "{contestant}");
    }
    assert_eq!(found["cuda_ports_geometric_mean"], 1.0);
    assert_eq!(found["nvcc"], "13.0.88");
    // nvcc compiles the CUDA ports for the virtual architecture of the kernels, and the library for the device's.
    let calls = nvcc.calls();
    for parts in [["-ptx", "-arch=compute_"], ["-shared", "-arch=sm_"]] {
        let has_all = |call: &String| parts.iter().all(|part| call.contains(part));
        assert!(calls.iter().any(has_all), "{parts:?}: {calls:?}");
    }
}

#[test]
fn wrong_sums_are_named_and_not_timed() {
    let nvcc = FakeNvcc::new(None);
    let (code, out, err) = versus(&DRIVER, "wrong", &nvcc, ARGS);
    assert_eq!((code, err.as_str()), (1, ""));
    for name in ["reduce_shfl: block 0", "reduce_shfl (CUDA C++): block 0"] {
        assert!(out.contains(&format!("wrong: {name}")), "{out}");
    }
}

#[test]
fn a_faulting_contestant_is_reported_and_the_others_are_measured() {
    let nvcc = FakeNvcc::new(None);
    let (code, out, err) = versus(&DRIVER, "faults", &nvcc, ARGS);
    assert_eq!(code, 1, "{err}");
    let names = ["reduce_neighbored", "reduce_shfl"];
    for name in names.into_iter().flat_map(|rung| [rung.to_owned(), format!("{rung} (CUDA C++)")]) {
        assert!(err.contains(&format!("error: {name} made the device unusable")), "{err}");
        assert!(out.contains(&format!("wrong: {name}: ")), "{out}");
    }
}

#[test]
fn without_a_gpu_the_command_fails() {
    let nvcc = FakeNvcc::new(None);
    let (code, out, err) = versus(Path::new("no/such/libcuda.so"), "", &nvcc, ARGS);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("error: ") && !err.contains("--"), "{err}");
    for part in ["no/such/libcuda.so", "cargo xtask doctor"] {
        assert!(err.contains(part), "{err}");
    }
    assert!(nvcc.calls().is_empty());
}
