//! Benchmarks that need no GPU, in wall-clock time: the references for checking rungs, and the simulator.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use host::data::element;
use host::device::Sim;
use host::ladders::reduce::{plain_sum, recursive_reduce};
use host::{DeviceProperties, Error, KERNELS, Ladder, Options, Problem, Session};

use super::Filter;
use benches::cases::{Case, Written};

/// Numbers of integers to sum: one fits in a core's caches, the other is far larger.
const SUMS: [u32; 2] = [1 << 12, 1 << 22];

/// Sizes that the simulator runs in a few milliseconds.
const SIZES: &[Written] = &[
    ("reduce", "2^18", "n=2^18"),
    ("transpose", "512x512", "rows=512 cols=512"),
    ("matmul", "128^3", "m=128 n=128 k=128"),
    ("histogram", "2^18 uniform", "n=2^18 data=uniform"),
];

fn cases() -> impl Iterator<Item = Case> {
    SIZES.iter().map(|&size| Case::new(size))
}

/// Benchmarks the references: the reduction's sums, and for each ladder the computation of the expected result with the
/// comparison.
pub(crate) fn references(criterion: &mut Criterion, filter: &Filter) {
    let mut group = criterion.benchmark_group("cpu/sum");
    for n in SUMS {
        let ids = ["plain_sum", "recursive_reduce"].map(|name| format!("{name}/{n}"));
        if !ids.iter().any(|id| filter.takes("cpu/sum", id)) {
            continue;
        }
        let data: Vec<i32> = (0..n).map(element).collect();
        let [plain, recursive] = ids;
        group.throughput(Throughput::BytesDecimal(size_of_val(&data[..]) as u64));
        group.bench_function(plain, |bencher| {
            bencher.iter(|| plain_sum(black_box(&data)));
        });
        group.bench_function(recursive, |bencher| {
            // The function works in place: each run gets a copy, which is made outside the measured time.
            bencher.iter_batched_ref(|| data.clone(), |copy| recursive_reduce(copy), BatchSize::LargeInput);
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("cpu/reference");
    for case in cases() {
        let function = format!("{} {}", case.ladder.name, case.label);
        if !filter.takes("cpu/reference", &function) {
            continue;
        }
        if let Err(error) = reference(&mut group, &function, case.ladder, &case.options) {
            eprintln!("{function} was not measured: {error}");
        }
    }
    group.finish();
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn reference(group: &mut Group<'_>, function: &str, ladder: &'static Ladder, options: &Options) -> Result<(), Error> {
    let fresh = || -> Result<Box<dyn Problem>, Error> {
        let problem = ladder.problem(options)?;
        // An input is created on first use, which must not be part of the measurement.
        for index in 0..problem.buffers(DeviceProperties::default()).len() {
            problem.input(index);
        }
        Ok(problem)
    };
    let problem = fresh()?;
    let rungs = ladder.select(&[], &*problem)?;
    let rung = rungs.first().copied().unwrap_or(&ladder.rungs[0]);
    let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default())?;
    let mut sim = Sim::open(&KERNELS, 0)?;
    let outputs = Session::new(&mut sim, &*problem, false)?.written(rung, &launch)?;
    group.throughput(Throughput::BytesDecimal(problem.facts().bytes));
    group.bench_function(function, |bencher| {
        bencher.iter_batched(
            || fresh().expect("the same problem was created a moment ago"),
            |problem| problem.check(rung, &launch, &outputs),
            BatchSize::LargeInput,
        );
    });
    Ok(())
}

/// Benchmarks the simulator on the first and the last rung of each ladder, without counters.
pub(crate) fn simulator(criterion: &mut Criterion, filter: &Filter) {
    for case in cases() {
        let title = format!("simt/{} {}", case.ladder.name, case.label);
        if let Err(error) = machine_on(criterion, filter, &title, &case) {
            eprintln!("{title} was not measured: {error}");
        }
    }
}

fn machine_on(criterion: &mut Criterion, filter: &Filter, title: &str, case: &Case) -> Result<(), Error> {
    let ladder = case.ladder;
    let problem = ladder.problem(&case.options)?;
    let mut rungs = ladder.select(&[], &*problem)?;
    if rungs.len() > 2 {
        rungs.drain(1..rungs.len() - 1);
    }
    rungs.retain(|rung| filter.takes(title, rung.name));
    if rungs.is_empty() {
        return Ok(());
    }
    let mut sim = Sim::open(&KERNELS, 0)?;
    let mut session = Session::new(&mut sim, &*problem, true)?;
    let mut group = criterion.benchmark_group(title);
    group.throughput(Throughput::BytesDecimal(problem.facts().bytes));
    for rung in rungs {
        let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default())?;
        if !filter.is_listing() && !session.check(rung, &launch)?.is_right() {
            eprintln!("{launch} was not measured, because its result is wrong");
            continue;
        }
        group.bench_function(rung.name, |bencher| {
            bencher.iter(|| session.once(rung, &launch).expect("it ran a moment ago"));
        });
    }
    group.finish();
    Ok(())
}
