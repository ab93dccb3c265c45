//! Tests the commands of `lab` that start processes: the ranks of a launch, and the common bugs.

use std::path::Path;
use std::process::{Command, Output};

use analysis::pitfalls::{FIXED_ON_GPU, ON_GPU};
use analysis::results;

use crate::common::stand_in::DRIVER;

/// Runs `lab` with this file in place of the CUDA driver, and returns its exit code and output.
fn lab(driver: &Path, fault: &str, args: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(args.split(' ')).env(libcuda::OVERRIDE, driver).env_remove(libcuda::CHOICE);
    let Output { status, stdout, stderr } = command.env("LADDER_STAND_IN", fault).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Runs `lab` without a driver.
fn without_driver(args: &str) -> (i32, String, String) {
    lab(Path::new("no/such/libcuda.so"), "", args)
}

#[test]
fn each_rank_of_a_launch_is_a_process_and_the_first_one_reports() {
    let (code, out, err) =
        without_driver("launch --ranks 3 -- run histogram_global --n 10007 --device sim --no-time --json");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("\"devices\":3").count(), 1, "{out}");
    for (args, code, why) in [
        (
            "launch --ranks 1 -- run allreduce --device sim",
            1,
            "error: rank 0: the ladder allreduce reads other ranks' memory",
        ),
        (
            "launch --ranks 1 -- run reduce --device sim --devices 2",
            2,
            "error: RANK in the environment makes this process",
        ),
        ("launch --ranks 0 -- run reduce", 2, "error: invalid value '0' for '--ranks <N>'"),
    ] {
        let (ended, _, err) = without_driver(args);
        assert!(ended == code && err.starts_with(why), "{args}: {ended}, {err}");
    }
}

#[test]
fn calculated_occupancies_are_compared_with_the_drivers() {
    let (code, out, err) = lab(&DRIVER, "", "occupancy transpose matmul gemm");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("entries and blocks, all match the driver").count(), 3, "{out}");
    let (_, out, _) = lab(&DRIVER, "", "occupancy matmul_pipelined --json");
    let row = "\"entry\":\"matmul_pipelined_256\",\"block\":[256,1,1],\"dynamic_shared\":74496,\"calculated\":3";
    assert!(out.contains(row), "{out}");
    let (code, out, _) = lab(&DRIVER, "crowded", "occupancy reduce_gmem reduce_smem");
    let different =
        "reduce_smem_128 with blocks of 128: 12 blocks an SM calculated, 11 by the driver (40 registers, 512 bytes";
    let one_line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 1 && one_line.contains(different), "{out}");
}

/// Creates a folder for results.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("docs")).unwrap();
    std::fs::write(folder.path().join("README.md"), "").unwrap();
    folder
}

#[test]
fn a_record_of_a_run_has_the_results_of_its_processes() {
    let folder = repository();
    let document = folder.path().join("docs/times.md");
    let marked = |shown: &str| format!("<!-- results: stand-in/run.jsonl reduce -->\n{shown}<!-- end of results -->\n");
    std::fs::write(&document, marked("")).unwrap();
    let root = folder.path().display();
    let (code, out, err) = lab(&DRIVER, "", &format!("record --root {root} -- run reduce_shfl --n 1000 --runs 2"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let shown = std::fs::read_to_string(&document).unwrap();
    assert!(shown.contains("| `reduce_shfl` | 8 × 128      | right  | 250.00 µs |"), "{shown}");
    assert!(shown.contains("`run reduce_shfl --n 1000 --runs 2` on "), "{shown}");

    // A record on the simulator has its counters, but not the model's predicted times.
    let (code, out, err) = without_driver(&format!("record --root {root} -- run reduce_shfl --n 1000 --device sim"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let counted = results::read(&folder.path().join("results/sim/run.jsonl")).unwrap();
    assert!(counted[0].value("instr. / warp").is_some() && !counted[0].values.contains_key("time"), "{counted:?}");

    for (args, why) in [
        (format!("record --root {root}/docs -- run reduce"), "docs"),
        (format!("record --root {root} -- list"), "`list` has no results to keep"),
        (format!("record --root {root} -- rum"), "unrecognized subcommand"),
    ] {
        let (code, _, err) = lab(&DRIVER, "", &args);
        assert!(code == 2 && err.contains(why), "{args}: {code} {err}");
    }
}

/// A stand-in for compute-sanitizer: runs the program in its last arguments, and reports an error with memcheck.
const SANITIZER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.1"; exit; }
tool=$2; shift 4; "$@"
[ "$tool" = memcheck ] && echo "========= Invalid __global__ read" && echo "========= ERROR SUMMARY: 1 error" && exit
echo "========= ERROR SUMMARY: 0 errors"
"#;

#[test]
fn outcomes_of_faulty_kernels_are_recorded_by_processes() {
    let folder = repository();
    let sanitizer = folder.path().join("sanitizer");
    std::fs::write(&sanitizer, SANITIZER).unwrap();
    std::fs::set_permissions(&sanitizer, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (root, sanitizer) = (folder.path().display(), sanitizer.display());
    let (code, out, err) = without_driver(&format!("record --root {root} -- pitfalls --device sim"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");

    let records = results::read(&folder.path().join("results/sim/pitfalls.jsonl")).unwrap();
    assert_eq!(records.len(), host::CATALOG.pitfalls.len());
    let value = |pitfall: &str, quantity: &str| {
        let record = records.iter().find(|record| record.rung == pitfall).unwrap();
        record.value(quantity).unwrap().to_string()
    };
    assert!(value("one_element_too_far", ON_GPU).contains("out of bounds"));
    assert!(value("divergent_barrier", ON_GPU).starts_with("error: barrier reached by only some threads"));
    assert_eq!(value("one_element_too_far", FIXED_ON_GPU), "right");

    let (code, out, _) =
        without_driver(&format!("pitfalls divergent_barrier --device sim --compute-sanitizer {sanitizer}"));
    let one_line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "on a GPU error: barrier reached by only some threads",
        "memcheck Invalid __global__ read",
        "initcheck nothing",
        "Version 2025.1",
    ] {
        assert!(code == 0 && one_line.contains(part), "{part}: {out}");
    }
}
