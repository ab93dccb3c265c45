//! What a device with a clock shows of the ladders that are not the reduction: the SIMT machine, with a
//! made-up time for each launch.

#![allow(clippy::unwrap_used)]

use host::cli::{self, Surroundings};
use host::device::{BufferId, Device, DeviceInfo, Ran, Sim};
use host::launch::Launch;
use host::report::{self, Look, Setting};
use host::run::{Climb, Report, climb};
use host::{Error, Options, ladder};

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
            machine: Sim::open(1).unwrap(),
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

    fn launch(&mut self, launch: &Launch, bound: &[BufferId]) -> Result<Ran, Error> {
        self.machine.launch(launch, bound)?;
        let known = self.entries.iter().position(|entry| *entry == launch.entry);
        let place = known.unwrap_or_else(|| {
            self.entries.push(launch.entry.clone());
            self.entries.len() - 1
        });
        Ok(Ran::timed(1e5 * (place + 1) as f64))
    }
}

fn run(name: &str, options: &Options) -> Report {
    let plan = Climb {
        ladder: ladder(name).unwrap(),
        rungs: &[],
        options,
        block: None,
        runs: Some(3),
    };
    let report = climb(&mut Clocked::new(), plan.plan().unwrap(), |_| {}).unwrap();
    assert!(report.all_right(), "{name}");
    report
}

fn table(report: &Report) -> String {
    let setting = Setting {
        date: "2026-04-01".into(),
        toolchain: "some".into(),
    };
    report::table(report, &setting, Look::default())
}

#[test]
fn a_transpose_by_its_bandwidth_and_by_the_copys() {
    let options = Options::default().with("rows", 100).with("cols", 50);
    insta::assert_snapshot!(table(&run("transpose", &options)));
}

#[test]
fn a_product_by_its_operations() {
    let options = Options::default().with("m", 20).with("n", 40).with("k", 50);
    let report = run("matmul", &options);
    insta::assert_snapshot!(table(&report));
    let rungs: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    // 2 × 20 × 40 × 50 operations in 200 µs.
    assert_eq!(rungs[1]["gflop_per_s"], 0.4);
}

#[test]
fn a_histogram_by_its_bytes() {
    let options = Options::default().with("n", 5000).with("data", "skewed");
    insta::assert_snapshot!(table(&run("histogram", &options)));
}

#[test]
fn every_launch_of_a_histogram_begins_at_zero() {
    let report = run("histogram", &Options::default().with("n", 3000));
    for outcome in &report.outcomes {
        assert_eq!(outcome.samples.as_ref().unwrap().sorted().len(), 3);
    }
    // The rungs ran one after the other on the same counters, and each was right.
    assert_eq!(report.outcomes.len(), 6);
}

#[test]
fn what_is_looked_at_is_timed_where_that_is_asked_for() {
    let times = |more: &[&str]| -> Vec<Option<f64>> {
        let open = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Clocked::new())) };
        let surroundings = Surroundings {
            open: &open,
            terminal: false,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let args = ["ladder", "run", "shuffle", "--json"];
        let args = args.iter().chain(more).map(Into::into);
        let code = cli::main(args, &surroundings, &mut out, &mut err);
        assert_eq!((code, &err[..]), (0, &[][..]));
        let rows: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["time_ns"].as_f64()).collect()
    };
    assert_eq!(times(&[]), [None; 7]);
    let timed = times(&["--runs", "3"]);
    assert_eq!(timed[0], Some(100_000.0));
    assert!(timed.iter().all(Option::is_some), "{timed:?}");
}
