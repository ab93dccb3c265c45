//! Ordinary kernels that do not belong to a ladder. Tests check the verdicts of kernels with one known problem, and
//! compare the counters of all kernels with Nsight Compute's.
//!
//! `cuda.cu` and `rust.rs` have the kernels and the launch of each. The ignored tests write the other files of this
//! folder: `compile` writes the PTX, and `records` writes `h100.jsonl` on a machine with a GPU.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use analysis::agree::class::Class;
use analysis::agree::metrics::find;
use analysis::agree::record::Comparison;
use analysis::agree::{self, Explain, rounded};
use analysis::profile::ncu::{self, Ncu, System};
use analysis::results::Value;
use clap::Parser;
use cuda_builder::{CudaBuilder, NvvmArch};
use devices::Description;
use devices::occupancy::Usage;
use engine::Kernels;
use engine::device::{BufferId, Choice, Device};
use engine::launch::{Arg, Launch};
use profile::{LaunchProfile, Watch, record};
use serde::{Deserialize, Serialize};
use simt_cli::{LaunchArguments, OpenLaunches};
use toolkit::access::{self, Change};
use toolkit::{Found, Tool};

/// The environment variable that names the folder of the kernels on a machine without this repository.
const FOLDER: &str = "KERNELS";
/// The architecture of the recorded GPU.
const ARCH: &str = "sm_90";
/// The sources, and the files with their PTX.
const SOURCES: [(&str, &str); 2] = [("cuda.cu", "cuda.ptx"), ("rust.rs", "rust.ptx")];
/// The number of times that a launch is measured.
const RUNS: usize = 31;
/// A size in bytes that exceeds every cache.
const MORE_THAN_CACHES: usize = 256 << 20;
/// The time that a GPU is kept busy while a launch is enqueued.
const HOLD_NS: u64 = 100_000;

fn folder() -> PathBuf {
    let named = env::var_os(FOLDER).map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"))
}

/// A kernel and its launch.
struct Case {
    kernel: String,
    ptx: PathBuf,
    options: Vec<String>,
    /// The bound or the optimization that the verdict must name, if the kernel has one known problem.
    problem: Option<String>,
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    launch: LaunchArguments,
}

impl Case {
    fn open(&self) -> OpenLaunches {
        let name = [&self.ptx.display().to_string(), "--entry", &self.kernel];
        let words = ["run"].into_iter().chain(name).chain(self.options.iter().map(String::as_str));
        let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{}: {error}", self.kernel));
        line.launch.open().unwrap_or_else(|failure| {
            failure.report(&mut std::io::stderr());
            panic!("{} cannot be launched", self.kernel)
        })
    }

    fn profile(&self) -> LaunchProfile {
        let OpenLaunches { mut simulator, launches, .. } = self.open();
        let recorded = RECORDED.get(&self.kernel);
        let mut usage = Usage { shared_bytes: launches[0].function.program().shared_bytes, ..Usage::default() };
        usage.registers = recorded.map_or(0, |recorded| recorded.registers);
        let watch = Watch { usage: Some(usage), ..Watch::new(Description::open("h100").unwrap()) };
        let done = record(&mut simulator, &launches[0].launch(), watch);
        done.unwrap_or_else(|error| panic!("{}: {error}", self.kernel))
    }
}

/// Returns the kernels of both sources, in their order.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (source, ptx) in SOURCES {
        let (mut options, mut problem) = (None, None);
        let text = fs::read_to_string(folder().join(source)).unwrap();
        for line in text.lines() {
            if let Some(given) = line.strip_prefix("// launch: ") {
                options = Some(given.split_whitespace().map(str::to_owned).collect());
            } else if let Some(given) = line.strip_prefix("// problem: ") {
                problem = Some(given.to_owned());
            } else if let Some((before, _)) = line.rsplit_once('(')
                && !line.starts_with(['/', '#'])
                && let Some(options) = options.take()
            {
                let kernel = before.split_whitespace().next_back().unwrap().to_owned();
                cases.push(Case { kernel, ptx: folder().join(ptx), options, problem: problem.take() });
            }
        }
    }
    cases
}

/// The data of a kernel in a line of `h100.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    kernel: String,
    /// Registers per thread.
    registers: u32,
    /// The median time on a GPU in microseconds, with data that are not in a cache.
    us: Option<f64>,
    /// The compared metrics that are not 0 on both sides.
    metrics: BTreeMap<String, Value>,
}

const RECORDED_FILE: &str = "h100.jsonl";

static RECORDED: LazyLock<BTreeMap<String, Recorded>> = LazyLock::new(|| {
    let text = fs::read_to_string(folder().join(RECORDED_FILE)).unwrap_or_default();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    all.map(|recorded: Recorded| (recorded.kernel.clone(), recorded)).collect()
});

/// All kernels with recordings of their launches on the simulator.
static PROFILES: LazyLock<Vec<(Case, LaunchProfile)>> = LazyLock::new(|| {
    cases().into_iter().map(|case| (case.profile(), case)).map(|(profile, case)| (case, profile)).collect()
});

#[test]
fn verdicts_name_the_known_problem() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (case, profile) in &*PROFILES {
        let Some(problem) = &case.problem else { continue };
        count += 1;
        let found = profile.verdict.unwrap();
        let (bound, fix) = (found.bound.name(), found.helps.map(|fix| fix.to_string()).unwrap_or_default());
        if ![bound, &fix].contains(&problem.as_str()) {
            let (kernel, share) = (&case.kernel, found.share);
            wrong.push(format!("{kernel}: {bound} {share:.2}, {fix}; not {problem}: {:?}", profile.estimate));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 20, "{count} kernels have a known problem");
}

#[test]
fn counters_agree_with_a_gpu_or_differences_are_explained() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (case, profile) in &*PROFILES {
        let metrics = RECORDED.get(&case.kernel).map(|recorded| &recorded.metrics).filter(|all| !all.is_empty());
        let Some(metrics) = metrics else {
            wrong.push(format!("{}: not recorded", case.kernel));
            continue;
        };
        compared += 1;
        for (name, value) in metrics {
            let (metric, both) = (find(name).unwrap(), Comparison::of_value(value).unwrap());
            let now = metric.sim.of(name, &profile.numbers).map(rounded);
            // Counters that depend on the order of blocks may change if they still agree with the GPU.
            let is_same =
                both.sim.unwrap_or(0.0) == now.unwrap_or(0.0) || Class::of(metric.rule, now, both.ncu).is_some();
            if both.class == Class::Unexplained || !is_same {
                let [was, now, ncu] =
                    [both.sim, now, both.ncu].map(|count| count.map_or("none".to_owned(), |n| n.to_string()));
                wrong.push(format!("{:<20} {name:<70} {was:>12} {now:>12} {ncu:>12} {}", case.kernel, both.class));
            }
        }
    }
    assert!(wrong.is_empty(), "kernel, metric, recorded sim, sim now, ncu, class:\n{}", wrong.join("\n"));
    assert!(compared >= 40, "{compared} kernels are compared");
}

/// Kernels whose predicted times differ by more than [`OUTSIDE`] from the measured times, with the limitation of the
/// model.
const NOT_PREDICTED: [(&str, &str); 5] = [
    ("bank_doubles", "`ptxas` loads two doubles at once, without the conflicts of single ones"),
    ("nbody", "`ptxas` interleaves the rounds of the loop, but the model waits in each round for the previous one"),
    ("product_global", "consecutive loads that hit the L1 wait longer than in the model"),
    ("spilled", "the PTX does not show the registers that `ptxas` spills"),
    ("tile_rows", "`ptxas` loads four words at once, without the conflicts of single ones"),
];
/// The relative error above which a kernel counts as not predicted.
const OUTSIDE: f64 = 0.3;

#[test]
fn predicted_times_have_the_documented_error() {
    let errors = PROFILES.iter().map(|(case, profile)| {
        let us = RECORDED[&case.kernel].us.unwrap();
        (profile.estimate.us / us - 1.0, case.kernel.as_str(), profile.estimate.us, us)
    });
    let mut errors: Vec<_> = errors.collect();
    errors.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let lines: Vec<String> = errors
        .iter()
        .map(|(error, kernel, predicted, us)| {
            format!("{kernel:<20} {predicted:>7.2} µs, measured {us:>7.2} µs: {:+.1} %", error * 100.0)
        })
        .collect();
    let table = lines.join("\n");
    println!("{table}");
    let (median, worst) = (errors[errors.len() / 2].0.abs(), errors.last().unwrap().0.abs());
    let mut outside: Vec<&str> =
        errors.iter().filter(|(error, ..)| error.abs() > OUTSIDE).map(|(_, kernel, ..)| *kernel).collect();
    outside.sort_unstable();
    assert_eq!(outside, NOT_PREDICTED.map(|(kernel, _)| kernel), "{table}");
    assert!(median <= 0.1, "{median}\n{table}");
    let [median, worst] = [median, worst].map(|error| (error * 100.0).round());
    let count = errors.len();
    let said = format!(
        "median error {median} %, above 30 % for {} of {count} kernels, worst {worst} %, measured on an H100",
        outside.len()
    );
    assert_eq!(said, profile::model::ACCURACY, "{table}");
}

/// NVIDIA's tools, applied to the PTX of the kernels.
struct Tools {
    ptxas: Found,
    nvdisasm: Found,
    ptx: String,
}

impl Tools {
    fn of(ptx: &Path) -> Self {
        let ptx = fs::read_to_string(ptx).unwrap();
        Self { ptxas: toolkit::find(Tool::Ptxas).unwrap(), nvdisasm: toolkit::find(Tool::Nvdisasm).unwrap(), ptx }
    }
}

impl Explain for Tools {
    fn changes(&self, entry: &str) -> Result<Vec<Change>, toolkit::Error> {
        Ok(access::of_entry(&self.ptxas, &self.nvdisasm, &self.ptx, entry, ARCH)?.changes())
    }

    fn waits(&self, entry: &str) -> bool {
        access::waits(&self.ptx, entry)
    }

    fn has_only_system_fences(&self, entry: &str) -> bool {
        access::has_only_system_fences(&self.ptx, entry)
    }

    fn version(&self) -> Option<String> {
        Some(self.ptxas.version.clone())
    }
}

/// A launch whose buffers are on a device.
struct OnDevice {
    launch: Launch,
    buffers: Vec<BufferId>,
    /// The buffers' contents before the launch.
    bytes: Vec<Vec<u8>>,
}

impl OnDevice {
    /// Copies a case's buffers to a device.
    fn new(case: &Case, device: &mut dyn Device) -> Self {
        let opened = case.open();
        let launch = opened.launches[0].launch();
        let (mut buffers, mut contents) = (Vec::new(), Vec::new());
        let mut argument = |arg: &simt::Arg| match arg {
            simt::Arg::Bytes(bytes) => match bytes[..] {
                [a, b, c, d] => Arg::U32(u32::from_le_bytes([a, b, c, d])),
                _ => Arg::U64(u64::from_le_bytes(bytes[..].try_into().unwrap())),
            },
            pointer => {
                let allocation = opened.simulator.memory().find(pointer.words()[0]).unwrap();
                let mut bytes = vec![0; allocation.bytes as usize];
                allocation.read(0, &mut bytes);
                buffers.push(device.alloc(bytes.len()).unwrap());
                contents.push(bytes);
                Arg::Buffer(buffers.len() - 1)
            }
        };
        let args = launch.args.iter().map(&mut argument).collect();
        let code = device.load(launch.function.ptx().to_owned()).unwrap();
        let launch = Launch {
            code,
            entry: case.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            args,
        };
        Self { launch, buffers, bytes: contents }
    }

    /// Fills the buffers.
    fn fill(&self, device: &mut dyn Device) {
        self.buffers.iter().zip(&self.bytes).for_each(|(buffer, bytes)| device.upload(*buffer, bytes).unwrap());
    }

    /// Runs the launch. Returns its time in nanoseconds if the device has a clock.
    fn run(&self, device: &mut dyn Device) -> Option<f64> {
        // SAFETY: the test on the simulator checks that the kernel accesses only these buffers.
        let done = unsafe { device.launch(&self.launch, &self.buffers) };
        done.unwrap_or_else(|error| panic!("{}: {error}", self.launch.entry)).time_ns
    }

    fn free(self, device: &mut dyn Device) {
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
    }
}

static KERNELS: Kernels = Kernels { modules: &[], host_compiler: "", build_folder: "", package_folder: "" };

/// Opens the first GPU.
fn gpu() -> Box<dyn Device> {
    engine::device::open(Choice::Gpu, &KERNELS).unwrap()
}

/// Returns the median time in microseconds of a launch whose data are not in a cache.
fn time(kernel: &OnDevice, device: &mut dyn Device, large: BufferId) -> Option<f64> {
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..RUNS {
        kernel.fill(device);
        device.read(large).unwrap();
        device.hold(HOLD_NS).unwrap();
        times.push(kernel.run(device)? / 1e3);
    }
    times.sort_by(f64::total_cmp);
    Some(times[RUNS / 2])
}

#[test]
#[ignore = "`records` profiles it"]
fn launches() {
    let mut device = gpu();
    for case in cases() {
        let kernel = OnDevice::new(&case, &mut *device);
        kernel.fill(&mut *device);
        kernel.run(&mut *device);
        kernel.free(&mut *device);
    }
}

/// Writes `h100.jsonl` and all counters of Nsight Compute to the folder that `OUT` names. Without Nsight Compute, only
/// the registers are recorded.
#[test]
#[ignore = "it records on a GPU"]
fn records() {
    let to = PathBuf::from(env::var_os("OUT").expect("OUT names a folder"));
    let cases = cases();
    let (mut times, mut on_gpu) = (Vec::new(), Vec::new());
    if let Ok(program) = ncu::find(None) {
        let mut device = gpu();
        let info = device.info().clone();
        let large = device.alloc(MORE_THAN_CACHES).unwrap();
        for case in &cases {
            let kernel = OnDevice::new(case, &mut *device);
            times.push(time(&kernel, &mut *device, large));
            kernel.free(&mut *device);
        }
        eprintln!("{times:?}");
        // This process closes the GPU before another process is profiled on it.
        drop(device);
        let ncu = Ncu { program, profiled: env::current_exe().unwrap(), device: info.name.clone(), runner: &System };
        eprintln!("{info}; {}", ncu.version());
        let entries: Vec<&str> = cases.iter().map(|case| case.kernel.as_str()).collect();
        let mut wanted = agree::counters();
        wanted.optional.extend(profile::utilization::metrics());
        wanted.optional.insert("gpu__time_duration.sum".to_owned());
        let program_args = ["launches", "--exact", "--ignored", "--test-threads=1"].map(Into::into);
        on_gpu = ncu.profile_entries(&entries, &program_args, &wanted).unwrap();
        let named: BTreeMap<_, _> = entries.iter().zip(&on_gpu).collect();
        fs::write(to.join("ncu.json"), serde_json::to_string(&named).unwrap()).unwrap();
    }
    let compared = agree::counted_by(&on_gpu);
    let mut lines = String::new();
    for (_, ptx) in SOURCES {
        let tools = Tools::of(&folder().join(ptx));
        let usages = toolkit::ptxas::usages(&tools.ptxas, &tools.ptx, ARCH).unwrap();
        for (at, case) in cases.iter().enumerate().filter(|(_, case)| case.ptx.ends_with(ptx)) {
            let on_sim = &PROFILES.iter().find(|(other, _)| other.kernel == case.kernel).unwrap().1.numbers;
            let metrics = on_gpu.get(at).map(|on_gpu| {
                let both = agree::comparisons(&compared, (on_sim, on_gpu), &tools, &case.kernel).unwrap();
                both.into_iter().map(|(name, comparison)| (name, comparison.value())).collect()
            });
            let recorded = Recorded {
                kernel: case.kernel.clone(),
                registers: usages[&case.kernel].registers,
                us: times.get(at).copied().flatten(),
                metrics: metrics.unwrap_or_default(),
            };
            lines += &(serde_json::to_string(&recorded).unwrap() + "\n");
        }
    }
    fs::write(to.join(RECORDED_FILE), lines).unwrap();
}

/// Compiles both sources to PTX that any driver since CUDA 12.0 accepts.
#[test]
#[ignore = "it writes the PTX next to this file"]
fn compile() {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    fs::create_dir_all(temporary.join("src")).unwrap();
    let [cuda, rust] = SOURCES.map(|(source, _)| folder().join(source));
    let ptx = temporary.join("cuda.ptx");
    let nvcc = toolkit::find(Tool::Nvcc).unwrap();
    let done = Command::new(nvcc.path).args(["-ptx", "-arch=compute_80", "-o"]).arg(&ptx).arg(cuda).status().unwrap();
    assert!(done.success(), "nvcc: {done}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let manifest = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         cuda_std = {{ path = {:?}, default-features = false }}\n[workspace]\n",
        root.join("crates/rust-cuda/cuda_std")
    );
    fs::write(temporary.join("Cargo.toml"), manifest).unwrap();
    fs::copy(rust, temporary.join("src/lib.rs")).unwrap();
    fs::copy(root.join("Cargo.lock"), temporary.join("Cargo.lock")).unwrap();
    let built = CudaBuilder::new(&temporary).arch(NvvmArch::Compute80).generate_line_info(false).build();
    for (made, (_, to)) in [ptx, built.unwrap_or_else(|error| panic!("{error}"))].iter().zip(SOURCES) {
        let text = fs::read_to_string(made).unwrap();
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !is_banner(line));
        let lines = lines.map(|line| if line.starts_with(".version") { ".version 8.0" } else { line });
        fs::write(folder().join(to), lines.flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
    }
}

/// Returns whether a line of PTX is a comment of the compiler, but not one that names a Rust parameter.
fn is_banner(line: &str) -> bool {
    line.starts_with("//") && !line.contains("rust:")
}
