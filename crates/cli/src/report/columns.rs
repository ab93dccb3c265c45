//! The columns of a report that a ladder can choose from. A ladder lists those that tell its story.

use engine::Column;
use engine::run::{Outcome, Report};
use engine::size;

/// What stands where there is no value.
pub(super) const NOTHING: &str = "–";

/// A column: its header and the text of each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnText {
    pub(super) header: &'static str,
    /// What it means, for the caption, where its header does not say.
    pub(super) legend: &'static str,
    /// The text of the outcome at an index.
    cell: fn(&Report, usize, &Outcome) -> Option<String>,
    pub(super) is_number: bool,
}

impl ColumnText {
    /// The text of a column.
    pub(super) fn of(column: Column) -> &'static Self {
        match column {
            Column::Time => &TIME,
            Column::OverFirst => &OVER_FIRST,
            Column::OfCopy => &OF_COPY,
            Column::OverBefore => &OVER_BEFORE,
            Column::Bandwidth => &BANDWIDTH,
            Column::OfPeak => &OF_PEAK,
            Column::Flops => &FLOPS,
            Column::Published => &PUBLISHED,
            Column::PublishedCount => &PUBLISHED_COUNT,
            Column::Instructions => &INSTRUCTIONS,
            Column::Sectors => &SECTORS,
            Column::Read => &READ,
            Column::SectorsLoaded => &SECTORS_LOADED,
            Column::Used => &USED,
            Column::Conflicts => &CONFLICTS,
            Column::Wavefronts => &WAVEFRONTS,
            Column::Uniform => &UNIFORM,
            Column::GlobalAtomics => &GLOBAL_ATOMICS,
            Column::AtomicSectors => &ATOMIC_SECTORS,
            Column::SharedAtomics => &SHARED_ATOMICS,
        }
    }

    const fn number(
        header: &'static str,
        legend: &'static str,
        cell: fn(&Report, usize, &Outcome) -> Option<String>,
    ) -> Self {
        Self {
            header,
            legend,
            cell,
            is_number: true,
        }
    }

    /// The text of the report's outcome at `index`.
    pub(super) fn cell(&self, report: &Report, index: usize) -> String {
        let outcome = report.outcomes.get(index);
        outcome
            .and_then(|outcome| (self.cell)(report, index, outcome))
            .unwrap_or(NOTHING.to_owned())
    }
}

/// The median time of a launch.
const TIME: ColumnText = ColumnText::number("time", "", |_, _, outcome| {
    Some(duration(outcome.samples.as_ref()?.median()))
});

/// How many times faster than the ladder's first rung.
const OVER_FIRST: ColumnText = ColumnText::number("× first", "", |report, _, outcome| {
    report.speedup_vs_first(outcome).map(times)
});

/// The speed in percent of the first rung's, where that is a copy: the ladder's upper bound.
const OF_COPY: ColumnText = ColumnText::number("of copy", "", |report, _, outcome| {
    report.speedup_vs_first(outcome).map(share)
});

/// How many times faster than the rung before.
const OVER_BEFORE: ColumnText = ColumnText::number("× before", "", |report, index, _| {
    report.speedup_vs_before(index).map(times)
});

/// Effective bandwidth.
const BANDWIDTH: ColumnText = ColumnText::number("GB/s", "", |report, _, outcome| {
    Some(format!("{:.1}", report.bytes_per_s(outcome)? / 1e9))
});

/// Effective bandwidth in percent of what the device's memory can move.
const OF_PEAK: ColumnText = ColumnText::number("of peak", "", |report, _, outcome| {
    let own = report.bytes_per_s(outcome)?;
    Some(share(own / report.device.peak_bytes_per_s?))
});

/// Floating-point operations a second.
const FLOPS: ColumnText = ColumnText::number("GFLOP/s", "", |report, _, outcome| {
    Some(format!("{:.1}", report.flops_per_s(outcome)? / 1e9))
});

/// What the text that the ladder comes from measured; where it compares with another rung than the first,
/// with which, and what it is here.
const PUBLISHED: ColumnText = ColumnText {
    header: "published",
    legend: "",
    cell: |report, _, outcome| Some(published(report, outcome)),
    is_number: false,
};

/// What that text counted.
const PUBLISHED_COUNT: ColumnText = ColumnText {
    header: "published",
    legend: "",
    cell: |_, _, outcome| Some(outcome.rung.published_count.to_owned()),
    is_number: false,
};

/// PTX instructions of a warp.
const INSTRUCTIONS: ColumnText = ColumnText::number(
    "instr. / warp",
    "PTX instructions of a warp",
    |_, _, outcome| number(outcome, "ptx_inst_executed_per_warp.ratio", 2),
);

const LOADED: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
const STORED: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";

/// Sectors of a request to global memory.
const SECTORS: ColumnText = ColumnText::number(
    "sectors ld / st",
    "sectors of 32 bytes that a request touches",
    |_, _, outcome| pair([LOADED, STORED].map(|name| number(outcome, name, 2))),
);

/// What is read from global memory and its caches.
const READ: ColumnText = ColumnText::number(
    "read",
    "what loads of global memory move, in sectors",
    |_, _, outcome| {
        let sectors = outcome.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")?;
        Some(size::bytes(sectors as u64 * 32))
    },
);

/// Sectors of a load.
const SECTORS_LOADED: ColumnText = ColumnText::number(
    "sectors / load",
    "sectors of 32 bytes that a warp's load touches",
    |_, _, outcome| number(outcome, LOADED, 2),
);

/// Bytes used of those sectors.
const USED: ColumnText = ColumnText::number(
    "used ld / st",
    "the share of them that it uses, for global loads / stores",
    |_, _, outcome| {
        let used = |op: &str| {
            let name = format!("smsp__sass_average_data_bytes_per_sector_mem_global_op_{op}.pct");
            number(outcome, &name, 1)
        };
        pair([used("ld"), used("st")]).map(|text| text + " %")
    },
);

/// Wavefronts that bank conflicts cost.
const CONFLICTS: ColumnText = ColumnText::number(
    "conflicts",
    "wavefronts of shared memory lost to bank conflicts",
    |_, _, outcome| {
        Some(format!(
            "{:.0}",
            sum(
                outcome,
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
            )?
        ))
    },
);

/// Wavefronts that an access to shared memory takes, on average.
const WAVEFRONTS: ColumnText = ColumnText::number(
    "waves ld / st",
    "wavefronts that a warp's access to shared memory takes, for loads / stores",
    |_, _, outcome| {
        let each = |op: &str| {
            let of = |what: &str| {
                outcome.counter(&format!(
                    "l1tex__data_{what}_pipe_lsu_mem_shared_op_{op}.sum"
                ))
            };
            let all = outcome.counter(&format!(
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
            ))?;
            // Without conflicts an access of 32-bit words is one wavefront.
            let ideal = all - of("bank_conflicts")?;
            (ideal > 0.0).then(|| format!("{:.2}", all / ideal))
        };
        pair([each("ld"), each("st")])
    },
);

/// Branches that do not part a warp.
const UNIFORM: ColumnText = ColumnText::number(
    "uniform",
    "branches that keep a warp together",
    |_, _, outcome| {
        let name = "smsp__sass_average_branch_targets_threads_uniform.pct";
        Some(number(outcome, name, 1)? + " %")
    },
);

/// Atomics on global memory.
const GLOBAL_ATOMICS: ColumnText = ColumnText::number(
    "global atomics",
    "warps' atomic operations on global memory",
    |_, _, outcome| Some(format!("{:.0}", atomics(outcome)?)),
);

/// Sectors that an atomic changes, each once for every thread on its most wanted word.
const ATOMIC_SECTORS: ColumnText = ColumnText::number(
    "sectors / atomic",
    "sectors that one of them changes, once for every thread that wants the same word",
    |_, _, outcome| {
        let sectors: f64 = ["atom", "red"]
            .map(|op| outcome.counter(&format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum")))
            .into_iter()
            .sum::<Option<f64>>()?;
        let all = atomics(outcome)?;
        (all > 0.0).then(|| format!("{:.2}", sectors / all))
    },
);

/// Wavefronts that the atomics on shared memory take.
const SHARED_ATOMICS: ColumnText = ColumnText::number(
    "shared waves",
    "wavefronts of atomics on shared memory, one for every thread that wants the same word",
    |_, _, outcome| {
        number(
            outcome,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
            0,
        )
    },
);

fn atomics(outcome: &Outcome) -> Option<f64> {
    ["atom", "red"]
        .map(|op| {
            outcome.counter(&format!(
                "l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"
            ))
        })
        .into_iter()
        .sum()
}

/// The counters of loads and stores added.
fn sum(outcome: &Outcome, prefix: &str) -> Option<f64> {
    ["ld", "st"]
        .map(|op| outcome.counter(&format!("{prefix}{op}.sum")))
        .into_iter()
        .sum()
}

fn number(outcome: &Outcome, name: &str, decimals: usize) -> Option<String> {
    Some(format!("{:.decimals$}", outcome.counter(name)?))
}

/// `a / b`, either of which may be missing.
fn pair(values: [Option<String>; 2]) -> Option<String> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    let [first, second] = values.map(|value| value.unwrap_or(NOTHING.to_owned()));
    Some(format!("{first} / {second}"))
}

fn published(report: &Report, outcome: &Outcome) -> String {
    let Some(speedup) = outcome.rung.published else {
        return String::new();
    };
    let claim = if speedup.factor < 1.0 {
        format!("{:.3}×", speedup.factor)
    } else {
        format!("{}×", speedup.factor)
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
    format!("{:.1} %", part * 100.0)
}

pub(crate) fn duration(nanoseconds: f64) -> String {
    if nanoseconds < 1e6 {
        format!("{:.2} µs", nanoseconds / 1e3)
    } else {
        format!("{:.3} ms", nanoseconds / 1e6)
    }
}
