//! Counters that a test can hold: what a line of the source has of each, and which line costs most.

use simt::Function;
use simt::counters::{Metric, SiteCounters, Value};
use simt::observe::Site;
use simt::run::Position;

/// A number of a launch that says how well it uses the memory or the warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counter {
    /// Sectors of 32 bytes for each request of a warp to global memory: 4 where 32 lanes load or store neighboring words of
    /// 4 bytes, up to 32 where each lane has a sector of its own.
    SectorsPerRequest,
    /// Wavefronts that bank conflicts add to requests to shared memory.
    BankConflicts,
    /// Branches at which the threads of a warp part.
    DivergentBranches,
    /// Requests to local memory, where registers that do not fit and arrays with an index are.
    LocalRequests,
    /// Atomic operations of warps on global memory.
    GlobalAtomics,
    /// Instructions of warps, as the PTX has them.
    Instructions,
}

impl Counter {
    /// Its name in a sentence.
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

    /// The metrics that it is the sum of, and those that the sum is divided by, if there are any.
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

    /// The number in these metrics; 0 where there is nothing to divide by.
    fn of(self, metrics: &[Metric]) -> f64 {
        let (sum, by) = self.metrics();
        let all =
            |names: &[&str]| -> f64 { metrics.iter().filter(|own| names.contains(&own.name)).filter_map(count).sum() };
        match by {
            [] => all(sum),
            by if all(by) == 0.0 => 0.0,
            by => all(sum) / all(by),
        }
    }
}

fn count(metric: &Metric) -> Option<f64> {
    match metric.value {
        Value::Count(count) => Some(count as f64),
        Value::Ratio(_) => None,
    }
}

/// The counters of a launch, each instruction's.
#[derive(Debug)]
pub struct CountedLaunch {
    function: Function,
    counters: SiteCounters,
}

/// The line that has most of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CostliestLine {
    /// File and line, or the line of the PTX where it does not say this: `src/lib.rs:12`, `line 21 of the PTX`.
    pub place: String,
    /// The counter of this line alone.
    pub number: f64,
}

impl CountedLaunch {
    /// The counters of a launch of this kernel.
    pub fn new(function: Function, counters: SiteCounters) -> Self {
        Self { function, counters }
    }

    /// The number of a counter.
    pub fn of(&self, counter: Counter) -> f64 {
        counter.of(&self.counters.all().metrics())
    }

    /// The source line that has most of a counter.
    pub fn costliest(&self, counter: Counter) -> Option<CostliestLine> {
        let sites: Vec<Site> = self.counters.executed().collect();
        let mut lines: Vec<(String, Vec<Site>)> = Vec::new();
        for (site, position) in sites.iter().zip(Position::of_all(&self.function, &sites)) {
            let place = match position.source {
                Some((path, line)) => format!("{path}:{line}"),
                None => format!("line {} of the PTX", position.ptx_line),
            };
            match lines.iter_mut().find(|(own, _)| *own == place) {
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
