//! `lab basics`: times the plain kernels of the book's foundations on a device.

use analysis::results::Unit;
use clap::{ArgMatches, Args, FromArgMatches as _};
use cli::command::{Command, Output};
use cli::output::{Cell, Column, Context, Document, Format, Table};
use cli::run::RUNS;
use cli::{Env, Error, progress_bar};
use engine::device::{BufferId, Choice, Device};
use engine::launch::{Arg, Code, Launch};
use engine::stats::Samples;

pub(crate) const BASICS: Command = Command {
    name: "basics",
    about: "Time the plain kernels of the book's foundations: strides, banks, divergence, coarsening",
    arguments: |command, _| Arguments::augment_args(command),
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Device to run on
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Number of timed launches; the result is their median
    #[arg(long, value_name = "K", default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Number of threads of a launch, a multiple of 4096
    #[arg(long, value_name = "N", default_value_t = 1 << 24, value_parser = clap::value_parser!(u32).range(4096..=1 << 24))]
    threads: u32,
    #[command(flatten)]
    format: Format,
}

/// A launch of a kernel, with its row in the table.
struct Case {
    row: &'static str,
    kernel: &'static str,
    /// The number of threads per block.
    block: u32,
    /// The number of elements per thread.
    per_thread: u32,
    /// The bytes per element of each buffer.
    bytes: &'static [u32],
    /// The numeric arguments, which follow the buffers.
    numbers: &'static [u32],
    /// The dynamic shared memory in KiB. The kernel does not use this memory, which only limits the number of blocks
    /// per multiprocessor.
    shared_kib: u32,
}

/// A placeholder for the number of elements in `numbers`.
const N: u32 = u32::MAX;

const fn add(row: &'static str, kernel: &'static str, per_thread: u32, shared_kib: u32) -> Case {
    Case { row, kernel, block: 256, per_thread, bytes: &[4, 4, 4], numbers: &[N], shared_kib }
}

const fn copy(row: &'static str, bytes: &'static [u32], numbers: &'static [u32]) -> Case {
    Case { row, kernel: "strided_copy", block: 256, per_thread: 1, bytes, numbers, shared_kib: 0 }
}

const fn wide(row: &'static str, shared_kib: u32) -> Case {
    Case { row, kernel: "wide_copy", block: 256, per_thread: 4, bytes: &[4, 4], numbers: &[], shared_kib }
}

const fn one_buffer(row: &'static str, kernel: &'static str, block: u32, numbers: &'static [u32]) -> Case {
    Case { row, kernel, block, per_thread: 1, bytes: &[4], numbers, shared_kib: 0 }
}

/// The amounts of shared memory limit an H100's multiprocessor, which has 228 KiB, to 4, 2 and 1 blocks. A block
/// occupies 1 KiB more than it requests.
const CASES: [Case; 28] = [
    add("vector_add", "vector_add", 1, 0),
    add("vector_add, 4 blocks an SM", "vector_add", 1, 56),
    add("vector_add, 2 blocks an SM", "vector_add", 1, 113),
    add("vector_add, 1 block an SM", "vector_add", 1, 227),
    add("vector_add_coarsened", "vector_add_coarsened", 4, 0),
    copy("stride 1", &[4, 4], &[0, 1]),
    copy("offset 1", &[8, 4], &[1, 1]),
    copy("stride 2", &[8, 4], &[0, 2]),
    copy("stride 4", &[16, 4], &[0, 4]),
    copy("stride 8", &[32, 4], &[0, 8]),
    copy("stride 16", &[64, 4], &[0, 16]),
    copy("stride 32", &[128, 4], &[0, 32]),
    wide("wide_copy", 0),
    wide("wide_copy, 4 blocks an SM", 56),
    wide("wide_copy, 2 blocks an SM", 113),
    wide("wide_copy, 1 block an SM", 227),
    one_buffer("banks 1", "bank_stride", 1024, &[1]),
    one_buffer("banks 2", "bank_stride", 1024, &[2]),
    one_buffer("banks 4", "bank_stride", 1024, &[4]),
    one_buffer("banks 8", "bank_stride", 1024, &[8]),
    one_buffer("banks 16", "bank_stride", 1024, &[16]),
    one_buffer("banks 32", "bank_stride", 1024, &[32]),
    one_buffer("banks 33", "bank_stride", 1024, &[33]),
    one_buffer("group 1", "two_ways", 256, &[1, 256]),
    one_buffer("group 8", "two_ways", 256, &[8, 256]),
    one_buffer("group 16", "two_ways", 256, &[16, 256]),
    one_buffer("group 32", "two_ways", 256, &[32, 256]),
    one_buffer("group 64", "two_ways", 256, &[64, 256]),
];

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let args = Arguments::from_arg_matches(matches)?;
    let elements = args.threads / 4096 * 4096;
    let mut device = (env.open)(args.device)?;
    let columns = [Column::name("kernel"), Column::number("time"), Column::number("GB/s")];
    let mut table = Table::new(columns).with_results_of("basics", format!("{elements} elements"));
    let bar = progress_bar(CASES.len(), env.terminal);
    for case in &CASES {
        bar.set_message(case.row);
        let time = median(&mut *device, case, elements, args.runs)?;
        // The kernel accesses one word of each buffer per element.
        let bytes = f64::from(elements) * 4.0 * case.bytes.len() as f64;
        let rate = time.map(|time| bytes / time);
        let cells = [Cell::measured(time, Unit::Nanoseconds), Cell::measured(rate, Unit::GigabytesPerSecond)];
        table.row([Cell::from(case.row)].into_iter().chain(cells));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut document = Document::default();
    document.table(table);
    let info = device.info();
    let conditions = format!("median of {} runs after 3 to warm up, device events", args.runs);
    document.measured(Context { device: info.to_string(), conditions, provenance: (env.provenance)(info) });
    args.format.write(&document, env.style(), to.out)?;
    Ok(0)
}

/// Returns the median time of a launch in nanoseconds, or `None` on a device without a clock.
fn median(device: &mut dyn Device, case: &Case, elements: u32, runs: u32) -> Result<Option<f64>, Error> {
    let buffers = case.bytes.iter().map(|bytes| device.alloc(elements as usize * *bytes as usize));
    let buffers: Vec<BufferId> = buffers.collect::<Result<_, _>>()?;
    buffers.iter().try_for_each(|buffer| device.fill(*buffer, 0x3f))?;
    let numbers = case.numbers.iter().map(|number| Arg::U32(if *number == N { elements } else { *number }));
    let args = (0..buffers.len()).map(Arg::Buffer).chain(numbers).collect();
    let (grid, block) = ([elements / case.per_thread / case.block, 1, 1], [case.block, 1, 1]);
    let (entry, shared_bytes) = (case.kernel.to_owned(), case.shared_kib << 10);
    let launch = Launch { code: Code::Kernels, entry, grid, block, shared_bytes, args };
    let mut times = Vec::new();
    for run in 0..runs + 3 {
        // SAFETY: each buffer holds `bytes` bytes per element, which covers every index that the kernel computes. A
        // strided copy reads `stride` words per element, and one word more for its offset.
        let result = unsafe { device.launch(&launch, &buffers) }?;
        times.extend(result.time_ns.filter(|_| run >= 3));
    }
    buffers.into_iter().for_each(|buffer| device.free(buffer));
    Ok(Samples::new(times).map(|times| times.median()))
}
