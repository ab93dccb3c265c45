//! Counters that a test can check: the value for each source line, and the most expensive line.

use simt::Function;
use simt::counters::{Metric, SiteCounters, Value};
use simt::observe::Site;
use simt::run::Position;

/// A counter that shows how well a launch uses the memory or the warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counter {
    /// 32-byte sectors per warp request to global memory. The number is 4 if the 32 lanes access neighboring 4-byte
    /// words, and up to 32 if each lane accesses a different sector.
    SectorsPerRequest,
    /// Additional wavefronts of shared-memory requests due to bank conflicts.
    BankConflicts,
    /// Branches at which the threads of a warp diverge.
    DivergentBranches,
    /// Requests to local memory, which holds spilled registers and dynamically indexed arrays.
    LocalRequests,
    /// Atomic operations of warps on global memory.
    GlobalAtomics,
    /// PTX instructions executed by warps.
    Instructions,
}

impl Counter {
    /// Returns the counter's name for use in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::SectorsPerRequest => "sectors per request",
            Self::BankConflicts => "bank conflicts",
            Self::DivergentBranches => "divergent branches",
            Self::LocalRequests => "requests to local memory",
            Self::GlobalAtomics => "atomics on global memory",
            Self::Instructions => "instructions",
        }
    }

    /// Returns the metrics that are added up, and the metrics whose sum is the divisor, if the counter is a quotient.
    fn metrics(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::SectorsPerRequest => (
                &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
                &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
            ),
            Self::BankConflicts => (
                &[
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                ],
                &[],
            ),
            Self::DivergentBranches => (&["smsp__sass_branch_targets_threads_divergent.sum"], &[]),
            Self::LocalRequests => (
                &["l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"],
                &[],
            ),
            Self::GlobalAtomics => (
                &[
                    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
                    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
                ],
                &[],
            ),
            Self::Instructions => (&["ptx_inst_executed.sum"], &[]),
        }
    }

    /// Computes the number from these metrics. The number is 0 if the divisor is 0.
    fn of(self, metrics: &[Metric]) -> f64 {
        let (sum, by) = self.metrics();
        let sum_of = |names: &[&str]| -> f64 {
            metrics.iter().filter(|metric| names.contains(&metric.name)).filter_map(count).sum()
        };
        match by {
            [] => sum_of(sum),
            by if sum_of(by) == 0.0 => 0.0,
            by => sum_of(sum) / sum_of(by),
        }
    }
}

fn count(metric: &Metric) -> Option<f64> {
    match metric.value {
        Value::Count(count) => Some(count as f64),
        Value::Ratio(_) => None,
    }
}

/// The counters of a launch, per instruction.
#[derive(Debug)]
pub struct CountedLaunch {
    function: Function,
    counters: SiteCounters,
}

/// The line with the largest value of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CostliestLine {
    /// File and line, or the PTX line if the PTX does not name a source line: `src/lib.rs:12`, `line 21 of the PTX`.
    pub place: String,
    /// The value of the counter for only this line.
    pub number: f64,
}

impl CountedLaunch {
    /// Creates the counters of a launch of this kernel.
    pub fn new(function: Function, counters: SiteCounters) -> Self {
        Self { function, counters }
    }

    /// Returns the value of a counter for the whole launch.
    pub fn of(&self, counter: Counter) -> f64 {
        counter.of(&self.counters.all().metrics())
    }

    /// Returns the source line with the largest value of a counter.
    pub fn costliest(&self, counter: Counter) -> Option<CostliestLine> {
        let sites: Vec<Site> = self.counters.executed().collect();
        let mut lines: Vec<(String, Vec<Site>)> = Vec::new();
        for (site, position) in sites.iter().zip(Position::of_all(&self.function, &sites)) {
            let place = match position.source {
                Some((path, line)) => format!("{path}:{line}"),
                None => format!("line {} of the PTX", position.ptx_line),
            };
            match lines.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sites)) => sites.push(*site),
                None => lines.push((place, vec![*site])),
            }
        }
        let numbers = lines
            .into_iter()
            .map(|(place, sites)| CostliestLine { place, number: counter.of(&self.counters.metrics_of(&sites)) });
        numbers.max_by(|a, b| a.number.total_cmp(&b.number))
    }
}
