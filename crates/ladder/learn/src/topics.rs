//! The topics, in teaching order. Each file contains the exercises of a topic: their sizes, and for each size the
//! launch and the correct results, which are computed on the CPU.

use crate::exercise::Topic;

/// Declares files as modules and collects their topics, each with a title and a chapter of the book.
macro_rules! topics {
    ($($file:ident: $title:literal, $chapter:literal;)*) => {
        $(mod $file;)*

        /// Returns the topics of the kernels with blanks, in teaching order.
        pub(crate) fn topics() -> Vec<Topic> {
            vec![$(Topic { name: stringify!($file), title: $title, chapter: $chapter, exercises: $file::exercises() }),*]
        }
    };
}

/// Declares the exercises of a file. Each exercise has a name, its sizes in the order in which they are checked,
/// optional goals at the last size, and the launch for a size. A goal consists of a name with a unit, a counter, `<=`
/// or `>=`, and the limit.
macro_rules! exercises {
    ($($name:ident: [$($size:expr),*] $(, $what:literal: $counter:ident $bound:tt $limit:expr)* => $case:expr;)*) => {
        pub(super) fn exercises() -> Vec<crate::exercise::Exercise> {
            vec![$(crate::exercise::Exercise {
                name: stringify!($name),
                topic: super::last_part(module_path!()),
                text: include_str!(concat!("../../../../../exercises/", stringify!($name), ".rs")).into(),
                solution: include_str!(concat!("../../solutions/", stringify!($name), ".rs")).into(),
                launches: crate::exercise::Launches::Sizes {
                    sizes: &[$($size),*],
                    case: $case,
                    goals: const {
                        &[$(crate::exercise::Goal {
                            counter: super::$counter,
                            is_least: matches!(stringify!($bound).as_bytes(), b">="),
                            limit: $limit,
                            what: $what,
                        }),*]
                    },
                },
            }),*]
        }
    };
}

topics! {
    threads: "the index of a thread, and bounds checks", "warps";
    memory: "coalesced accesses to global memory", "coalescing";
    divergence: "divergent branches", "divergence";
    shared: "shared memory and barriers", "barriers";
    occupancy: "the number of warps that reside on a multiprocessor", "occupancy";
    reduction: "the sum of many numbers, step by step", "reduce-on-chip";
    warps: "shuffles and votes of the 32 lanes of a warp", "shuffle";
    banks: "bank conflicts and the transpose", "banks";
    matmul: "matrix products: tiles, corner turning and registers", "matmul";
    atomics: "atomics, memory orderings and fences", "atomics";
    scans: "prefix sums: in a warp, along a tree, and from block to block", "scan";
    sorting: "sorts: a network, a split, ranks and a coalesced scatter", "sort";
    softmax: "softmax and RMSNorm: one pass, merged parts, a row in registers", "softmax";
    copies: "asynchronous copies and pipelines", "async-copies";
    tensor: "tensor-core products: fragments, tiles without bank conflicts, pipelines", "tensor-cores";
    attention: "attention: one pass, causal tiles, weights in registers", "attention";
    rust: "Rust on a GPU: slices, generics, traits and safe wrappers", "rust-kernels";
    ptx: "the compiler's PTX, and inline PTX", "rust-compiler";
    host: "the launch: grid, block and bytes of shared memory", "launching";
}

/// Returns the last part of a module's path.
fn last_part(path: &'static str) -> &'static str {
    path.rsplit(':').next().unwrap_or_default()
}

const SECTORS_A_LOAD: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
const SECTORS_A_STORE: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
const LOADS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
const STORES: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
const ATOMIC_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum";
const ATOMICS: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum";
const LOAD_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
const STORE_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";
const SHARED_WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
const LOCAL_LOADS: &str = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum";
const BRANCHES: &str = "smsp__sass_branch_targets.sum";
const SPLITS: &str = "smsp__sass_branch_targets_threads_divergent.sum";
const BARRIERS: &str = "ptx_barriers.sum";
const INSTRUCTIONS: &str = "ptx_inst_executed_per_warp.ratio";
const WARPS: &str = crate::exercise::WARPS_PER_SM;
