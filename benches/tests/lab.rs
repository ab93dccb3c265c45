//! The commands of `lab` that start processes: the ranks of a launch, and the common bugs.

use std::path::Path;
use std::process::{Command, Output};

use analysis::pitfalls::{Outcome, Record};

use crate::common::stand_in::DRIVER;

/// Runs `lab` with this file in the place of the CUDA driver: its exit code, and what it writes.
fn lab(driver: &Path, fault: &str, args: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(args.split(' ')).env(libcuda::OVERRIDE, driver).env_remove(libcuda::CHOICE);
    let Output { status, stdout, stderr } = command.env("LADDER_STAND_IN", fault).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Runs `lab` on a machine without a driver.
fn alone(args: &str) -> (i32, String, String) {
    lab(Path::new("no/such/libcuda.so"), "", args)
}

#[test]
fn each_rank_of_a_launch_is_a_process_and_the_first_one_reports() {
    let (code, out, err) = alone("launch --ranks 3 -- run histogram_global --n 10007 --device sim --no-time --json");
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
        let (ended, _, err) = alone(args);
        assert!(ended == code && err.starts_with(why), "{args}: {ended}, {err}");
    }
}

#[test]
fn calculated_occupancies_are_compared_with_the_drivers() {
    let (code, out, err) = lab(&DRIVER, "", "occupancy transpose matmul gemm");
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("entries and blocks, all as the driver says").count(), 3, "{out}");
    let (_, out, _) = lab(&DRIVER, "", "occupancy matmul_pipelined --json");
    let row = "\"entry\":\"matmul_pipelined_256\",\"block\":[256,1,1],\"dynamic_shared\":74496,\"calculated\":3";
    assert!(out.contains(row), "{out}");
    let (code, out, _) = lab(&DRIVER, "crowded", "occupancy reduce_gmem reduce_smem");
    let different =
        "reduce_smem_128 with blocks of 128: 12 blocks an SM calculated, 11 by the driver (40 registers, 512 bytes";
    let one_line = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 1 && one_line.contains(different), "{out}");
}

#[test]
fn a_record_of_a_run_has_the_results_of_the_processes_that_launch() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("times.md");
    let marked = |body: &str| format!("<!-- ladder:reduce:begin -->\n{body}<!-- ladder:reduce:end -->\n");
    std::fs::write(&document, marked("")).unwrap();
    let args = format!("record {} reduce -- run reduce_shfl --n 1000 --runs 2", document.display());
    let (code, out, err) = lab(&DRIVER, "", &args);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("| `reduce_shfl` | 8 × 128      | right  | 250.00 µs |"), "{out}");
    assert_eq!(std::fs::read_to_string(&document).unwrap(), marked(&out));
}

/// Stands for compute-sanitizer: runs the program behind its own arguments, and finds an error with memcheck.
const SANITIZER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "Version 2025.1"; exit; }
tool=$2; shift 4; "$@"
[ "$tool" = memcheck ] && echo "========= Invalid __global__ read" && echo "========= ERROR SUMMARY: 1 error" && exit
echo "========= ERROR SUMMARY: 0 errors"
"#;

#[test]
fn what_becomes_of_kernels_is_recorded_by_processes() {
    let printed = |args: &str| {
        let (code, out, err) = alone(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args}: {out}");
        out
    };
    let folder = tempfile::tempdir().unwrap();
    let [path, sanitizer] = ["record.json", "sanitizer"].map(|name| folder.path().join(name));
    std::fs::write(&sanitizer, SANITIZER).unwrap();
    std::fs::set_permissions(&sanitizer, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let update = |name: &str, more: &str| {
        let path = path.display();
        printed(&format!("pitfalls {name} --device sim --update-record {path}{more}"))
    };
    update("one_element_too_far", &format!(" --compute-sanitizer {}", sanitizer.display()));
    let shown = update("divergent_barrier", "");
    for part in ["measured", "error: barrier reached by some threads", "the cure: right", "SIMT machine"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let record = Record::read(&path).unwrap();
    assert_eq!(record.pitfalls.len(), 2);
    let of = |name: &str| &record.pitfalls[name];
    let too_far = of("one_element_too_far");
    assert!(matches!(&too_far.faulty, Outcome::Error { says } if says.contains("out of bounds")));
    assert_eq!(too_far.cure, Outcome::Right);
    let found: Vec<&str> = too_far.tools.iter().filter(|(_, said)| said.finds).map(|(tool, _)| &**tool).collect();
    assert_eq!((found, too_far.tools.len()), (vec!["memcheck"], 4));
    assert!(of("divergent_barrier").tools.is_empty());

    let shown = printed(&format!("pitfalls one_element_too_far --from {}", path.display()));
    for part in ["memcheck            Invalid __global__ read", "initcheck           nothing"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
