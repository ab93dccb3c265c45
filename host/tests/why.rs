//! `ladder why` for every rung, and the command that Nsight Compute runs. The output is in cli/why.txt and
//! cli/counters.txt.

use std::collections::BTreeSet;

use crate::common::Fake;
use crate::common::program::{assert_has, env, on, run_in, without_device};
use host::device::Sim;
use host::{Device, Error, KERNELS};
use profile::checklist::{Pair, entries};
use serde_json::{Value, json};

#[test]
fn the_command_for_ncu_launches_each_kernel_once_and_no_other() {
    let device = std::cell::RefCell::new(None);
    let open = || {
        let fake = Fake::new(None);
        *device.borrow_mut() = Some(fake.log());
        fake
    };
    let rungs = "reduce_neighbored reduce_shfl reduce_atomic";
    let args = format!("run {rungs} --n=4k --no-time --device gpu");
    on(open, &args).printed();
    let log = device.borrow().as_ref().unwrap().borrow().clone();
    let is_work = |what: &&String| what.contains("<<<") || what.starts_with("hold") || *what == "read";
    let launched: Vec<_> = log.iter().filter(is_work).map(|entry| entry.as_str()).collect();
    let three = "reduce_neighbored<<<8, 512, 0>>> reduce_shfl_128<<<32, 128, 0>>> reduce_atomic_512<<<1, 512, 0>>>";
    assert_eq!(launched.join(" "), three);
}

#[test]
fn every_rung_has_a_verdict() {
    let sim = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Sim::open(&KERNELS, 0)?)) };
    let out = run_in(&env(&sim), "why all --n=64 --m=32 --k=32 --rows=64 --cols=64 --queries=2 --heads=1 --device=sim")
        .printed();
    for ladder in host::ladders() {
        assert!(out.contains(&format!("\n{}: ", ladder.name)) || out.starts_with(ladder.name));
        for rung in ladder.rungs {
            let row = format!("\n{} ", rung.name);
            assert!(out.contains(&row), "{}: {out}", rung.name);
        }
    }
    assert!(out.lines().all(|line| line.split_whitespace().nth(1) != Some("–")), "{out}");
}

/// A problem of each ladder that fills an H100 and takes only seconds to count.
const PROBLEMS: [(&str, &str); 4] = [
    ("reduce", "--n=1M"),
    ("transpose", "--rows=2048 --cols=2048"),
    ("matmul", "--m=1024 --n=1024 --k=128"),
    ("histogram", "--n=4M"),
];

/// Rungs whose verdict differs from their pairs in the checklist: the rung, the optimization that the verdict names,
/// and the reason. The times are those of an H100 (docs/times.md).
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    (
        "reduce_neighbored",
        "coalescing",
        "less divergence reduces the time only from 127 to 119 µs: both rungs wait for L2",
    ),
    (
        "matmul_coarsened1",
        "tiling",
        "4 tiles per block reduce the time from 251 to 238 µs, tiles in registers to 176 µs",
    ),
    (
        "histogram_private_coarsened_contiguous",
        "coarsening",
        "coalesced reads change the time from 46 to 52 µs: atomics bound both rungs",
    ),
];

#[test]
fn a_verdict_names_the_problem_that_the_next_rung_fixes() {
    let sim = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Sim::open(&KERNELS, 0)?)) };
    let mut exceptions = Vec::new();
    for (ladder, options) in PROBLEMS {
        let all =
            entries().iter().flat_map(|entry| entry.pairs.iter().map(|pair| (entry.optimization.to_string(), pair)));
        let pairs: Vec<_> = all.filter(|(_, pair)| pair.ladder == ladder).collect();
        let rungs: BTreeSet<&str> = pairs.iter().map(|(_, pair)| pair.before.as_str()).collect();
        let names = Vec::from_iter(rungs.iter().copied()).join(" ");
        let rows = run_in(&env(&sim), &format!("why {names} {options} --device=sim --json")).json();
        for row in rows.as_array().unwrap() {
            let [rung, fix, next] = ["rung", "fix", "next_rung"].map(|name| row[name].as_str().unwrap_or("–"));
            let is_pair = |(optimization, pair): &(String, &Pair)| {
                pair.before == rung && pair.after == next && optimization == fix
            };
            if !pairs.iter().any(is_pair) {
                exceptions.push((rung.to_owned(), fix.to_owned()));
            }
        }
    }
    exceptions.sort();
    let mut expected = EXCEPTIONS.map(|(rung, fix, _)| (rung.to_owned(), fix.to_owned()));
    expected.sort();
    assert_eq!(exceptions, expected);
}

#[test]
fn a_launch_from_a_file_is_written_for_the_playground() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::copy("../crates/simt/simt/examples/saxpy.ptx", at("saxpy.ptx")).unwrap();
    std::fs::write(at("saxpy.cu"), "first\nsecond").unwrap();
    let specs = ["f32:2", "f32[1024]=iota", "f32[1024]=rand:1", "u32:1024"];
    let args = format!("why {} --grid 4 --block 16x16 --shared 8 --arg {}", at("saxpy.ptx"), specs.join(" "));
    without_device(&format!("{args} --playground {}", at("saxpy.json"))).printed();
    let written: Value = serde_json::from_slice(&std::fs::read(at("saxpy.json")).unwrap()).unwrap();
    let expected = json!({
        "ptx": std::fs::read_to_string(at("saxpy.ptx")).unwrap(),
        "sources": { "saxpy.cu": "first\nsecond" },
        "kernel": "saxpy", "grid": [4, 1, 1], "block": [16, 16, 1], "shared": 8, "arguments": specs,
    });
    assert_eq!(written, expected);
    without_device(&format!("{args} --cluster 2 --playground {}", at("saxpy.json"))).refused("--cluster");
}

#[test]
fn launches_before_one_that_faults_are_shown() {
    let launches = ["strided grid=4 block=256", "strided grid=8 block=256"];
    let words = ["why", "../crates/simt/profile/tests/strided.ptx", "--counters=smsp__warps_launched.sum", "--launch"];
    let words = words.into_iter().chain(launches).chain(["--arg", "f32[32768]", "f32[1024]"]);
    let args: Vec<String> = words.map(str::to_owned).collect();
    let (code, out, err) = cli::captured(&args, &env(&|_| panic!("the program must not open a device")));
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("strided<<<4, 256, 0>>>") && !out.contains("<<<8"), "{out}");
    assert_has(&err, &["out of bounds read", "thread 0 of block 4"]);
}

#[test]
fn a_verdict_fits_a_terminal() {
    let sim = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Sim::open(&KERNELS, 0)?)) };
    let mut wrong = Vec::new();
    let ladders = host::ladders().iter();
    for (ladder, rung) in ladders.flat_map(|ladder| ladder.rungs.iter().map(move |rung| (ladder, rung))) {
        let sizes = match ladder.name {
            "matmul" | "gemm" => "--m=64 --n=64 --k=64",
            "transpose" => "--rows=128 --cols=128",
            "shuffle" => "",
            "attention" => "--queries=64 --heads=1",
            "softmax" => "--m=64 --n=512",
            _ => "--n=2^14",
        };
        let out = run_in(&env(&sim), &format!("why {} {sizes}", rung.name)).printed();
        let count = out.lines().count();
        let wide = out.lines().filter(|line| line.chars().count() > 100);
        wrong.extend(wide.map(|line| format!("{}: {line}", rung.name)));
        wrong.extend((count > 60).then(|| format!("{}: {count} lines", rung.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
