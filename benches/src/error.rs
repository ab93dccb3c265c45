//! What can go wrong here, in words that say what to do about it.

/// Anything that keeps a measurement from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ladders' and the device's own.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// There is no CUDA C++ compiler.
    #[error(
        "no nvcc: {why}; NVCC names one, or have it on PATH, or `cargo xtask setup --nvidia` installs it"
    )]
    NoNvcc {
        /// Where it was looked for, or what is wrong with it.
        why: String,
    },
    /// nvcc would not compile a file.
    #[error("nvcc could not compile {file}: {said}")]
    Nvcc {
        /// The file.
        file: &'static str,
        /// What nvcc wrote.
        said: String,
    },
    /// A file of the cache could not be written or read.
    #[error("cannot use {path}: {why}; LADDER_CACHE names another folder for what nvcc makes")]
    Cache {
        /// The file or folder.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A number of runs that says nothing of their spread.
    #[error("{0} runs are too few for quartiles; --runs takes 5 or more")]
    FewRuns(u32),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// The exit code: 1 where something failed, 2 where what was asked for cannot be done.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Host(error) => error.exit_code(),
            Self::FewRuns(_) => 2,
            _ => 1,
        }
    }
}
