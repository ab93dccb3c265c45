//! The programs of crates/simt/driver/programs, in CUDA C++ with NVIDIA's runtime library inside, run on the simulated GPU and
//! print what they print on a GPU: the file NAME.out beside each. record.sh there compares on a GPU.

#![cfg(target_os = "linux")]

mod exports;
mod nvcc;
mod run;

use std::fs;
use std::path::Path;

use nvcc::{Built, Compiler, FOLDER};
use similar::TextDiff;

#[test]
fn programs_print_what_they_print_on_a_gpu() {
    let Some(compiler) = Compiler::find() else { return };
    let programs = nvcc::programs();
    assert!(programs.len() >= 40, "{} programs in {FOLDER}", programs.len());
    let built = compiler.build(&programs);
    let wrong: Vec<String> = run::side_by_side(&built, difference).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {} programs differ:\n{}", wrong.len(), built.len(), wrong.join("\n"));
}

/// What a program does otherwise than on a GPU, in words.
fn difference(program: &Built) -> Option<String> {
    let path = Path::new(FOLDER).join(&program.name).with_extension("out");
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let got = run::run(program);
    if got.success && got.output == expected {
        return None;
    }
    let diff = TextDiff::from_lines(&expected, &got.output);
    let diff = diff.unified_diff().header("on a GPU", "simulated").to_string();
    let said: Vec<&str> = got.errors.lines().take(20).collect();
    Some(format!("== {}: {}\n{diff}{}\n", program.name, got.end, said.join("\n")))
}

/// Of code that the simulated GPU cannot run, the first launch is refused with the driver's own error.
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
fn a_programs_kernels_are_explained() {
    let Some(compiler) = Compiler::find() else { return };
    let folder = tempfile::tempdir().expect("a folder");
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
    // Nothing can be written there: the report goes elsewhere, and the message says where.
    let got = run::run_with(&program, &[("LADDER_PROFILE", &path.join("report.html"))]);
    let elsewhere = got.errors.split("the report will be in ").nth(1).and_then(|rest| rest.lines().next());
    fs::remove_file(elsewhere.unwrap_or_else(|| panic!("{}", got.errors))).expect("the report is there");
    // A program that the simulated GPU cannot run has a report of why.
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
fn findings_decide_the_exit_code_where_that_is_asked_for() {
    let Some(compiler) = Compiler::find() else { return };
    let program = compiler.compile_text("faulty", FAULTY, "-arch=compute_80 -code=compute_80 -lineinfo");
    let run = |variables: &[(&str, &str)]| {
        let variables: Vec<(&str, &Path)> = variables.iter().map(|(name, value)| (*name, Path::new(*value))).collect();
        let done = run::run_with(&program, &variables);
        assert_eq!(done.output, "destroyed\n", "{}", done.errors);
        (done.end.rsplit(' ').next().unwrap_or_default().to_owned(), done.errors)
    };
    let (end, said) = run(&[("FAULTY", "1"), ("LADDER_SANITIZE", "memory,race")]);
    assert_eq!(end, "5", "{said}");
    for words in ["error[memory]: out of bounds read of 4 bytes", "error[race]: write of 4 bytes", "faulty.cu:5:"] {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
    let summary = "2 findings at 2 lines in 1 launch; checks: memory, race\n";
    assert!(said.contains(summary) && said.contains("faulty.cu:5: memory 1 time\n"), "{said}");
    let all = |faulty, code| run(&[("FAULTY", faulty), ("LADDER_SANITIZE", "all"), ("LADDER_SANITIZE_EXIT", code)]);
    assert_eq!(all("1", "77").0, "77");
    let (end, said) = all("0", "77");
    assert!(
        end == "5" && said.contains("no findings in 0 launches; checks: memory, init, race, sync\n"),
        "{end}: {said}"
    );
    // The user's line comes first, and then the header's.
    let (_, said) = all("2", "1");
    let (line, header) = (said.find(" faulty.cu:8:"), said.find("at device_atomic_functions.hpp:"));
    assert!(line.or(said.find("faulty.cu:8:")) < header && header.is_some(), "{said}");
    // By default, memory that is not freed is not an error.
    let (end, said) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "leaks"), ("LADDER_SANITIZE_EXIT", "9")]);
    assert!(end == "9" && said.contains("error[memory]: leak of 256 bytes of device memory"), "{end}: {said}");
    assert!(said.contains("leak of 128 bytes") && said.contains("2 findings in 0 launches"), "{said}");
    // An unknown check.
    let (end, said) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "rice"), ("LADDER_SANITIZE_EXIT", "9")]);
    assert!(end == "9" && said.contains("error: LADDER_SANITIZE: there is no check `rice`"), "{end}: {said}");
    // The lines of a long message end at any word.
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains("did you mean `race`?"), "{said}");
    for (checks, code, words) in [
        ("none,race", "9", "error: LADDER_SANITIZE: `none` contradicts the other checks of `none,race`"),
        ("all", "256", "error: LADDER_SANITIZE_EXIT=256 is not an exit code for failures"),
        ("", "9", "warning: LADDER_SANITIZE_EXIT has no effect without LADDER_SANITIZE"),
    ] {
        let (_, said) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", checks), ("LADDER_SANITIZE_EXIT", code)]);
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
    let (_, said) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "all"), ("LADDER_SCHEDULES", "1001")]);
    assert!(said.contains("error: LADDER_SCHEDULES=1001 is not a number of schedules"), "{said}");
    let (end, said) = run(&[("FAULTY", "1"), ("LADDER_SANITIZE", "race"), ("LADDER_SCHEDULES", "3")]);
    assert!(end == "5" && said.contains("in 1 launch; checks: race\n"), "{end}: {said}");
    let (_, said) = run(&[("FAULTY", "0"), ("LADDER_SANITIZE", "all"), ("LADDER_DRIVER_LOG", "/nowhere/at/all")]);
    assert!(said.contains("warning: cannot write LADDER_DRIVER_LOG=/nowhere/at/all: "), "{said}");
}
