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
