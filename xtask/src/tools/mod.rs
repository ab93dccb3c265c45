//! Other programs: NVIDIA's, cargo, and what their output means.

pub mod cargo;
pub mod gpu;
pub mod nvidia;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};

/// This repository's root: the folder above this crate's.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target folder, as cargo finds it without looking into config files.
#[must_use]
pub fn target_dir() -> PathBuf {
    // A relative path is relative to where cargo was started; for us that is the working directory.
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) if !folder.is_empty() => {
            std::path::absolute(&folder).unwrap_or_else(|_| folder.into())
        }
        _ => root().join("target"),
    }
}

/// What a program prints to standard output.
///
/// # Errors
/// It cannot be run, or it fails: with what it said.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!(
        "{name} failed ({}):\n{}",
        output.status,
        said.trim_end()
    )))
}

/// Runs a program whose output the user should see. It goes to standard error: standard output is for what
/// was asked for.
///
/// # Errors
/// It cannot be run, or it fails.
pub fn visibly(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .map_err(|error| Failure::new(format!("cannot run {name}: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("{name} failed ({status})")))
    }
}
