//! The program and its GPU device from end to end, on a driver that is compiled here: what is asked of a
//! driver, that all of it is given back, and what becomes of a driver's errors.

use crate::common::program::{assert_has, cells, on_driver};
use host::Options;

#[test]
fn every_rung_gets_its_arguments_and_everything_is_given_back() {
    let sizes = ["0", "1", "31", "1000", "100_003"];
    let out = on_driver("", ("check reduce --n", sizes)).printed();
    let reduce = host::ladder("reduce").unwrap();
    let problem = reduce.problem(&Options::default()).unwrap();
    let rungs = reduce.select(&[], &*problem).unwrap().into_iter();
    let launches = rungs.map(|rung| reduce.blocks_of(rung, &*problem).len());
    let checks = sizes.len() * launches.sum::<usize>();
    let expected = format!("{checks} checks, with blocks of 64, 128, 256, 512, 1024");
    assert_has(&out, &[&expected]);
    assert!(!out.contains("WRONG"));
}

#[test]
fn times_are_the_events() {
    let rungs = on_driver("", "run reduce --n 1M --device gpu --json").json();
    for rung in rungs.as_array().unwrap() {
        assert_eq!(rung["device_name"], "Stand-in");
        assert_eq!(rung["time_ns"], 250_000.0);
        assert_eq!(rung["correct"], true);
        assert_eq!(rung["speedup_vs_first"], 1.0);
    }
}

#[test]
fn the_device_is_described() {
    let out = on_driver("", "devices").printed();
    let lines = [
        "gpu                 Stand-in\n",
        "compute capability  9.0\n",
        "multiprocessors     7\n",
        "clock               1500 MHz\n",
        "L2 cache            4.0 MiB\n",
        "memory              2.0 GiB\n",
        "peak bandwidth      64 GB/s\n",
        "CUDA 13.0",
    ];
    assert_has(&out, &lines);
}

#[test]
fn a_drivers_errors_are_told_in_one_line() {
    let run = "run reduce --n 1000 --device gpu";
    let table = "
        no_device => 2 => finds no GPU (NoDevice)
        bad_ptx => 1 => InvalidPtx (ptxas fatal: Unsupported .version 9.9)
        faults => 1 => reduce_neighbored<<<2, 512, 0>>> failed: IllegalAddress
        ";
    for [fault, code, message] in cells(table) {
        let code = code.parse().unwrap();
        assert_has(&on_driver(fault, run).failed_with(code), &[message]);
    }
    // A driver without a GPU leaves the SIMT machine; a GPU that fails does not.
    let run = "run reduce --n 1000";
    let out = on_driver("no_device", run).printed();
    assert_has(&out, &["on SIMT machine"]);
    assert_eq!(on_driver("bad_ptx", run).code, 1);
}

#[test]
fn too_much_for_the_device_says_what_it_needs_and_has() {
    let err = on_driver("small", "run reduce --n 2147483647").failed_with(2);
    let message =
        "error: n = 2147483647 needs 16.2 GiB of the device's memory, which has 0.1 GiB free; --n 100000 fits";
    assert_eq!(err.trim_end(), message);
}

#[test]
fn a_wrong_sum_is_wrong() {
    let out = on_driver("wrong", "run reduce --n 1000 --no-time").ended_with(1);
    assert_has(&out, &["wrong: reduce_shfl_128<<<8, 128, 0>>>: block 0 of 8"]);
}
