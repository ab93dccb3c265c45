//! Launches that fail on a GPU, and the results of the other launches. A failed launch ends all work of a process on a
//! GPU, so the program under test is this program. With a command of `ladder`, it is `ladder` with the ladder of this
//! test; otherwise it runs the tests. Ladder's `libcuda.so.1` provides the GPU and fails like a real driver.

#![allow(clippy::unwrap_used, reason = "these are tests without the usual harness")]

mod ladders;

use std::io::Read;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::Value;

fn main() -> ExitCode {
    if env::args().nth(1).is_some_and(|word| ["run", "check"].contains(&&*word)) {
        return cli::run_process(&ladders::CATALOG, &[], &cli::LADDER);
    }
    let tests: &[(&str, fn())] = &[
        ("a_rung_that_fails_is_wrong_and_the_others_run", a_rung_that_fails_is_wrong_and_the_others_run),
        ("a_check_continues_after_launches_that_fail", a_check_continues_after_launches_that_fail),
        ("one_process_ends_with_the_first_failed_launch", one_process_ends_with_the_first_failed_launch),
        ("a_process_that_dies_makes_its_launch_fail", a_process_that_dies_makes_its_launch_fail),
        ("ctrl_c_ends_a_run_with_its_results_so_far", ctrl_c_ends_a_run_with_its_results_so_far),
    ];
    let filters: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if env::args().any(|arg| arg == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    for (name, test) in tests {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(filter)) {
            println!("test failing::{name}");
            test();
        }
    }
    ExitCode::SUCCESS
}

/// Returns a command for the program with Ladder's `libcuda.so.1` in place of NVIDIA's.
fn ladder(args: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(args.split_whitespace()).env("LADDER_DRIVER", "sim");
    command
}

/// Returns the records that the program prints, after checking its exit code.
fn records(args: &str, code: i32) -> Vec<Value> {
    let Output { status, stdout, stderr } = ladder(args).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "{out}{err}");
    serde_json::from_slice(&stdout).unwrap_or_else(|why| panic!("{why}: {out}{err}"))
}

/// Checks the records of the six rungs.
fn assert_failed_and_explained(records: &[Value]) {
    let correct: Vec<bool> = records.iter().map(|record| record["correct"].as_bool().unwrap()).collect();
    assert_eq!(correct, [true, false, true, false, false, true], "{records:#?}");
    for (record, says, source, check) in [
        (&records[1], "MisalignedAddress", "misaligned_vector.rs", "memory"),
        (&records[3], "LaunchTimeout", "barrier_count_too_high.rs", "sync"),
        (&records[4], "IllegalAddress", "shared_bytes_as_elements.rs", "memory"),
    ] {
        let wrong = record["wrong"].as_str().unwrap();
        assert!(wrong.contains(&format!("failed: {says}")), "{wrong}");
        let finding = &record["findings"][0];
        assert_eq!(finding["check"], check, "{finding}");
        assert!(finding["source"].as_str().unwrap().contains(source), "{finding}");
        let note = record["notes"][0].as_str().unwrap();
        assert!(note.starts_with("run again on sim with n = 64"), "{note}");
    }
}

fn a_rung_that_fails_is_wrong_and_the_others_run() {
    assert_failed_and_explained(&records("run words --device gpu --runs 2 --json", 1));
    let Output { stdout, .. } = ladder("run words --device gpu --no-time").output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.ends_with(" right")).count(), 3, "{text}");
    assert!(text.contains("wrong: misaligned_vector<<<1, 64, 0>>>: failed: MisalignedAddress"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("words on ")).count(), 1, "{text}");
}

fn a_check_continues_after_launches_that_fail() {
    assert_failed_and_explained(&records("check words --device gpu --n 64 --json", 1));
}

fn one_process_ends_with_the_first_failed_launch() {
    let records = records("run words --device gpu --no-time --one-process --json", 1);
    let (last, before) = records.split_last().unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!(last["not_run"].as_array().unwrap().len(), 4, "{last}");
}

/// Kills the process of a rung while it waits for a kernel.
fn a_process_that_dies_makes_its_launch_fail() {
    let mut program = ladder("run words --device gpu --no-time --json").stdout(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let mut killed = 0;
    while program.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(300));
        let children = format!("/proc/{0}/task/{0}/children", program.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        if let (0, Some(child)) = (killed, children.split_whitespace().next()) {
            Command::new("kill").args(["-9", child]).status().unwrap();
            killed += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let mut text = String::new();
    program.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!((killed, records.len()), (1, 6), "{text}");
    let died = records
        .iter()
        .filter(|record| record["wrong"].as_str().is_some_and(|why| why.contains("exited without a result")));
    assert_eq!(died.count(), 1, "{text}");
}

/// Interrupts a check that would run for hours.
fn ctrl_c_ends_a_run_with_its_results_so_far() {
    let mut program = ladder("check barrier_count_too_high_fixed --device sim --schedules 100000000 --json");
    let mut program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(3));
    let begin = Instant::now();
    Command::new("kill").args(["-INT", &program.id().to_string()]).status().unwrap();
    while program.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(10));
    }
    let Output { status, stdout, stderr } = program.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(130), "{}", String::from_utf8_lossy(&stderr));
    let records: Vec<Value> = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(records.last().unwrap()["incomplete"], "interrupted");
}
