//! A request to run a problem on several devices, and the results.

use engine::Ladder;
use engine::device::DeviceInfo;
use engine::launch::Launch;
use engine::problem::Verdict;
use engine::stats::Samples;

use crate::divide::{Share, Side};
use crate::problem::SharedProblem;

/// The rungs and the problem to run.
pub struct GroupRequest<'a> {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The names of the rungs, as [`Ladder::select`] accepts them.
    pub rungs: &'a [String],
    /// The whole problem.
    pub whole: &'a SharedProblem,
    /// The block for all rungs. `None` selects each rung's default block.
    pub block: Option<[u32; 3]>,
    /// The number of timed launches. `None` means that the rungs are only checked.
    pub runs: Option<u32>,
    /// The dimension along which matrices are divided.
    pub side: Side,
    /// The number of pieces that each rank's share is cut into. A piece of a gathered result is copied while the next
    /// piece is computed.
    pub pieces: usize,
}

/// The results of a rung, or of a baseline, on all ranks.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The name of the rung or the baseline.
    pub name: String,
    /// The launch on this rank. `None` if no kernel of this program runs on this rank.
    pub launch: Option<Launch>,
    /// Whether the whole result is right in the memory of every rank.
    pub verdict: Verdict,
    /// The times of the whole computation. Each time is the slowest rank's time. `None` if the device has no clock.
    pub samples: Option<Samples>,
}

/// The results of a run on several devices.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// This rank's device.
    pub device: DeviceInfo,
    /// The number of this rank and the number of ranks.
    pub rank: Share,
    /// The whole problem in words.
    pub title: String,
    /// The number of bytes of the whole problem, from which effective bandwidth is computed.
    pub bytes: u64,
    /// The number of floating-point operations of the whole problem, if the problem is measured in operations per
    /// second.
    pub flops: Option<u64>,
    /// For an all-reduce, the number of bytes per rank.
    pub all_reduced: Option<u64>,
    /// The name of the communicator that combines the ranks' data.
    pub combined_by: String,
    /// The results of each rung and of the baselines.
    pub measurements: Vec<Measurement>,
    /// The reasons why rungs were left out.
    pub left_out: Vec<String>,
}

impl GroupReport {
    /// Returns whether every result was right.
    pub fn all_right(&self) -> bool {
        self.measurements.iter().all(|measurement| measurement.verdict.is_right())
    }
}
