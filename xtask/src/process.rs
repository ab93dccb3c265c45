//! Runs other programs, such as cargo and package managers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::console::{Failure, Result};

/// Returns this repository's root: the parent folder of this package.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the package's path when it runs the program. A program that is started by hand uses the path where it
    // was compiled.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_owned()
}

/// Returns cargo's target folder, which contains built and installed files.
pub(crate) fn target_folder() -> PathBuf {
    locate::target_dir().unwrap_or_else(|| root().join("target"))
}

/// Returns a `cargo` command without the variables that the outer cargo set for this package.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_outer_package) {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds a program of this workspace with a profile, runs it with these arguments, and returns its exit code.
/// The program reports its errors itself.
pub(crate) fn run_program(program: &str, profile: &str, arguments: &[OsString]) -> Result<ExitCode> {
    // Without `--package`, cargo compiles every crate with the features that the whole workspace requests. These
    // features are the same for each program, so programs share their builds.
    let status = cargo()
        .args(["run", "--profile", profile, "--bin", program])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .arg("--")
        .args(arguments)
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    Ok(exit_code(status))
}

/// Returns the exit code of a program that has run, or the exit code of a failure if a signal ended the program.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs a program and returns its standard output.
///
/// # Errors
/// Returns a failure with the program's standard error when the program cannot run or fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let (status, errors) = (output.status, String::from_utf8_lossy(&output.stderr));
    let errors = errors.trim_end();
    Err(Failure::new(format!("{name} failed ({status}):\n{errors}")))
}

/// Runs a program and shows its output on standard error, because standard output is for the results of the task.
pub(crate) fn run_showing_output(command: &mut Command) -> Result<()> {
    run_checked(command.stdout(std::io::stderr()))
}

/// Runs a program whose output is the result of the task.
pub(crate) fn run_checked(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name} failed ({status})"))) }
}

/// If the disk that holds the target folder is full, reports this with a hint. Programs report a full disk among many
/// other lines, if at all.
pub(crate) fn report_full_disk() {
    const FULL: u64 = 256;
    let target = target_folder();
    let table = output(Command::new("df").arg("-Pm").arg(&target)).unwrap_or_default();
    let free = table.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    if let Some(free) = free.filter(|free: &u64| *free < FULL) {
        let target = target.display();
        eprintln!("note: the disk of {target} has only {free} MB left, but a first build needs 3 GB");
        eprintln!("help: free some space, or use a folder on another disk: `CARGO_TARGET_DIR=FOLDER cargo xtask ...`");
    }
}

/// Returns the path relative to the repository's root, for messages.
pub(crate) fn from_root(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.display().to_string()
}

/// Returns whether a variable describes the package that cargo runs, as opposed to the user's settings of cargo.
fn describes_outer_package(variable: &str) -> bool {
    let exact = ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_CRATE_NAME", "CARGO_BIN_NAME", "OUT_DIR"];
    let prefixes = ["CARGO_PKG_", "CARGO_BIN_EXE_", "CARGO_CFG_", "CARGO_FEATURE_"];
    exact.contains(&variable) || prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::describes_outer_package;

    #[test]
    fn user_settings_stay() {
        let kept = "CARGO_HOME CARGO_TARGET_DIR CARGO_NET_OFFLINE CARGO_TERM_COLOR RUSTUP_TOOLCHAIN";
        assert!(!kept.split(' ').any(describes_outer_package));
        let removed = ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "OUT_DIR"];
        assert!(removed.into_iter().all(describes_outer_package));
    }
}
