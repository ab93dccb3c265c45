//! A group for each ladder and size: rungs, their twins, and peers.

use std::collections::BTreeSet;

use criterion::{Criterion, Throughput};
use host::problem::Verdict;
use host::{Device, Error, Problem, Session};

use super::Filter;
use crate::cases::{Case, Size};
use crate::clock::DeviceTime;
use crate::contest::{entrants, missing};
use crate::entrant::{Entrant, READ, twin_name};
use crate::opponents::Opponents;

/// The sizes: of each ladder one or two that fit into the cache or nearly do, and one far beyond it.
const SIZES: &[Size] = &[
    ("reduce", "2^24", &[("n", "2^24")]),
    ("reduce", "2^28", &[("n", "2^28")]),
    (
        "transpose",
        "4096x4096",
        &[("rows", "4096"), ("cols", "4096")],
    ),
    (
        "transpose",
        "16384x16384",
        &[("rows", "16384"), ("cols", "16384")],
    ),
    // One warp: what a launch takes.
    ("shuffle", "16 lanes", &[]),
    (
        "matmul",
        "1024^3",
        &[("m", "1024"), ("n", "1024"), ("k", "1024")],
    ),
    (
        "matmul",
        "2048^3",
        &[("m", "2048"), ("n", "2048"), ("k", "2048")],
    ),
    (
        "histogram",
        "2^24 uniform",
        &[("n", "2^24"), ("data", "uniform")],
    ),
    (
        "histogram",
        "2^28 uniform",
        &[("n", "2^28"), ("data", "uniform")],
    ),
];

/// The cases of `cargo bench`.
#[must_use]
pub fn cases() -> Vec<Case> {
    SIZES.iter().map(|&size| Case::new(size, None)).collect()
}

/// A group for each case, timed by `clock`, which is the criterion's. What is not asked for is not made,
/// compiled or uploaded.
pub fn ladders(
    criterion: &mut Criterion<DeviceTime>,
    clock: &DeviceTime,
    device: &mut dyn Device,
    opponents: &mut Opponents,
    filter: &Filter,
    cases: &[Case],
) {
    let mut told = BTreeSet::new();
    for case in cases {
        let measured = group(criterion, clock, device, filter, case, opponents);
        for note in missing(case.ladder, opponents) {
            if told.insert(note.clone()) {
                eprintln!("{note}");
            }
        }
        if let Err(error) = measured {
            let name = case.ladder.name;
            eprintln!(
                "{name} {label} is not measured to its end: {error}",
                label = case.label
            );
        }
    }
}

fn group(
    criterion: &mut Criterion<DeviceTime>,
    clock: &DeviceTime,
    device: &mut dyn Device,
    filter: &Filter,
    case: &Case,
    opponents: &mut Opponents,
) -> Result<(), crate::Error> {
    let problem = case.ladder.problem(&case.options)?;
    let problem = &*problem;
    let title = title(case, problem, device.info().l2_bytes);
    let rungs = case.rungs(&[], problem)?;
    let wants_twins = rungs
        .iter()
        .any(|rung| filter.takes(&title, &twin_name(rung)));
    let wants_peers = problem
        .peers()
        .iter()
        .any(|peer| filter.takes(&title, peer.name));
    let wants_others =
        filter.takes(&title, READ) || rungs.iter().any(|rung| filter.takes(&title, rung.name));
    if !(wants_twins || wants_peers || wants_others) {
        return Ok(());
    }
    let ladders: &[&str] = if wants_twins {
        &[case.ladder.name]
    } else {
        &[]
    };
    opponents.prepare(device, ladders, wants_peers);

    let mut all = entrants(case, &[], problem, opponents)?;
    all.retain(|entrant| filter.takes(&title, &entrant.name()));
    let mut group = criterion.benchmark_group(&title);
    if filter.is_listing() {
        for entrant in all {
            group.bench_function(entrant.name(), |_| {});
        }
        return Ok(());
    }
    let mut session = Session::timed(device, problem)?;
    for entrant in all {
        if let Some(error) = entrant.lacks(&session) {
            eprintln!("left out: {error}");
            continue;
        }
        match entrant.check(&mut session) {
            Ok(Verdict::Right) => {}
            Ok(Verdict::Wrong(why)) => {
                eprintln!("{} is not measured, it is wrong: {why}", entrant.name());
                continue;
            }
            Err(error) => {
                eprintln!("{} is not measured: {error}", entrant.name());
                continue;
            }
        }
        group.throughput(match problem.flops() {
            Some(flops) => Throughput::Elements(flops),
            None => Throughput::BytesDecimal(entrant.bytes(problem)),
        });
        group.bench_function(entrant.name(), |bencher| {
            bencher.iter(|| {
                let time = once(&entrant, &mut session);
                clock.add(time.expect("it ran when it was checked, on a device with a clock"));
            });
        });
    }
    group.finish();
    Ok(())
}

fn once<D: Device + ?Sized>(entrant: &Entrant, session: &mut Session<'_, D>) -> Result<f64, Error> {
    let time = entrant.once(session)?;
    time.ok_or_else(|| Error::NoGpu {
        what: "a device without a clock measures nothing".to_owned(),
    })
}

/// The group's name, which says in which regime of the memory it is. Data that fit into the cache are not
/// found there all the same, because launches take several sets of them in turn.
fn title(case: &Case, problem: &dyn Problem, l2: Option<u64>) -> String {
    let regime = match l2 {
        Some(l2) if problem.bytes() > l2 => " (beyond L2)",
        Some(_) => " (fits in L2, sets in turn)",
        None => "",
    };
    format!("{}/{}{regime}", case.ladder.name, case.label)
}
