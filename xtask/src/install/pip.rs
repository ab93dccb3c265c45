//! Installs programs from PyPI.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::apt;
use crate::console::{Failure, Result, status};
use crate::process::{output, run_showing_output};

/// Installs packages, given in pip's syntax, into a separate folder; `what` is their name in messages.
///
/// The folder gets its final name when the installation is complete, so an interrupted installation is never mistaken
/// for a complete one.
pub(super) fn install(folder: &Path, requirements: impl IntoIterator<Item = String>, what: &str) -> Result<()> {
    let parent = folder.parent().expect("the folder has a parent");
    let partial = parent.join("partial");
    status("Installing", format_args!("{what} into {}", folder.display()));
    ensure_pip()?;
    let failed = |error: std::io::Error| Failure::file("write", parent, &error);
    fs::create_dir_all(parent).map_err(failed)?;
    // Other processes wait for this lock. It is released when this process ends.
    let lock = File::create(parent.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    remove(&partial).map_err(failed)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .arg("--disable-pip-version-check")
        .arg("--target")
        .arg(&partial)
        .args(requirements)
        // pip's warning about running as root concerns the system's packages; these packages go into a separate folder.
        .env("PIP_ROOT_USER_ACTION", "ignore");
    run_showing_output(&mut pip).map_err(|failure| {
        // If the folder cannot be removed, the next installation removes it.
        let _ = remove(&partial);
        Failure::new(format!("pip could not install {what}: {}", failure.message))
            .help("pip's output above has the reason; pip needs PyPI, with `https_proxy` set if there is a proxy")
    })?;
    remove(folder).and_then(|()| fs::rename(&partial, folder)).map_err(failed)
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> std::io::Result<()> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

fn ensure_pip() -> Result<()> {
    let pip = || output(Command::new("python3").args(["-m", "pip", "--version"]));
    if pip().is_ok() {
        return Ok(());
    }
    apt::install(&["python3-pip"], "pip")?;
    pip().map(drop)
}
