//! Installs NVIDIA's `ptxas`, `nvcc`, `cuobjdump` and `nvdisasm`, from PyPI.

use locate::nvidia::{RELEASE, Tool, find};

use super::pip;
use crate::console::{Failure, Result};
use crate::process::root;

/// The toolkit's parts as PyPI packages, each at [`RELEASE`] (the C++ core libraries have separate versions).
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

/// Returns whether all tools that the packages contain are installed.
fn complete() -> bool {
    INSTALLED.iter().all(|tool| find(*tool).is_ok())
}

/// Installs all packages if a tool is missing.
pub(crate) fn install_if_missing() -> Result<()> {
    if !complete() {
        install()?;
        for tool in INSTALLED {
            find(tool).map_err(|error| Failure::new(format!("NVIDIA's tools are installed, but {error}")))?;
        }
    }
    Ok(())
}

/// Returns the packages with their versions, in pip's syntax.
fn requirements() -> impl Iterator<Item = String> {
    PACKAGES.iter().map(|(name, version)| format!("{name}=={version}"))
}

/// Installs all packages from PyPI.
fn install() -> Result<()> {
    let folder = locate::nvidia::folder().unwrap_or_else(|| root().join("target").join("nvidia").join(RELEASE));
    pip::install(&folder, requirements(), &format!("NVIDIA's tools {RELEASE} from PyPI ({SIZE})"))
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
