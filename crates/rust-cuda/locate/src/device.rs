//! Where the device compiler is: a `rustc` with the library sources, from which `core` is compiled for the device, and
//! LLVM's `opt` and `llc` of its version or newer.
//!
//! Looked for in this order:
//! 1. what the environment names: `CUDA_BUILDER_RUSTC` (a `rustc`) and `CUDA_BUILDER_LLVM` (a folder
//!    with `opt` and `llc`);
//! 2. the active toolchain, if it has the library sources (`rustup component add rust-src`);
//! 3. rustup's other toolchains;
//! 4. any other `rustc` on `PATH`, such as Debian's `rustc-web` with `rust-web-src`.
//!
//! LLVM's tools likewise: the component `llvm-tools` of any of those toolchains, then `opt-22` and
//! `llc-22` (Debian's `llvm-22`), then `opt` and `llc`.

mod llvm;
mod rustc;

use std::fmt;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use llvm::find_llvm;
pub use rustc::find_rustc;

use crate::on_path;

/// The target that kernels are compiled for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";
/// Names the `rustc` to use, ahead of every other.
pub const RUSTC_OVERRIDE: &str = "CUDA_BUILDER_RUSTC";
/// Names the folder that holds the `opt` and `llc` to use, ahead of every other.
pub const LLVM_OVERRIDE: &str = "CUDA_BUILDER_LLVM";
/// The components of rustup that a device compiler consists of, in addition to `rustc`.
pub const COMPONENTS: [&str; 2] = ["rust-src", "llvm-tools"];

/// A compiler for the device: everything between Rust source and PTX.
#[derive(Debug, Clone)]
pub struct DeviceToolchain {
    /// Rust to LLVM IR.
    pub rustc: DeviceRustc,
    /// LLVM IR to PTX.
    pub llvm: LlvmTools,
}

/// A `rustc` that can compile for [`TARGET`].
#[derive(Debug, Clone)]
pub struct DeviceRustc {
    /// The program.
    pub path: PathBuf,
    /// Its version, such as `1.96.0`.
    pub version: String,
    /// The major version of its LLVM: older LLVM tools cannot read its IR.
    pub llvm_major: u32,
    /// The place where it was found, in words.
    pub origin: String,
}

/// LLVM's optimizer and code generator.
#[derive(Debug, Clone)]
pub struct LlvmTools {
    /// The optimizer.
    pub opt: PathBuf,
    /// The code generator.
    pub llc: PathBuf,
    /// Their version, such as `22.1.8`.
    pub version: String,
    /// The place where they were found, in words.
    pub origin: String,
}

/// A place that was searched, and the reason why it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The place, in words: `rustup toolchain 1.95.0`, `/usr/bin/rustc`.
    pub name: String,
    /// The missing part.
    pub missing: String,
}

/// There is no device compiler on this machine, or half of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The thing that was looked for.
    pub wanted: String,
    /// Every place that was looked at.
    pub looked: Vec<Place>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no {} on this machine", self.wanted)?;
        for Place { name, missing } in &self.looked {
            writeln!(f, "note: {name}: {missing}")?;
        }
        if self.looked.is_empty() {
            writeln!(f, "note: there is no rustc on PATH")?;
        }
        match on_path("rustup").is_empty() {
            true => f.write_str(
                "help: install rustup (https://rustup.rs), which installs the rest: \
                 `curl -sSf --proto '=https' https://sh.rustup.rs | sh`",
            ),
            false => write!(f, "help: `rustup component add {}`", COMPONENTS.join(" ")),
        }
    }
}

impl std::error::Error for NotFound {}

/// Finds a device compiler, in the order that the [module](self) gives.
///
/// # Errors
/// [`NotFound`], with every place that was searched and the missing part there, when none can be used.
pub fn discover() -> Result<DeviceToolchain, NotFound> {
    let mut looked = Vec::new();
    for found in rustc::candidates() {
        match found {
            Err(place) => looked.push(place),
            Ok(rustc) => match find_llvm(rustc.llvm_major) {
                Ok(llvm) => return Ok(DeviceToolchain { rustc, llvm }),
                Err(not_found) => {
                    let (name, oldest) = (rustc.origin, rustc.llvm_major);
                    let missing = format!("this rustc has library sources, but LLVM {oldest} or newer is missing");
                    looked.push(Place { name, missing });
                    looked.extend(not_found.looked);
                }
            },
        }
    }
    Err(NotFound { wanted: "device compiler (rustc with library sources, and LLVM's opt and llc)".to_owned(), looked })
}

/// The output of a program, or the reason why it could not be run.
fn output_of(program: &Path, args: &[&str]) -> Result<String, String> {
    // rustup's proxies would try to install what rust-toolchain.toml lists and this machine lacks.
    let output = Command::new(program)
        .args(args)
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(|error| format!("cannot be run ({error})"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("said nothing");
        return Err(format!("`{}` failed: {first}", args.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// rustup's toolchains by name, with their folders. Empty without rustup.
fn rustup_toolchains() -> Vec<(String, PathBuf)> {
    let named = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = named.or_else(|| Some(std::env::home_dir()?.join(".rustup")));
    let toolchains = home.map(|home| entries(&home.join("toolchains")));
    let mut toolchains = toolchains.unwrap_or_default();
    toolchains.sort();
    toolchains
}

/// What is in a folder, by name. Empty when the folder cannot be read.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: &DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| (name(&entry), entry.path())).collect()
}
