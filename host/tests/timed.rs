//! What a device with a clock shows of the ladders that are not the reduction: the SIMT machine, with a
//! made-up time for each launch.

#![allow(clippy::unwrap_used)]

mod common;

use cli::output::OutputStyle;
use common::program::{Ended, env, within};
use host::device::{BufferId, Device, DeviceInfo, LaunchResult, Sim};
use host::launch::Launch;
use host::run::{self, Report, RunRequest};
use host::{Error, KERNELS, Options, Provenance, ladder};

/// The machine with a clock: launches take 100 µs, 200 µs and so on, each entry the time of its first
/// launch.
struct Clocked {
    machine: Sim,
    info: DeviceInfo,
    entries: Vec<String>,
}

impl Clocked {
    fn new() -> Self {
        Self {
            machine: Sim::open(&KERNELS, 1).unwrap(),
            info: DeviceInfo {
                kind: "gpu",
                name: "Clocked".into(),
                peak_bytes_per_s: Some(10e9),
                ..DeviceInfo::default()
            },
            entries: Vec::new(),
        }
    }
}

impl Device for Clocked {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, Error> {
        self.machine.alloc(bytes)
    }

    fn free(&mut self, buffer: BufferId) {
        self.machine.free(buffer);
    }

    fn upload(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Error> {
        self.machine.upload(buffer, bytes)
    }

    fn download(&mut self, buffer: BufferId, bytes: &mut [u8]) -> Result<(), Error> {
        self.machine.download(buffer, bytes)
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), Error> {
        self.machine.copy(from, to)
    }

    fn fill(&mut self, buffer: BufferId, byte: u8) -> Result<(), Error> {
        self.machine.fill(buffer, byte)
    }

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<LaunchResult, Error> {
        self.machine.launch(launch, bound)?;
        let known = self.entries.iter().position(|entry| *entry == launch.entry);
        let place = known.unwrap_or_else(|| {
            self.entries.push(launch.entry.clone());
            self.entries.len() - 1
        });
        Ok(LaunchResult::timed(1e5 * (place + 1) as f64))
    }
}

fn run(name: &str, options: &Options) -> Report {
    let plan = RunRequest {
        ladder: ladder(name).unwrap(),
        rungs: &[],
        options,
        block: None,
        runs: Some(3),
    };
    let report = run::run(&mut Clocked::new(), plan.plan().unwrap(), |_| {}).unwrap();
    assert!(report.all_right(), "{name}");
    report
}

fn document(report: &Report) -> cli::output::Document {
    let provenance = Provenance {
        date: "2026-04-01".into(),
        toolchain: "some".into(),
    };
    cli::report::document(report, &provenance)
}

/// The cells of a report's heading and of its first two rungs, without the rungs' names, grids and blocks.
fn cells(report: &Report) -> [Vec<String>; 3] {
    let text = document(report).text(OutputStyle::default());
    let lines = text.lines().filter(|line| line.starts_with('│'));
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('│').split('┆').skip(2);
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<_> = lines.map(cells).collect();
    assert_eq!(rows.len(), 1 + report.outcomes.len(), "{text}");
    [rows[0].clone(), rows[1].clone(), rows[2].clone()]
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
    assert_eq!(
        cells(&report),
        [
            [
                "result",
                "time",
                "GB/s",
                "of copy",
                "of peak",
                "× before",
                "published"
            ],
            ["right", "100.00 µs", "0.4", "100.0 %", "4.0 %", "–", ""],
            [
                "right",
                "200.00 µs",
                "0.2",
                "50.0 %",
                "2.0 %",
                "0.50×",
                "0.333×"
            ],
        ]
    );
    let (over, here) = ("transpose_smem_pad", "transpose_smem_unroll_pad");
    let speedup = report.outcomes.iter().find(|own| own.rung.name == here);
    let speedup = report.speedup_over(speedup.unwrap(), over).unwrap();
    let text = document(&report).text(OutputStyle::default());
    assert!(
        text.contains(&format!("1.13× {over}, here {speedup:.2}×")),
        "{text}"
    );
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
    assert_eq!(
        cells(&report),
        [
            ["result", "time", "GFLOP/s", "× first", "× before"],
            ["right", "100.00 µs", "0.8", "1.00×", "–"],
            ["right", "200.00 µs", "0.4", "0.50×", "0.50×"],
        ]
    );
    assert!(caption(&report).contains("\nm = 20, n = 40, k = 50, f32, median of 3 runs"));
    let rungs: serde_json::Value = serde_json::from_str(&document(&report).json()).unwrap();
    assert_eq!(rungs[1]["gflop_per_s"], 0.4);
}

#[test]
fn a_histogram_by_its_bytes() {
    let options = Options::default().with("n", 5000).with("data", "skewed");
    let report = run("histogram", &options);
    assert_eq!(
        cells(&report),
        [
            ["result", "time", "× first", "× before", "GB/s", "of peak"],
            ["right", "100.00 µs", "1.00×", "–", "0.1", "0.5 %"],
            ["right", "200.00 µs", "0.50×", "0.50×", "0.0", "0.2 %"],
        ]
    );
    assert!(caption(&report).contains("\nn = 5000, skewed bytes, median of 3 runs"));
}

#[test]
fn every_launch_of_a_histogram_begins_at_zero() {
    let report = run("histogram", &Options::default().with("n", 3000));
    for outcome in &report.outcomes {
        assert_eq!(outcome.samples.as_ref().unwrap().sorted().len(), 3);
    }
    // The rungs ran one after the other on the same counters, and each was right.
    assert_eq!(
        report.outcomes.len(),
        ladder("histogram").unwrap().rungs.len()
    );
}

#[test]
fn what_is_looked_at_is_timed_where_that_is_asked_for() {
    let times = |more: &[&str]| -> Vec<Option<f64>> {
        let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Clocked::new())) };
        let args = [&["run", "shuffle", "--json"], more].concat();
        let Ended { code, out, err } = within(&env(&open), &args);
        assert_eq!((code, err.as_str()), (0, ""));
        let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["time_ns"].as_f64()).collect()
    };
    let untimed = times(&[]);
    assert_eq!(untimed.len(), ladder("shuffle").unwrap().rungs.len());
    assert!(untimed.iter().all(Option::is_none), "{untimed:?}");
    let timed = times(&["--runs", "3"]);
    assert_eq!(timed[0], Some(100_000.0));
    assert!(timed.iter().all(Option::is_some), "{timed:?}");
}
