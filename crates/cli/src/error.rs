//! The errors of the program, with their exit codes.

pub(crate) mod ptx;

/// Everything that can keep a command from being done. Each message is one line and ends with a hint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A ladder cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// An analysis is not possible.
    #[error(transparent)]
    Analysis(#[from] analysis::Error),
    /// A kernel cannot be shown.
    #[error(transparent)]
    Ptx(#[from] ptx::PtxError),
    /// The arguments cannot be parsed, or ask for help.
    #[error(transparent)]
    Arguments(#[from] clap::Error),
    /// A command that needs a ladder was given none.
    #[error("name a ladder or a rung: the ladders are {}, `all` is every one, and `ladder list` has the rungs", .known.join(", "))]
    NoLadder {
        /// The names of all ladders.
        known: Vec<&'static str>,
    },
    /// A name matches several rungs where one is needed.
    #[error("`{name}` is several rungs: {rungs}; which one?")]
    SeveralRungs {
        /// The name.
        name: String,
        /// The rungs.
        rungs: String,
    },
    /// The result would replace a ladder's whole table by only a part of it.
    #[error("--update-readme replaces a whole table: name the ladder {ladder}, not its rungs")]
    PartOfATable {
        /// The ladder.
        ladder: &'static str,
    },
    /// A median of zero runs was asked for.
    #[error("0 runs measure nothing; --runs takes 1 or more, --no-time checks without timing")]
    NoRuns,
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Error {
    /// The exit code: 1 when the device, a tool or the output failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        let has_failed = match self {
            Self::Engine(error) => error.is_failure(),
            Self::Analysis(error) => error.is_failure(),
            Self::Ptx(error) => return error.exit_code(),
            Self::Output(_) => true,
            _ => false,
        };
        if has_failed { 1 } else { 2 }
    }
}
