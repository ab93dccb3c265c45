//! Compiles the kernels to PTX, which a release embeds, and records the version of the host code's compiler.

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
            // Prints only the message, without the line in this file that returned the error.
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The architectures that the kernels are compiled for, oldest first. Every supported device can run code for the first
/// one. The second one has asynchronous copies and tensor cores for 16-bit floats. The third one is specific to Hopper,
/// and its code runs only on Hopper GPUs.
const ARCHITECTURES: [NvvmArch; 3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90a];

/// Removes most variants of kernels from the PTX, to keep a web page small. The variants are the non-default formats,
/// operations and types of the ladders `attention`, `gemm`, `scan` and `sort`. These variants make up most of the text.
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
        // `}` is the last line of a kernel.
        is_left_out &= line != "}";
    }
    kept
}

fn build() -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // A web page only runs the PTX of the last architecture and must load fast.
    let is_page = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    let is_embedded = is_page || env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // The simulator runs the PTX of the last architecture. A program compiles the PTX of any other architecture on
    // first use.
    let (others, last) = ARCHITECTURES.split_at(ARCHITECTURES.len() - 1);
    let has_all = !is_page && env::var_os("CARGO_FEATURE_EVERY_ARCHITECTURE").is_some();
    let wanted = if has_all { &ARCHITECTURES } else { last };
    let built = thread::scope(|scope| {
        let builds = wanted.iter().map(|arch| {
            let builder = builder(Path::new("."), &out_dir, *arch);
            scope.spawn(|| builder.build())
        });
        let builds: Vec<_> = builds.collect();
        // Wait for all compilers, so that no compiler keeps running after an error.
        let results = builds.into_iter().map(|build| build.join().expect("cuda_builder does not panic"));
        results.collect::<Result<Vec<_>, _>>()
    });
    let mut list = String::new();
    let compiled = match built {
        Ok(_) => wanted,
        // Cargo also compiles the kernels' crate for the host, and reports most errors there before it compiles the
        // code that includes this list. The user therefore sees the `compile_error!` only for the remaining errors. An
        // error without a source line, such as a full disk, makes this script fail, so that cargo runs it again.
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
    // `rustc 1.95.0 (hash date)`: keeps only the name and the version.
    let version = String::from_utf8_lossy(&version);
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=LADDER_HOST_RUSTC={}", version.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
