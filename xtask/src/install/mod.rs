//! Installs the device compiler, NVIDIA's tools, and what the tests need besides.

pub(crate) mod aarch64;
mod apt;
pub(crate) mod chromium;
pub(crate) mod deny;
pub(crate) mod nvidia;
mod pip;
mod rustup;

use std::path::Path;
use std::process::Command;

use locate::device::{self, DeviceToolchain, NotFound};

use crate::console::{Failure, Result, status};
use crate::process::{output, root};

/// Debian's current Rust, kept for building browsers, its library's sources, and the LLVM it is built with.
const DEBIAN: [&str; 3] = ["rustc-web", "rust-web-src", "llvm-22"];

/// The device compiler, after its missing parts were installed: by rustup if it can fetch them, else by apt.
/// Fails when the installation needs root and we are not root (exit code 2, with the command to run), and when the
/// installed compiler cannot be used.
pub(crate) fn device() -> Result<DeviceToolchain> {
    match device::discover() {
        Ok(found) => return Ok(found),
        Err(not_found) => status("Missing", described(&not_found)),
    }
    rustup::install();
    if device::discover().is_err() {
        match device::find_rustc() {
            Err(_) => apt::install(&DEBIAN, "the device compiler")?,
            Ok(rustc) => {
                let llvm = format!("llvm-{}", rustc.llvm_major);
                apt::install(&[&llvm], "the device compiler's LLVM")?;
            }
        }
    }
    device::discover().map_err(|not_found| {
        Failure::new(format!("after installing all that could be installed: {}", described(&not_found)))
            .help("with rustup: `rustup target add nvptx64-nvidia-cuda` and `rustup component add llvm-tools`")
    })
}

/// Installs Rust's standard library for a target with rustup unless it is there.
///
/// # Errors
/// If it is still missing afterwards.
pub(crate) fn target_library(target: &str) -> Result<()> {
    let has = || {
        let mut rustc = Command::new("rustc");
        let folder = output(rustc.args(["--print", "target-libdir", "--target", target]).current_dir(root()));
        folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
    };
    if !has() && !locate::on_path("rustup").is_empty() {
        rustup::add("target", target);
    }
    match has() {
        true => Ok(()),
        false => Err(Failure::request(format!("the Rust compiler here has no library for {target}"))
            .help(format!("with rustup: `rustup target add {target}`"))),
    }
}

/// A message about the places that were searched, without the advice to run the setup that is running.
fn described(not_found: &NotFound) -> String {
    let mut text = format!("no {} on this machine", not_found.wanted);
    for place in &not_found.looked {
        text.push_str(&format!("\n             {}: {}", place.name, place.missing));
    }
    text
}

/// `cargo xtask setup`.
pub(crate) fn setup(with_nvidia: bool) -> Result<()> {
    let complete = device::discover().is_ok() && (!with_nvidia || nvidia::complete());
    let found = device()?;
    if with_nvidia {
        nvidia::install_if_missing()?;
    }
    let (rustc, llvm) = (&found.rustc, &found.llvm);
    let before = if complete { "nothing is missing: " } else { "" };
    let rustc = format!("rustc {} ({})", rustc.version, rustc.origin);
    let llvm = format!("LLVM {} ({})", llvm.version, llvm.origin);
    let nvidia = if with_nvidia { ", and NVIDIA's tools" } else { "" };
    status("Ready", format_args!("{before}{rustc}, {llvm}{nvidia}"));
    Ok(())
}
