//! Tests criterion's groups on the simulator with a fake clock: the groups measure the device's time, and prepare only
//! selected benchmarks.

#[path = "../ladders/groups/mod.rs"]
#[allow(dead_code, unused_imports)]
mod bench;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{FakeNvcc, clocked};
use bench::{DeviceTime, Filter};
use benches::cases::Case;
use criterion::measurement::Measurement;
use criterion::{Criterion, Throughput};
use host::Options;

fn case() -> Case {
    Case { ladder: host::ladder("histogram").unwrap(), label: "3000", options: Options::default().with("n", 3000) }
}

/// Measures the benchmarks that `filter` selects, and writes the results to `folder`.
fn run(filter: &str, nvcc: &FakeNvcc, folder: &Path) {
    let clock = DeviceTime::default();
    let mut criterion = Criterion::default()
        .with_measurement(clock.clone())
        .output_directory(folder)
        .without_plots()
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(20))
        .sample_size(10)
        .nresamples(100)
        .with_filter(filter);
    bench::ladders(
        &mut criterion,
        &clock,
        &mut clocked(""),
        &mut nvcc.cuda(),
        &Filter::new([filter.to_owned()]),
        &[case()],
    );
}

/// Returns the measured functions, with the mean that criterion recorded for each.
fn measured(folder: &Path) -> Vec<(String, f64)> {
    let group = folder.join("histogram_3000 (fits in L2, rotating sets)");
    let mut all: Vec<(String, f64)> = fs::read_dir(group)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name() != "report")
        .map(|entry| {
            let text = fs::read_to_string(entry.path().join("new/estimates.json")).unwrap();
            let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
            let mean = estimates["mean"]["point_estimate"].as_f64().unwrap();
            (entry.file_name().into_string().unwrap(), mean)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn the_filter_selects_the_same_benchmarks_as_criterion() {
    let takes = |args: &str, id: &str| {
        let (group, function) = id.rsplit_once('/').expect("an id has both");
        Filter::new(args.split_whitespace().map(str::to_owned)).takes(group, function)
    };
    let id = "reduce/2^24/reduce_shfl";
    assert!(takes("--bench", id));
    assert!(takes("reduce_shfl --bench", id));
    assert!(takes("--sample-size 20 shfl --test", id));
    assert!(takes("--exact reduce/2^24/reduce_shfl", id));
    assert!(takes("reduce_s..l$", id));
    assert!(!takes("--bench reduce_smem", id));
    assert!(!takes("--exact reduce_shfl", id));
    assert!(!takes("--ignored", id));
    assert!(takes("--save-baseline smem", id));
    assert!(Filter::new(["--list".to_owned()]).is_listing());
}

#[test]
fn the_groups_of_the_cpu_run_on_a_gpu_only_if_named() {
    let names_cpu = |args: &str| Filter::new(args.split_whitespace().map(str::to_owned)).names_cpu();
    for args in ["--bench cpu", "^cpu/sum", "--bench simt/reduce", "--exact cpu/sum/plain_sum/4096"] {
        assert!(names_cpu(args), "{args}");
    }
    for args in ["--bench", "--bench --save-baseline cpu", "--bench reduce_shfl", "--ignored cpu"] {
        assert!(!names_cpu(args), "{args}");
    }
}

#[test]
fn only_launches_advance_the_clock() {
    let clock = DeviceTime::default();
    let same = clock.clone();
    let start = clock.start();
    same.add(250.0);
    same.add(750.0);
    assert_eq!(clock.end(start), 1000.0);
    assert_eq!(Measurement::add(&clock, &1000.0, &clock.zero()), 1000.0);
    assert_eq!(clock.end(clock.start()), 0.0);
}

#[test]
fn values_have_units() {
    let clock = DeviceTime::default();
    let of = |time: f64| clock.formatter().format_value(time);
    assert_eq!(of(345_120.0).trim(), "345.12 µs");
    assert_eq!(of(2_746_000.0).trim(), "2.7460 ms");
    // 2^28 words in 345 µs; 2 × 4096^3 operations in 2.746 ms.
    let rate = |throughput, time| clock.formatter().format_throughput(&throughput, time);
    assert_eq!(rate(Throughput::BytesDecimal(1 << 30), 345_120.0).trim(), "3111.2 GB/s");
    assert_eq!(rate(Throughput::Elements(2 << 36), 2_746_000.0).trim(), "50.051 TFLOP/s");
}

#[test]
fn the_mean_is_the_devices_time() {
    let nvcc = FakeNvcc::new(None);
    let folder = tempfile::tempdir().unwrap();
    run("histogram_private( |$)", &nvcc, folder.path());
    let measured = measured(folder.path());
    let names: Vec<&str> = measured.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["histogram_private", "histogram_private (CUDA C++)"]);
    // 100 µs and a tenth more; every fourth launch takes a hundredth longer.
    for ((name, mean), expected) in measured.iter().zip([1e5, 1.1e5]) {
        assert!((expected..expected * 1.01).contains(mean), "{name}: {mean}");
    }
    assert_eq!(nvcc.calls().len(), 1, "only the ladder's CUDA ports, without baselines");
}

#[test]
fn unselected_benchmarks_compile_nothing() {
    let nvcc = FakeNvcc::new(None);
    let folder = tempfile::tempdir().unwrap();
    run("histogram_aggregated$", &nvcc, folder.path());
    assert_eq!(measured(folder.path()).len(), 1);
    run("reduce", &nvcc, folder.path());
    assert_eq!(measured(folder.path()).len(), 1);
    assert!(nvcc.calls().is_empty());
}

#[test]
fn every_ladder_has_a_case() {
    let cases = bench::cases();
    for ladder in host::ladders() {
        let mut cases = cases.iter();
        assert!(cases.any(|case| case.ladder.name == ladder.name), "{}", ladder.name);
    }
}
