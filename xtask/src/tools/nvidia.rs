//! NVIDIA's `ptxas`, `nvcc`, `cuobjdump` and `nvdisasm`: how to get them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use toolkit::{Found, RELEASE, Tool, find};

use super::{output, root, visibly};
use crate::failure::{Failure, Result};
use crate::style::status;

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

/// What the packages take on disk, for people.
const SIZE: &str = "350 MB";

/// Those of the tools that the packages hold.
pub const INSTALLED: [Tool; 4] = [Tool::Ptxas, Tool::Nvcc, Tool::Cuobjdump, Tool::Nvdisasm];

/// The folder that [`install`] fills.
#[must_use]
pub fn folder() -> PathBuf {
    toolkit::folder().unwrap_or_else(|| root().join("target").join("nvidia").join(RELEASE))
}

/// The tools, after installing them all if one of these is missing.
///
/// # Errors
/// It could not be installed.
pub fn need<const N: usize>(tools: [Tool; N]) -> Result<[Found; N]> {
    if let Some(found) = tools
        .map(|tool| find(tool).ok())
        .into_iter()
        .collect::<Option<Vec<_>>>()
    {
        return Ok(found.try_into().expect("one for each tool"));
    }
    install()?;
    let mut found = Vec::new();
    for tool in tools {
        found.push(find(tool).map_err(|error| {
            Failure::new(format!("even after installing NVIDIA's tools: {error}"))
        })?);
    }
    Ok(found.try_into().expect("one for each tool"))
}

/// The packages with their versions, as pip takes them.
fn requirements() -> impl Iterator<Item = String> {
    PACKAGES
        .iter()
        .map(|(name, version)| format!("{name}=={version}"))
}

/// Installs all of them from PyPI into [`folder`].
///
/// The folder gets its name when everything is in it, so that what an interruption leaves behind is never
/// taken for an installation.
///
/// # Errors
/// Without pip, network or space: with what pip said.
pub fn install() -> Result<()> {
    let folder = folder();
    let parent = folder.parent().expect("the folder is inside another");
    status(
        "Installing",
        format_args!(
            "NVIDIA's tools {RELEASE} from PyPI ({SIZE}) into {}",
            folder.display()
        ),
    );
    ensure_pip()?;
    std::fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
    remove_abandoned(parent);
    let partial = tempfile::Builder::new()
        .prefix(PARTIAL)
        .tempdir_in(parent)
        .map_err(|error| Failure::file("create a folder in", parent, &error))?;
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    pip.arg("--target").arg(partial.path()).args(requirements());
    // pip's advice against running as root is about the system's packages; these go into a folder.
    pip.env("PIP_ROOT_USER_ACTION", "ignore");
    visibly(&mut pip).map_err(|failure| {
        Failure::new(format!("pip could not install NVIDIA's tools: {}", failure.message)).hint(
            "the packages come from PyPI: this machine has to reach it, or the mirror that pip is set to",
        )
    })?;
    if folder.exists() {
        // Of another process that was quicker, or damaged: either way a whole one is at hand now.
        std::fs::remove_dir_all(&folder)
            .map_err(|error| Failure::file("replace", &folder, &error))?;
    }
    std::fs::rename(partial.path(), &folder)
        .map_err(|error| Failure::file("create", &folder, &error))
}

/// What the names of folders begin with that are being filled.
const PARTIAL: &str = ".partial-";
/// An installation that takes longer than this has ended without saying so.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes what interrupted installations left behind.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let age = entry
            .metadata()
            .and_then(|data| data.modified())
            .ok()
            .and_then(|time| time.elapsed().ok());
        if entry.file_name().to_string_lossy().starts_with(PARTIAL)
            && age.is_some_and(|age| age > ABANDONED)
        {
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
    crate::setup::apt::install(
        &["python3-pip".to_owned()],
        "pip, to install NVIDIA's tools with",
    )?;
    pip().map(drop)
}

#[cfg(test)]
mod tests {
    use super::{RELEASE, Tool, requirements};

    #[test]
    fn every_tool_has_a_package_at_the_release() {
        let requirements: Vec<_> = requirements().collect();
        assert!(
            requirements.contains(&"nvidia-cuda-nvcc==13.5.*".to_owned()),
            "it holds ptxas and nvcc"
        );
        for tool in [Tool::Cuobjdump, Tool::Nvdisasm] {
            assert!(requirements.contains(&format!("nvidia-cuda-{}=={}.*", tool.name(), RELEASE)));
        }
    }
}
