//! Why an occupancy cannot be computed.

use super::limits::Limits;

/// Why an occupancy cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// An architecture that is not in the tables.
    #[error("no limits are known of `{arch}`; the architectures are {}", .known.join(", "))]
    NoLimits {
        /// What was asked for.
        arch: String,
        /// All names.
        known: Vec<String>,
    },
    /// An entry that is compiled for newer architectures only.
    #[error("{entry} needs sm_{}{} or newer, not {arch}", .needs.0, .needs.1)]
    NeedsNewer {
        /// The entry.
        entry: String,
        /// The oldest that has it.
        needs: (u32, u32),
        /// What was asked for.
        arch: String,
    },
    /// An entry that is not among this program's kernels.
    #[error("{entry} is no entry of this program's kernels")]
    NoEntry {
        /// What was asked for.
        entry: String,
    },
    /// No rung that was asked for fits the architecture.
    #[error("{reason}")]
    NothingFits {
        /// Why each does not.
        reason: String,
    },
    /// No rung was named.
    #[error("which rung? `ladder list` names them; --check takes all where none is named")]
    NoRung,
    /// A device without a driver to ask.
    #[error(
        "--check asks a GPU's driver, and a {kind} has none; --arch shows the occupancy without one"
    )]
    NoDriver {
        /// What the device is.
        kind: &'static str,
    },
    /// One of NVIDIA's tools.
    #[error("{}", one_line(.0))]
    Tool(#[from] toolkit::Error),
}

impl OccupancyError {
    pub(super) fn no_limits(arch: &str) -> Self {
        Self::NoLimits {
            arch: arch.to_owned(),
            known: Limits::all().iter().map(Limits::arch).collect(),
        }
    }

    /// 1 where a tool failed, 2 for what cannot be done as asked.
    pub fn exit_code(&self) -> u8 {
        use toolkit::Error::{Refused, Scratch, Start, Unread};
        match self {
            Self::Tool(Refused { .. } | Scratch(_) | Start { .. } | Unread { .. }) => 1,
            Self::Engine(error) if error.is_failure() => 1,
            _ => 2,
        }
    }
}

/// What a tool wrote, on one line.
fn one_line(error: &toolkit::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}
