//! Where `ncu` is.

use std::env;
use std::path::{Path, PathBuf};

use crate::profile::error::ProfileError;

const NCU: &str = "ncu";

/// `ncu`: the one that was named, or that of PATH, of CUDA_PATH or CUDA_HOME, or the newest where the CUDA toolkit
/// and Nsight Compute install themselves on Linux.
///
/// # Errors
/// [`ProfileError::NoNcu`], [`ProfileError::Start`] where what was named is no file.
pub fn find(named: Option<&Path>) -> Result<PathBuf, ProfileError> {
    if let Some(named) = named {
        return which::which(named).map_err(|error| ProfileError::Start {
            program: named.display().to_string(),
            why: error.to_string(),
        });
    }
    if let Ok(found) = which::which(NCU) {
        return Ok(found);
    }
    let homes = ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(env::var_os);
    let at_home = homes.map(|home| Path::new(&home).join("bin").join(NCU));
    at_home
        .chain(installed(Path::new("/")))
        .find(|path| which::which(path).is_ok())
        .ok_or(ProfileError::NoNcu)
}

/// Where installers put it, below `root`: the newest first.
fn installed(root: &Path) -> Vec<PathBuf> {
    let toolkits = matching(&root.join("usr/local"), "cuda");
    let of_toolkits = toolkits.iter().flat_map(|toolkit| {
        let own = matching(toolkit, "nsight-compute");
        let own = own.into_iter().map(|folder| folder.join(NCU));
        [toolkit.join("bin").join(NCU)].into_iter().chain(own)
    });
    let alone = matching(&root.join("opt/nvidia/nsight-compute"), "");
    let alone = alone.into_iter().map(|folder| folder.join(NCU));
    of_toolkits.chain(alone).collect()
}

/// The entries of a folder whose names begin so, the highest version first.
fn matching(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut found: Vec<(Vec<u64>, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?;
            Some((numbers(version), entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The numbers in a version.
fn numbers(version: &str) -> Vec<u64> {
    version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_newest_installation_comes_first() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "usr/local/cuda-9.2",
            "usr/local/cuda-13.0/nsight-compute-2025.3.1",
            "usr/local/other",
            "opt/nvidia/nsight-compute/2024.10.0",
            "opt/nvidia/nsight-compute/2024.9.1",
        ] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let found = installed(root.path());
        let found: Vec<&str> = found
            .iter()
            .map(|path| path.strip_prefix(root.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            found,
            [
                "usr/local/cuda-13.0/bin/ncu",
                "usr/local/cuda-13.0/nsight-compute-2025.3.1/ncu",
                "usr/local/cuda-9.2/bin/ncu",
                "opt/nvidia/nsight-compute/2024.10.0/ncu",
                "opt/nvidia/nsight-compute/2024.9.1/ncu",
            ]
        );
    }

    #[test]
    fn what_was_named_and_is_not_there_is_refused() {
        let error = find(Some(Path::new("no/such/ncu"))).unwrap_err();
        assert!(error.to_string().contains("no/such/ncu"), "{error}");
    }
}
