//! The columns of a report. Each ladder lists the columns that show its lessons.

use engine::Column;
use engine::run::{Outcome, Report};
use engine::size;

use crate::output::{self, NOTHING, duration};

/// A column: its heading and the text of each row.
pub(super) struct ColumnText {
    heading: &'static str,
    /// The explanation for the caption, if the heading is not enough.
    pub(super) legend: &'static str,
    /// Formats an outcome, given the report and the outcome's index.
    cell: fn(&Report, usize, &Outcome) -> Option<String>,
    is_number: bool,
}

const LOADED: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
const STORED: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";

impl ColumnText {
    const fn number(
        heading: &'static str,
        legend: &'static str,
        cell: fn(&Report, usize, &Outcome) -> Option<String>,
    ) -> Self {
        Self {
            heading,
            legend,
            cell,
            is_number: true,
        }
    }

    const fn words(
        heading: &'static str,
        cell: fn(&Report, usize, &Outcome) -> Option<String>,
    ) -> Self {
        Self {
            is_number: false,
            ..Self::number(heading, "", cell)
        }
    }

    /// The heading, as a table has it.
    pub(super) fn heading(&self) -> output::Column {
        match self.is_number {
            true => output::Column::number(self.heading),
            false => output::Column::text(self.heading),
        }
    }

    /// The text of the report's outcome at `index`.
    pub(super) fn cell(&self, report: &Report, index: usize) -> String {
        let outcome = report.outcomes.get(index);
        outcome
            .and_then(|outcome| (self.cell)(report, index, outcome))
            .unwrap_or(NOTHING.to_owned())
    }

    /// The text of a column.
    pub(super) const fn of(column: Column) -> Self {
        match column {
            Column::Time => Self::number("time", "", |_, _, own| {
                Some(duration(own.samples.as_ref()?.median()))
            }),
            Column::OverFirst => Self::number("× first", "", |report, _, own| {
                report.speedup_vs_first(own).map(times)
            }),
            Column::OfCopy => Self::number("of copy", "", |report, _, own| {
                report.speedup_vs_first(own).map(share)
            }),
            Column::OverBefore => Self::number("× before", "", |report, index, _| {
                report.speedup_vs_before(index).map(times)
            }),
            Column::Bandwidth => Self::number("GB/s", "", |report, _, own| {
                Some(format!("{:.1}", report.bytes_per_s(own)? / 1e9))
            }),
            Column::OfPeak => Self::number("of peak", "", |report, _, own| {
                Some(share(
                    report.bytes_per_s(own)? / report.device.peak_bytes_per_s?,
                ))
            }),
            Column::Flops => Self::number("GFLOP/s", "", |report, _, own| {
                Some(format!("{:.1}", report.flops_per_s(own)? / 1e9))
            }),
            Column::Published => {
                Self::words("published", |report, _, own| Some(published(report, own)))
            }
            Column::PublishedCount => Self::words("published", |_, _, own| {
                Some(own.rung.published_count.to_owned())
            }),
            Column::Instructions => Self::number(
                "instr. / warp",
                "PTX instructions of a warp",
                |_, _, own| number(own, "ptx_inst_executed_per_warp.ratio", 2),
            ),
            Column::Sectors => Self::number(
                "sectors ld / st",
                "sectors of 32 bytes that a request touches",
                |_, _, own| pair([LOADED, STORED].map(|name| number(own, name, 2))),
            ),
            Column::Read => Self::number(
                "read",
                "what loads of global memory move, in sectors",
                |_, _, own| {
                    let sectors = own.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")?;
                    Some(size::bytes(sectors as u64 * 32))
                },
            ),
            Column::SectorsLoaded => Self::number(
                "sectors / load",
                "sectors of 32 bytes that a warp's load touches",
                |_, _, own| number(own, LOADED, 2),
            ),
            Column::Used => Self::number(
                "used ld / st",
                "the share of them that it uses, for global loads / stores",
                |_, _, own| pair(["ld", "st"].map(|op| number(own, &used(op), 1))).map(percent),
            ),
            Column::Conflicts => Self::number(
                "conflicts",
                "wavefronts of shared memory lost to bank conflicts",
                |_, _, own| {
                    let prefix = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
                    Some(format!("{:.0}", sum(own, prefix, ["ld", "st"])?))
                },
            ),
            Column::Wavefronts => Self::number(
                "waves ld / st",
                "wavefronts that a warp's access to shared memory takes, for loads / stores",
                |_, _, own| pair(["ld", "st"].map(|op| wavefronts(own, op))),
            ),
            Column::Uniform => Self::number(
                "uniform",
                "branches that keep a warp together",
                |_, _, own| {
                    let name = "smsp__sass_average_branch_targets_threads_uniform.pct";
                    number(own, name, 1).map(percent)
                },
            ),
            Column::GlobalAtomics => Self::number(
                "global atomics",
                "warps' atomic operations on global memory",
                |_, _, own| Some(format!("{:.0}", atomics(own, "requests")?)),
            ),
            Column::AtomicSectors => Self::number(
                "sectors / atomic",
                "sectors that one of them changes, once for every thread that wants the same word",
                |_, _, own| {
                    let (sectors, all) = (atomics(own, "sectors")?, atomics(own, "requests")?);
                    (all > 0.0).then(|| format!("{:.2}", sectors / all))
                },
            ),
            Column::SharedAtomics => Self::number(
                "shared waves",
                "wavefronts of atomics on shared memory, one for every thread that wants the same word",
                |_, _, own| {
                    let name = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum";
                    number(own, name, 0)
                },
            ),
        }
    }
}

fn used(op: &str) -> String {
    format!("smsp__sass_average_data_bytes_per_sector_mem_global_op_{op}.pct")
}

/// The average number of wavefronts per access to shared memory. Without conflicts, an access of 32-bit words takes
/// one.
fn wavefronts(outcome: &Outcome, op: &str) -> Option<String> {
    let of = |what| format!("l1tex__data_{what}_mem_shared_op_{op}.sum");
    let all = outcome.counter(&of("pipe_lsu_wavefronts"))?;
    let ideal = all - outcome.counter(&of("bank_conflicts_pipe_lsu"))?;
    (ideal > 0.0).then(|| format!("{:.2}", all / ideal))
}

/// Requests or sectors of atomic operations on global memory.
fn atomics(outcome: &Outcome, what: &str) -> Option<f64> {
    let prefix = format!("l1tex__t_{what}_pipe_lsu_mem_global_op_");
    sum(outcome, &prefix, ["atom", "red"])
}

/// The sum of the counters of two operations.
fn sum(outcome: &Outcome, prefix: &str, operations: [&str; 2]) -> Option<f64> {
    let counters = operations.map(|op| outcome.counter(&format!("{prefix}{op}.sum")));
    counters.into_iter().sum()
}

fn number(outcome: &Outcome, name: &str, decimals: usize) -> Option<String> {
    Some(format!("{:.decimals$}", outcome.counter(name)?))
}

/// `a / b`; `None` if either is missing.
fn pair(values: [Option<String>; 2]) -> Option<String> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    let [first, second] = values.map(|value| value.unwrap_or(NOTHING.to_owned()));
    Some(format!("{first} / {second}"))
}

/// The published speedup. If it is relative to another rung than the first, the cell names that rung and gives our
/// speedup over it.
fn published(report: &Report, outcome: &Outcome) -> String {
    let Some(speedup) = outcome.rung.published else {
        return String::new();
    };
    let claim = match speedup.factor < 1.0 {
        true => format!("{:.3}×", speedup.factor),
        false => format!("{}×", speedup.factor),
    };
    let first = report.ladder.rungs.first();
    if first.is_some_and(|first| first.name == speedup.over) {
        return claim;
    }
    let here = report
        .speedup_over(outcome, speedup.over)
        .map_or(String::new(), |factor| format!(", here {}", times(factor)));
    format!("{claim} {}{here}", speedup.over)
}

fn times(factor: f64) -> String {
    format!("{factor:.2}×")
}

fn share(part: f64) -> String {
    percent(format!("{:.1}", part * 100.0))
}

fn percent(number: String) -> String {
    number + " %"
}
