//! Other programs: cargo, package managers, and what they print.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use crate::console::{Failure, Result};

/// This repository's root: the folder above this package's.
pub(crate) fn root() -> PathBuf {
    // Cargo says where the package is when it runs the program; a program that is started by hand knows
    // where it was compiled.
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_owned()
}

/// Cargo's target folder, where built and installed files go.
pub(crate) fn target_folder() -> PathBuf {
    locate::target_dir().unwrap_or_else(|| root().join("target"))
}

/// `cargo`, without what the outer cargo told this program about its own package.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_the_outer_package) {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds a program of this workspace with a profile, runs it with these arguments, and returns its exit code.
/// The program reports its own errors.
pub(crate) fn run_program(program: &str, profile: &str, arguments: &[OsString]) -> Result<ExitCode> {
    // `--package` is not used: without it, cargo gives every crate the features that the whole workspace asks for.
    // They are the same for each program, so programs share their builds.
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

/// The exit code of a program that has run; that of a failure where it has none, because a signal ended it.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs a program and returns its standard output.
/// An error has the program's output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let (status, said) = (output.status, String::from_utf8_lossy(&output.stderr));
    let said = said.trim_end();
    Err(Failure::new(format!("{name} failed ({status}):\n{said}")))
}

/// Runs a program whose output the user should see. It is written to standard error, because standard output is for
/// the results of the task.
pub(crate) fn visibly(command: &mut Command) -> Result<()> {
    succeed(command.stdout(std::io::stderr()))
}

/// Runs a program whose output is the result of the task.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name} failed ({status})"))) }
}

/// Prints what to do if the disk of the target folder is full: programs report that among many other lines, if at all.
pub(crate) fn report_full_disk() {
    const FULL: u64 = 256;
    let target = target_folder();
    let table = output(Command::new("df").arg("-Pm").arg(&target)).unwrap_or_default();
    let free = table.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    if let Some(free) = free.filter(|free: &u64| *free < FULL) {
        let target = target.display();
        eprintln!("note: the disk of {target} has {free} MB left, and a first build needs 3 GB");
        eprintln!("help: make room there, or name a folder on another disk: `CARGO_TARGET_DIR=FOLDER cargo xtask ...`");
    }
}

/// The path as seen from the repository's root, for messages.
pub(crate) fn from_root(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.display().to_string()
}

/// Whether a variable describes the package that is being run, and not how the user set cargo up.
fn of_the_outer_package(variable: &str) -> bool {
    let exact = ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_CRATE_NAME", "CARGO_BIN_NAME", "OUT_DIR"];
    let prefixes = ["CARGO_PKG_", "CARGO_BIN_EXE_", "CARGO_CFG_", "CARGO_FEATURE_"];
    exact.contains(&variable) || prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::of_the_outer_package;

    #[test]
    fn settings_stay() {
        let kept = "CARGO_HOME CARGO_TARGET_DIR CARGO_NET_OFFLINE CARGO_TERM_COLOR RUSTUP_TOOLCHAIN";
        assert!(!kept.split(' ').any(of_the_outer_package));
        let removed = ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "OUT_DIR"];
        assert!(removed.into_iter().all(of_the_outer_package));
    }
}
