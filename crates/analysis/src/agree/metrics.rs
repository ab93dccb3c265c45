//! What is compared: the metrics that the simulator and Nsight Compute both count.
//!
//! Nsight Compute has no counter of barriers (it samples what waits at them), so these are not among them.

use toolkit::access::{Change, Effect, Kind};

use crate::profile::Numbers;

/// A metric that both sides have.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// Nsight Compute's name; one of our own, without two underscores behind its first word, where it is
    /// reckoned from several.
    pub name: &'static str,
    /// What it is, in a few words.
    pub heading: &'static str,
    /// When the two sides agree.
    pub rule: Rule,
    /// The memory instructions that it counts: what `ptxas` did to them can explain a difference.
    pub kinds: &'static [Kind],
    /// The counter of the same that counts by instruction, without arbitration, where there is one.
    pub by_instruction: Option<&'static str>,
    /// Of a counter by instruction of copies from global to shared memory: the unit's own counter of those through
    /// L1, and the one by instruction of those that pass by it. The latter may count a sector more than once.
    pub copies: Option<[&'static str; 2]>,
    /// Of a counter of atomics: that of the other kind. What one side has as one kind may be the other's on the other
    /// side, and together they have to agree.
    pub together: Option<&'static str>,
    /// Where the simulator's number comes from.
    pub sim: Reading,
    /// Where the GPU's comes from.
    pub gpu: Reading,
    /// Whether a chip may lack it; it is not compared then, and the report says so.
    pub is_optional: bool,
}

/// When two numbers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Where they are the same. A difference in requests has to go the way that an explanation says.
    Requests,
    /// Where they are the same.
    Counts,
    /// Where they are the same to the two places that Nsight Compute writes.
    TwoPlaces,
    /// Where the GPU's is at most 6 % larger: it counts passes that requests take because they get in each
    /// other's way.
    Arbitrated,
    /// Never: one counts PTX and the other what `ptxas` makes of it. The numbers are shown.
    Information,
}

/// How a number is read off the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The counter of the metric's name.
    Same,
    /// Another counter.
    Counter(&'static str),
    /// The counter of the metric's name, but nothing where this other is zero: Nsight Compute writes 0 for a
    /// quotient that has nothing to divide by.
    UnlessZero(&'static str),
    /// One counter less another.
    Less(&'static str, &'static str),
}

impl Reading {
    /// The counters that it needs, for a metric of this name.
    pub fn needs(self, name: &'static str) -> Vec<&'static str> {
        match self {
            Self::Same => vec![name],
            Self::Counter(other) => vec![other],
            Self::UnlessZero(other) => vec![name, other],
            Self::Less(whole, part) => vec![whole, part],
        }
    }

    /// The number, where what it needs was counted.
    pub fn of(self, name: &str, numbers: &Numbers) -> Option<f64> {
        match self {
            Self::Same => numbers.get(name),
            Self::Counter(other) => numbers.get(other),
            Self::UnlessZero(other) => {
                let other = numbers.get(other)?;
                numbers.get(name).filter(|_| other > 0.0)
            }
            Self::Less(whole, part) => Some(numbers.get(whole)? - numbers.get(part)?),
        }
    }
}

impl Compared {
    /// Whether this change can be why the GPU's number is `higher`, or lower, than the simulator's.
    ///
    /// A predicate in the place of a branch cannot: an instruction that is kept from all threads of a warp is not
    /// counted. (On an H100 all warps of a block of `reduce_shfl` come by the load of its second half, and the one
    /// that loads is counted.) Code that was copied, to both sides of a branch, is executed by the parts of a warp
    /// one after the other where the whole warp would have executed it once.
    pub fn is_explained_by(&self, change: &Change, higher: bool) -> bool {
        // Several lanes need one pass.
        if change.effect == Effect::Counted {
            return !higher && self.kinds.contains(&Kind::Atoms);
        }
        // Such an atomic operation counts as the other kind.
        if change.effect == Effect::Resultless {
            let (from, to) = (
                self.kinds.contains(&Kind::Atom),
                self.kinds.contains(&Kind::Red),
            );
            return if higher { to } else { from };
        }
        let can = match (change.effect, self.rule) {
            (Effect::Predicated, _) => false,
            // A share is a quotient: it may go either way.
            (_, Rule::TwoPlaces) => true,
            (Effect::Removed, _) | (Effect::Widened, Rule::Requests) => !higher,
            (Effect::Copied, _) | (Effect::Split, Rule::Requests) => higher,
            _ => true,
        };
        can && self.kinds.contains(&change.kind)
    }
}

const LD: &[Kind] = &[Kind::Ldg, Kind::Ldgsts, Kind::Ld];
const ST: &[Kind] = &[Kind::Stg, Kind::St];
const ATOM: &[Kind] = &[Kind::Atom];
const RED: &[Kind] = &[Kind::Red];
const LDGSTS: &[Kind] = &[Kind::Ldgsts];
const SHARED_LD: &[Kind] = &[Kind::Lds, Kind::Ld];
const SHARED_ST: &[Kind] = &[Kind::Sts, Kind::St];
const SHARED_ATOM: &[Kind] = &[Kind::Atoms];
const LOCAL_LD: &[Kind] = &[Kind::Ldl, Kind::Ld];
const LOCAL_ST: &[Kind] = &[Kind::Stl, Kind::St];

const LD_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const ST_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const ATOM_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum";
const ATOM_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum";
const RED_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum";
const RED_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum";
const LD_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const ST_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const LD_WAVES_BY_INSTRUCTION: &str =
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const ST_WAVES_BY_INSTRUCTION: &str =
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
const LD_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const ST_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";

const fn metric(
    name: &'static str,
    heading: &'static str,
    rule: Rule,
    kinds: &'static [Kind],
) -> Compared {
    Compared {
        name,
        heading,
        rule,
        kinds,
        by_instruction: None,
        copies: None,
        together: None,
        sim: Reading::Same,
        gpu: Reading::Same,
        is_optional: false,
    }
}

const fn optional(metric: Compared) -> Compared {
    Compared {
        is_optional: true,
        ..metric
    }
}

/// What has to agree together with another counter.
const fn with(metric: Compared, other: &'static str) -> Compared {
    Compared {
        together: Some(other),
        ..metric
    }
}

/// What is reckoned alike on both sides.
const fn reckoned(metric: Compared, reading: Reading) -> Compared {
    Compared {
        sim: reading,
        gpu: reading,
        ..metric
    }
}

/// The metrics that are compared, in the order in which they are shown.
pub static METRICS: &[Compared] = &[
    optional(metric("sm__ctas_launched.sum", "blocks", Rule::Counts, &[])),
    optional(metric(
        "smsp__warps_launched.sum",
        "warps",
        Rule::Counts,
        &[],
    )),
    metric(LD_REQUESTS, "global load requests", Rule::Requests, LD),
    metric(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "global load sectors",
        Rule::Counts,
        LD,
    ),
    reckoned(
        metric(
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
            "bytes used of loaded sectors, %",
            Rule::TwoPlaces,
            LD,
        ),
        Reading::UnlessZero(LD_REQUESTS),
    ),
    metric(ST_REQUESTS, "global store requests", Rule::Requests, ST),
    metric(
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "global store sectors",
        Rule::Counts,
        ST,
    ),
    reckoned(
        metric(
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
            "bytes used of stored sectors, %",
            Rule::TwoPlaces,
            ST,
        ),
        Reading::UnlessZero(ST_REQUESTS),
    ),
    optional(metric(
        "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
        "requests of copies from global to shared",
        Rule::Requests,
        LDGSTS,
    )),
    optional(Compared {
        copies: Some([
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
        ]),
        ..metric(
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
            "sectors of copies from global to shared",
            Rule::Counts,
            LDGSTS,
        )
    }),
    with(
        metric(
            ATOM_REQUESTS,
            "requests of atomics that return",
            Rule::Requests,
            ATOM,
        ),
        RED_REQUESTS,
    ),
    with(
        metric(
            ATOM_SECTORS,
            "sectors of atomics that return",
            Rule::Counts,
            ATOM,
        ),
        RED_SECTORS,
    ),
    with(
        metric(
            RED_REQUESTS,
            "requests of atomics that do not return",
            Rule::Requests,
            RED,
        ),
        ATOM_REQUESTS,
    ),
    with(
        metric(
            RED_SECTORS,
            "sectors of atomics that do not return",
            Rule::Counts,
            RED,
        ),
        ATOM_SECTORS,
    ),
    Compared {
        by_instruction: Some(LD_WAVES_BY_INSTRUCTION),
        ..metric(
            LD_WAVES,
            "shared load wavefronts",
            Rule::Arbitrated,
            SHARED_LD,
        )
    },
    optional(Compared {
        sim: Reading::Counter(LD_WAVES),
        ..metric(
            LD_WAVES_BY_INSTRUCTION,
            "shared load wavefronts, by instruction",
            Rule::Counts,
            SHARED_LD,
        )
    }),
    reckoned(
        metric(
            "shared_wavefronts_without_conflicts_ld.sum",
            "shared load wavefronts, conflicts left out",
            Rule::Counts,
            SHARED_LD,
        ),
        Reading::Less(LD_WAVES, LD_CONFLICTS),
    ),
    Compared {
        by_instruction: Some(ST_WAVES_BY_INSTRUCTION),
        ..metric(
            ST_WAVES,
            "shared store wavefronts",
            Rule::Arbitrated,
            SHARED_ST,
        )
    },
    optional(Compared {
        sim: Reading::Counter(ST_WAVES),
        ..metric(
            ST_WAVES_BY_INSTRUCTION,
            "shared store wavefronts, by instruction",
            Rule::Counts,
            SHARED_ST,
        )
    }),
    reckoned(
        metric(
            "shared_wavefronts_without_conflicts_st.sum",
            "shared store wavefronts, conflicts left out",
            Rule::Counts,
            SHARED_ST,
        ),
        Reading::Less(ST_WAVES, ST_CONFLICTS),
    ),
    optional(metric(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
        "shared atomic wavefronts",
        Rule::Arbitrated,
        SHARED_ATOM,
    )),
    metric(
        "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
        "local load requests",
        Rule::Requests,
        LOCAL_LD,
    ),
    metric(
        "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
        "local store requests",
        Rule::Requests,
        LOCAL_ST,
    ),
    optional(metric(BRANCHES, "branches", Rule::Information, &[])),
    optional(metric(UNIFORM, "uniform branches", Rule::Information, &[])),
    optional(Compared {
        sim: Reading::Counter("ptx_inst_executed_per_warp.ratio"),
        ..metric(INSTRUCTIONS, "instructions a warp", Rule::Information, &[])
    }),
];

/// Branches that can go two ways.
pub const BRANCHES: &str = "smsp__sass_branch_targets.sum";
/// Those of them at which a warp stays together.
pub const UNIFORM: &str = "smsp__sass_branch_targets_threads_uniform.sum";
/// Instructions a warp: of SASS on a GPU, of PTX in the simulator.
pub const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";

/// The metric of this name.
pub fn find(name: &str) -> Option<&'static Compared> {
    METRICS.iter().find(|metric| metric.name == name)
}
