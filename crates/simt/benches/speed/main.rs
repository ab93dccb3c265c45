//! How many instructions a second the machine runs, and how that compares with `ptoxide`, a PTX virtual
//! machine in Rust. `cargo bench -p simt-ptx` measures both on the same kernels and ends with a table of
//! ratios, taken in turns, of those kernels that ptoxide was asked to run. It has no tensor cores: of products by those
//! the rates of `simt` follow.

mod kernel;
mod machines;
mod ratio;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use kernel::Kernel;
use machines::{Ptoxide, Simt};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    // Without `--bench`, criterion runs everything once: a test that the benchmarks work.
    let measured = has("--bench") && !has("--list") && !has("--test");
    let [transpose, matmul] = if measured { [1024, 128] } else { [64, 16] };
    type Make = fn(u32) -> Kernel;
    let kernels: [(&str, Make, u32); 4] = [
        ("transpose", Kernel::transpose, transpose),
        ("matmul", Kernel::matmul, matmul),
        ("wmma", Kernel::wmma, matmul),
        ("mma", Kernel::mma, matmul),
    ];
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let (mut compared, mut products) = (Vec::new(), Vec::new());
    for (name, make, n) in kernels {
        let title = format!("{name} {n}");
        if may_be_asked_for(&args, &title) {
            let kernel = make(n);
            if bench(&mut criterion, &title, &kernel) {
                compared.push(kernel);
            } else if !kernel.is_for_ptoxide() {
                products.push(kernel);
            }
        }
    }
    criterion.final_summary();
    if measured && !compared.is_empty() {
        ratio::print(&compared);
    }
    if measured && !products.is_empty() {
        ratio::print_rates(&products);
    }
}

/// The benchmarks of each kernel.
const IDS: [&str; 5] = [
    "simt/one thread",
    "simt/all threads",
    "simt counting/one thread",
    "simt counting/all threads",
    "ptoxide/one thread",
];

/// Whether the filter on the command line may take a benchmark of this group: its kernel is made, run and compared
/// before criterion applies the filter. Criterion has the last word, and the whole one on filters with more than
/// letters, digits, `_`, `/` and spaces.
fn may_be_asked_for(args: &[String], group: &str) -> bool {
    // The word behind an option may be its value.
    let before = [None].into_iter().chain(args.iter().map(Some));
    let mut alone = args
        .iter()
        .zip(before)
        .filter(|(arg, before)| !arg.starts_with('-') && before.is_none_or(|before| !before.starts_with('-')));
    alone.all(|(filter, _)| {
        let is_plain = |c: char| c.is_alphanumeric() || "_/ ".contains(c);
        !filter.chars().all(is_plain) || IDS.iter().any(|id| format!("{group}/{id}").contains(&**filter))
    })
}

/// One kernel on both machines, after they have been seen to compute the same. Whether ptoxide was asked to run.
fn bench(criterion: &mut Criterion, title: &str, kernel: &Kernel) -> bool {
    let instructions = machines::check(kernel);
    let mut group = criterion.benchmark_group(title);
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
    if !kernel.is_for_ptoxide() {
        group.finish();
        return false;
    }
    // Ten launches take as long.
    group.measurement_time(Duration::from_secs(4));
    let (mut ptoxide, mut is_compared) = (Ptoxide::new(kernel), false);
    group.bench_function(BenchmarkId::new("ptoxide", "one thread"), |bencher| {
        is_compared = true;
        bencher.iter(|| ptoxide.launch());
    });
    group.finish();
    is_compared
}
