//! The reduction ladder: each rung by the GPU's own clock, and the CPU's sums that they are checked with.
//!
//! On a machine without a GPU it says so and measures the CPU alone.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use host::ladders::reduce::{element, plain_sum, recursive_reduce};
use host::{Device, Error, Ladder, Options, Session, device, ladder};

/// Integers to sum: the ladder's default size, and one far beyond any L2 cache.
const ON_GPU: [u64; 2] = [1 << 24, 1 << 28];
/// Within a core's caches, and far beyond them.
const ON_CPU: [u32; 2] = [1 << 12, 1 << 22];

fn main() -> Result<(), Error> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    match device::open(device::Choice::Gpu) {
        Ok(mut gpu) => {
            println!("on {}", gpu.info());
            for n in ON_GPU {
                if let Err(error) = rungs(&mut criterion, &mut *gpu, ladder("reduce")?, n) {
                    println!("n = {n} is not measured to its end: {error}");
                }
            }
        }
        Err(error) => println!("only the CPU is measured: {error}"),
    }
    references(&mut criterion);
    criterion.final_summary();
    Ok(())
}

/// A group with each rung that is right, timed launch by launch. Inputs are restored between launches, out
/// of the time.
fn rungs(
    criterion: &mut Criterion,
    gpu: &mut dyn Device,
    ladder: &'static Ladder,
    n: u64,
) -> Result<(), Error> {
    let problem = ladder.problem(&Options::default().with("n", n))?;
    let mut session = Session::new(gpu, &*problem, true)?;
    let mut group = criterion.benchmark_group(format!("{}/{n}", ladder.name));
    group.throughput(Throughput::Bytes(problem.bytes()));
    for rung in ladder.rungs {
        let launch = ladder.launch(rung, &*problem, None)?;
        let verdict = session.check(rung, &launch)?;
        if !verdict.is_right() {
            println!("{launch} is not measured: {verdict:?}");
            continue;
        }
        let mut time = || -> Result<f64, Error> {
            Ok(session
                .once(rung, &launch)?
                .time_ns
                .expect("a GPU has a clock"))
        };
        group.bench_function(rung.name, |bencher| {
            bencher.iter_custom(|launches| {
                let nanoseconds = (0..launches).map(|_| time()).sum::<Result<f64, Error>>();
                Duration::from_secs_f64(nanoseconds.expect("it ran a moment ago") / 1e9)
            });
        });
    }
    group.finish();
    Ok(())
}

fn references(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reduce/cpu");
    for n in ON_CPU {
        let data: Vec<i32> = (0..n).map(element).collect();
        group.throughput(Throughput::Bytes(size_of_val(&data[..]) as u64));
        group.bench_with_input(BenchmarkId::new("plain_sum", n), &data, |bencher, data| {
            bencher.iter(|| plain_sum(black_box(data)));
        });
        group.bench_with_input(
            BenchmarkId::new("recursive_reduce", n),
            &data,
            |bencher, data| {
                // It works in place: each run takes a copy, made out of the time.
                bencher.iter_batched_ref(
                    || data.clone(),
                    |copy| recursive_reduce(copy),
                    BatchSize::LargeInput,
                );
            },
        );
    }
    group.finish();
}
