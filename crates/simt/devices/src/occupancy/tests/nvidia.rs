//! Compares the calculator with NVIDIA's, which is a header of the CUDA toolkit for C and C++.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolkit::Tool;

use super::super::{Block, Limiter, Limits, Usage, of};

/// Reports a missing tool. This is an error only in CI, where `cargo xtask setup --nvidia` runs first.
fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("not tested: {what}");
}

/// Returns the folder with the header of NVIDIA's calculator, next to the nvcc that is found.
fn header() -> Option<PathBuf> {
    let nvcc = toolkit::find(Tool::Nvcc).ok()?.path;
    let nvcc = std::fs::canonicalize(&nvcc).unwrap_or(nvcc);
    let root = nvcc.parent()?.parent()?;
    let folders = ["include", "targets/x86_64-linux/include"].map(|folder| root.join(folder));
    folders.into_iter().find(|folder| folder.join("cuda_occupancy.h").is_file())
}

/// Returns block sizes from 1 to 1024 threads and one that is too large: every second multiple of 32, and some sizes in
/// between.
fn threads() -> impl Iterator<Item = u32> {
    (32..=1024).step_by(64).chain([1, 31, 33, 100, 128, 256, 511, 512, 1000, 1024, 1025])
}

fn registers() -> impl Iterator<Item = u32> {
    0..=255
}

fn shared() -> impl Iterator<Item = u32> {
    let around = |kib: u32| [kib * 1024 - 1, kib * 1024, kib * 1024 + 1];
    let sizes = [1, 7, 16, 31, 47, 48, 63, 64, 95, 96, 99, 100, 113, 163, 164, 227, 228, 240];
    [0, 1, 128, 256, 512, 1000].into_iter().chain(sizes.into_iter().flat_map(around))
}

/// Returns every number of registers with many block sizes, and every amount of shared memory with a few block sizes.
fn cases() -> impl Iterator<Item = (u32, u32, u32)> {
    let registers = registers().flat_map(|registers| threads().map(move |threads| (registers, threads, 0)));
    let shared_and_threads =
        shared().flat_map(|shared| threads().flat_map(move |threads| [16, 40, 128].map(|r| (r, threads, shared))));
    let all_shared = (0..=229 << 10).step_by(64).flat_map(|shared| [32, 128, 768].map(|t| (32, t, shared)));
    registers.chain(shared_and_threads).chain(all_shared)
}

/// Reads limits and cases, and prints the results of NVIDIA's calculator.
const PROGRAM: &str = include_str!("nvidia.cpp");

#[test]
fn the_results_equal_those_of_nvidias_calculator() {
    let Some(include) = header() else {
        return missing("no cuda_occupancy.h next to an nvcc");
    };
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["occupancy.cpp", "occupancy"].map(|name| folder.path().join(name));
    std::fs::write(&source, PROGRAM).unwrap();
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut compiler = Command::new(compiler);
    compiler.args(["-O1", "-I"]).arg(include);
    let Ok(compiled) = compiler.arg("-o").args([&program, &source]).output() else {
        return missing("no C++ compiler");
    };
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");

    let of_limits = |limits| [1, 16].map(|barriers| (limits, barriers));
    let launches = || Limits::all().iter().flat_map(of_limits);
    let cases: Vec<(u32, u32, u32)> = cases().collect();
    let mut input = String::new();
    for (limits, barriers) in launches() {
        let (major, minor) = limits.capability;
        writeln!(
            input,
            "{major} {minor} {} {} {} {} {} {} {} {} {barriers} {}",
            limits.threads_per_block,
            limits.threads(),
            limits.registers_per_block,
            limits.registers,
            limits.shared_per_block,
            limits.shared,
            limits.shared_opt_in,
            limits.shared_reserved,
            cases.len()
        )
        .unwrap();
        for (registers, threads, shared) in &cases {
            writeln!(input, "{registers} {threads} {shared}").unwrap();
        }
    }
    let answers = answers(&program, folder.path(), &input);
    let mut lines = answers.lines();
    for (limits, barriers) in launches() {
        let arch = limits.arch();
        for &(registers, threads, shared) in &cases {
            let resources = Usage { registers, barriers, ..Usage::default() };
            let block = Block { threads, dynamic_shared: shared };
            let found = of(limits, resources, block);
            let bit = |limiter| match limiter {
                Limiter::Warps => 1,
                Limiter::Registers => 2,
                Limiter::SharedMemory => 4,
                Limiter::Blocks => 8,
                Limiter::Barriers => 16,
            };
            let bits: u32 = found.limited_by.iter().copied().map(bit).sum();
            let case = format!("{arch}, {registers} registers, {threads} threads, {shared} bytes, {barriers} barriers");
            let theirs = lines.next().unwrap();
            let (blocks, factors) = theirs.split_once(' ').unwrap();
            assert_eq!(blocks, found.blocks.to_string(), "{case}");
            // NVIDIA's calculator still reports the other factors if barriers allow fewer blocks.
            if !found.limited_by.contains(&Limiter::Barriers) {
                assert_eq!(factors, bits.to_string(), "{case}");
            }
        }
        let carveouts = lines.next().unwrap().split_whitespace();
        let carveouts = carveouts.map(|kib| kib.parse::<u32>().unwrap());
        for (kib, theirs) in (0..).zip(carveouts) {
            let ours = limits.carveouts.iter().find(|&&carveout| carveout >= kib);
            assert_eq!(ours, Some(&theirs), "{arch}, {kib} KiB");
        }
    }
    assert_eq!(lines.next(), None);
}

/// Returns a program's output for an input. The input is in a file, because a pipe could fill up before it is read.
fn answers(program: &Path, folder: &Path, input: &str) -> String {
    let file = folder.join("input");
    std::fs::write(&file, input).unwrap();
    let ran = Command::new(program).stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    assert!(ran.status.success(), "{}", ran.status);
    String::from_utf8(ran.stdout).unwrap()
}
