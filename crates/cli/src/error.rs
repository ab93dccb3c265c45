//! The errors of the program, with their exit codes.

use analysis::agree::AgreeError;
use analysis::document::DocumentError;
use analysis::dram::DramError;
use analysis::occupancy::OccupancyError;
use analysis::predict::PredictError;
use analysis::profile::ProfileError;

/// Everything that can keep a command from being done. Each message is one line and ends with a hint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The simulator and a GPU cannot be compared.
    #[error(transparent)]
    Agree(#[from] AgreeError),
    /// An occupancy cannot be computed.
    #[error(transparent)]
    Occupancy(#[from] OccupancyError),
    /// A prediction cannot be made.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The model of DRAM cannot be computed or drawn.
    #[error(transparent)]
    Dram(#[from] DramError),
    /// A profile cannot be made.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// One of NVIDIA's tools is missing or failed.
    #[error(transparent)]
    Tool(#[from] toolkit::Error),
    /// The arguments cannot be parsed, or ask for help.
    #[error(transparent)]
    Arguments(#[from] clap::Error),
    /// The command cannot do what was requested: a name stands for nothing, or for more than one thing.
    #[error("{0}")]
    Request(String),
    /// A kernel's file, or the output of a compiler or a tool, does not have what is to be shown.
    #[error("{0}")]
    Source(String),
    /// The result would replace a ladder's whole table by only a part of it.
    #[error("--update-readme replaces a whole table: name the ladder {ladder}, not its rungs")]
    PartOfATable {
        /// The ladder.
        ladder: &'static str,
    },
    /// A file could not be rewritten.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// The error for a name that stands for several kernels where one is needed.
    pub(crate) fn several_kernels<'a>(name: &str, kernels: impl Iterator<Item = &'a str>) -> Self {
        let kernels: Vec<&str> = kernels.collect();
        let (count, kernels) = (kernels.len(), kernels.join("\n  "));
        Self::Request(format!(
            "`{name}` matches {count} kernels, give one of their names in full:\n  {kernels}"
        ))
    }

    /// The error for a function that a text does not have.
    pub(crate) fn no_function(text: &str, name: &str) -> Self {
        Self::Source(format!("{text} has no function `{name}`"))
    }

    /// The exit code: 1 when the device, a tool or the output failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        let has_failed = match self {
            Self::Engine(error) => error.is_failure(),
            Self::Agree(error) => return error.exit_code(),
            Self::Occupancy(error) => return error.exit_code(),
            Self::Dram(DramError::Engine(error))
            | Self::Profile(ProfileError::Engine(error))
            | Self::Predict(PredictError::Engine(error)) => error.is_failure(),
            Self::Predict(PredictError::Occupancy(error)) => return error.exit_code(),
            Self::Tool(error) => !matches!(error, toolkit::Error::UnknownArch { .. }),
            Self::Source(_) | Self::Output(_) => true,
            _ => false,
        };
        if has_failed { 1 } else { 2 }
    }
}
