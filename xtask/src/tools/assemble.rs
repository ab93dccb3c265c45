//! PTX to SASS with `ptxas` and `nvdisasm`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::nvidia::Found;
use super::output;
use super::usage::{self, Usage};
use crate::failure::{Failure, Result};

/// The GPUs that every kernel is assembled for: Turing, Ampere, Hopper, Blackwell.
pub const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// Assembles a PTX file for an architecture (`sm_90`) and reports what each function takes. The machine code
/// is thrown away.
///
/// # Errors
/// `ptxas` refuses the file or the architecture: with what it said.
pub fn usages(ptxas: &Found, ptx: &Path, arch: &str) -> Result<BTreeMap<String, Usage>> {
    let folder = scratch()?;
    let mut command = Command::new(&ptxas.path);
    command
        .arg("-v")
        .arg(format!("-arch={arch}"))
        .arg(ptx)
        .arg("-o")
        .arg(folder.path().join("kernels.cubin"));
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format!("cannot run {}: {error}", ptxas.path.display())))?;
    // The report comes on standard error, with the errors.
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() {
        Ok(usage::parse(&said))
    } else {
        Err(refused(ptx, arch, &said))
    }
}

/// Disassembles one entry of a PTX file as assembled for an architecture. With `lines`, the source lines of
/// instructions stand between them.
///
/// # Errors
/// `ptxas` or `nvdisasm` refuses: with what it said.
pub fn sass(
    ptxas: &Found,
    nvdisasm: &Found,
    ptx: &Path,
    entry: &str,
    arch: &str,
    lines: bool,
) -> Result<String> {
    let folder = scratch()?;
    let cubin = folder.path().join("kernel.cubin");
    let mut assemble = Command::new(&ptxas.path);
    assemble
        .arg(format!("-arch={arch}"))
        .args(["--entry", entry]);
    if lines {
        assemble.arg("-lineinfo");
    }
    output(assemble.arg(ptx).arg("-o").arg(&cubin))
        .map_err(|failure| refused(ptx, arch, &failure.message))?;
    let mut disassemble = Command::new(&nvdisasm.path);
    disassemble.arg("-c");
    if lines {
        disassemble.arg("-gi");
    }
    output(disassemble.arg(&cubin))
}

fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot create a temporary folder: {error}")))
}

fn refused(ptx: &Path, arch: &str, said: &str) -> Failure {
    Failure::new(format!(
        "ptxas does not assemble {} for {arch}:\n{}",
        ptx.display(),
        said.trim_end()
    ))
}
