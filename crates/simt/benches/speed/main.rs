//! How many instructions a second the machine runs, and how that compares with `ptoxide`, a PTX virtual
//! machine in Rust. `cargo bench -p simt` measures both on the same kernels and ends with a table of
//! ratios, taken in turns.

mod kernel;
mod machines;
mod ratio;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use kernel::Kernel;
use machines::{Ptoxide, Simt};

fn main() {
    let has = |flag: &str| std::env::args().any(|arg| arg == flag);
    // Without `--bench`, criterion runs everything once: a test that the benchmarks work.
    let measured = has("--bench") && !has("--list") && !has("--test");
    let kernels = if measured {
        [Kernel::transpose(1024), Kernel::matmul(128)]
    } else {
        [Kernel::transpose(64), Kernel::matmul(16)]
    };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for kernel in &kernels {
        bench(&mut criterion, kernel);
    }
    criterion.final_summary();
    if measured {
        ratio::print(&kernels);
    }
}

/// One kernel on both machines, after they have been seen to compute the same.
fn bench(criterion: &mut Criterion, kernel: &Kernel) {
    let instructions = machines::check(kernel);
    let mut group = criterion.benchmark_group(format!("{} {}", kernel.name, kernel.n));
    group.throughput(Throughput::Elements(instructions));
    group.sampling_mode(SamplingMode::Flat);

    for (threads, label) in [(1, "one thread"), (0, "all threads")] {
        let mut simt = Simt::new(kernel, threads);
        group.bench_function(BenchmarkId::new("simt", label), |bencher| {
            bencher.iter(|| simt.launch());
        });
        group.bench_function(BenchmarkId::new("simt counting", label), |bencher| {
            bencher.iter(|| simt.launch_counted());
        });
    }
    // Ten launches take as long.
    group.measurement_time(Duration::from_secs(4));
    let mut ptoxide = Ptoxide::new(kernel);
    group.bench_function(BenchmarkId::new("ptoxide", "one thread"), |bencher| {
        bencher.iter(|| ptoxide.launch());
    });
    group.finish();
}
