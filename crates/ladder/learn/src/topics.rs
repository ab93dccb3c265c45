//! The topics, in the order in which they are taught. A file has a topic's exercises: for each its sizes, and for a size its
//! launch with what is right after it, computed on the CPU.

use crate::exercise::Topic;

/// Declares files as modules and gathers their topics.
macro_rules! topics {
    ($($file:ident: $title:literal),* $(,)?) => {
        $(mod $file;)*

        /// The topics of the kernels with blanks, in the order in which they are taught.
        pub(crate) fn topics() -> Vec<Topic> {
            vec![$(Topic { name: stringify!($file), title: $title, exercises: $file::exercises() }),*]
        }
    };
}

/// Writes the exercises of a file: for each its name, its sizes from small to large, goals of counters at the last size if
/// it has some, and the launch for a size.
macro_rules! exercises {
    ($($name:ident: [$($size:expr),*] $(, $what:literal: $counter:ident <= $most:expr)* => $case:expr;)*) => {
        pub(super) fn exercises() -> Vec<crate::exercise::Exercise> {
            vec![$(crate::exercise::Exercise {
                name: stringify!($name),
                topic: super::last_part(module_path!()),
                text: include_str!(concat!("../../../../../exercises/", stringify!($name), ".rs")).into(),
                solution: include_str!(concat!("../../solutions/", stringify!($name), ".rs")).into(),
                launches: crate::exercise::Launches::Sizes {
                    sizes: &[$($size),*],
                    case: $case,
                    goals: &[$(crate::exercise::Goal { counter: super::$counter, at_most: $most, what: $what }),*],
                },
            }),*]
        }
    };
}

topics! {
    threads: "which thread does what",
    memory: "how the threads of a warp read and write global memory",
    divergence: "branches that split warps",
    shared: "memory that the threads of a block have in common, and barriers",
    reduction: "from many numbers to one, step by step",
    warps: "what 32 lanes do together",
    banks: "how shared memory is read, and the transpose",
    matmul: "products of matrices: tiles, corners and registers",
    atomics: "memory that threads of all blocks change, and who sees it when",
    copies: "copies that come by themselves",
    tensor: "products on tensor cores: fragments, tiles without bank conflicts, pipelines",
    rust: "Rust on a GPU: slices, generics, traits, and where unsafe ends",
}

/// The last part of a module's path.
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
