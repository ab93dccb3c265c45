//! `cargo xtask sim`: programs that use CUDA run unmodified on a simulated GPU.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::console::{Failure, Result};
use crate::process::{cargo, exit_code, root, target_folder, visibly};

/// The variable that lists the folders in which programs look for libraries first.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Builds the driver's library for release, and returns the folder that holds it as `libcuda.so.1`.
pub(crate) fn folder() -> Result<PathBuf> {
    let manifest = root().join("Cargo.toml");
    visibly(cargo().args(["build", "--release", "--package", "libcuda-so", "--manifest-path"]).arg(manifest))?;
    let target = target_folder();
    // The package's build script makes it.
    let folder = target.join("release").join("sim");
    match folder.join("libcuda.so.1").is_file() {
        true => Ok(folder),
        false => Err(Failure::new(format!("there is no libcuda.so.1 in {}", folder.display()))
            .help("`cargo clean --package libcuda-so` makes the next run build it afresh")),
    }
}

/// A program's command, with the simulated GPU for a driver.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let others = std::env::var_os(LIBRARIES).filter(|others| !others.is_empty());
    let folders: Vec<PathBuf> = others.map(|others| std::env::split_paths(&others).collect()).unwrap_or_default();
    // Only a folder with a colon in its name cannot be listed.
    let all = std::env::join_paths([folder.to_owned()].into_iter().chain(folders));
    let mut command = Command::new(program);
    command.env(LIBRARIES, all.unwrap_or_else(|_| folder.into()));
    command
}

/// Runs a program with its arguments, and returns its exit code.
pub(crate) fn run(program: &[OsString]) -> Result<ExitCode> {
    let folder = folder()?;
    let (program, arguments) = program.split_first().expect("the program is named");
    let name = Path::new(program).display();
    let status = command(program, &folder).args(arguments).status();
    status.map(exit_code).map_err(|error| Failure::new(format!("cannot run {name}: {error}")))
}
