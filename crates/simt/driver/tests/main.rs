//! Tests that run the programs of crates/simt/driver/programs on the simulator. The programs are CUDA C++ and contain
//! NVIDIA's runtime library. The output of each program must equal the file NAME.out next to the program. The script
//! record.sh in that folder compares the outputs on a GPU.

#![cfg(target_os = "linux")]

mod exports;
mod nvcc;
mod run;

use std::fs;
use std::path::Path;

use nvcc::{Built, Compiler, FOLDER};
use similar::TextDiff;

#[test]
fn program_output_matches_a_gpu() {
    let Some(compiler) = Compiler::find() else { return };
    let programs = nvcc::programs();
    assert!(programs.len() >= 40, "{} programs in {FOLDER}", programs.len());
    let built = compiler.build(&programs);
    let wrong: Vec<String> = run::run_in_parallel(&built, difference).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {} programs differ:\n{}", wrong.len(), built.len(), wrong.join("\n"));
}

/// Returns a description of how a program's output differs from its output on a GPU.
fn difference(program: &Built) -> Option<String> {
    let path = Path::new(FOLDER).join(&program.name).with_extension("out");
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let got = run::run(program);
    if got.success && got.output == expected {
        return None;
    }
    let diff = TextDiff::from_lines(&expected, &got.output);
    let diff = diff.unified_diff().header("on a GPU", "on the simulator").to_string();
    let errors: Vec<&str> = got.errors.lines().take(20).collect();
    Some(format!("== {}: {}\n{diff}{}\n", program.name, got.end, errors.join("\n")))
}

/// The first launch of code that the simulator cannot run fails with the driver's error.
#[test]
fn code_for_other_devices_is_refused() {
    let Some(compiler) = Compiler::find() else { return };
    let cases = [
        ("machine_code", "-arch=compute_80 -code=sm_80", "machine code"),
        ("newer", "-arch=compute_120 -code=compute_120", "compute_120"),
    ];
    for (name, options, why) in cases {
        let program = compiler.compile_text(
            name,
            "#include <cstdio>\n__global__ void nothing() {}\nint main() {\n    nothing<<<1, 1>>>();\n    \
             std::puts(cudaGetErrorName(cudaGetLastError()));\n    int* data;\n    \
             std::puts(cudaGetErrorName(cudaMalloc(&data, 4)));\n}\n",
            options,
        );
        let got = run::run(&program);
        assert_eq!(got.output, "cudaErrorNoKernelImageForDevice\ncudaSuccess\n", "{options}: {}", got.errors);
        assert!(got.errors.contains(why), "{options}: {}", got.errors);
    }
}

const COPIES: &str = "#include <cstdio>
__global__ void strided(float* data) {
    unsigned index = (blockIdx.x * blockDim.x + threadIdx.x) * 32;
    data[index] += 1;
}
__global__ void beyond(float* data) { data[1 << 28] = 1; }
int main() {
    float* data;
    cudaMalloc(&data, 1056 * 128 * 128);
    for (int launch = 0; launch < 3; launch++) strided<<<1056, 128>>>(data);
    std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
    beyond<<<1, 1>>>(data);
    std::puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
";

#[test]
fn profile_reports_cover_all_kernels() {
    let Some(compiler) = Compiler::find() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    let program = compiler.compile_text("explained", COPIES, "-arch=compute_80 -code=compute_80 -lineinfo");
    let got = run::run_with(&program, &[("LADDER_PROFILE", &path)]);
    assert_eq!(got.output, "cudaSuccess\ncudaErrorIllegalAddress\n", "{}", got.errors);
    assert!(got.errors.contains("2 kernels, 4 launches: "), "{}", got.errors);
    let page = fs::read_to_string(&path).expect("the report");
    for words in
        ["strided(float*)", "Bound by ", "What helps: ", "    data[index] += 1;", "out of bounds write of 4 bytes"]
    {
        assert!(page.contains(words), "`{words}` is not in: {page}");
    }
    // The path is not writable here, so the report is written elsewhere, and the message names that file.
    let got = run::run_with(&program, &[("LADDER_PROFILE", &path.join("report.html"))]);
    let fallback_path = got.errors.split("the report will be in ").nth(1).and_then(|rest| rest.lines().next());
    fs::remove_file(fallback_path.unwrap_or_else(|| panic!("{}", got.errors))).expect("the report is there");
    // A program that the simulator cannot run gets a report with the reason.
    let path = folder.path().join("refused.html");
    let refused = compiler.compile_text("explained_machine_code", COPIES, "-arch=compute_80 -code=sm_80");
    let got = run::run_with(&refused, &[("LADDER_PROFILE", &path)]);
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {}", got.errors));
    assert!(page.contains("The program launched no kernel.") && page.contains("machine code"), "{page}");
}

const FAULTY: &str = "#include <cstdio>
#include <cstdlib>
struct Last { ~Last() { std::puts(\"destroyed\"); } } last;
__global__ void faulty(int* from, int* to) {
    if (threadIdx.x == 0) to[1] = from[-1];
    to[0] = threadIdx.x;
}
__global__ void atomics(int* to) { atomicAdd(&to[threadIdx.x], 1); }
int main(int, char** arguments) {
    int *from, *to;
    cudaMalloc(&from, 256);
    cudaMalloc(&to, 256);
    cudaMemset(from, 0, 256);
    cudaMemset(to, 0, 256);
    cudaFree(from);
    cudaMalloc(&from, 128);
    cudaMemset(from, 0, 128);
    if (std::atoi(std::getenv(\"FAULTY\"))) faulty<<<1, 64>>>(from, to);
    if (std::atoi(std::getenv(\"FAULTY\")) > 1) atomics<<<1, 96>>>(to);
    return cudaGetLastError() == cudaSuccess ? 5 : 6;
}
";

#[test]
fn sanitizer_findings_set_the_exit_code_on_request() {
    let Some(compiler) = Compiler::find() else { return };
    let program = compiler.compile_text("faulty", FAULTY, "-arch=compute_80 -code=compute_80 -lineinfo");
    let run = |variables: &[(&str, &str)]| {
        let variables: Vec<(&str, &Path)> = variables.iter().map(|(name, value)| (*name, Path::new(*value))).collect();
        let outcome = run::run_with(&program, &variables);
        assert_eq!(outcome.output, "destroyed\n", "{}", outcome.errors);
        (outcome.end.rsplit(' ').next().unwrap_or_default().to_owned(), outcome.errors)
    };
    let (end, messages) = run(&[("FAULTY", "1"), ("LADDER_SANITIZE", "memory,race")]);
    assert_eq!(end, "5", "{messages}");
    for words in ["error[memory]: out of bounds read of 4 bytes", "error[race]: write of 4 bytes", "faulty.cu:5:"] {
        assert!(messages.contains(words), "`{words}` is not in: {messages}");
    }
    let summary = "2 findings at 2 lines in 1 launch; sanitizers: memory, race\n";
    assert!(messages.contains(summary) && messages.contains("faulty.cu:5: memory 1 time\n"), "{messages}");
    let all = |faulty, code| run(&[("FAULTY", faulty), ("LADDER_SANITIZE", "all"), ("LADDER_SANITIZE_EXIT", code)]);
    assert_eq!(all("1", "77").0, "77");
    let (end, messages) = all("0", "77");
    assert!(
        end == "5" && messages.contains("no findings in 0 launches; sanitizers: memory, init, race, sync\n"),
        "{end}: {messages}"
    );
    // The user's line precedes the line in the header.
    let (_, messages) = all("2", "1");
    let (line, header) = (messages.find(" faulty.cu:8:"), messages.find("at device_atomic_functions.hpp:"));
    assert!(line.or(messages.find("faulty.cu:8:")) < header && header.is_some(), "{messages}");
    // Memory that is not freed is not an error by default.
    let (end, messages) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "leaks"), ("LADDER_SANITIZE_EXIT", "9")]);
    assert!(end == "9" && messages.contains("error[memory]: leak of 256 bytes of device memory"), "{end}: {messages}");
    assert!(messages.contains("leak of 128 bytes") && messages.contains("2 findings in 0 launches"), "{messages}");
    // An unknown sanitizer.
    let (end, messages) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "rice"), ("LADDER_SANITIZE_EXIT", "9")]);
    assert!(
        end == "9" && messages.contains("error: LADDER_SANITIZE: there is no sanitizer `rice`"),
        "{end}: {messages}"
    );
    // Long messages are wrapped between words.
    assert!(messages.split_whitespace().collect::<Vec<_>>().join(" ").contains("did you mean `race`?"), "{messages}");
    for (checks, code, words) in [
        ("none,race", "9", "error: LADDER_SANITIZE: `none` contradicts the other sanitizers in `none,race`"),
        ("all", "256", "error: LADDER_SANITIZE_EXIT=256 is not an exit code for failures"),
        ("", "9", "warning: LADDER_SANITIZE_EXIT has no effect without LADDER_SANITIZE"),
    ] {
        let (_, messages) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", checks), ("LADDER_SANITIZE_EXIT", code)]);
        assert!(messages.contains(words), "`{words}` is not in: {messages}");
    }
    let (_, messages) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "all"), ("LADDER_SCHEDULES", "1001")]);
    assert!(messages.contains("error: LADDER_SCHEDULES=1001 is not a number of schedules"), "{messages}");
    let (end, messages) = run(&[("FAULTY", "1"), ("LADDER_SANITIZE", "race"), ("LADDER_SCHEDULES", "3")]);
    assert!(end == "5" && messages.contains("in 1 launch; sanitizers: race\n"), "{end}: {messages}");
    let (_, messages) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "all"), ("LADDER_DRIVER_LOG", "/nowhere/at/all")]);
    assert!(messages.contains("warning: cannot write LADDER_DRIVER_LOG=/nowhere/at/all: "), "{messages}");
}
