//! Making a machine able to build kernels.

pub mod apt;
mod rustup;

use cuda_builder::toolchain::{self, DeviceToolchain, NotFound};

use crate::failure::{Failure, Result};
use crate::style::status;

/// How often a package manager is asked for what is still missing: once for the compiler, and once more for
/// the LLVM that fits it, where that can only be known afterwards.
const ROUNDS: usize = 2;

/// What a device compiler lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// A `rustc` that has a `core` for the device.
    Rustc,
    /// LLVM's `opt` and `llc` of at least this major version.
    Llvm(u32),
}

/// The device compiler, after installing what is missing of it: by rustup where it can fetch, else by apt.
///
/// # Errors
/// Exit code 2 with the command to run where that takes root and we are not; otherwise what went wrong.
pub fn device() -> Result<DeviceToolchain> {
    match toolchain::discover() {
        Ok(found) => return Ok(found),
        Err(not_found) => status("Missing", described(&not_found)),
    }
    rustup::install();
    for _ in 0..ROUNDS {
        match missing() {
            None => break,
            Some(missing) => apt::install_device(missing)?,
        }
    }
    toolchain::discover().map_err(|not_found| {
        Failure::new(format!(
            "after installing all that could be installed: {}",
            described(&not_found)
        ))
    })
}

fn missing() -> Option<Missing> {
    match toolchain::find_rustc() {
        Err(_) => Some(Missing::Rustc),
        Ok(rustc) => toolchain::find_llvm(rustc.llvm_major)
            .err()
            .map(|_| Missing::Llvm(rustc.llvm_major)),
    }
}

/// What was looked for and where, without the advice to run what is running.
fn described(not_found: &NotFound) -> String {
    let mut text = format!("no {} on this machine", not_found.wanted);
    for place in &not_found.looked {
        text.push_str(&format!("\n             {}: {}", place.name, place.missing));
    }
    text
}
