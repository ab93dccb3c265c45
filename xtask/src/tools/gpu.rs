//! Whether this machine has an NVIDIA GPU and a driver, without loading the driver.

use std::path::Path;
use std::process::Command;

use super::output;

/// What is known of the driver and its GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its version where it can be told.
    pub version: Option<String>,
    /// How it was found.
    pub origin: String,
    /// The GPUs' names, where they can be told.
    pub gpus: Vec<String>,
}

impl Driver {
    /// Whether there may be a GPU: one is known of, or the driver is one whose GPUs cannot be seen from here.
    #[must_use]
    pub fn may_run(&self) -> bool {
        !self.gpus.is_empty() || self.version.is_none()
    }
}

/// Looks for a driver: asks `nvidia-smi`, else reads what the kernel module shows of itself, else looks for
/// the driver's library.
#[must_use]
pub fn driver() -> Option<Driver> {
    smi().or_else(kernel_module).or_else(library)
}

fn smi() -> Option<Driver> {
    let mut smi = Command::new("nvidia-smi");
    let said =
        output(smi.args(["--query-gpu=driver_version,name", "--format=csv,noheader"])).ok()?;
    from_smi(&said)
}

/// Lines such as `580.65.06, NVIDIA H100 80GB HBM3`.
fn from_smi(said: &str) -> Option<Driver> {
    let lines: Vec<_> = said
        .lines()
        .filter_map(|line| line.split_once(','))
        .collect();
    let (version, _) = lines.first()?;
    Some(Driver {
        version: Some(version.trim().to_owned()),
        origin: "nvidia-smi".to_owned(),
        gpus: lines
            .iter()
            .map(|(_, name)| name.trim().to_owned())
            .collect(),
    })
}

fn kernel_module() -> Option<Driver> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let gpus = std::fs::read_dir("/proc/driver/nvidia/gpus")
        .into_iter()
        .flatten()
        .flatten();
    let name = |folder: std::fs::DirEntry| {
        let information = std::fs::read_to_string(folder.path().join("information")).ok()?;
        let model = information
            .lines()
            .find_map(|line| line.strip_prefix("Model:"))?;
        Some(model.trim().to_owned())
    };
    Some(Driver {
        version: from_module(&text),
        origin: "/proc/driver/nvidia".to_owned(),
        gpus: gpus.filter_map(name).collect(),
    })
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …`: the first word like a version.
fn from_module(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.contains('.')
            && word
                .chars()
                .all(|character| character.is_ascii_digit() || character == '.')
    };
    text.lines()
        .next()?
        .split_whitespace()
        .find(is_version)
        .map(str::to_owned)
}

/// In a virtual machine of Windows, and on boards, there is a library and no more to see.
fn library() -> Option<Driver> {
    const NAME: &str = "libcuda.so.1";
    let known = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/wsl/lib",
    ];
    let told = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folder = std::env::split_paths(&told)
        .chain(known.iter().map(|folder| Path::new(folder).to_owned()))
        .find(|folder| folder.join(NAME).exists())?;
    Some(Driver {
        origin: folder.join(NAME).display().to_string(),
        ..Driver::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{from_module, from_smi};

    #[test]
    fn two_gpus() {
        let driver =
            from_smi("580.65.06, NVIDIA H100 80GB HBM3\n580.65.06, NVIDIA H100 80GB HBM3\n")
                .expect("two lines");
        assert_eq!(driver.version.as_deref(), Some("580.65.06"));
        assert_eq!(driver.gpus.len(), 2);
    }

    #[test]
    fn no_gpu() {
        assert_eq!(from_smi("No devices were found\n"), None);
        assert_eq!(from_smi(""), None);
    }

    #[test]
    fn module() {
        let text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:11:00 UTC 2025\nGCC version: 12.2.0";
        assert_eq!(from_module(text).as_deref(), Some("580.65.06"));
        assert_eq!(from_module(""), None);
    }
}
