//! Finds NVIDIA's tools: `ptxas`, `nvcc`, `cuobjdump`, `nvdisasm` and `ncu`.
//!
//! This module installs nothing: `cargo xtask setup --nvidia` installs the tools into a [`folder`] that [`find`]
//! searches first.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

use crate::{on_path, output, target_dir, target_variable};

/// The release of the toolkit that `cargo xtask setup --nvidia` installs, which is also the name of its folder.
pub const RELEASE: &str = "13.5";

/// One of NVIDIA's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// The assembler from PTX to SASS.
    Ptxas,
    /// The CUDA C++ compiler.
    Nvcc,
    /// Extracts the contents of object files.
    Cuobjdump,
    /// The disassembler.
    Nvdisasm,
    /// Nsight Compute: reads a GPU's counters.
    Ncu,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 5] = [Self::Ptxas, Self::Nvcc, Self::Cuobjdump, Self::Nvdisasm, Self::Ncu];

    /// Returns the program's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ptxas => "ptxas",
            Self::Nvcc => "nvcc",
            Self::Cuobjdump => "cuobjdump",
            Self::Nvdisasm => "nvdisasm",
            Self::Ncu => "ncu",
        }
    }

    /// Returns the oldest supported release. For the toolkit's tools, this is the first release that supports sm_100.
    /// Nsight Compute is numbered by year; its oldest supported release is the first that supports sm_90.
    #[must_use]
    pub fn oldest(self) -> (u32, u32) {
        match self {
            Self::Ncu => (2022, 3),
            _ => (12, 8),
        }
    }

    /// Returns instructions for installing the tool.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Ncu => "it comes with NVIDIA's CUDA toolkit, and separately as the package nsight-compute",
            _ => "`cargo xtask setup --nvidia` installs NVIDIA's tools",
        }
    }
}

/// A tool that was found and is usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program.
    pub path: PathBuf,
    /// The release of the tool, such as `13.5.37`.
    pub version: String,
    /// A description of the place where the tool was found.
    pub origin: String,
}

/// The error when this computer has no usable version of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// The tool that was searched for.
    pub tool: Tool,
    /// The reason why each version that was found is unusable: the version is too old, or it does not run. Empty if no
    /// version was found.
    pub refused: Vec<String>,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refused[..] {
            [] => write!(f, "no {} was found", self.tool.name())?,
            refused => f.write_str(&refused.join("; "))?,
        }
        write!(f, "; {}", self.tool.remedy())
    }
}

impl std::error::Error for Unavailable {}

/// Finds a tool that is new enough. The search covers the folder of `cargo xtask setup --nvidia`, then `PATH`, then the
/// usual places of the toolkit (`CUDA_PATH`, `CUDA_HOME`, `/usr/local/cuda`) and Nsight Compute.
///
/// # Errors
/// Returns [`Unavailable`] when no tool is found or all tools that were found are unusable.
pub fn find(tool: Tool) -> Result<Found, Unavailable> {
    first_of(tool, places(tool))
}

fn first_of(tool: Tool, places: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Found, Unavailable> {
    let mut refused = Vec::new();
    for (path, origin) in places {
        if !path.is_file() {
            continue;
        }
        match version(&path) {
            Ok((version, release)) if release >= tool.oldest() => {
                return Ok(Found { path, version, origin });
            }
            Ok((version, _)) => {
                let (major, minor) = tool.oldest();
                refused.push(format!("{} is {version}, but {major}.{minor} is required", path.display(),));
            }
            Err(why) => refused.push(why),
        }
    }
    Err(Unavailable { tool, refused })
}

/// Returns the folder in cargo's [target folder](target_dir) that `cargo xtask setup --nvidia` fills. Returns `None` if
/// the target folder cannot be found.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    target_dir().map(|target| target.join("nvidia").join(RELEASE))
}

/// Returns the places where a tool can be, in search order, each with its description.
fn places(tool: Tool) -> Vec<(PathBuf, String)> {
    let name = tool.name();
    let mut places: Vec<(PathBuf, String)> = Vec::new();
    for target in targets() {
        let folder = target.join("nvidia").join(RELEASE);
        let program = folder.join("nvidia").join("cu13").join("bin").join(name);
        places.push((program, format!("PyPI, in {}", folder.display())));
    }
    let on_path = on_path(name).into_iter().next();
    places.extend(on_path.map(|path| (path, "PATH".to_owned())));
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(folder) = env::var_os(variable).filter(|folder| !folder.is_empty()) {
            let program = Path::new(&folder).join("bin").join(name);
            places.push((program, variable.to_owned()));
        }
    }
    let cuda = Path::new("/usr/local/cuda");
    places.push((cuda.join("bin").join(name), cuda.display().to_string()));
    if tool == Tool::Ncu {
        let program_in = |folder: PathBuf| (folder.join(name), folder.display().to_string());
        let toolkits = newest_first(Path::new("/usr/local"), "cuda");
        let profilers = |toolkit: &PathBuf| newest_first(toolkit, "nsight-compute");
        let standalone = newest_first(Path::new("/opt/nvidia/nsight-compute"), "");
        let all = toolkits.iter().flat_map(profilers).chain(standalone);
        places.extend(all.map(program_in));
    }
    places
}

/// Returns the folders that may be cargo's target folder: the folder that the variable names, then all parent folders
/// of this program.
fn targets() -> Vec<PathBuf> {
    let mut targets: Vec<PathBuf> = target_variable().into_iter().collect();
    if let Ok(program) = env::current_exe() {
        targets.extend(program.ancestors().skip(1).map(Path::to_owned));
    }
    targets
}

/// Returns the folders in `parent` whose names start with `prefix`, the highest version first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let paths = named.map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort_by_cached_key(|path| std::cmp::Reverse(numbers(path.file_name())));
    folders
}

/// Returns the numbers in a name: 12 and 8 for `cuda-12.8`.
fn numbers(name: Option<&OsStr>) -> Vec<u32> {
    let name = name.map(OsStr::to_string_lossy).unwrap_or_default();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Returns the version of a program, as text and as a release, or the reason why it cannot be determined.
fn version(program: &Path) -> Result<(String, (u32, u32)), String> {
    let mut command = Command::new(program);
    let version_text = output(command.arg("--version"))?;
    parse_version(&version_text).ok_or_else(|| format!("{} --version prints no release", program.display()))
}

/// Parses `Cuda compilation tools, release 13.5, V13.5.37`, or Nsight Compute's `Version 2025.3.1.0 (build …)`.
fn parse_version(version_text: &str) -> Option<(String, (u32, u32))> {
    let (release, full) = if let Some((_, rest)) = version_text.split_once("release ") {
        let (release, rest) = rest.split_once(',')?;
        let full = rest.trim_start().strip_prefix('V');
        (release.trim(), full.and_then(|full| word(full)))
    } else {
        let mut lines = version_text.lines().map(str::trim);
        let version = lines.find_map(|line| word(line.strip_prefix("Version ")?))?;
        (version, Some(version))
    };
    let mut numbers = release.split('.');
    let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((full.unwrap_or(release).to_owned(), (major, minor)))
}

fn word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

#[cfg(test)]
mod tests;
