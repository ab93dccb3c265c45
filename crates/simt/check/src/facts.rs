//! The launch that the checks examine.

use super::checks::Checks;
use simt::Function;
use simt::run::{Arg, Launch};

/// The properties of a launch that all checks use.
#[derive(Debug, Clone)]
pub(super) struct LaunchFacts {
    pub(super) function: Function,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(super) shared_bytes: u32,
    /// The number of blocks of a cluster along each axis.
    pub(super) cluster: [u32; 3],
    pub(super) args: Vec<Arg>,
    pub(super) checks: Checks,
}

impl LaunchFacts {
    pub(super) fn of(launch: &Launch<'_>, checks: Checks) -> Self {
        Self {
            function: launch.function.clone(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            cluster: launch.cluster.or(launch.function.program().required_cluster).unwrap_or([1; 3]),
            args: launch.args.to_vec(),
            checks,
        }
    }
}
