//! Programs that PyPI has.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::apt;
use crate::console::{Failure, Result, status};
use crate::process::{output, visibly};

/// Installs packages, as pip takes them, into a folder of their own; `what` is their name for messages.
///
/// The folder gets its final name when it is complete, so that the rest of an interrupted installation is never taken
/// for an installation.
pub(super) fn install(folder: &Path, requirements: impl IntoIterator<Item = String>, what: &str) -> Result<()> {
    let parent = folder.parent().expect("the folder is inside another");
    status("Installing", format_args!("{what} into {}", folder.display()));
    ensure_pip()?;
    std::fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
    remove_abandoned(parent);
    let partial = parent.join(format!("{PARTIAL}{}", std::process::id()));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .arg("--disable-pip-version-check")
        .arg("--target")
        .arg(&partial)
        .args(requirements)
        // pip's advice against running as root is about the system's packages; these go into a folder.
        .env("PIP_ROOT_USER_ACTION", "ignore");
    if let Err(failure) = visibly(&mut pip) {
        // If the rest of the folder cannot be removed now, the next installation removes it.
        let _ = std::fs::remove_dir_all(&partial);
        return Err(Failure::new(format!("pip could not install {what}: {}", failure.message))
            .help("the packages come from PyPI: this machine has to reach it, or the mirror that pip is set to"));
    }
    if folder.exists() {
        // The other folder is another process's that was faster, or it is damaged. In both cases a complete one is
        // available now.
        std::fs::remove_dir_all(folder).map_err(|error| Failure::file("replace", folder, &error))?;
    }
    std::fs::rename(&partial, folder).map_err(|error| Failure::file("create", folder, &error))
}

/// The prefix of the names of incomplete folders.
const PARTIAL: &str = ".partial-";
/// An installation that is older than this was interrupted.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes the folders of interrupted installations.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|data| data.modified());
        let age = changed.ok().and_then(|time| time.elapsed().ok());
        let is_partial = entry.file_name().to_string_lossy().starts_with(PARTIAL);
        if is_partial && age.is_some_and(|age| age > ABANDONED) {
            // If it cannot be removed it only takes up space.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn ensure_pip() -> Result<()> {
    let pip = || output(Command::new("python3").args(["-m", "pip", "--version"]));
    if pip().is_ok() {
        return Ok(());
    }
    apt::install(&["python3-pip"], "pip")?;
    pip().map(drop)
}
