//! The metrics that are known here.

use super::{Form, Group, Metric, PLAIN, PTX_ONLY, Source};

const NO_CLOCK: &str = "the SIMT machine has no clock";
const NO_DRAM: &str = "the SIMT machine has neither caches nor a clock";

const LD_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const LD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
const ST_REQUESTS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const ST_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
const LD_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const ST_WAVES: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";

/// What a GPU's counters of wavefronts have besides.
const ALONE: &str = "sim counts each request as if it were alone: on a busy multiprocessor they get in each other's \
                     way, and a GPU counts those passes, too (by instruction it does not)";

/// A sector in bytes.
const SECTOR: f64 = 32.0;

const fn metric(
    name: &'static str,
    heading: &'static str,
    group: Group,
    form: Form,
    meaning: &'static str,
) -> Metric<'static> {
    Metric {
        name,
        heading,
        group,
        form,
        meaning,
        ..PLAIN
    }
}

/// What only a GPU has.
const fn gpu_only(metric: Metric<'static>, why: &'static str) -> Metric<'static> {
    Metric {
        sim: Source::Missing(why),
        ..metric
    }
}

const fn default(metric: Metric<'static>) -> Metric<'static> {
    Metric {
        is_default: true,
        ..metric
    }
}

/// The metrics that are known here. The names are those of Nsight Compute (Nsight Compute CLI, "Metrics
/// Structure" and the sections that it is shipped with).
pub static METRICS: &[Metric<'_>] = &[
    default(Metric {
        sim: Source::Counter("ptx_inst_executed_per_warp.ratio"),
        of_ptx: true,
        ..metric(
            "smsp__average_inst_executed_per_warp.ratio",
            "instr / warp",
            Group::Instructions,
            Form::Ratio,
            "instructions that a warp executes, on average: work that waits for divergent lanes counts in full",
        )
    }),
    default(Metric {
        gpu: Source::Quotient(
            &["smsp__sass_branch_targets_threads_uniform.sum"],
            &["smsp__sass_branch_targets.sum"],
            100.0,
        ),
        of_ptx: true,
        ..metric(
            "smsp__sass_average_branch_targets_threads_uniform.pct",
            "uniform",
            Group::Instructions,
            Form::Percent,
            "the share of the branches at which all active threads of a warp go one way",
        )
    }),
    default(Metric {
        sim: Source::Quotient(&["ptx_barriers.sum"], &["smsp__warps_launched.sum"], 1.0),
        gpu: Source::Missing(PTX_ONLY),
        ..metric(
            "ptx_barriers_per_warp.ratio",
            "barriers / warp",
            Group::Instructions,
            Form::Ratio,
            "how often a warp arrives at a barrier of its block, on average",
        )
    }),
    default(Metric {
        gpu: Source::Quotient(&[LD_SECTORS], &[LD_REQUESTS], 1.0),
        ..metric(
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
            "sectors / load",
            Group::Global,
            Form::Ratio,
            "sectors of 32 bytes that a warp's load of global memory touches: 4 for 32 neighbouring words, 32 for \
             words that all lie apart",
        )
    }),
    default(Metric {
        gpu: Source::Quotient(&[ST_SECTORS], &[ST_REQUESTS], 1.0),
        ..metric(
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
            "sectors / store",
            Group::Global,
            Form::Ratio,
            "sectors of 32 bytes that a warp's store to global memory touches",
        )
    }),
    default(Metric {
        gpu: Source::SameUnlessZero(LD_REQUESTS),
        sim_note: "sim leaves cp.async out, as Nsight Compute does",
        ..metric(
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
            "used ld",
            Group::Global,
            Form::Percent,
            "the share of the bytes of those sectors that the load asks for: its efficiency",
        )
    }),
    default(Metric {
        gpu: Source::SameUnlessZero(ST_REQUESTS),
        ..metric(
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
            "used st",
            Group::Global,
            Form::Percent,
            "the share of the bytes of those sectors that the store writes: its efficiency",
        )
    }),
    default(Metric {
        sim: Source::Sum(&[LD_SECTORS], SECTOR),
        ..metric(
            "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
            "loaded",
            Group::Global,
            Form::Bytes,
            "bytes that loads of global memory move, whole sectors, from wherever they are cached",
        )
    }),
    default(Metric {
        sim: Source::Sum(&[ST_SECTORS], SECTOR),
        ..metric(
            "l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum",
            "stored",
            Group::Global,
            Form::Bytes,
            "bytes that stores to global memory move, whole sectors",
        )
    }),
    default(Metric {
        sim_note: ALONE,
        ..metric(
            LD_WAVES,
            "shared ld",
            Group::Shared,
            Form::Count,
            "wavefronts of loads of shared memory: passes through its 32 banks, one for each of the words that meet \
             in a bank",
        )
    }),
    default(Metric {
        sim_note: ALONE,
        ..metric(
            ST_WAVES,
            "shared st",
            Group::Shared,
            Form::Count,
            "wavefronts of stores to shared memory",
        )
    }),
    default(Metric {
        sim: Source::Quotient(&[LD_WAVES], &[ST_WAVES], 1.0),
        gpu: Source::Quotient(&[LD_WAVES], &[ST_WAVES], 1.0),
        ..metric(
            "shared_wavefronts_ld_per_st.ratio",
            "ld : st",
            Group::Shared,
            Form::Ratio,
            "wavefronts of loads of shared memory for one of stores: 1 where each word is written and read once \
             without conflicts",
        )
    }),
    default(gpu_only(
        metric(
            "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second",
            "loads GB/s",
            Group::Rates,
            Form::Rate,
            "global load throughput: what loads move in a second, from wherever it is cached",
        ),
        NO_CLOCK,
    )),
    default(gpu_only(
        metric(
            "dram__bytes_read.sum.per_second",
            "DRAM rd GB/s",
            Group::Rates,
            Form::Rate,
            "what is read from the device's memory in a second",
        ),
        NO_DRAM,
    )),
    default(gpu_only(
        metric(
            "dram__bytes_write.sum.per_second",
            "DRAM wr GB/s",
            Group::Rates,
            Form::Rate,
            "what is written to the device's memory in a second",
        ),
        NO_DRAM,
    )),
    default(gpu_only(
        metric(
            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
            "at barrier",
            Group::Stalls,
            Form::Ratio,
            "warps that wait at a barrier of their block, on average, when an instruction is issued",
        ),
        NO_CLOCK,
    )),
    default(gpu_only(
        metric(
            "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
            "at membar",
            Group::Stalls,
            Form::Ratio,
            "warps that wait at a memory barrier, on average, when an instruction is issued",
        ),
        NO_CLOCK,
    )),
    Metric {
        sim: Source::Counter(LD_WAVES),
        ..metric(
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "shared ld by instr",
            Group::Shared,
            Form::Count,
            "wavefronts of loads of shared memory that their own addresses take, whoever is in their way",
        )
    },
    Metric {
        sim: Source::Counter(ST_WAVES),
        ..metric(
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "shared st by instr",
            Group::Shared,
            Form::Count,
            "wavefronts of stores to shared memory that their own addresses take, whoever is in their way",
        )
    },
    gpu_only(
        metric(
            "smsp__warp_issue_stalled_barrier_per_warp_active.pct",
            "at barrier %",
            Group::Stalls,
            Form::Percent,
            "the share of the warps' cycles in which they wait at a barrier of their block",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "smsp__warp_issue_stalled_membar_per_warp_active.pct",
            "at membar %",
            Group::Stalls,
            Form::Percent,
            "the share of the warps' cycles in which they wait at a memory barrier",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
            "at memory",
            Group::Stalls,
            Form::Ratio,
            "warps that wait for data from memory beyond the L1 cache, on average, when an instruction is issued",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "smsp__average_warp_latency_per_inst_issued.ratio",
            "cycles / issue",
            Group::Stalls,
            Form::Ratio,
            "cycles between two instructions of a warp, on average: what all reasons to wait add up to",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "gpu__time_duration.sum",
            "time µs",
            Group::Rates,
            Form::Time,
            "how long the kernel runs under the profiler",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "dram__bytes_read.sum",
            "DRAM rd",
            Group::Rates,
            Form::Bytes,
            "bytes read from the device's memory",
        ),
        NO_DRAM,
    ),
    gpu_only(
        metric(
            "dram__bytes_write.sum",
            "DRAM wr",
            Group::Rates,
            Form::Bytes,
            "bytes written to the device's memory",
        ),
        NO_DRAM,
    ),
    gpu_only(
        metric(
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            "DRAM",
            Group::Rates,
            Form::Percent,
            "how near the device's memory is to its limit",
        ),
        NO_DRAM,
    ),
    gpu_only(
        metric(
            "lts__throughput.avg.pct_of_peak_sustained_elapsed",
            "L2",
            Group::Rates,
            Form::Percent,
            "how near the L2 cache is to its limit",
        ),
        NO_DRAM,
    ),
    gpu_only(
        metric(
            "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
            "waves",
            Group::Rates,
            Form::Percent,
            "how near shared memory is to its limit of one wavefront a cycle and multiprocessor",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "smsp__issue_active.avg.pct_of_peak_sustained_active",
            "issue",
            Group::Rates,
            Form::Percent,
            "the share of the cycles in which a scheduler issues an instruction",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
            "FMA",
            Group::Rates,
            Form::Percent,
            "how near the pipe of multiplications and additions of floats is to its limit",
        ),
        NO_CLOCK,
    ),
    gpu_only(
        metric(
            "sm__warps_active.avg.pct_of_peak_sustained_active",
            "warps",
            Group::Rates,
            Form::Percent,
            "achieved occupancy: warps that are there, of as many as a multiprocessor can have",
        ),
        NO_CLOCK,
    ),
    Metric {
        sim: Source::Counter("ptx_thread_inst_executed_per_inst_executed.ratio"),
        of_ptx: true,
        ..metric(
            "smsp__thread_inst_executed_per_inst_executed.ratio",
            "threads / instr",
            Group::Instructions,
            Form::Ratio,
            "threads that take part in an instruction of a warp, on average, of 32",
        )
    },
];
