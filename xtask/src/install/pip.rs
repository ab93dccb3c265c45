//! Programs that PyPI has.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::apt;
use crate::console::{Failure, Result, status};
use crate::process::{output, visibly};

/// Installs packages, as pip takes them, into a separate folder; `what` is their name for messages.
///
/// The folder gets its final name when it is complete, so that an interrupted installation is never taken for a complete
/// one.
pub(super) fn install(folder: &Path, requirements: impl IntoIterator<Item = String>, what: &str) -> Result<()> {
    let parent = folder.parent().expect("the folder is inside another");
    let partial = parent.join("partial");
    status("Installing", format_args!("{what} into {}", folder.display()));
    ensure_pip()?;
    let failed = |error: std::io::Error| Failure::file("write", parent, &error);
    fs::create_dir_all(parent).map_err(failed)?;
    // Other processes wait here. The lock ends with this process.
    let lock = File::create(parent.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    remove(&partial).map_err(failed)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .arg("--disable-pip-version-check")
        .arg("--target")
        .arg(&partial)
        .args(requirements)
        // pip's advice against running as root is about the system's packages; these go into a folder.
        .env("PIP_ROOT_USER_ACTION", "ignore");
    visibly(&mut pip).map_err(|failure| {
        // If the folder cannot be removed now, the next installation removes it.
        let _ = remove(&partial);
        Failure::new(format!("pip could not install {what}: {}", failure.message))
            .help("pip gives the reason above; it needs PyPI, through `https_proxy` if there is a proxy")
    })?;
    remove(folder).and_then(|()| fs::rename(&partial, folder)).map_err(failed)
}

/// Removes a folder if it is there.
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
