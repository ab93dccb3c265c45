//! Groups for each ladder and size: rungs, their CUDA ports, and baselines.

use std::collections::BTreeSet;

use criterion::{Criterion, Throughput};
use host::problem::Verdict;
use host::{Device, Problem, Session};

use super::{DeviceTime, Filter};
use benches::baseline;
use benches::cases::{Case, Written, from_table};
use benches::contest::{contestants, options};
use benches::contestant::{READ, port_name};
use benches::cuda_code::CudaCode;
use benches::torch;

/// The sizes. Each ladder in this list has one or two sizes that fit into the cache or nearly do, and one that is far
/// larger. A ladder that is not in the list is measured at its usual size.
const SIZES: &[Written] = &[
    ("reduce", "2^24", "n=2^24"),
    ("reduce", "2^28", "n=2^28"),
    ("transpose", "4096x4096", "rows=4096 cols=4096"),
    ("transpose", "16384x16384", "rows=16384 cols=16384"),
    ("matmul", "1024^3", "m=1024 n=1024 k=1024"),
    ("matmul", "2048^3", "m=2048 n=2048 k=2048"),
    ("histogram", "2^24 uniform", "n=2^24 data=uniform"),
    ("histogram", "2^28 uniform", "n=2^28 data=uniform"),
    ("scan", "2^24", "n=2^24"),
    ("scan", "2^28", "n=2^28"),
    ("sort", "2^24", "n=2^24"),
    ("sort", "2^28", "n=2^28"),
    ("softmax", "8192x4096", "m=8192 n=4096"),
    ("softmax", "1024x262144", "m=1024 n=262144"),
    ("attention", "4096", "batch=4 heads=16 queries=4096"),
    ("attention", "4096 causal", "batch=4 heads=16 queries=4096 causal=yes"),
];

/// Returns the cases of `cargo bench`, in the order of the ladders.
pub(crate) fn cases() -> Vec<Case> {
    from_table(SIZES, host::ladders())
}

/// Runs a group for each case, timed by criterion's `clock`. Does not create, compile or upload anything for benchmarks
/// that are not selected.
pub(crate) fn ladders(
    criterion: &mut Criterion<DeviceTime>,
    clock: &DeviceTime,
    device: &mut dyn Device,
    cuda: &mut CudaCode,
    filter: &Filter,
    cases: &[Case],
) {
    let mut told = BTreeSet::new();
    for case in cases {
        let measured = group(criterion, clock, device, filter, case, cuda);
        for note in measured.as_deref().unwrap_or_default() {
            if told.insert(note.clone()) {
                eprintln!("{note}");
            }
        }
        if let Err(error) = measured {
            let name = case.ladder.name;
            eprintln!("{name} {label} was not measured completely: {error}", label = case.label);
        }
    }
}

fn group(
    criterion: &mut Criterion<DeviceTime>,
    clock: &DeviceTime,
    device: &mut dyn Device,
    filter: &Filter,
    case: &Case,
    cuda: &mut CudaCode,
) -> Result<Vec<String>, benches::Error> {
    let problem = case.ladder.problem(&case.options)?;
    let problem = &*problem;
    let title = title(case, problem, device.info().l2_bytes);
    let rungs = case.rungs(&[], problem)?;
    let (baselines, _) = baseline::of(case.ladder, problem, &options(case, problem)?, device.info().properties());
    let takes = |name: &str| filter.takes(&title, name);
    let ladder = [case.ladder.name];
    let ladder_if = |condition| if condition { &ladder[..] } else { &[] };
    let ports = ladder_if(rungs.iter().any(|rung| takes(&port_name(rung))));
    let mut others =
        baselines.iter().map(|baseline| baseline.name).chain(torch::functions(ladder[0]).map(|(name, _)| name));
    let libraries = ladder_if(others.any(takes));
    let wants_others = takes(READ) || rungs.iter().any(|rung| takes(rung.name));
    if ports.is_empty() && libraries.is_empty() && !wants_others {
        return Ok(Vec::new());
    }
    cuda.prepare(device, ports, libraries);

    let (mut all, left_out) = contestants(case, &[], problem, cuda, device.info().properties())?;
    all.retain(|contestant| takes(&contestant.name));
    let missing = [cuda.missing(case.ladder.name), left_out].concat();
    let mut group = criterion.benchmark_group(&title);
    if filter.is_listing() {
        for contestant in all {
            group.bench_function(contestant.name, |_| {});
        }
        return Ok(missing);
    }
    let mut session = Session::timed(device, problem)?;
    for contestant in all {
        if let Some(error) = contestant.check_supported(&session) {
            eprintln!("left out: {}", benches::Error::from(error));
            continue;
        }
        match contestant.check(&mut session) {
            Ok(Verdict::Right) => {}
            Ok(Verdict::Wrong(why)) => {
                eprintln!("{} was not measured: its result is wrong: {why}", contestant.name);
                continue;
            }
            Err(error) => {
                eprintln!("{} was not measured: {error}", contestant.name);
                continue;
            }
        }
        group.throughput(match problem.facts().flops {
            Some(flops) => Throughput::Elements(flops),
            None => Throughput::BytesDecimal(contestant.bytes),
        });
        group.bench_function(&contestant.name, |bencher| {
            bencher.iter(|| {
                let time = contestant.once(&mut session);
                let time = time.expect("the contestant ran during its check");
                clock.add(time.expect("a GPU has a clock"));
            });
        });
    }
    group.finish();
    Ok(missing)
}

/// Returns the group's name, which says whether the data fits into the L2 cache. Even data that fits is not found in
/// the cache, because the launches rotate through several sets of data.
fn title(case: &Case, problem: &dyn Problem, l2: Option<u64>) -> String {
    let regime = match l2 {
        Some(l2) if problem.facts().bytes > l2 => " (beyond L2)",
        Some(_) => " (fits in L2, rotating sets)",
        None => "",
    };
    format!("{}/{}{regime}", case.ladder.name, case.label)
}
