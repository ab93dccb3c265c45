//! `cargo xtask samples`: runs NVIDIA's cuda-samples on `sim`. The samples are in a separate checkout. The results are
//! written to docs/cuda-samples.md.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use locate::nvidia::{Tool, find};

use crate::console::{Failure, Result, status};
use crate::install::nvidia;
use crate::process::{output, root, target_folder};
use crate::sim;

/// The time limit of a sample.
const LIMIT: Duration = Duration::from_secs(60);

/// The options with which nvcc compiles samples to PTX only.
const PTX: [&str; 2] = ["-arch=compute_80", "-code=compute_80"];

/// A header that declares the runtime's two profiler functions. The package with the original header is not installed.
const PROFILER: &str = "#include <cuda_runtime_api.h>\nextern \"C\" cudaError_t cudaProfilerStart(void);\n\
                        extern \"C\" cudaError_t cudaProfilerStop(void);\n";

/// Dependencies that are not installed: a word in CMakeLists.txt or in a compiler error, and the name of the
/// dependency. A sample that needs one of these dependencies is not tried.
const NEEDS: [(&str, &str); 19] = [
    ("find_package(OpenGL", "OpenGL"),
    ("find_package(Vulkan", "Vulkan"),
    ("find_package(EGL", "EGL"),
    ("find_package(MPI", "MPI"),
    ("NVSCI", "NvSci"),
    ("FreeImage", "FreeImage"),
    ("CUDA::nvrtc", "NVRTC"),
    ("CUDA::cublas", "cuBLAS"),
    ("CUDA::cufft", "cuFFT"),
    ("CUDA::curand", "cuRAND"),
    ("CUDA::cusolver", "cuSOLVER"),
    ("CUDA::cusparse", "cuSPARSE"),
    ("CUDA::npp", "NPP"),
    ("CUDA::nvjpeg", "nvJPEG"),
    ("nvvm", "libNVVM"),
    ("cudla", "cuDLA"),
    ("d3d", "Direct3D"),
    ("curand_kernel.h", "cuRAND"),
    ("boost/", "Boost"),
];

/// The folders and programs with which samples are built and run.
struct Place {
    checkout: PathBuf,
    build: PathBuf,
    nvcc: PathBuf,
    library: PathBuf,
}

/// Builds and runs the samples of a checkout and writes the document.
pub(crate) fn run(checkout: &Path) -> Result<()> {
    let checkout = checkout.canonicalize().map_err(|error| Failure::file("find", checkout, &error))?;
    let samples = samples(&checkout)?;
    nvidia::install_if_missing()?;
    let nvcc = find(Tool::Nvcc).map_err(|error| Failure::new(error.to_string()))?;
    let commit = output(Command::new("git").arg("-C").arg(&checkout).args(["log", "-1", "--format=%h of %cs"]))?;
    let build = target_folder().join("cuda-samples");
    let place = Place { checkout, build, nvcc: nvcc.path, library: sim::folder()? };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        while let Some(name) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = place.try_sample(name);
            status("Tried", format_args!("{name}: {}", result.as_ref().err().map_or("runs", |why| why)));
            results.push((name.as_str(), result));
        }
        results
    };
    let mut results: Vec<(&str, Result<(), String>)> = std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, Into::into);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    results.sort_unstable();
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let text = document(&results, date.trim(), &nvcc.version, commit.trim());
    let path = root().join("docs").join("cuda-samples.md");
    fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))
}

/// Returns the samples of a checkout: the folders that build a program.
fn samples(checkout: &Path) -> Result<Vec<String>> {
    let mut samples = Vec::new();
    let mut folders = vec![checkout.join("Samples")];
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().map_err(|error| {
            Failure::file("read", &folder, &error).help("give a checkout of github.com/NVIDIA/cuda-samples")
        })?;
        folders.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()));
        let is_sample =
            fs::read_to_string(folder.join("CMakeLists.txt")).is_ok_and(|text| text.contains("add_executable("));
        let name = folder.strip_prefix(checkout.join("Samples")).ok();
        samples.extend(name.filter(|_| is_sample).map(|name| name.display().to_string()));
    }
    samples.sort();
    Ok(samples)
}

impl Place {
    /// Builds and runs a sample, or returns a short reason why it does not run.
    fn try_sample(&self, name: &str) -> Result<(), String> {
        let source = self.checkout.join("Samples").join(name);
        let cmake = fs::read_to_string(source.join("CMakeLists.txt")).map_err(|error| error.to_string())?;
        untried(&cmake).map_or(Ok(()), Err)?;
        let build = self.build.join(name);
        let _ = fs::remove_dir_all(&build);
        fs::create_dir_all(&build).map_err(|error| error.to_string())?;
        fs::write(build.join("cuda_profiler_api.h"), PROFILER).map_err(|error| error.to_string())?;
        self.compile(&source, &cmake, &build)?;
        // Samples look for their data in the current folder.
        #[cfg(unix)]
        for entry in source.read_dir().into_iter().flatten().flatten() {
            let _ = std::os::unix::fs::symlink(entry.path(), build.join(entry.file_name()));
        }
        let (code, printed) = self.execute(&build)?;
        let sources = fs::read_dir(&source).into_iter().flatten().flatten();
        let mut texts = sources.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        let says_passed = |text: &str| text.to_lowercase().contains("test passed");
        let passed = says_passed(&printed) || !texts.any(|text| says_passed(&text));
        match code {
            Some(0) if passed => Ok(()),
            _ => Err(reason(code, &printed)),
        }
    }

    /// Compiles a sample, and the kernels that it loads from a file.
    fn compile(&self, source: &Path, cmake: &str, build: &Path) -> Result<(), String> {
        let between = |start: &str, end: char| Some(cmake.split_once(start)?.1.split_once(end)?.0);
        let words = between("add_executable(", ')').unwrap_or_default().split_whitespace();
        let mut calls = vec![self.nvcc(build.join("program"), source)];
        calls[0].args(words.skip(1)).arg("-L").arg(&self.library).args(["-l:libcuda.so.1", "--extended-lambda"]);
        if cmake.contains("OpenMP") {
            calls[0].args(["-Xcompiler", "-fopenmp"]);
        }
        let kernel = between("set(CUDA_KERNEL_SOURCE \"${CMAKE_CURRENT_SOURCE_DIR}/", '"');
        for (file, option) in [("FATBIN", "-fatbin"), ("PTX", "-ptx")] {
            let name = between(&format!("set(CUDA_{file}_FILE \"${{CMAKE_CURRENT_BINARY_DIR}}/"), '"');
            if let (Some(name), Some(kernel)) = (name, kernel) {
                let mut call = self.nvcc(build.join(name), source);
                call.args([option, kernel]);
                calls.push(call);
            }
        }
        for mut call in calls {
            let mut output = call.output().map_err(|error| format!("nvcc: {error}"))?;
            if !output.status.success() {
                // Kernels that launch kernels, and calls to functions in other files, need relocatable code.
                output = call.arg("-rdc=true").output().map_err(|error| format!("nvcc: {error}"))?;
            }
            if !output.status.success() {
                let errors = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
                let line = errors.lines().find(|line| line.contains("error") || line.contains("undefined"));
                let line = line.unwrap_or("nvcc gave no reason");
                return Err(untried(line).unwrap_or_else(|| format!("does not compile: {}", short(line))));
            }
        }
        Ok(())
    }

    fn nvcc(&self, output: PathBuf, source: &Path) -> Command {
        let mut nvcc = Command::new(&self.nvcc);
        let build_folder = output.parent().expect("the output is in a folder");
        nvcc.args(PTX)
            .args(["-std=c++17", "-w", "-I", "inc", "-I"])
            .arg(self.checkout.join("Common"))
            .arg("-I")
            .arg(build_folder);
        nvcc.arg("-o").arg(&output).current_dir(source).stdin(Stdio::null());
        nvcc
    }

    /// Runs a sample and returns its exit code, if it has one, and its output.
    fn execute(&self, build: &Path) -> Result<(Option<i32>, String), String> {
        let log = build.join("output.txt");
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let mut command = sim::command(build.join("program"), &self.library);
        command.current_dir(build).stdin(Stdio::null()).stdout(file).stderr(errors);
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let start = Instant::now();
        let code = loop {
            match process.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status.code(),
                None if start.elapsed() > LIMIT => {
                    let _ = process.kill();
                    let _ = process.wait();
                    return Err(format!("not finished after {} s", LIMIT.as_secs()));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let printed = fs::read(&log).map_err(|error| error.to_string())?;
        Ok((code, String::from_utf8_lossy(&printed).into_owned()))
    }
}

/// Returns the reason why a sample is not tried, if there is one.
fn untried(text: &str) -> Option<String> {
    let needs: Vec<&str> = NEEDS.iter().filter(|(word, _)| text.contains(word)).map(|(_, need)| *need).collect();
    (!needs.is_empty()).then(|| format!("not tried: needs {}", needs.join(", ")))
}

/// Returns the reason why a sample failed: the driver's message, or else the last line of the sample's output.
fn reason(code: Option<i32>, printed: &str) -> String {
    let driver = printed.lines().find_map(|line| line.strip_prefix("simt's CUDA driver: "));
    let last = printed.lines().rfind(|line| !line.trim().is_empty());
    let end = match code {
        Some(2) => "waived".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    format!("{end}: {}", short(driver.or(last).unwrap_or("no output")))
}

/// Returns the start of a line, short enough for a table.
fn short(line: &str) -> String {
    let line = line.trim().replace('|', "/");
    let end = line.char_indices().nth(160).map(|(at, _)| at);
    end.map_or(line.clone(), |end| format!("{}…", &line[..end]))
}

/// Returns the text of docs/cuda-samples.md.
fn document(results: &[(&str, Result<(), String>)], date: &str, nvcc: &str, commit: &str) -> String {
    let runs = results.iter().filter(|(_, result)| result.is_ok()).count();
    let untried =
        results.iter().filter(|(_, result)| matches!(result, Err(why) if why.starts_with("not tried"))).count();
    let mut text = format!(
        "# NVIDIA's cuda-samples on `sim`\n\n\
         `cargo xtask samples CHECKOUT` builds each sample with `nvcc {}`, runs it without arguments on Ladder's \
         `libcuda.so.1` for at most {} s, and writes this document. A sample runs if its exit code is 0 and, if it can \
         print that its test passed, it does. Samples that need a library other than the runtime and the driver are not \
         tried.\n\n\
         {date}, nvcc {nvcc}, cuda-samples {commit}: {runs} of {} tried samples run; there are {} samples.\n\n\
         | Sample | Result |\n|---|---|\n",
        PTX.join(" "),
        LIMIT.as_secs(),
        results.len() - untried,
        results.len(),
    );
    for (name, result) in results {
        text += &format!("| {name} | {} |\n", result.as_ref().err().map_or("runs", |why| why));
    }
    text
}
