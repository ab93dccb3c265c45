//! What a device with a clock shows of the ladders that are not the reduction: the SIMT machine, with a
//! made-up time for each launch.

use crate::common::program::{assert_has, env, provenance, within};
use crate::stand_in::clocked::Clocked;
use cli::output::OutputStyle;
use host::device::{Device, DeviceInfo};
use host::run::{Plan, Report};

use crate::common::counted_on;
use host::{Error, Options, ladder};

/// Launches take 100 µs, 200 µs and so on, each entry the time of its first launch.
fn clocked() -> Clocked {
    let info = DeviceInfo { peak_bytes_per_s: Some(10e9), ..DeviceInfo::default() };
    Clocked::new(info, |place, _, _| 1e5 * (place + 1) as f64)
}

fn run(name: &str, options: &Options) -> Report {
    counted_on(&mut clocked(), Plan::new(ladder(name).unwrap(), &[], options, None, Some(3)).unwrap())
}

fn document(report: &Report) -> cli::output::Document {
    cli::report::document(report, &provenance("some"))
}

/// The cells of a report's heading and of its first two rungs, without the rungs' names, grids and blocks.
fn rows(report: &Report) -> Vec<String> {
    let text = document(report).text(OutputStyle::default());
    let lines = text.lines().filter(|line| line.starts_with('│'));
    let cells = |line: &str| -> String {
        let cells = line.trim_matches('│').split('┆').skip(2).map(str::trim);
        cells.collect::<Vec<_>>().join(" | ")
    };
    let mut rows: Vec<_> = lines.map(cells).collect();
    assert_eq!(rows.len(), 1 + report.outcomes.len(), "{text}");
    rows.truncate(3);
    rows
}

/// What is below the table.
fn caption(report: &Report) -> String {
    let text = document(report).text(OutputStyle::default());
    let (_, below) = text.rsplit_once("┘\n").unwrap();
    below.to_owned()
}

#[test]
fn a_transpose_by_its_bandwidth_and_by_the_copys() {
    let options = Options::default().with("rows", 100).with("cols", 50);
    let report = run("transpose", &options);
    // 2 × 100 × 50 × 4 bytes, in 100 and in 200 µs.
    let expected = [
        "result | time | GB/s | of copy | of peak | × before | published",
        "right | 100.00 µs | 0.4 | 100.0 % | 4.0 % | – | ",
        "right | 200.00 µs | 0.2 | 50.0 % | 2.0 % | 0.50× | 0.333×",
    ];
    assert_eq!(rows(&report), expected);
    let (over, here) = ("transpose_smem_pad", "transpose_smem_unroll_pad");
    let speedup = report.outcomes.iter().find(|own| own.rung.name == here);
    let speedup = report.speedup_over(speedup.unwrap(), over).unwrap();
    let text = document(&report).text(OutputStyle::default());
    assert_has(&text, &[&format!("1.13× {over}, here {speedup:.2}×")]);
    assert_eq!(
        caption(&report),
        "transpose on Clocked, 10 GB/s at its peak\n100 × 50 f32, median of 3 runs after 3 to warm up, device \
         events; 2026-04-01; some\n"
    );
}

#[test]
fn a_product_by_its_operations() {
    let options = Options::default().with("m", 20).with("n", 40).with("k", 50);
    let report = run("matmul", &options);
    // 2 × 20 × 40 × 50 operations, in 100 and in 200 µs.
    let expected = [
        "result | time | GFLOP/s | × first | × before",
        "right | 100.00 µs | 0.8 | 1.00× | –",
        "right | 200.00 µs | 0.4 | 0.50× | 0.50×",
    ];
    assert_eq!(rows(&report), expected);
    assert!(caption(&report).contains("\nm = 20, n = 40, k = 50, f32, median of 3 runs"));
    let rungs: serde_json::Value = serde_json::from_str(&document(&report).json()).unwrap();
    assert_eq!(rungs[1]["gflop_per_s"], 0.4);
}

#[test]
fn a_histogram_by_its_bytes() {
    let options = Options::default().with("n", 5000).with("data", "skewed");
    let report = run("histogram", &options);
    let expected = [
        "result | time | × first | × before | GB/s | of peak",
        "right | 100.00 µs | 1.00× | – | 0.1 | 0.5 %",
        "right | 200.00 µs | 0.50× | 0.50× | 0.0 | 0.2 %",
    ];
    assert_eq!(rows(&report), expected);
    assert!(caption(&report).contains("\nn = 5000, skewed bytes, median of 3 runs"));
}

#[test]
fn every_launch_of_a_histogram_begins_at_zero() {
    let report = run("histogram", &Options::default().with("n", 3000));
    for outcome in &report.outcomes {
        assert_eq!(outcome.samples.as_ref().unwrap().sorted().len(), 3);
    }
    // The rungs ran one after the other on the same counters, and each was right.
    assert_eq!(report.outcomes.len(), ladder("histogram").unwrap().rungs.len());
}

#[test]
fn what_is_looked_at_is_timed_where_that_is_asked_for() {
    let times = |args: &str| -> Vec<Option<f64>> {
        let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(clocked())) };
        let list = within(&env(&open), args).json();
        let rows = list.as_array().unwrap().iter();
        rows.map(|row| row["time_ns"].as_f64()).collect()
    };
    let untimed = times("run shuffle --json");
    assert_eq!(untimed.len(), ladder("shuffle").unwrap().rungs.len());
    assert!(untimed.iter().all(Option::is_none), "{untimed:?}");
    let timed = times("run shuffle --json --runs 3");
    assert_eq!(timed[0], Some(100_000.0));
    assert!(timed.iter().all(Option::is_some), "{timed:?}");
}
