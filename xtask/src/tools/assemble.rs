//! PTX files to SASS.

use std::collections::BTreeMap;
use std::path::Path;

use toolkit::{Error, Found, Usage, ptxas};

use crate::failure::{Failure, Result};

/// The GPUs that every kernel is assembled for: Turing, Ampere, Hopper, Blackwell.
pub const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// Assembles a PTX file for an architecture (`sm_90`) and reports what each function takes. The machine code
/// is thrown away.
///
/// # Errors
/// `ptxas` refuses the file or the architecture: with what it said.
pub fn usages(ptxas: &Found, ptx: &Path, arch: &str) -> Result<BTreeMap<String, Usage>> {
    ptxas::usages(ptxas, &read(ptx)?, arch).map_err(|error| refused(ptx, arch, &error))
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
    ptxas::sass(ptxas, nvdisasm, &read(ptx)?, entry, arch, lines)
        .map_err(|error| refused(ptx, arch, &error))
}

fn read(ptx: &Path) -> Result<String> {
    std::fs::read_to_string(ptx).map_err(|error| Failure::file("read", ptx, &error))
}

fn refused(ptx: &Path, arch: &str, error: &Error) -> Failure {
    match error {
        Error::Refused { said, .. } => Failure::new(format!(
            "ptxas does not assemble {} for {arch}:\n{}",
            ptx.display(),
            said.trim_end()
        )),
        error => Failure::new(error.to_string()),
    }
}
