//! The metrics that are compared, because the simulator and Nsight Compute both count them.

use std::sync::LazyLock;

use serde::Deserialize;
use toolkit::access::{Change, Effect, Kind};

use profile::counters::{Source, rows};

/// A metric that both sides have: a row of `metrics.toml`, which describes the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedMetric {
    /// Nsight Compute's name, or a name defined here for a metric that is computed from several counters.
    pub name: String,
    /// A short description.
    pub heading: String,
    /// The rule for when the two sides agree.
    pub rule: Rule,
    /// The SASS names of the memory instructions that the metric counts.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The counter that counts the same events by instruction, without arbitration.
    pub by_instruction: Option<String>,
    /// The counters of copies to shared memory: the unit's counter of copies through L1, and the by-instruction counter
    /// of copies that bypass L1.
    pub copies: Option<[String; 2]>,
    /// For a counter of atomics with a result, the counter of atomics without a result, and the reverse.
    pub together: Option<String>,
    /// The number of accesses that some GPUs count for each system-scope fence that a warp executes.
    #[serde(default)]
    pub system_fence: u32,
    /// The source of the simulator's number.
    #[serde(default)]
    pub sim: Source,
    /// The source of the GPU's number.
    #[serde(default)]
    pub gpu: Source,
    /// Whether some chips lack the metric.
    #[serde(default, rename = "optional")]
    pub is_optional: bool,
}

/// The rule for when two numbers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The numbers must be equal. An explanation must account for the direction of a difference.
    Requests,
    /// The numbers must be equal.
    Counts,
    /// The numbers must be equal to the two decimal places that Nsight Compute writes.
    #[serde(rename = "two places")]
    TwoPlaces,
    /// The GPU's number may be at most 6 % larger, because it also counts the additional passes of conflicting
    /// requests.
    Arbitrated,
    /// The numbers are shown and never compared, because one side counts PTX and the other side counts machine code.
    Information,
}

impl ComparedMetric {
    /// Returns whether this change can explain why the GPU's number is higher (or, if `higher` is false, lower) than
    /// the simulator's number.
    ///
    /// Replacing a branch with predication explains nothing, because an instruction whose predicate is false for all
    /// threads of a warp is not counted. (On an H100, all warps of a block of `reduce_shfl` reach the load in the
    /// second half of the kernel, but only the warp that loads is counted.) Code that was duplicated into both sides of
    /// a branch can explain a higher number. The parts of a diverged warp execute such code one after another, while
    /// the whole warp would have executed it once.
    pub fn is_explained_by(&self, change: &Change, higher: bool) -> bool {
        // One pass serves several lanes.
        if change.effect == Effect::Counted {
            return !higher && self.counts(Kind::Atoms);
        }
        // An atomic operation whose result was removed is counted as an atomic without a result.
        if change.effect == Effect::Resultless {
            return self.counts(if higher { Kind::Red } else { Kind::Atom });
        }
        // One lane executes the operation for all lanes.
        if change.effect == Effect::Elected {
            return self.counts(Kind::Red) || !higher && self.counts(Kind::Atom);
        }
        let can = match (change.effect, self.rule) {
            (Effect::Predicated, _) => false,
            // A share is a quotient and can change in either direction.
            (_, Rule::TwoPlaces) => true,
            (Effect::Removed, _) | (Effect::Widened, Rule::Requests) => !higher,
            (Effect::Copied, _) | (Effect::Split, Rule::Requests) => higher,
            _ => true,
        };
        can && self.counts(change.kind)
    }

    /// Returns whether the metric counts these instructions.
    fn counts(&self, kind: Kind) -> bool {
        self.kinds.iter().any(|listed| listed == kind.name())
    }
}

/// The metrics that are compared, in the order in which they are shown.
pub static METRICS: LazyLock<Vec<ComparedMetric>> =
    LazyLock::new(|| rows("metrics.toml", include_str!("metrics.toml")));

/// Conditional branches.
pub const BRANCHES: &str = "smsp__sass_branch_targets.sum";
/// The conditional branches at which a warp does not diverge.
pub const UNIFORM: &str = "smsp__sass_branch_targets_threads_uniform.sum";
/// Instructions per warp: of SASS on a GPU, of PTX in the simulator.
pub const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";

/// Returns the metric with this name.
pub fn find(name: &str) -> Option<&'static ComparedMetric> {
    METRICS.iter().find(|metric| metric.name == name)
}
