//! Finds the device compiler: a `rustc` with library sources, and LLVM's `opt` and `llc` of rustc's LLVM version or
//! newer. `core` is compiled for the device from the library sources.
//!
//! The search order:
//! 1. the environment variables `CUDA_BUILDER_RUSTC` (a `rustc`) and `CUDA_BUILDER_LLVM` (a folder
//!    with `opt` and `llc`);
//! 2. the active toolchain, if it has the library sources (`rustup component add rust-src`);
//! 3. rustup's other toolchains;
//! 4. any other `rustc` on `PATH`, such as Debian's `rustc-web` with `rust-web-src`.
//!
//! The search for LLVM's tools covers the component `llvm-tools` of these toolchains, then `opt-22` and `llc-22`
//! (Debian's `llvm-22`), then `opt` and `llc`.

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
/// The variable that names the `rustc` to use instead of any other.
pub const RUSTC_OVERRIDE: &str = "CUDA_BUILDER_RUSTC";
/// The variable that names the folder of the `opt` and `llc` to use instead of any others.
pub const LLVM_OVERRIDE: &str = "CUDA_BUILDER_LLVM";
/// The rustup components of a device compiler, in addition to `rustc`.
pub const COMPONENTS: [&str; 2] = ["rust-src", "llvm-tools"];

/// A compiler for the device, from Rust source to PTX.
#[derive(Debug, Clone)]
pub struct DeviceToolchain {
    /// Compiles Rust to LLVM IR.
    pub rustc: DeviceRustc,
    /// Compiles LLVM IR to PTX.
    pub llvm: LlvmTools,
}

/// A `rustc` that can compile for [`TARGET`].
#[derive(Debug, Clone)]
pub struct DeviceRustc {
    /// The program.
    pub path: PathBuf,
    /// The version of the `rustc`, such as `1.96.0`.
    pub version: String,
    /// The major version of the LLVM in the `rustc`. Older LLVM tools cannot read the IR that the `rustc` emits.
    pub llvm_major: u32,
    /// A description of the place where the `rustc` was found.
    pub origin: String,
}

/// LLVM's optimizer and code generator.
#[derive(Debug, Clone)]
pub struct LlvmTools {
    /// The optimizer.
    pub opt: PathBuf,
    /// The code generator.
    pub llc: PathBuf,
    /// The version of both programs, such as `22.1.8`.
    pub version: String,
    /// A description of the place where both programs were found.
    pub origin: String,
}

/// A place that was searched, and the reason why it is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A description of the place: `rustup toolchain 1.95.0`, `/usr/bin/rustc`.
    pub name: String,
    /// The missing part.
    pub missing: String,
}

/// The error when this computer has no device compiler or only part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The thing that was searched for.
    pub requested: String,
    /// Every place that was searched.
    pub searched: Vec<Place>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no {} on this machine", self.requested)?;
        for Place { name, missing } in &self.searched {
            writeln!(f, "note: {name}: {missing}")?;
        }
        if self.searched.is_empty() {
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

/// Finds a device compiler, in the order that the [module](self) documents.
///
/// # Errors
/// Returns [`NotFound`] with every searched place and its missing part when no compiler is usable.
pub fn discover() -> Result<DeviceToolchain, NotFound> {
    let mut searched = Vec::new();
    for found in rustc::candidates() {
        match found {
            Err(place) => searched.push(place),
            Ok(rustc) => match find_llvm(rustc.llvm_major) {
                Ok(llvm) => return Ok(DeviceToolchain { rustc, llvm }),
                Err(not_found) => {
                    let (name, oldest) = (rustc.origin, rustc.llvm_major);
                    let missing = format!("this rustc has library sources, but LLVM {oldest} or newer is missing");
                    searched.push(Place { name, missing });
                    searched.extend(not_found.searched);
                }
            },
        }
    }
    Err(NotFound {
        requested: "device compiler (rustc with library sources, and LLVM's opt and llc)".to_owned(),
        searched,
    })
}

/// Returns the output of a program, or the reason why it could not be run.
fn output_of(program: &Path, args: &[&str]) -> Result<String, String> {
    // Without the variable, rustup's proxies would install missing toolchains and components that rust-toolchain.toml
    // lists.
    let output = Command::new(program)
        .args(args)
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(|error| format!("cannot be run ({error})"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("no error output");
        return Err(format!("`{}` failed: {first}", args.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns rustup's toolchains by name, with their folders. The list is empty without rustup.
fn rustup_toolchains() -> Vec<(String, PathBuf)> {
    let named = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = named.or_else(|| Some(std::env::home_dir()?.join(".rustup")));
    let toolchains = home.map(|home| entries(&home.join("toolchains")));
    let mut toolchains = toolchains.unwrap_or_default();
    toolchains.sort();
    toolchains
}

/// Returns the entries of a folder with their names. The list is empty if the folder cannot be read.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |entry: &DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| (name(&entry), entry.path())).collect()
}
