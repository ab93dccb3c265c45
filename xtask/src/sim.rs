//! `cargo xtask sim`: runs CUDA programs on `sim`, unmodified.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use crate::console::{Failure, Result};
use crate::process::{cargo, exit_code, root, run_showing_output, target_folder};

/// A program to run, with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) program: Vec<OsString>,
    /// The report file. With `profile_every`, only every Nth launch of a kernel is explained.
    pub(crate) profile: Option<PathBuf>,
    pub(crate) profile_every: Option<OsString>,
    /// The sanitizers. `sanitize_exit` is the exit code of a program with findings.
    pub(crate) sanitize: Option<OsString>,
    pub(crate) sanitize_exit: Option<OsString>,
    pub(crate) schedules: Option<OsString>,
}

/// The variable that lists the folders in which programs first look for libraries.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Builds the driver's library in release mode and returns the folder that contains it as `libcuda.so.1`.
pub(crate) fn folder() -> Result<PathBuf> {
    let manifest = root().join("Cargo.toml");
    run_showing_output(
        cargo().args(["build", "--release", "--package", "libcuda-so", "--manifest-path"]).arg(manifest),
    )?;
    let target = target_folder();
    // The package's build script creates the folder.
    let folder = target.join("release").join("sim");
    match folder.join("libcuda.so.1").is_file() {
        true => Ok(folder),
        false => Err(Failure::new(format!("there is no libcuda.so.1 in {}", folder.display()))
            .help("run `cargo clean --package libcuda-so`, so that the next run builds the library again")),
    }
}

/// Returns a program's command, with Ladder's `libcuda.so.1` as its driver.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let others = std::env::var_os(LIBRARIES).filter(|others| !others.is_empty());
    let folders: Vec<PathBuf> = others.map(|others| std::env::split_paths(&others).collect()).unwrap_or_default();
    // This fails only if the name of a folder contains a colon.
    let all = std::env::join_paths([folder.to_owned()].into_iter().chain(folders));
    let mut command = Command::new(program);
    command.env(LIBRARIES, all.unwrap_or_else(|_| folder.into()));
    command
}

/// Runs a program and returns its exit code.
pub(crate) fn run(run: &Run) -> Result<ExitCode> {
    let is_report =
        |path: &PathBuf| ["html", "json", "csv"].iter().any(|form| path.extension() == Some(OsStr::new(form)));
    if let Some(path) = run.profile.as_ref().filter(|path| !is_report(path)) {
        return Err(Failure::request(format!("{} is not a valid report name", path.display()))
            .help("name a file that ends in .html, .json or .csv"));
    }
    let (program, arguments) = run.program.split_first().expect("the arguments name a program");
    let mut command = command(program, &folder()?);
    command.args(arguments);
    if let Some(path) = &run.profile {
        // The library reads these variables.
        let unknown = |error| Failure::file("find", path, &error);
        command.env("LADDER_PROFILE", std::path::absolute(path).map_err(unknown)?);
        command.env("LADDER_PROFILE_RUN", std::process::id().to_string());
    }
    if let Some(every) = &run.profile_every {
        command.env("LADDER_PROFILE_EVERY", every);
    }
    if let Some(checks) = &run.sanitize {
        // The library reads these variables, and validates the names of sanitizers.
        command.env("LADDER_SANITIZE", checks);
        command.env("LADDER_SANITIZE_EXIT", run.sanitize_exit.as_deref().unwrap_or(OsStr::new("1")));
    }
    if let Some(schedules) = &run.schedules {
        command.env("LADDER_SCHEDULES", schedules);
    }
    let name = Path::new(program).display();
    let begin = SystemTime::now();
    let status = command.status().map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    let is_written = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|at| at >= begin);
    if run.profile.as_ref().is_some_and(|path| !is_written(path)) {
        eprintln!(
            "warning: no report was written: the program launched no kernel, or the driver reports the reason above"
        );
    }
    Ok(exit_code(status))
}
