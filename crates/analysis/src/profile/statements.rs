//! What the texts say of these numbers that the ladders come from, and whether it holds here.

use super::{Profile, Side};
use crate::profile::metrics::{Form, Metric};

/// A statement about a metric.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// The ladder that it is about.
    pub ladder: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// What is said, in a sentence.
    pub text: &'static str,
    /// What that means in numbers.
    pub check: Check,
}

/// A statement in numbers.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// The first rung has less than so many times what the second has.
    Below {
        /// The rung with less.
        rung: &'static str,
        /// The other.
        than: &'static str,
        /// So many times.
        times: f64,
    },
    /// The first rung has so many times what the second has, give or take a tenth.
    Times {
        /// The rung with more.
        rung: &'static str,
        /// The other.
        than: &'static str,
        /// So many times.
        times: f64,
    },
    /// Both rungs have the same, to half a per cent: the PTX of the two may differ in a branch that parts no warp.
    Same([&'static str; 2]),
    /// A rung has about this, give or take a tenth.
    About(&'static str, f64),
    /// Each rung has more than the one before.
    Rising(&'static [&'static str]),
}

const INSTRUCTIONS: &str = "smsp__average_inst_executed_per_warp.ratio";
const UNIFORM: &str = "smsp__sass_average_branch_targets_threads_uniform.pct";
const LOADS: &str = "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second";
const LOADED: &str = "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum";
const READ: &str = "dram__bytes_read.sum.per_second";
const WRITTEN: &str = "dram__bytes_write.sum.per_second";
const LOAD_SECTORS: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
const STORE_SECTORS: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
const LD_PER_ST: &str = "shared_wavefronts_ld_per_st.ratio";
const BARRIERS: &str = "ptx_barriers_per_warp.ratio";
const AT_BARRIER: &str = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
const AT_BARRIER_PCT: &str = "smsp__warp_issue_stalled_barrier_per_warp_active.pct";

const UNROLLED: [&str; 2] = ["reduce_unroll_warps8", "reduce_unrolling8"];

const fn below(
    [ladder, metric, text]: [&'static str; 3],
    [rung, than]: [&'static str; 2],
    times: f64,
) -> Statement {
    Statement {
        ladder,
        metric,
        text,
        check: Check::Below { rung, than, times },
    }
}

/// The statements, by ladder and in the order of the texts.
pub const STATEMENTS: &[Statement] = &[
    below(
        [
            "reduce",
            INSTRUCTIONS,
            "where whole warps work or rest, a warp executes less than half as many instructions",
        ],
        ["reduce_neighbored_less", "reduce_neighbored"],
        0.5,
    ),
    below(
        [
            "reduce",
            LOADS,
            "with less divergence the load throughput is higher",
        ],
        ["reduce_neighbored", "reduce_neighbored_less"],
        1.0,
    ),
    below(
        [
            "reduce",
            LOADS,
            "interleaved pairs have a lower load throughput than neighbours, and are faster all the same",
        ],
        ["reduce_interleaved", "reduce_neighbored"],
        1.0,
    ),
    below(
        [
            "reduce",
            LOADED,
            "interleaved pairs do the same work with fewer accesses to memory",
        ],
        ["reduce_interleaved", "reduce_neighbored_less"],
        1.0,
    ),
    Statement {
        ladder: "reduce",
        metric: UNIFORM,
        text: "interleaved pairs diverge as the less diverging neighbours do: equal branch efficiency",
        check: Check::Same(["reduce_interleaved", "reduce_neighbored_less"]),
    },
    Statement {
        ladder: "reduce",
        metric: READ,
        text: "the more data blocks a block takes, the faster memory is read",
        check: Check::Rising(&[
            "reduce_unrolling2",
            "reduce_unrolling4",
            "reduce_unrolling8",
        ]),
    },
    below(
        [
            "reduce",
            AT_BARRIER,
            "with the last warp's rounds written out, fewer warps wait at barriers",
        ],
        UNROLLED,
        1.0,
    ),
    below(
        [
            "reduce",
            AT_BARRIER_PCT,
            "with the last warp's rounds written out, fewer warps wait at barriers",
        ],
        UNROLLED,
        1.0,
    ),
    below(
        [
            "reduce",
            BARRIERS,
            "with the last warp's rounds written out, a warp meets fewer barriers",
        ],
        UNROLLED,
        1.0,
    ),
    Statement {
        ladder: "transpose",
        metric: LOAD_SECTORS,
        text: "words in a row, one for each thread: 4 sectors a load",
        check: Check::About("transpose_naive", 4.0),
    },
    Statement {
        ladder: "transpose",
        metric: STORE_SECTORS,
        text: "words a row apart: 32 sectors a store",
        check: Check::About("transpose_naive", 32.0),
    },
    Statement {
        ladder: "transpose",
        metric: STORE_SECTORS,
        text: "through a tile in shared memory: 4 sectors a store instead of 32",
        check: Check::About("transpose_smem", 4.0),
    },
    Statement {
        ladder: "transpose",
        metric: LD_PER_ST,
        text: "a tile's columns cost 8 wavefronts for one of its rows (16 were measured on an H100)",
        check: Check::About("transpose_smem", 8.0),
    },
    Statement {
        ladder: "transpose",
        metric: LD_PER_ST,
        text: "with padding they cost 1 for 1",
        check: Check::About("transpose_smem_pad", 1.0),
    },
    Statement {
        ladder: "transpose",
        metric: READ,
        text: "two tiles a block read memory about 1.13 times as fast (on an RTX 3080)",
        check: Check::Times {
            rung: "transpose_smem_unroll_pad",
            than: "transpose_smem_pad",
            times: 1.13,
        },
    },
    Statement {
        ladder: "transpose",
        metric: WRITTEN,
        text: "two tiles a block write memory about 1.13 times as fast (on an RTX 3080)",
        check: Check::Times {
            rung: "transpose_smem_unroll_pad",
            than: "transpose_smem_pad",
            times: 1.13,
        },
    },
];

/// What became of a statement on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It holds, with the numbers.
    Holds(String),
    /// It does not, with the numbers.
    DoesNot(String),
    /// Only a GPU has the metric.
    NeedsGpu,
    /// Rungs that it is about were not profiled, or have no number.
    Unknown(Vec<&'static str>),
}

/// How near "about" is.
const ABOUT: f64 = 0.1;
/// How near "the same" is.
const SAME: f64 = 0.005;

impl Check {
    /// The rungs that it is about.
    pub fn rungs(&self) -> Vec<&'static str> {
        match *self {
            Self::Below { rung, than, .. } | Self::Times { rung, than, .. } => vec![rung, than],
            Self::Same(rungs) => rungs.into(),
            Self::About(rung, _) => vec![rung],
            Self::Rising(rungs) => rungs.into(),
        }
    }

    /// Whether it holds for the rungs' numbers, in the order of [`Check::rungs`].
    pub fn holds(&self, numbers: &[f64]) -> bool {
        let near = |number: f64, wanted: f64, by: f64| (number - wanted).abs() <= wanted.abs() * by;
        match (*self, numbers) {
            (Self::Below { times, .. }, &[own, other]) => own < other * times,
            (Self::Times { times, .. }, &[own, other]) => near(own, other * times, ABOUT),
            (Self::Same(_), &[one, other]) => near(one, other, SAME),
            (Self::About(_, wanted), &[own]) => near(own, wanted, ABOUT),
            (Self::Rising(_), numbers) => numbers.is_sorted_by(|a, b| a < b),
            _ => false,
        }
    }
}

impl Statement {
    /// The statements about a metric of the ladders that were profiled.
    pub fn about<'a>(
        metric: &'a str,
        profiles: &'a [Profile],
    ) -> impl Iterator<Item = (&'static Self, &'a Profile)> {
        let of_metric = STATEMENTS.iter().filter(move |one| one.metric == metric);
        of_metric.filter_map(|one| {
            let profile = profiles
                .iter()
                .find(|profile| profile.ladder.name == one.ladder)?;
            Some((one, profile))
        })
    }

    /// Whether it holds by a device's numbers.
    pub fn check(&self, metric: &Metric<'_>, profile: &Profile, side: Side) -> Found {
        if side == Side::Sim && metric.sim.missing().is_some() {
            return Found::NeedsGpu;
        }
        let rungs = self.check.rungs();
        let number = |name: &str| {
            let row = profile.rows.iter().find(|row| row.rung.name == name)?;
            row.number(metric, side)
        };
        let unknown: Vec<&str> = rungs
            .iter()
            .copied()
            .filter(|name| number(name).is_none())
            .collect();
        if !unknown.is_empty() {
            return Found::Unknown(unknown);
        }
        let numbers: Vec<f64> = rungs.iter().filter_map(|name| number(name)).collect();
        let text = numbers_in_words(metric.form, &rungs, &numbers);
        if self.check.holds(&numbers) {
            Found::Holds(text)
        } else {
            Found::DoesNot(text)
        }
    }
}

fn numbers_in_words(form: Form, rungs: &[&str], numbers: &[f64]) -> String {
    let each = rungs.iter().zip(numbers);
    let each: Vec<String> = each
        .map(|(rung, &number)| format!("{rung} {}", form.write_with_unit(number)))
        .collect();
    each.join(", ")
}
