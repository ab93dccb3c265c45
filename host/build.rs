//! Builds the kernels to PTX, for the program to embed, and notes the compiler of the host code.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch};

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What is to be read is the message, not where in this file it was passed on.
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    CudaBuilder::new("../kernels-gpu")
        .arch(NvvmArch::Compute75)
        .debug(DebugInfo::LineTables)
        .copy_to(out_dir.join("kernels.ptx"))
        .build()?;

    let rustc = env::var_os("RUSTC").ok_or("cargo sets RUSTC")?;
    let version = Command::new(rustc).arg("--version").output()?.stdout;
    // `rustc 1.95.0 (hash date)`: the hash says nothing that the number does not.
    let version = String::from_utf8_lossy(&version);
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=LADDER_HOST_RUSTC={}", version.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
