//! The columns of a report on a device that counts.

use super::table::NOTHING;
use crate::run::Outcome;

/// What is shown of a rung that was counted.
pub(super) struct Counted {
    pub(super) header: &'static str,
    metrics: &'static [&'static str],
    decimals: usize,
    unit: &'static str,
}

pub(super) const COUNTED: &[Counted] = &[
    Counted {
        header: "PTX instr. / warp",
        metrics: &["ptx_inst_executed_per_warp.ratio"],
        decimals: 2,
        unit: "",
    },
    Counted {
        header: "sectors / load",
        metrics: &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
        decimals: 2,
        unit: "",
    },
    Counted {
        header: "/ store",
        metrics: &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"],
        decimals: 2,
        unit: "",
    },
    Counted {
        header: "bytes used, loads",
        metrics: &["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"],
        decimals: 1,
        unit: " %",
    },
    Counted {
        header: "stores",
        metrics: &["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"],
        decimals: 1,
        unit: " %",
    },
    Counted {
        header: "bank conflicts",
        metrics: &[
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ],
        decimals: 0,
        unit: "",
    },
    Counted {
        header: "uniform branches",
        metrics: &["smsp__sass_average_branch_targets_threads_uniform.pct"],
        decimals: 1,
        unit: " %",
    },
];

impl Counted {
    /// The sum of the column's metrics.
    pub(super) fn cell(&self, outcome: &Outcome) -> String {
        let values = self.metrics.iter().map(|name| outcome.counter(name));
        values.sum::<Option<f64>>().map_or(NOTHING.into(), |value| {
            format!("{value:.*}{}", self.decimals, self.unit)
        })
    }
}
