//! Compiles the kernels to PTX, which a release embeds, and records the version of the compiler of the host code.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use cuda_builder::{CudaBuilderError, NvvmArch};
use device_code::{builder, file};

#[path = "src/device_code.rs"]
mod device_code;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Only the message is of interest, not the line in this file at which it was passed on.
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The architectures that the kernels are compiled for, oldest first: one that every supported device can run, one with
/// asynchronous copies and the tensor cores of 16-bit floats, and Hopper's own, which Hopper alone runs.
const ARCHITECTURES: [NvvmArch; 3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a];

/// The PTX without the kernels of the ladders `attention`, `gemm`, `scan` and `sort` for other formats, operations and types than the usual
/// ones, which are most of its text: a page is small.
fn without_variants(ptx: &str) -> String {
    const VARIANTS: [(&str, &[&str]); 4] = [
        ("attention_", &["_f16_", "_d64_", "_causal_"]),
        ("gemm_", &["_f16_", "_f32_", "_tf32_", "_columns_"]),
        ("scan_", &["_product_", "_min_", "_max_", "_u32_", "_i64_", "_f32_", "_exclusive_"]),
        ("sort_", &["_i32_", "_f32_", "_u64_", "_pairs_"]),
    ];
    let mut is_left_out = false;
    let mut kept = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            let mut named = VARIANTS.iter().filter(|(ladder, _)| entry.starts_with(ladder));
            is_left_out = named.any(|(_, variants)| variants.iter().any(|variant| entry.contains(variant)));
        }
        if !is_left_out {
            kept.push_str(line);
            kept.push('\n');
        }
        // A kernel's last line.
        is_left_out &= line != "}";
    }
    kept
}

fn build() -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // A page runs the last, and is to load fast.
    let is_page = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    let is_embedded = is_page || env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // The simulator runs the last. A program compiles the others when it first needs them.
    let (others, last) = ARCHITECTURES.split_at(ARCHITECTURES.len() - 1);
    let has_all = !is_page && env::var_os("CARGO_FEATURE_EVERY_ARCHITECTURE").is_some();
    let wanted = if has_all { &ARCHITECTURES } else { last };
    let built = thread::scope(|scope| {
        let builds = wanted.iter().map(|arch| {
            let builder = builder(Path::new("."), &out_dir, *arch);
            scope.spawn(|| builder.build())
        });
        let builds: Vec<_> = builds.collect();
        // Waits for all compilers, so that none is left running.
        let results = builds.into_iter().map(|build| build.join().expect("cuda_builder does not panic"));
        results.collect::<Result<Vec<_>, _>>()
    });
    let mut list = String::new();
    let compiled = match built {
        Ok(_) => wanted,
        // Most errors of a kernel are found too when cargo compiles its crate for the host, and cargo shows them then,
        // before it gets to the code that this file is included in. So only the others are left to show there.
        // An error without a line of source, such as a full disk, has another cause: then this script fails, and runs again.
        Err(CudaBuilderError::BuildFailed { messages, .. }) if messages.contains("--> ") => {
            let message = format!("the kernels do not compile for the device\n\n{messages}\n");
            writeln!(list, "compile_error!({message:?});")?;
            &[]
        }
        Err(other) => return Err(other.into()),
    };
    if is_page && !compiled.is_empty() {
        let file = file(&out_dir, wanted[0]);
        std::fs::write(&file, without_variants(&std::fs::read_to_string(&file)?))?;
    }
    let listed = if is_page || has_all { Vec::from_iter(compiled) } else { others.iter().chain(compiled).collect() };
    writeln!(list, "static MODULES: [Ptx; {}] = [", listed.len())?;
    for arch in listed {
        let capability = (arch.capability() / 10, arch.capability() % 10);
        let file = file(&out_dir, *arch);
        let only = if arch.sm().ends_with('a') { ".only()" } else { "" };
        let module = match (wanted.contains(arch), is_embedded) {
            (true, true) => format!("Ptx::new({capability:?}, include_str!({file:?}))"),
            (true, false) => format!("Ptx::in_file({capability:?}, {file:?})"),
            (false, _) => format!("Ptx::on_request({capability:?}, || compile(cuda_builder::NvvmArch::{arch:?}))"),
        };
        writeln!(list, "{module}{only},")?;
    }
    list += "];\n";
    std::fs::write(out_dir.join("kernels.rs"), list)?;

    let rustc = env::var_os("RUSTC").ok_or("cargo sets RUSTC")?;
    let version = Command::new(rustc).arg("--version").output()?.stdout;
    // `rustc 1.95.0 (hash date)`: the hash and the date add nothing to the version.
    let version = String::from_utf8_lossy(&version);
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=LADDER_HOST_RUSTC={}", version.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
