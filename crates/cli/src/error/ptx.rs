//! The errors of showing a kernel.

use std::path::{Path, PathBuf};

/// The result of the functions of `ladder ptx`.
pub(crate) type Result<T> = std::result::Result<T, PtxError>;

/// The reason why a kernel cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum PtxError {
    /// The name is not part of any kernel's name.
    #[error("no kernel's name contains `{name}`; {}", engine::names::near(.nearest, "`ladder ptx` lists the kernels"))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The most similar names of kernels, rungs and ladders.
        nearest: Vec<String>,
    },
    /// A name matches several kernels where one is needed.
    #[error("`{name}` matches {} kernels, give one of their names in full:\n  {}", .found.len(), .found.join("\n  "))]
    Several {
        /// The name that was asked for.
        name: String,
        /// The kernels.
        found: Vec<String>,
    },
    /// A rung's kernel is not in this PTX, because it needs instructions that only newer GPUs have.
    #[error("{entry} is not among these kernels: it needs a newer architecture; leave --arch out")]
    NotHere {
        /// The rung's default entry.
        entry: String,
    },
    /// The kernels are not compiled for an architecture.
    #[error("there are no kernels for {arch}: they are compiled for {}; --sass assembles them for any from there on", .compiled.join(" and "))]
    NotCompiledFor {
        /// The architecture that was asked for.
        arch: String,
        /// The architectures that the kernels are compiled for.
        compiled: Vec<String>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A text is not PTX.
    #[error("{name} is no PTX: {error}")]
    NotPtx {
        /// The text.
        name: String,
        /// The position of the first error.
        error: ptx::ParseError,
    },
    /// LLVM IR was requested for a PTX file.
    #[error("a PTX file has no LLVM IR; without --file, this program's kernels are shown")]
    NoLlvm,
    /// The output of a tool or of the compiler does not contain a function.
    #[error("{what} has no function `{name}`")]
    NoFunction {
        /// The output that was searched.
        what: &'static str,
        /// The function.
        name: String,
    },
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] toolkit::Error),
    /// A ladder cannot make its problem.
    #[error(transparent)]
    Engine(#[from] engine::Error),
}

impl PtxError {
    /// A file that cannot be read.
    pub(crate) fn read(path: &Path, error: &std::io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }

    /// The exit code: 2 when the request cannot be fulfilled, 1 when a file or a tool failed.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unknown { .. }
            | Self::Several { .. }
            | Self::NotHere { .. }
            | Self::NotCompiledFor { .. }
            | Self::NoLlvm
            | Self::Tool(toolkit::Error::UnknownArch { .. }) => 2,
            Self::Engine(error) if !error.is_failure() => 2,
            _ => 1,
        }
    }
}
