//! The errors of the program, with their exit codes.

/// The errors that can stop a command. [`print_error`](simt_check::diagnostic::print_error) can draw each message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The ranks cannot compute a problem.
    #[error(transparent)]
    Ranks(#[from] ranks::Error),
    /// An analysis is not possible.
    #[error(transparent)]
    Analysis(#[from] analysis::Error),
    /// A launch cannot be explained.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// An exercise cannot be checked.
    #[error(transparent)]
    Learn(#[from] ::learn::Error),
    /// One of NVIDIA's tools is missing or failed.
    #[error(transparent)]
    Tool(#[from] toolkit::Error),
    /// The arguments cannot be parsed, or request the help.
    #[error(transparent)]
    Arguments(#[from] clap::Error),
    /// The command cannot fulfill the request: a name matches nothing, or more than one kernel or rung.
    #[error("{0}")]
    Request(String),
    /// A kernel's file, or the output of a compiler or a tool, lacks the requested part.
    #[error("{0}")]
    Source(String),
    /// A part of the program outside this crate failed, or a child process failed.
    #[error("{text}")]
    Failed {
        /// The text of the error.
        text: String,
        /// The exit code.
        code: u8,
    },
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// Returns the error for a name that matches several kernels when only one is allowed.
    pub(crate) fn several_kernels<'a>(name: &str, kernels: impl Iterator<Item = &'a str>) -> Self {
        let kernels: Vec<&str> = kernels.collect();
        let (count, kernels) = (kernels.len(), kernels.join("\n  "));
        Self::Request(format!("`{name}` matches {count} kernels; give the full name of one of them:\n  {kernels}"))
    }

    /// Returns the error for a function that is not in the text.
    pub(crate) fn no_function(text: &str, name: &str) -> Self {
        Self::Source(format!("{text} has no function `{name}`"))
    }

    /// Returns the exit code: 1 when the device, a tool or the output failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        if let Self::Failed { code, .. } = self {
            return *code;
        }
        let has_failed = match self {
            Self::Engine(error) => error.is_failure(),
            Self::Ranks(error) => error.is_failure(),
            Self::Analysis(error) => error.is_failure(),
            Self::Profile(error) => matches!(error, profile::Error::Launch(_)),
            Self::Tool(error) => !matches!(error, toolkit::Error::UnknownArch { .. }),
            Self::Learn(error) => error.is_failure(),
            Self::Source(_) | Self::Output(_) => true,
            _ => false,
        };
        if has_failed { 1 } else { 2 }
    }
}
