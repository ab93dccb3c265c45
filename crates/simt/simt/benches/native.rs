//! The time that ordinary kernels take on the simulator, with counters, relative to equivalent native loops.
//!
//! `cargo bench -p simt-tests --bench native` compiles the loops with `cc -O3 -march=native -fopenmp -ffast-math`,
//! compares the results, and then runs each kernel and its loop alternately. It prints medians, ratios and their
//! geometric mean. Kernel names as arguments select kernels. Without `--bench`, it runs small problems once, as a test.

use std::process::Command;
use std::time::{Duration, Instant};

use libloading::{Library, Symbol};
use simt::{Config, Launch, Module, Simulator};

const PTX: &str = include_str!("native/kernels.ptx");
const LOOPS: &str = include_str!("native/loops.c");

/// A native loop: the input, the output and the size.
type Loop = unsafe extern "C" fn(*const f32, *mut f32, u32);

/// A kernel with an input, an output and a size `n`.
struct Kernel {
    name: &'static str,
    /// The problem size for the benchmark, and the size for the test.
    sizes: [u32; 2],
    /// Returns the number of elements of the input and of the output for a size.
    elements: fn(usize) -> [usize; 2],
    /// Returns the grid for a size.
    grid: fn(u32) -> [u32; 3],
    block: [u32; 3],
    /// The largest difference of a result from the native result, relative to the largest result.
    tolerance: f32,
}

const fn line(n: u32) -> [u32; 3] {
    [n.div_ceil(256), 1, 1]
}

const fn square(n: u32) -> [u32; 3] {
    [n.div_ceil(16), n.div_ceil(16), 1]
}

/// Creates a kernel from the fields of [`Kernel`], in order.
const fn kernel(
    name: &'static str,
    sizes: [u32; 2],
    elements: fn(usize) -> [usize; 2],
    grid: fn(u32) -> [u32; 3],
    block: [u32; 3],
    tolerance: f32,
) -> Kernel {
    Kernel { name, sizes, elements, grid, block, tolerance }
}

const KERNELS: [Kernel; 14] = [
    kernel("saxpy", [1 << 22, 1 << 10], |n| [n, n], line, [256, 1, 1], 1e-6),
    kernel("mandelbrot", [512, 32], |n| [1, n * n], square, [16, 16, 1], 1e-6),
    kernel("matmul", [256, 32], |n| [2 * n * n, n * n], square, [16, 16, 1], 1e-5),
    kernel("matmul_tiled", [256, 32], |n| [2 * n * n, n * n], square, [16, 16, 1], 1e-5),
    kernel("tensor_matmul", [256, 32], |n| [2 * n * n, n * n], |n| [n / 8, n / 16, 1], [32, 1, 1], 2e-3),
    kernel("transpose", [2048, 64], |n| [n * n, n * n], |n| [n / 32, n / 32, 1], [32, 8, 1], 0.0),
    kernel("histogram", [1 << 22, 1 << 12], |n| [n, 256], |_| [64, 1, 1], [256, 1, 1], 0.0),
    kernel("reduction", [1 << 22, 1 << 12], |n| [n, 1], |_| [64, 1, 1], [256, 1, 1], 1e-4),
    kernel("nbody", [2048, 64], |n| [3 * n, 3 * n], line, [256, 1, 1], 1e-4),
    kernel("xorshift", [1 << 20, 1 << 10], |n| [1, n], line, [256, 1, 1], 0.0),
    kernel("stencil", [2048, 64], |n| [n * n, n * n], square, [16, 16, 1], 1e-6),
    kernel("softmax", [1024, 32], |n| [n * n, n * n], |n| [n.div_ceil(8), 1, 1], [256, 1, 1], 1e-5),
    kernel("rmsnorm", [1024, 32], |n| [n * n, n * n], |n| [n.div_ceil(8), 1, 1], [256, 1, 1], 1e-5),
    kernel("attention", [512, 64], |n| [96 * n, 32 * n], |n| [n / 64, 1, 1], [64, 1, 1], 1e-5),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let folder = tempfile::tempdir().expect("a folder for the loops");
    let (source, library) = (folder.path().join("loops.c"), folder.path().join("libloops.so"));
    std::fs::write(&source, LOOPS).expect("the folder is new");
    let compiled = Command::new("cc")
        .args(["-O3", "-march=native", "-fopenmp", "-ffast-math", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-lm")
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("not tested: `cc` with OpenMP is needed for the native loops");
        return;
    }
    // By default, OpenMP's threads spin after a loop and take the cores from the simulator.
    // SAFETY: no other thread is running yet.
    unsafe { std::env::set_var("OMP_WAIT_POLICY", "passive") };
    // SAFETY: the library was just compiled from `loops.c`, and loading it only runs OpenMP's initialization.
    let loops = unsafe { Library::new(&library) }.expect("it was just compiled");
    // The library stays loaded because OpenMP's threads still run in it when `main` returns.
    let loops = Box::leak(Box::new(loops));
    let module = Module::from_ptx(PTX).expect("the kernels are PTX");
    println!("{:<14} {:>8} {:>12} {:>12} {:>8}", "kernel", "n", "native", "simt", "ratio");
    let mut ratios = Vec::new();
    for kernel in KERNELS.iter().filter(|kernel| names.is_empty() || names.iter().any(|name| *name == kernel.name)) {
        // SAFETY: each loop of `loops.c` has this signature.
        let native: Symbol<'_, Loop> =
            unsafe { loops.get(kernel.name) }.expect("each kernel has a loop of the same name");
        let n = kernel.sizes[usize::from(!is_measured)];
        let [native, simt] = kernel.run(&module, *native, n, if is_measured { 7 } else { 1 });
        let ratio = simt.as_secs_f64() / native.as_secs_f64();
        println!("{:<14} {n:>8} {:>12} {:>12} {ratio:>8.1}", kernel.name, shown(native), shown(simt));
        ratios.push(ratio);
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("geometric mean {mean:.2}, largest {:.1}", ratios.iter().copied().fold(0.0, f64::max));
}

fn shown(time: Duration) -> String {
    format!("{:.3} ms", 1e3 * time.as_secs_f64())
}

impl Kernel {
    /// Returns the median times of the native loop and of the kernel on the simulator, for `runs` runs each.
    fn run(&self, module: &Module, native: Loop, n: u32, runs: usize) -> [Duration; 2] {
        let [inputs, outputs] = (self.elements)(n as usize);
        let input: Vec<f32> =
            (0..inputs as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0).collect();
        let function = module.function(self.name).expect("simt runs the kernel");
        let mut simulator = Simulator::new(Config::default()).expect("the host has threads");
        let from = simulator.upload(&input).expect("a few megabytes");
        let to = simulator.zeroed::<f32>(outputs).expect("a few megabytes");
        let args = [from.into(), to.into(), n.into()];
        let launch = Launch::new(&function, (self.grid)(n), self.block, &args);
        let mut expected = vec![0.0; outputs];
        let mut times = [Vec::new(), Vec::new()];
        for run in 0..=runs {
            let start = Instant::now();
            // SAFETY: `elements` gives the number of elements that the loop accesses, and `input` and `expected` have
            // these sizes.
            unsafe { native(input.as_ptr(), expected.as_mut_ptr(), n) };
            let native_ends = Instant::now();
            simulator.launch_counted(&launch).expect("the kernel runs");
            let simt = native_ends.elapsed();
            if run == 0 {
                // The first run is a warmup. Its result is compared because some kernels add to their output.
                self.compare(&simulator.read(to).expect("it was allocated"), &expected);
                continue;
            }
            times[0].push(native_ends - start);
            times[1].push(simt);
        }
        times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        })
    }

    /// Compares the results.
    fn compare(&self, found: &[f32], expected: &[f32]) {
        let is_integer = self.tolerance == 0.0;
        let largest = expected.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let is_wrong = |(found, expected): &(&f32, &f32)| match is_integer {
            true => found.to_bits() != expected.to_bits(),
            false => (*found - *expected).abs() > self.tolerance * largest.max(1.0),
        };
        let mut wrong = found.iter().zip(expected).filter(is_wrong);
        // Points at the border of the set take other steps if a sum is rounded differently.
        let allowed = if self.name == "mandelbrot" { found.len() / 50 } else { 0 };
        if let Some((found, expected)) = wrong.nth(allowed) {
            panic!("{}: an element is {found}, but natively {expected}", self.name);
        }
    }
}
