//! The columns of a report on a device that counts.

use super::table::NOTHING;
use crate::run::Outcome;

/// What the columns mean, for the caption.
pub(super) const LEGEND: &str = "PTX instructions of a warp; sectors of 32 bytes that a request touches, and the share of them that it uses, for \
     global loads / stores; wavefronts of shared memory lost to bank conflicts; branches that keep a warp together";

/// A column.
pub(super) struct Counted {
    pub(super) header: &'static str,
    value: fn(&Outcome) -> Option<String>,
}

const LOADS: [&str; 2] = [
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
];
const STORES: [&str; 2] = [
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
];
const CONFLICTS: [&str; 2] = [
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
];

pub(super) const COUNTED: &[Counted] = &[
    Counted {
        header: "instr. / warp",
        value: |outcome| number(outcome, "ptx_inst_executed_per_warp.ratio", 2),
    },
    Counted {
        header: "sectors ld / st",
        value: |outcome| pair(outcome, LOADS[0], STORES[0], 2),
    },
    Counted {
        header: "used ld / st",
        value: |outcome| pair(outcome, LOADS[1], STORES[1], 1).map(percent),
    },
    Counted {
        header: "conflicts",
        value: |outcome| {
            let sum = outcome.counter(CONFLICTS[0])? + outcome.counter(CONFLICTS[1])?;
            Some(format!("{sum:.0}"))
        },
    },
    Counted {
        header: "uniform",
        value: |outcome| {
            let name = "smsp__sass_average_branch_targets_threads_uniform.pct";
            number(outcome, name, 1).map(percent)
        },
    },
];

impl Counted {
    /// The column's text.
    pub(super) fn cell(&self, outcome: &Outcome) -> String {
        (self.value)(outcome).unwrap_or(NOTHING.into())
    }
}

fn number(outcome: &Outcome, name: &str, decimals: usize) -> Option<String> {
    Some(format!("{:.decimals$}", outcome.counter(name)?))
}

/// `a / b`, either of which may be missing.
fn pair(outcome: &Outcome, first: &str, second: &str, decimals: usize) -> Option<String> {
    let [first, second] = [first, second].map(|name| number(outcome, name, decimals));
    if first.is_none() && second.is_none() {
        return None;
    }
    let text = |number: Option<String>| number.unwrap_or(NOTHING.into());
    Some(format!("{} / {}", text(first), text(second)))
}

fn percent(number: String) -> String {
    number + " %"
}
