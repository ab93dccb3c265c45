//! Installs the device compiler, NVIDIA's tools, and the other tools that the tests need.

pub(crate) mod aarch64;
mod apt;
pub(crate) mod chromium;
pub(crate) mod deny;
pub(crate) mod nvidia;
mod pip;

use std::path::Path;
use std::process::Command;

use locate::device::{self, DeviceToolchain};

use crate::console::{Failure, Result, status};
use crate::process::{output, root, run_showing_output};

/// Debian's current Rust, which is packaged for building browsers, its library sources, and the LLVM that it is built
/// with.
const DEBIAN: [&str; 3] = ["rustc-web", "rust-web-src", "llvm-22"];

/// Returns the device compiler. Missing parts are installed with rustup, or otherwise with apt.
///
/// # Errors
/// Returns a failure with exit code 2 when parts are still missing afterwards.
pub(crate) fn device() -> Result<DeviceToolchain> {
    if let Ok(found) = device::discover() {
        return Ok(found);
    }
    if rustup("component", &device::COMPONENTS).is_err()
        && let Err(failure) = apt::install(&DEBIAN, "the device compiler")
        && failure.code == 1
    {
        status("Failed", failure.message);
    }
    device::discover().map_err(|not_found| Failure::request(not_found.to_string()))
}

/// Installs Rust's standard library for a target with rustup, unless it is installed.
///
/// # Errors
/// Returns a failure when the library is still missing afterwards.
pub(crate) fn target_library(target: &str) -> Result<()> {
    let mut rustc = Command::new("rustc");
    let folder = output(rustc.args(["--print", "target-libdir", "--target", target]).current_dir(root()));
    if folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
        return Ok(());
    }
    rustup("target", &[target]).map_err(|_| {
        Failure::request(format!("this Rust compiler has no library for {target}"))
            .help(format!("install it with `rustup target add {target}`"))
    })
}

/// Adds components or targets to the toolchain that rust-toolchain.toml names.
fn rustup(kind: &str, names: &[&str]) -> Result<()> {
    if locate::on_path("rustup").is_empty() {
        return Err(Failure::request("rustup is not installed"));
    }
    status("Installing", format_args!("with rustup: {}", names.join(" ")));
    run_showing_output(Command::new("rustup").args([kind, "add"]).args(names).current_dir(root()))
}

/// Performs `cargo xtask setup`.
pub(crate) fn setup(with_nvidia: bool) -> Result<()> {
    let found = device()?;
    if with_nvidia {
        nvidia::install_if_missing()?;
    }
    let (rustc, llvm) = (&found.rustc, &found.llvm);
    let rustc = format!("rustc {} ({})", rustc.version, rustc.origin);
    let llvm = format!("LLVM {} ({})", llvm.version, llvm.origin);
    let nvidia = if with_nvidia { ", and NVIDIA's tools" } else { "" };
    status("Ready", format_args!("{rustc}, {llvm}{nvidia}"));
    Ok(())
}
