//! The entries, in the order of table 6.1.

use super::Better::{Less, More};
use super::{Entry, Gain, Measure, Optimization, Pair, Resource};

const SECTORS_A_LOAD: Gain = Gain {
    what: "sectors a load",
    measure: Measure::Sum(&[
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    ]),
    better: Less,
};

const SECTORS_A_STORE: Gain = Gain {
    what: "sectors a store",
    measure: Measure::Sum(&[
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    ]),
    better: Less,
};

const USED_OF_LOADS: Gain = Gain {
    what: "% used of sectors loaded",
    measure: Measure::Sum(&["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"]),
    better: More,
};

const USED_OF_STORES: Gain = Gain {
    what: "% used of sectors stored",
    measure: Measure::Sum(&["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"]),
    better: More,
};

const SECTORS_LOADED: Gain = Gain {
    what: "sectors loaded",
    measure: Measure::Sum(&["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    better: Less,
};

const SECTORS_MOVED: Gain = Gain {
    what: "sectors loaded and stored",
    measure: Measure::Sum(&[
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    ]),
    better: Less,
};

const SHARED_LOADS: Gain = Gain {
    what: "wavefronts of shared loads",
    measure: Measure::Sum(&["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
    better: Less,
};

const INSTRUCTIONS: Gain = Gain {
    what: "PTX instructions a warp",
    measure: Measure::Sum(&["ptx_inst_executed_per_warp.ratio"]),
    better: Less,
};

const UNIFORM: Gain = Gain {
    what: "% uniform branches",
    measure: Measure::Sum(&["smsp__sass_average_branch_targets_threads_uniform.pct"]),
    better: More,
};

const GLOBAL_ATOMICS: Gain = Gain {
    what: "global atomics",
    measure: Measure::Sum(&[
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ]),
    better: Less,
};

const ATOMIC_PASSES: Gain = Gain {
    what: "sectors that global atomics change",
    measure: Measure::Sum(&[
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ]),
    better: Less,
};

const SHARED_ATOMICS: Gain = Gain {
    what: "wavefronts of shared atomics",
    measure: Measure::Sum(&["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"]),
    better: Less,
};

const BARRIERS: Gain = Gain {
    what: "barriers that warps arrive at",
    measure: Measure::Sum(&["ptx_barriers.sum"]),
    better: Less,
};

const LOADS_A_WARP: Gain = Gain {
    what: "independent loads a warp",
    measure: Measure::Quotient(
        &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"],
        "smsp__warps_launched.sum",
    ),
    better: More,
};

const SHARED_BYTES: Gain = Gain {
    what: "bytes of shared memory a block",
    measure: Measure::Resource(Resource::SharedBytes),
    better: Less,
};

/// What is enough of each ladder to see it.
const REDUCE: &[(&str, &str)] = &[("n", "64k")];
const TRANSPOSE: &[(&str, &str)] = &[("rows", "256"), ("cols", "256")];
const MATMUL: &[(&str, &str)] = &[("m", "128"), ("n", "128"), ("k", "128")];
const HISTOGRAM: &[(&str, &str)] = &[("n", "64k")];
/// Bytes that are often the same, as an image's are.
const SKEWED: &[(&str, &str)] = &[("n", "64k"), ("data", "skewed")];

const fn pair(
    [ladder, before, after]: [&'static str; 3],
    options: &'static [(&'static str, &'static str)],
    metrics: &'static [Gain],
) -> Pair {
    Pair {
        ladder,
        before,
        after,
        options,
        block: None,
        metrics,
    }
}

/// The checklist.
pub const ENTRIES: &[Entry] = &[
    Entry {
        optimization: Optimization::Occupancy,
        compute: "other warps have work while one waits for its pipeline",
        memory: "enough accesses are under way at a time to hide DRAM's latency and to keep its banks busy",
        strategies: &[
            "choose a block size of which a multiprocessor holds as many as its threads allow",
            "use less shared memory a block and fewer registers a thread, where those are what is short",
            "where more threads cannot be had, give each more loads that do not wait for one another",
        ],
        pairs: &[
            pair(
                ["reduce", "reduce_smem", "reduce_shfl"],
                REDUCE,
                &[SHARED_BYTES],
            ),
            pair(
                [
                    "transpose",
                    "transpose_smem_pad",
                    "transpose_smem_unroll_pad",
                ],
                TRANSPOSE,
                &[LOADS_A_WARP],
            ),
        ],
    },
    Entry {
        optimization: Optimization::Coalescing,
        compute: "warps wait less often for global memory",
        memory: "fewer sectors move, and what a DRAM burst brings is used",
        strategies: &[
            "move data between global and shared memory in rows, and do what goes astray in shared memory",
            "give neighbouring threads neighbouring elements",
            "lay the data out as the threads read them",
        ],
        pairs: &[
            pair(
                ["transpose", "transpose_naive", "transpose_smem"],
                TRANSPOSE,
                &[SECTORS_A_STORE, USED_OF_STORES],
            ),
            // Of shared memory it is the banks that neighbouring threads have to share out.
            pair(
                ["transpose", "transpose_smem", "transpose_smem_pad"],
                TRANSPOSE,
                &[SHARED_LOADS],
            ),
            pair(
                ["matmul", "matmul_uncoalesced", "matmul_corner_turning"],
                MATMUL,
                &[SECTORS_A_LOAD, USED_OF_LOADS],
            ),
            pair(
                ["reduce", "reduce_neighbored_less", "reduce_interleaved"],
                REDUCE,
                &[SECTORS_A_LOAD, USED_OF_LOADS],
            ),
            pair(
                [
                    "histogram",
                    "histogram_private_coarsened_contiguous",
                    "histogram_private_coarsened",
                ],
                HISTOGRAM,
                &[SECTORS_A_LOAD],
            ),
        ],
    },
    Entry {
        optimization: Optimization::Divergence,
        compute: "fewer lanes idle while others of their warp go another way",
        memory: "",
        strategies: &[
            "deal out work so that whole warps have some before others begin to have any",
            "give the threads of a warp equal loads, by the order of the work or of the data",
        ],
        pairs: &[pair(
            ["reduce", "reduce_neighbored", "reduce_neighbored_less"],
            REDUCE,
            &[INSTRUCTIONS, UNIFORM],
        )],
    },
    Entry {
        optimization: Optimization::Tiling,
        compute: "warps wait less often for global memory",
        memory: "what a block uses again is loaded once",
        strategies: &[
            "load what several threads of a block use into shared memory together, and read it there",
            "keep in registers what one thread uses again",
            "do the same with results that are updated again and again, and write them at the end",
        ],
        pairs: &[
            pair(
                ["matmul", "matmul_naive", "matmul_tiled"],
                MATMUL,
                &[SECTORS_LOADED],
            ),
            pair(
                ["matmul", "matmul_tiled", "matmul_register_tile"],
                MATMUL,
                &[SHARED_LOADS],
            ),
            pair(
                ["reduce", "reduce_gmem", "reduce_smem"],
                REDUCE,
                &[SECTORS_MOVED],
            ),
        ],
    },
    Entry {
        optimization: Optimization::Privatization,
        compute: "warps wait less often for atomics",
        memory: "atomics on the same word do not queue up",
        strategies: &[
            "update a private copy, of a block or of a thread, and add it to the common one at the end",
        ],
        pairs: &[
            pair(
                ["histogram", "histogram_global", "histogram_private"],
                SKEWED,
                &[ATOMIC_PASSES],
            ),
            pair(
                [
                    "histogram",
                    "histogram_private_coarsened",
                    "histogram_lanes",
                ],
                HISTOGRAM,
                &[SHARED_ATOMICS],
            ),
        ],
    },
    Entry {
        optimization: Optimization::Coarsening,
        compute: "less work, divergence and waiting that only the division into threads makes",
        memory: "blocks load the same data less often",
        strategies: &[
            "give a thread several units of work where the device would run them one after another anyway",
        ],
        pairs: &[
            pair(
                ["matmul", "matmul_coarsened1", "matmul_coarsened4"],
                MATMUL,
                &[SECTORS_LOADED],
            ),
            pair(
                [
                    "histogram",
                    "histogram_private",
                    "histogram_private_coarsened",
                ],
                HISTOGRAM,
                &[GLOBAL_ATOMICS],
            ),
            pair(
                [
                    "histogram",
                    "histogram_private_coarsened",
                    "histogram_lanes",
                ],
                HISTOGRAM,
                &[GLOBAL_ATOMICS],
            ),
            pair(
                ["reduce", "reduce_interleaved", "reduce_unrolling2"],
                REDUCE,
                &[BARRIERS],
            ),
            pair(
                ["reduce", "reduce_gmem", "reduce_gmem_unroll4"],
                REDUCE,
                &[BARRIERS],
            ),
            pair(
                ["reduce", "reduce_smem", "reduce_smem_unroll4"],
                REDUCE,
                &[BARRIERS],
            ),
            pair(
                ["reduce", "reduce_shfl", "reduce_grid_stride"],
                REDUCE,
                &[BARRIERS],
            ),
            pair(
                [
                    "transpose",
                    "transpose_smem_pad",
                    "transpose_smem_unroll_pad",
                ],
                TRANSPOSE,
                &[BARRIERS],
            ),
        ],
    },
];
