//! System-scope fences, which some GPUs count as memory accesses.
//!
//! `fence.acq_rel.sys` and `membar.sys` are not loads or stores, and the simulator does not count them as such. An H100
//! counts each fence as several accesses. For each fence that a warp executes, the H100's counters increase by one
//! request and one sector of global stores, by two requests of local loads, and by two requests of local stores. These
//! numbers are in `metrics.toml` (`system_fence`). An H200 counts nothing for a fence.
//!
//! The numbers come from a recording of five kernels of the ladder `allreduce` on an H100 (2026-11-25). Each kernel had
//! 128 blocks with 4 fences, executed by one warp. Each of these 512 fences was counted as above: 512 more store requests
//! and sectors, and 1024 local loads and stores (2048 more in `allreduce_ring`, whose registers were spilled). The
//! counters by instruction (`smsp__sass_…`) did not include the fences.

use super::metrics::ComparedMetric;
use profile::counters::Numbers;

/// The simulator's counter of all fences that warps execute.
const FENCES: &str = "ptx_inst_executed_fence.sum";

/// Returns the explanation if system fences account for the whole difference between the two numbers. All fences of the
/// kernel must have system scope.
pub(super) fn explanation(
    metric: &ComparedMetric,
    sim: Option<f64>,
    gpu: Option<f64>,
    on_sim: &Numbers,
) -> Option<String> {
    let fences = on_sim.get(FENCES).copied().unwrap_or(0.0);
    let counted = fences * f64::from(metric.system_fence);
    let is_all = counted > 0.0 && gpu? == sim.unwrap_or(0.0) + counted;
    let each = match metric.system_fence {
        1 => "one access".to_owned(),
        more => format!("{more} accesses"),
    };
    is_all.then(|| format!("the GPU counts each of {fences} fences of system scope as {each}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::agree::metrics::find;

    #[test]
    fn fences_explain_what_an_h100_counted() {
        let explained = |name: &str, sim, gpu, fences: f64| {
            let on_sim = Numbers::from([(FENCES.to_owned(), fences)]);
            explanation(find(name).unwrap(), Some(sim), Some(gpu), &on_sim)
        };
        let (requests, sectors, loads) = (
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
        );
        // allreduce_one_shot with 2^20 elements on an H100: 128 blocks, 4 fences each.
        assert_eq!(
            explained(requests, 8704.0, 9216.0, 512.0).unwrap(),
            "the GPU counts each of 512 fences of system scope as one access"
        );
        assert!(explained(sectors, 131_584.0, 132_096.0, 512.0).is_some());
        assert!(explained(loads, 0.0, 1024.0, 512.0).unwrap().ends_with("as 2 accesses"));
        // Fences do not explain one access too many, allreduce_ring's spilled registers, a kernel without fences, or a
        // metric that fences do not change.
        assert_eq!(explained(requests, 8704.0, 9217.0, 512.0), None);
        assert_eq!(explained(loads, 0.0, 3072.0, 512.0), None);
        assert_eq!(explained(requests, 8704.0, 8704.0, 0.0), None);
        assert_eq!(explained("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 8448.0, 8960.0, 512.0), None);
    }
}
