//! NVIDIA's `ptxas`, `nvcc`, `cuobjdump` and `nvdisasm`, from PyPI.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use locate::nvidia::{RELEASE, Tool, find};

use super::apt;
use crate::console::{Failure, Result, status};
use crate::process::{output, root, visibly};

/// The toolkit's parts as PyPI packages, each at [`RELEASE`] (the C++ core libraries have versions of their
/// own).
const PACKAGES: [(&str, &str); 7] = [
    ("nvidia-cuda-nvcc", "13.5.*"),
    ("nvidia-cuda-crt", "13.5.*"),
    ("nvidia-nvvm", "13.5.*"),
    ("nvidia-cuda-runtime", "13.5.*"),
    ("nvidia-cuda-cccl", "13.3.*"),
    ("nvidia-cuda-cuobjdump", "13.5.*"),
    ("nvidia-cuda-nvdisasm", "13.5.*"),
];

/// The disk space of the packages, for messages.
const SIZE: &str = "350 MB";

/// The tools that the packages contain.
const INSTALLED: [Tool; 4] = [Tool::Ptxas, Tool::Nvcc, Tool::Cuobjdump, Tool::Nvdisasm];

/// Whether all tools that the packages contain are installed.
pub(crate) fn complete() -> bool {
    INSTALLED.iter().all(|tool| find(*tool).is_ok())
}

/// Installs all of them if one is missing.
pub(crate) fn install_if_missing() -> Result<()> {
    if !complete() {
        install()?;
        for tool in INSTALLED {
            find(tool).map_err(|error| Failure::new(format!("even after installing NVIDIA's tools: {error}")))?;
        }
    }
    Ok(())
}

/// The packages with their versions, as pip takes them.
fn requirements() -> impl Iterator<Item = String> {
    PACKAGES.iter().map(|(name, version)| format!("{name}=={version}"))
}

/// Installs all of them from PyPI.
///
/// The folder gets its final name when it is complete, so that the rest of an interrupted installation is never taken
/// for an installation.
fn install() -> Result<()> {
    let folder = locate::nvidia::folder().unwrap_or_else(|| root().join("target").join("nvidia").join(RELEASE));
    let parent = folder.parent().expect("the folder is inside another");
    let what = format!("NVIDIA's tools {RELEASE} from PyPI ({SIZE})");
    status("Installing", format_args!("{what} into {}", folder.display()));
    ensure_pip()?;
    std::fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
    remove_abandoned(parent);
    let partial = parent.join(format!("{PARTIAL}{}", std::process::id()));
    if let Err(failure) = pip_install(&partial) {
        // If the rest of the folder cannot be removed now, the next installation removes it.
        let _ = std::fs::remove_dir_all(&partial);
        return Err(failure);
    }
    if folder.exists() {
        // The other folder is another process's that was faster, or it is damaged. In both cases a complete one is
        // available now.
        std::fs::remove_dir_all(&folder).map_err(|error| Failure::file("replace", &folder, &error))?;
    }
    std::fs::rename(&partial, &folder).map_err(|error| Failure::file("create", &folder, &error))
}

fn pip_install(folder: &PathBuf) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .arg("--disable-pip-version-check")
        .arg("--target")
        .arg(folder)
        .args(requirements())
        // pip's advice against running as root is about the system's packages; these go into a folder.
        .env("PIP_ROOT_USER_ACTION", "ignore");
    visibly(&mut pip).map_err(|failure| {
        Failure::new(format!("pip could not install NVIDIA's tools: {}", failure.message))
            .hint("the packages come from PyPI: this machine has to reach it, or the mirror that pip is set to")
    })
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
    apt::install(&["python3-pip"], "pip, to install NVIDIA's tools with,")?;
    pip().map(drop)
}

#[cfg(test)]
mod tests {
    use super::{RELEASE, Tool, requirements};

    #[test]
    fn every_tool_has_a_package_at_the_release() {
        let requirements: Vec<_> = requirements().collect();
        assert!(requirements.contains(&"nvidia-cuda-nvcc==13.5.*".to_owned()), "it holds ptxas and nvcc");
        for tool in [Tool::Cuobjdump, Tool::Nvdisasm] {
            assert!(requirements.contains(&format!("nvidia-cuda-{}=={}.*", tool.name(), RELEASE)));
        }
    }
}
