//! NVIDIA's `ptxas`, `nvcc`, `cuobjdump` and `nvdisasm`: where they are, and how to get them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{output, target_dir, visibly};
use crate::failure::{Failure, Result};
use crate::style::status;

/// The release of the toolkit that is installed: the name of its folder.
pub const RELEASE: &str = "13.5";

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

/// The oldest release whose tools will do: the first that knows sm_100.
pub const OLDEST: (u32, u32) = (12, 8);

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The assembler from PTX to SASS.
    Ptxas,
    /// The CUDA C++ compiler.
    Nvcc,
    /// Takes objects apart.
    Cuobjdump,
    /// The disassembler.
    Nvdisasm,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ptxas, Self::Nvcc, Self::Cuobjdump, Self::Nvdisasm];

    /// The program's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ptxas => "ptxas",
            Self::Nvcc => "nvcc",
            Self::Cuobjdump => "cuobjdump",
            Self::Nvdisasm => "nvdisasm",
        }
    }
}

/// A tool that was found and will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program.
    pub path: PathBuf,
    /// Its release, such as `13.5.37`.
    pub version: String,
    /// Where it was found, in words.
    pub origin: String,
}

/// The folder that [`install`] fills.
#[must_use]
pub fn folder() -> PathBuf {
    target_dir().join("nvidia").join(RELEASE)
}

/// Where tools may be, in order: what `install` put there, `PATH`, then the usual places of a toolkit.
fn places(tool: Tool) -> Vec<(PathBuf, String)> {
    let name = tool.name();
    let ours = folder().join("nvidia").join("cu13").join("bin");
    let mut places = vec![(ours.join(name), format!("PyPI, in {}", folder().display()))];
    places.extend(
        which::which(name)
            .ok()
            .map(|path| (path, "PATH".to_owned())),
    );
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        let folder = std::env::var_os(variable).filter(|folder| !folder.is_empty());
        places.extend(folder.map(|folder| {
            (
                Path::new(&folder).join("bin").join(name),
                variable.to_owned(),
            )
        }));
    }
    places.push((
        Path::new("/usr/local/cuda/bin").join(name),
        "/usr/local/cuda".to_owned(),
    ));
    places
}

/// Looks for a tool that is new enough.
///
/// # Errors
/// Why each place where there is one will not do; empty if there is none anywhere.
pub fn find(tool: Tool) -> Result<Found, Vec<String>> {
    let mut refused = Vec::new();
    for (path, origin) in places(tool) {
        if !path.is_file() {
            continue;
        }
        match version(&path) {
            Ok((version, release)) if release >= OLDEST => {
                return Ok(Found {
                    path,
                    version,
                    origin,
                });
            }
            Ok((version, _)) => {
                refused.push(format!(
                    "{} is {version}; {}.{} is needed",
                    path.display(),
                    OLDEST.0,
                    OLDEST.1
                ));
            }
            Err(failure) => refused.push(failure.message),
        }
    }
    Err(refused)
}

fn version(program: &Path) -> Result<(String, (u32, u32))> {
    let said = output(Command::new(program).arg("--version"))?;
    parse_version(&said)
        .ok_or_else(|| Failure::new(format!("{} --version names no release", program.display())))
}

/// `Cuda compilation tools, release 13.5, V13.5.37`.
fn parse_version(said: &str) -> Option<(String, (u32, u32))> {
    let (_, rest) = said.split_once("release ")?;
    let (release, rest) = rest.split_once(',')?;
    let (major, minor) = release.trim().split_once('.')?;
    let full = rest
        .trim_start()
        .strip_prefix('V')
        .and_then(|full| full.split_whitespace().next());
    Some((
        full.unwrap_or(release).to_owned(),
        (major.parse().ok()?, minor.parse().ok()?),
    ))
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
        found.push(find(tool).map_err(|refused| {
            let reasons = if refused.is_empty() {
                "it is not there".to_owned()
            } else {
                refused.join("; ")
            };
            Failure::new(format!(
                "no {} even after installing NVIDIA's tools: {reasons}",
                tool.name()
            ))
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
    use super::{Tool, parse_version, requirements};

    #[test]
    fn versions() {
        let said = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.5, V13.5.37\nBuild x";
        assert_eq!(parse_version(said), Some(("13.5.37".to_owned(), (13, 5))));
        assert_eq!(
            parse_version("release 12.8, "),
            Some(("12.8".to_owned(), (12, 8)))
        );
        assert_eq!(parse_version("GNU assembler 2.40"), None);
        assert_eq!(parse_version("release next, V1"), None);
    }

    #[test]
    fn every_tool_has_a_package_at_the_release() {
        let requirements: Vec<_> = requirements().collect();
        assert!(
            requirements.contains(&"nvidia-cuda-nvcc==13.5.*".to_owned()),
            "it holds ptxas and nvcc"
        );
        for tool in [Tool::Cuobjdump, Tool::Nvdisasm] {
            assert!(requirements.contains(&format!(
                "nvidia-cuda-{}=={}.*",
                tool.name(),
                super::RELEASE
            )));
        }
    }
}
