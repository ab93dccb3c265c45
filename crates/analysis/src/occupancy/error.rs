//! The errors of computing an occupancy.

use super::limits::Limits;

/// The reason why an occupancy cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The architecture is not in the tables.
    #[error("no limits are known of `{arch}`; the architectures are {}", .known.join(", "))]
    NoLimits {
        /// The name that was asked for.
        arch: String,
        /// All names.
        known: Vec<String>,
    },
    /// The entry is compiled for newer architectures only.
    #[error("{entry} needs sm_{}{} or newer, not {arch}", .needs.0, .needs.1)]
    NeedsNewer {
        /// The entry.
        entry: String,
        /// The oldest architecture that has it.
        needs: (u32, u32),
        /// The architecture that was asked for.
        arch: String,
    },
    /// The entry is not one of this program's kernels.
    #[error("{entry} is no entry of this program's kernels")]
    NoEntry {
        /// The name that was asked for.
        entry: String,
    },
    /// No requested rung fits the architecture.
    #[error("{reason}")]
    NothingFits {
        /// The reasons why each does not fit.
        reason: String,
    },
    /// No rung was named.
    #[error("which rung? `ladder list` names them; --check takes all where none is named")]
    NoRung,
    /// The device has no driver to ask.
    #[error(
        "--check asks a GPU's driver, and a {kind} has none; --arch shows the occupancy without one"
    )]
    NoDriver {
        /// The kind of the device.
        kind: &'static str,
    },
    /// One of NVIDIA's tools failed.
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

    /// The exit code: 1 when a tool failed, 2 when the request cannot be fulfilled.
    pub fn exit_code(&self) -> u8 {
        use toolkit::Error::{Refused, Scratch, Start, Unread};
        match self {
            Self::Tool(Refused { .. } | Scratch(_) | Start { .. } | Unread { .. }) => 1,
            Self::Engine(error) if error.is_failure() => 1,
            _ => 2,
        }
    }
}

/// A tool's message, on one line.
fn one_line(error: &toolkit::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" | ")
}
