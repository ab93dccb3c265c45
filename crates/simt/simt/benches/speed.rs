//! The number of thread instructions that the simulator runs per second: for four kernels, with and without counters,
//! on one host thread and on one per core. `cargo bench -p simt-tests` runs the benchmark; criterion shows the rates as
//! `thrpt`.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use simt::counters::Value;
use simt::{Arg, Buffer, Config, Counters, Function, Launch, Module, Simulator};

fn main() {
    // Without `--bench`, criterion runs everything once, as a test of the benchmarks.
    let [transpose, product] = if std::env::args().any(|arg| arg == "--bench") { [1024, 128] } else { [64, 16] };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for kernel in [
        Kernel::transpose(transpose),
        Kernel::product("matmul", include_str!("kernels/matmul.ptx"), product, [16, 16], [16, 16]),
        // Each warp computes a tile of 16 × 16 or of 8 × 16.
        Kernel::product("wmma_gemm", include_str!("kernels/wmma.ptx"), product, [16, 16], [32, 1]),
        Kernel::product("mma_gemm", include_str!("kernels/mma.ptx"), product, [8, 16], [32, 1]),
    ] {
        kernel.bench(&mut criterion);
    }
    criterion.final_summary();
}

/// A kernel on square matrices of `n` × `n` floats. Its parameters are some inputs, the output, and `n`.
struct Kernel {
    name: &'static str,
    ptx: &'static str,
    n: u32,
    /// The columns and rows of the output that a block computes.
    tile: [u32; 2],
    block: [u32; 2],
    inputs: Vec<Vec<f32>>,
    expected: Vec<f32>,
}

impl Kernel {
    /// Creates a transpose through tiles in shared memory.
    fn transpose(n: u32) -> Self {
        let (input, side) = (matrix(n, 1), n as usize);
        let expected = (0..side * side).map(|at| input[at % side * side + at / side]).collect();
        let ptx = include_str!("kernels/transpose.ptx");
        Self { name: "transpose", ptx, n, tile: [32, 32], block: [32, 8], inputs: vec![input], expected }
    }

    /// Creates a matrix product.
    fn product(name: &'static str, ptx: &'static str, n: u32, tile: [u32; 2], block: [u32; 2]) -> Self {
        let (a, b, side) = (matrix(n, 1), matrix(n, 2), n as usize);
        let element = |at| (0..side).map(|k| a[at / side * side + k] * b[k * side + at % side]).sum();
        let expected = (0..side * side).map(element).collect();
        Self { name, ptx, n, tile, block, inputs: vec![a, b], expected }
    }

    /// Checks the output and measures the kernel.
    fn bench(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(format!("{} {}", self.name, self.n));
        group.sampling_mode(SamplingMode::Flat);
        for (threads, label) in [(1, "one thread"), (0, "all threads")] {
            let mut simt = Simt::new(self, threads);
            let counters = simt.launch_counted();
            assert!(simt.simulator.read(simt.output).expect("a few megabytes") == self.expected, "{}", self.name);
            let Some(Value::Count(instructions)) = counters.get("ptx_thread_inst_executed.sum") else {
                panic!("there is no number of instructions in {counters:?}");
            };
            group.throughput(Throughput::Elements(instructions));
            group.bench_function(BenchmarkId::new("simt", label), |bencher| bencher.iter(|| simt.launch()));
            group.bench_function(BenchmarkId::new("simt counting", label), |bencher| {
                bencher.iter(|| simt.launch_counted());
            });
        }
        group.finish();
    }
}

/// Returns small whole numbers, whose products and sums are exact in any order.
fn matrix(n: u32, seed: u32) -> Vec<f32> {
    (0..n * n).map(|at| (at.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 28) as f32).collect()
}

/// A simulator with a kernel and its buffers.
struct Simt {
    simulator: Simulator,
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
    output: Buffer<f32>,
}

impl Simt {
    /// Creates a simulator with `threads` host threads; 0 stands for one per core.
    fn new(kernel: &Kernel, threads: usize) -> Self {
        let config = Config { threads, ..Config::default() };
        let mut simulator = Simulator::new(config).expect("the host has threads");
        let module = Module::from_ptx(kernel.ptx).expect("the kernel is PTX");
        let function = module.function(kernel.name).expect("simt runs the kernel");
        let mut args = Vec::new();
        for input in &kernel.inputs {
            args.push(simulator.upload(input).expect("a few megabytes").into());
        }
        let output = simulator.zeroed(kernel.expected.len()).expect("a few megabytes");
        args.extend([output.into(), kernel.n.into()]);
        let ([width, height], [x, y]) = (kernel.tile, kernel.block);
        Self { simulator, function, grid: [kernel.n / width, kernel.n / height, 1], block: [x, y, 1], args, output }
    }

    fn launch(&mut self) {
        self.simulator
            .launch(&Launch::new(&self.function, self.grid, self.block, &self.args))
            .expect("the kernel runs");
    }

    fn launch_counted(&mut self) -> Counters {
        self.simulator
            .launch_counted(&Launch::new(&self.function, self.grid, self.block, &self.args))
            .expect("the kernel runs")
    }
}
