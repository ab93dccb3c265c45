//! What is compared: the metrics that the simulator and Nsight Compute both count.

use std::sync::LazyLock;

use serde::Deserialize;
use toolkit::access::{Change, Effect, Kind};

use crate::counters::{Source, embedded};

/// A metric that both sides have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedMetric {
    /// Nsight Compute's name; one of our own, without two underscores behind its first word, where it is
    /// computed from several.
    pub name: String,
    /// What it is, in a few words.
    pub heading: String,
    /// When the two sides agree.
    pub rule: Rule,
    /// The memory instructions that it counts, by their SASS names: what `ptxas` did to them can explain a difference.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The counter of the same that counts by instruction, without arbitration, where there is one.
    pub by_instruction: Option<String>,
    /// Of a counter by instruction of copies from global to shared memory: the unit's own counter of those through
    /// L1, and the one by instruction of those that bypass it. The latter may count a sector more than once.
    pub copies: Option<[String; 2]>,
    /// Of a counter of atomics: that of the other kind. What one side has as one kind may be the other's on the other
    /// side, and together they have to agree.
    pub together: Option<String>,
    /// Where the simulator's number comes from.
    #[serde(default)]
    pub sim: Source,
    /// Where the GPU's comes from.
    #[serde(default)]
    pub gpu: Source,
    /// Whether a chip may lack it; it is not compared then, and the report says so.
    #[serde(default, rename = "optional")]
    pub is_optional: bool,
}

/// When two numbers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Where they are the same. A difference in requests has to go the way that an explanation says.
    Requests,
    /// Where they are the same.
    Counts,
    /// Where they are the same to the two places that Nsight Compute writes.
    #[serde(rename = "two places")]
    TwoPlaces,
    /// Where the GPU's is at most 6 % larger: it counts passes that requests take because they get in each
    /// other's way.
    Arbitrated,
    /// Never: one counts PTX and the other what `ptxas` makes of it. The numbers are shown.
    Information,
}

impl ComparedMetric {
    /// Whether this change can be why the GPU's number is `higher`, or lower, than the simulator's.
    ///
    /// A predicate in the place of a branch cannot: an instruction that is kept from all threads of a warp is not
    /// counted. (On an H100 all warps of a block of `reduce_shfl` come by the load of its second half, and the one
    /// that loads is counted.) Code that was copied, to both sides of a branch, is executed by the parts of a warp
    /// one after the other where the whole warp would have executed it once.
    pub fn is_explained_by(&self, change: &Change, higher: bool) -> bool {
        // Several lanes need one pass.
        if change.effect == Effect::Counted {
            return !higher && self.counts(Kind::Atoms);
        }
        // Such an atomic operation counts as the other kind.
        if change.effect == Effect::Resultless {
            return self.counts(if higher { Kind::Red } else { Kind::Atom });
        }
        let can = match (change.effect, self.rule) {
            (Effect::Predicated, _) => false,
            // A share is a quotient: it may go either way.
            (_, Rule::TwoPlaces) => true,
            (Effect::Removed, _) | (Effect::Widened, Rule::Requests) => !higher,
            (Effect::Copied, _) | (Effect::Split, Rule::Requests) => higher,
            _ => true,
        };
        can && self.counts(change.kind)
    }

    /// Whether it counts these instructions.
    fn counts(&self, kind: Kind) -> bool {
        self.kinds.iter().any(|own| own == kind.name())
    }
}

/// The metrics that are compared, in the order in which they are shown.
pub static METRICS: LazyLock<Vec<ComparedMetric>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        metric: Vec<ComparedMetric>,
    }
    embedded::<File>("metrics.toml", include_str!("metrics.toml")).metric
});

/// Branches that can go two ways.
pub const BRANCHES: &str = "smsp__sass_branch_targets.sum";
/// Those of them at which a warp stays together.
pub const UNIFORM: &str = "smsp__sass_branch_targets_threads_uniform.sum";
/// Instructions a warp: of SASS on a GPU, of PTX in the simulator.
pub const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";

/// The metric of this name.
pub fn find(name: &str) -> Option<&'static ComparedMetric> {
    METRICS.iter().find(|metric| metric.name == name)
}
