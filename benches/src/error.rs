//! The errors of a measurement. Each message says what to do about it.

/// Everything that can keep a measurement from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder, a device or the output failed as it does in the program `ladder`.
    #[error(transparent)]
    Ladder(#[from] cli::Error),
    /// There is no CUDA driver, or the driver finds no GPU.
    #[error("{what}; times are a GPU's, and `cargo xtask doctor` shows what this machine lacks")]
    NoGpu {
        /// The reason why there is none.
        what: String,
    },
    /// The kernel is compiled for newer devices only.
    #[error("{entry} needs compute capability {}.{}, the device has {}.{}", .needs.0, .needs.1, .has.0, .has.1)]
    NeedsNewer {
        /// The kernel.
        entry: String,
        /// The oldest compute capability that has the kernel.
        needs: (u32, u32),
        /// The device's compute capability.
        has: (u32, u32),
    },
    /// There is no CUDA C++ compiler.
    #[error(
        "no nvcc: {why}; NVCC names one, or have it on PATH, or `cargo xtask setup --nvidia` installs it"
    )]
    NoNvcc {
        /// The places that were searched, or the reason why it cannot be used.
        why: String,
    },
    /// nvcc cannot compile a file.
    #[error("nvcc could not compile {file}: {output}")]
    Nvcc {
        /// The file.
        file: &'static str,
        /// The output of nvcc.
        output: String,
    },
    /// A file of the cache could not be written or read.
    #[error("cannot use {path}: {why}; LADDER_CACHE names another folder for what nvcc makes")]
    Cache {
        /// The file or folder.
        path: String,
        /// The reason.
        why: String,
    },
    /// The library of baselines cannot be loaded.
    #[error(
        "cannot use the library of baselines {path}: {why}; without it, baselines are left out"
    )]
    Library {
        /// The library.
        path: String,
        /// The reason.
        why: String,
    },
    /// The number of rounds is too small for quartiles.
    #[error("{0} runs are too few for quartiles; --runs takes 5 or more")]
    FewRuns(u32),
}

impl From<host::Error> for Error {
    /// Errors whose hint names an option of `ladder` get another hint here.
    fn from(error: host::Error) -> Self {
        match error {
            host::Error::NoGpu { what } => Self::NoGpu { what },
            host::Error::NeedsNewer { entry, needs, has } => Self::NeedsNewer { entry, needs, has },
            error => Self::Ladder(error.into()),
        }
    }
}

impl Error {
    /// The exit code: 1 when something failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Ladder(error) => error.exit_code(),
            Self::NoGpu { .. } | Self::NeedsNewer { .. } | Self::FewRuns(_) => 2,
            _ => 1,
        }
    }
}
