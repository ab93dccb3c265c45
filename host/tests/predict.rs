//! `lab predict`: how close the model is to measured times, and whether its constants fit the reduction ladder. Its
//! output and its errors are in cli/*.txt.

#![allow(clippy::unwrap_used, unreachable_pub)]

#[allow(dead_code)]
mod common;
#[allow(dead_code)]
mod stand_in;

use std::path::Path;
use std::sync::LazyLock;

use crate::common::program::{assert_has, has, on, right};
use analysis::Error;
use analysis::predict::measured::MeasuredTimes;
use analysis::predict::{self, Description, LadderPrediction, Times, calibrate};
use host::selection::select_with;
use host::{CATALOG, DeviceProperties, KERNELS, Ladder, Options, ladders};
use profile::model::{Constants, Resource};
use toolkit::Tool;

/// Returns the recorded times of a device.
fn measured(device: &str) -> MeasuredTimes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(device).join("run.jsonl");
    MeasuredTimes::read(&path).unwrap()
}

/// Returns the times of a ladder at its default size.
fn times(measured: &MeasuredTimes, ladder: &Ladder) -> Times {
    let problem = ladder.problem(&Options::default()).unwrap();
    measured.of(ladder, &problem.labels().title).unwrap_or_default()
}

static H100: LazyLock<Description> = LazyLock::new(|| Description::open("h100").unwrap());

/// Predicts a ladder, or some of its rungs.
fn predicted(
    device: &Description,
    names: &[&str],
    options: &[(&'static str, &str)],
) -> Result<LadderPrediction, Error> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let given: Vec<_> = options.iter().map(|(name, value)| (*name, value.to_string())).collect();
    let selected = select_with(&CATALOG, &names, &given).unwrap();
    let [selection] = &selected[..] else { panic!("{names:?} are of several ladders") };
    let plan = selection.plan(None, None, DeviceProperties::default())?;
    predict::ladder(&KERNELS, device, &Constants::CALIBRATED, selection.ladder, plan)
}

/// The predictions for every ladder with measured times, at its default size, computed once for all tests.
static PREDICTED: LazyLock<Vec<LadderPrediction>> = LazyLock::new(|| {
    let measured = ladders().iter().map(timed).filter(|names| !names.is_empty());
    measured.map(|names| predicted(&H100, &names, &[]).unwrap()).collect()
});

static TIMES: LazyLock<Times> = LazyLock::new(|| {
    let measured = measured("h100");
    ladders().iter().flat_map(|ladder| times(&measured, ladder)).collect()
});

/// Returns the rungs of a ladder that have a measured time. Rungs of `sort` whose blocks wait are left out, because
/// their samples take minutes and the model refuses all of them.
fn timed(ladder: &Ladder) -> Vec<&'static str> {
    let rungs = ladder.rungs.iter().filter(|rung| !rung.blocks_wait || ladder.name != "sort");
    rungs.map(|rung| rung.name).filter(|name| TIMES.contains_key(*name)).collect()
}

#[test]
fn the_model_predicts_the_times_of_an_h100() {
    if !has(Tool::Ptxas) {
        return;
    }
    let score = predict::score(&PREDICTED, &TIMES).unwrap();
    let all: usize = ladders().iter().map(|ladder| timed(ladder).len()).sum();
    let refused = PREDICTED.iter().flat_map(|prediction| &prediction.left_out);
    let refused: Vec<_> = refused.filter(|why| why.contains(" is not predicted: its blocks wait ")).collect();
    assert_eq!(score.rungs + refused.len(), all, "every rung that has a time: {refused:?}");
    for name in ["scan_chained", "scan_look_back"] {
        assert!(refused.iter().any(|why| why.starts_with(&format!("{name} "))), "{refused:?}");
    }
    assert!(score.median <= 0.15, "{score:?}");
    assert!(score.worst.0 <= 0.40, "{score:?}");
    for (ladder, rank) in &score.ranks {
        // docs/prediction.md lists the rungs of these ladders that the model ranks differently.
        let least = match *ladder {
            "matmul" | "histogram" => 0.93,
            "scan" => 0.89,
            _ => 0.95,
        };
        // A single rung, as in `sort`, has no rank.
        assert!(rank.is_none_or(|rank| rank >= least), "{ladder}: {rank:?}");
    }
}

/// No constant is fitted to this ladder: its constants are in the device's file.
#[test]
fn the_model_predicts_tensor_cores_and_tensor_copies_on_an_h200() {
    if !has(Tool::Ptxas) {
        return;
    }
    let times = times(&measured("h200"), host::ladder("gemm").unwrap());
    let h200 = Description::open("h200").unwrap();
    let gemm = [predicted(&h200, &["gemm"], &[]).unwrap()];
    let score = predict::score(&gemm, &times).unwrap();
    assert_eq!(score.rungs, times.len());
    assert!(score.median <= 0.15, "{score:?}");
    assert!(score.worst.0 <= 0.40, "{score:?}");
    let [(_, Some(rank))] = score.ranks[..] else { panic!("{score:?}") };
    assert!(rank >= 0.95, "{score:?}");
}

#[test]
fn the_constants_fit_the_reduction_ladder() {
    if !has(Tool::Ptxas) {
        return;
    }
    let observations = predict::observations(&PREDICTED[..1], &TIMES);
    assert_eq!(PREDICTED[0].ladder.name, "reduce");
    assert_eq!(observations.len(), timed(PREDICTED[0].ladder).len());
    let error = calibrate::error(&H100, &Constants::CALIBRATED, &observations);
    let fitted = calibrate::fit(&H100, Constants::CALIBRATED, &observations);
    let least = calibrate::error(&H100, &fitted, &observations);
    assert!(error <= least * 1.1, "{error} against {least} of {fitted:?}");
    // A wrong constant increases the error.
    let mut wrong = Constants::CALIBRATED;
    wrong.start_cycles *= 0.5;
    assert!(calibrate::error(&H100, &wrong, &observations) > least * 2.0);
}

#[test]
fn the_bound_of_a_rung_is_the_one_in_its_lesson() {
    if !has(Tool::Ptxas) {
        return;
    }
    let bound = |name: &str| {
        let mut all = PREDICTED.iter().flat_map(|prediction| &prediction.predictions);
        let rung = all.find(|prediction| prediction.rung.name == name).unwrap();
        rung.estimate.bound().0
    };
    for (rung, resource) in [
        ("reduce_smem", Resource::Latency),
        ("reduce_vector", Resource::Memory),
        ("transpose_naive", Resource::L2),
        ("transpose_vector", Resource::Memory),
        ("matmul_uncoalesced", Resource::Shared),
        ("matmul_pipelined", Resource::Issue),
        ("histogram_global", Resource::Atomics),
    ] {
        assert_eq!(bound(rung), resource, "{rung}");
    }
}

#[test]
fn all_described_devices_can_be_predicted() {
    for name in Description::known() {
        let device = Description::open(name).unwrap();
        assert!(!device.name.is_empty(), "{name}");
    }
    if !has(Tool::Ptxas) {
        return;
    }
    let rungs = ["reduce_neighbored", "reduce_vector"];
    for name in Description::known() {
        let device = Description::open(name).unwrap();
        let reduce = predicted(&device, &rungs, &[("n", "4M")]).unwrap();
        let [first, last] = &reduce.predictions[..] else { panic!("{name}: {reduce:?}") };
        // No rung is faster than the memory.
        let floor = reduce.bytes as f64 / (device.memory.gb_per_s * 1e3);
        assert!(last.estimate.us > floor, "{name}");
        assert!(first.estimate.us > last.estimate.us, "{name}");
    }
}

#[test]
fn the_table_and_the_json_have_the_same_numbers() {
    if !has(Tool::Ptxas) {
        return;
    }
    let predicted = |form: &str| {
        let args = "lab predict histogram_private --against ../results/h100/run.jsonl";
        on(right, &format!("{args} {form}"))
    };
    let rows = predicted("--json").json();
    let row = &rows[0];
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(row["rung"], "histogram_private");
    let measured = TIMES["histogram_private"];
    assert_eq!(row["measured_ns"], measured * 1e3);
    assert_eq!(row["alone_ns"].as_object().unwrap().len(), PREDICTED[0].predictions[0].estimate.alone.len());
    let time = format!("{:.2} µs", row["predicted_ns"].as_f64().unwrap() / 1e3);
    assert_has(&predicted("").printed(), &[&time, &format!("{measured:.2} µs")]);
}
