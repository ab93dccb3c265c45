//! The name and description of each metric, and its computation from the sums.

use crate::observe::AccessKind::{AsyncCopy, Atomic, Load, Reduction, Store};

use super::Totals;
use crate::traffic::SECTOR;
use ptx::ast::Space;
use simt_isa::Class;

/// A metric's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A quotient of counts; `None` if the divisor is zero.
    Ratio(Option<f64>),
}

impl Value {
    /// Returns the value as a number, if there is one.
    pub fn number(self) -> Option<f64> {
        match self {
            // Exact up to 2^53, which exceeds the counts of any launch that ends.
            Self::Count(count) => Some(count as f64),
            Self::Ratio(ratio) => ratio,
        }
    }
}

/// The definition of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The name: Nsight Compute's name if the metric has the same meaning.
    pub name: &'static str,
    /// The unit, in the plural: `requests`, `%`.
    pub unit: &'static str,
    /// A one-line description.
    pub text: &'static str,
    value: fn(&Totals) -> Value,
}

impl Definition {
    pub(super) fn of(&self, totals: &Totals) -> Metric {
        Metric { name: self.name, unit: self.unit, text: self.text, value: (self.value)(totals) }
    }
}

/// A metric of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// The name: see [`Definition::name`].
    pub name: &'static str,
    /// The unit: see [`Definition::unit`].
    pub unit: &'static str,
    /// The description: see [`Definition::text`].
    pub text: &'static str,
    /// The value.
    pub value: Value,
}

fn ratio(part: u64, whole: u64) -> Value {
    Value::Ratio((whole > 0).then(|| part as f64 / whole as f64))
}

fn percent(part: u64, whole: u64) -> Value {
    Value::Ratio((whole > 0).then(|| part as f64 * 100.0 / whole as f64))
}

macro_rules! metrics {
    ($($name:literal, $unit:literal, $text:literal, $totals:pat => $value:expr;)*) => {
        /// Every metric, in the order in which they are shown.
        pub const METRICS: &[Definition] = &[$(Definition {
            name: $name,
            unit: $unit,
            text: $text,
            value: |$totals: &Totals| $value,
        }),*];
    };
}

metrics! {
    "sm__ctas_launched.sum", "blocks",
        "blocks that were run",
        t => Value::Count(t.events.blocks);
    "smsp__warps_launched.sum", "warps",
        "warps that were run",
        t => Value::Count(t.events.warps);

    "ptx_inst_executed.sum", "instructions",
        "PTX instructions, counted once per warp that executes them, even if the guard disables all threads",
        t => Value::Count(t.warp_instructions);
    "ptx_thread_inst_executed.sum", "instructions",
        "PTX instructions, counted once per thread that executes them, even if the guard disables the thread",
        t => Value::Count(t.thread_instructions);
    "ptx_inst_executed_per_warp.ratio", "instructions/warp",
        "ptx_inst_executed.sum divided by smsp__warps_launched.sum",
        t => ratio(t.warp_instructions, t.events.warps);
    "ptx_thread_inst_executed_per_inst_executed.ratio", "threads/instruction",
        "average number of active threads in an instruction of a warp, out of 32",
        t => ratio(t.thread_instructions, t.warp_instructions);

    "ptx_inst_executed_integer.sum", "instructions",
        "of these: integer arithmetic (PTX ISA 9.7.1)",
        t => Value::Count(t.class(Class::Integer));
    "ptx_inst_executed_float.sum", "instructions",
        "of these: floating-point arithmetic (9.7.3 to 9.7.5)",
        t => Value::Count(t.class(Class::Float));
    "ptx_inst_executed_logic.sum", "instructions",
        "of these: logic and shifts (9.7.8)",
        t => Value::Count(t.class(Class::Logic));
    "ptx_inst_executed_compare.sum", "instructions",
        "of these: comparison and selection (9.7.6)",
        t => Value::Count(t.class(Class::Compare));
    "ptx_inst_executed_convert.sum", "instructions",
        "of these: mov, cvt, cvta, isspacep and others that move or convert a value",
        t => Value::Count(t.class(Class::Convert));
    "ptx_inst_executed_memory_global.sum", "instructions",
        "of these: ld, st, atom, red with .global, and cp.async",
        t => Value::Count(t.class(Class::Memory(Some(Space::Global))));
    "ptx_inst_executed_memory_shared.sum", "instructions",
        "of these: ld, st, atom, red with .shared",
        t => Value::Count(t.class(Class::Memory(Some(Space::Shared))));
    "ptx_inst_executed_memory_local.sum", "instructions",
        "of these: ld and st with .local",
        t => Value::Count(t.class(Class::Memory(Some(Space::Local))));
    "ptx_inst_executed_memory_param.sum", "instructions",
        "of these: ld and st with .param",
        t => Value::Count(t.class(Class::Memory(Some(Space::Param))));
    "ptx_inst_executed_memory_const.sum", "instructions",
        "of these: ld with .const",
        t => Value::Count(t.class(Class::Memory(Some(Space::Const))));
    "ptx_inst_executed_memory_generic.sum", "instructions",
        "of these: ld, st, atom, red without a space",
        t => Value::Count(t.class(Class::Memory(None)));
    "ptx_inst_executed_fence.sum", "instructions",
        "of these: membar and fence",
        t => Value::Count(t.class(Class::Fence));
    "ptx_inst_executed_control.sum", "instructions",
        "of these: branches, calls, ret, exit, trap",
        t => Value::Count(t.class(Class::Control));
    "ptx_inst_executed_barrier.sum", "instructions",
        "of these: bar and barrier, even if the guard disables all threads",
        t => Value::Count(t.class(Class::Barrier));
    "ptx_inst_executed_warp.sum", "instructions",
        "of these: shfl, vote, match, redux, activemask, elect, bar.warp.sync",
        t => Value::Count(t.class(Class::Warp));
    "ptx_inst_executed_other.sum", "instructions",
        "of these: instructions without effect in the simulator (prefetch, nanosleep, pmevent)",
        t => Value::Count(t.class(Class::Hint));

    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests",
        "loads of global memory by a warp, including cp.async; one request for any width",
        t => Value::Count(t.global(Load).requests + t.global(AsyncCopy).requests);
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors",
        "distinct 32-byte sectors that these requests access, counted once per request",
        t => Value::Count(t.global(Load).sectors + t.global(AsyncCopy).sectors);
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "sectors/request",
        "sectors divided by requests",
        t => ratio(
            t.global(Load).sectors + t.global(AsyncCopy).sectors,
            t.global(Load).requests + t.global(AsyncCopy).requests,
        );
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "%",
        "share of the bytes in these sectors that threads request, without cp.async; bytes requested by several threads count once",
        t => percent(t.global(Load).bytes, t.global(Load).sectors * SECTOR);
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "requests",
        "stores to global memory by a warp; one request for any width",
        t => Value::Count(t.global(Store).requests);
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors",
        "distinct 32-byte sectors that these requests access, counted once per request",
        t => Value::Count(t.global(Store).sectors);
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "sectors/request",
        "sectors divided by requests",
        t => ratio(t.global(Store).sectors, t.global(Store).requests);
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", "%",
        "share of the bytes in these sectors that threads write; bytes written by several threads count once",
        t => percent(t.global(Store).bytes, t.global(Store).sectors * SECTOR);
    "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum", "requests",
        "cp.async instructions of a warp",
        t => Value::Count(t.global(AsyncCopy).requests);
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum", "sectors",
        "distinct sectors that these instructions read",
        t => Value::Count(t.global(AsyncCopy).sectors);
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "requests",
        "atomics on global memory that return a value (atom), by a warp",
        t => Value::Count(t.global(Atomic).requests);
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "sectors",
        "sectors that these atomics change; each counts once per thread on its most contended word",
        t => Value::Count(t.global(Atomic).sectors);
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "requests",
        "atomics on global memory without a return value (red), by a warp",
        t => Value::Count(t.global(Reduction).requests);
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "sectors",
        "sectors that these atomics change; each counts once per thread on its most contended word",
        t => Value::Count(t.global(Reduction).sectors);

    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefronts",
        "passes through the 32 banks of shared memory for loads; a word that several threads read counts once",
        t => Value::Count(t.shared(Load).wavefronts);
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "wavefronts",
        "of these: extra passes because of different words in one bank",
        t => Value::Count(t.shared(Load).wavefronts - t.shared(Load).ideal);
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefronts",
        "passes through the banks for loads, without ldmatrix",
        t => Value::Count(t.shared(Load).wavefronts - t.shared(Load).of_matrices);
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "wavefronts",
        "passes through the banks for stores",
        t => Value::Count(t.shared(Store).wavefronts);
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "wavefronts",
        "of these: extra passes because of different words in one bank",
        t => Value::Count(t.shared(Store).wavefronts - t.shared(Store).ideal);
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "wavefronts",
        "passes through the banks for stores, without stmatrix",
        t => Value::Count(t.shared(Store).wavefronts - t.shared(Store).of_matrices);
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "wavefronts",
        "passes through the banks for atom and red; each thread that changes a word needs a separate pass, but threads that only add 1 to a word share one (ATOMS.POPC.INC, compute capability 8.0 and newer)",
        t => Value::Count(t.shared(Atomic).wavefronts + t.shared(Reduction).wavefronts);

    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "requests",
        "loads of local memory by a warp, one request for each 4 bytes of width",
        t => Value::Count(t.local(Load).requests);
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sectors",
        "sectors that these loads access; a word of 32 threads occupies 4 sectors",
        t => Value::Count(t.local(Load).sectors);
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum", "requests",
        "stores to local memory by a warp, one request for each 4 bytes of width",
        t => Value::Count(t.local(Store).requests);
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "sectors",
        "sectors that these stores access",
        t => Value::Count(t.local(Store).sectors);

    "smsp__sass_branch_targets.sum", "branches",
        "branches of a warp with more than one target: bra with a guard, brx.idx; SASS has fewer because ptxas predicates short branches",
        t => Value::Count(t.branches);
    "smsp__sass_branch_targets_threads_uniform.sum", "branches",
        "of these: branches at which all active threads continue at the same target",
        t => Value::Count(t.branches - t.divergent);
    "smsp__sass_branch_targets_threads_divergent.sum", "branches",
        "of these: branches at which active threads diverge",
        t => Value::Count(t.divergent);
    "smsp__sass_average_branch_targets_threads_uniform.pct", "%",
        "share of the branches at which active threads do not diverge",
        t => percent(t.branches - t.divergent, t.branches);

    "ptx_barriers.sum", "arrivals",
        "arrivals of a warp at a barrier of its block",
        t => Value::Count(t.events.barriers);
}
