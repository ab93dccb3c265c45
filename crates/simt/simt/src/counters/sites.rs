//! Counters of each instruction.

use crate::module::Function;
use crate::observe::{Access, BarrierArrival, Observer, Site, WarpId};

use super::{Counters, Events, METRICS, Metric};

/// [`Counters`] that also record which instruction caused each count.
///
/// The counts of a launch are sums over its instructions, so the metrics of all sites together equal those of the
/// launch.
#[derive(Debug, Clone)]
pub struct SiteCounters {
    all: Counters,
    /// For each instruction, in the order of [`Counters`]: the events that do not follow from the number of executions.
    events: Vec<Events>,
}

impl SiteCounters {
    /// Creates counters for launches of `function`, all zero.
    pub fn new(function: &Function) -> Self {
        let all = Counters::new(function);
        let events = vec![Events::default(); all.executed.len()];
        Self { all, events }
    }

    /// Returns the counters of the whole launch.
    pub fn all(&self) -> &Counters {
        &self.all
    }

    /// Returns every metric of some instructions, in the order of [`METRICS`], as if the launch had executed only these
    /// instructions. The numbers of blocks and warps are those of the launch.
    pub fn metrics_of(&self, sites: &[Site]) -> Vec<Metric> {
        let Events { blocks, warps, .. } = self.all.events;
        let mut events = Events { blocks, warps, ..Events::default() };
        sites.iter().for_each(|site| events.add(&self.events[self.all.slot(*site)]));
        let totals = self.all.totals_of(events, |site| sites.contains(&site));
        METRICS.iter().map(|definition| definition.of(&totals)).collect()
    }

    /// Returns the instructions of the program that warps have executed, ordered by function.
    pub fn executed(&self) -> impl Iterator<Item = Site> {
        let functions = self.all.program.functions.iter().enumerate();
        let sites = functions.flat_map(|(function, func)| {
            (0..func.code.len()).map(move |pc| Site { function: function as u32, pc: pc as u32 })
        });
        sites.filter(|site| self.all.executed_at(*site).is_some_and(|(warps, _)| warps > 0))
    }

    /// Runs `count` on the counters of the whole launch, and also adds the counted events to those of the instruction.
    fn count(&mut self, site: Site, count: impl FnOnce(&mut Counters)) {
        let before = std::mem::take(&mut self.all.events);
        count(&mut self.all);
        let slot = self.all.slot(site);
        self.events[slot].add(&self.all.events);
        self.all.events.add(&before);
    }
}

impl Observer for SiteCounters {
    fn fork(&self) -> Self {
        Self { all: self.all.fork(), events: vec![Events::default(); self.events.len()] }
    }

    fn merge(&mut self, other: Self) {
        self.all.merge(other.all);
        self.events.iter_mut().zip(&other.events).for_each(|(sum, added)| sum.add(added));
    }

    fn executed(&mut self, first: Site, count: u32, active: u32) {
        self.all.executed(first, count, active);
    }

    fn branch(&mut self, site: Site, active: u32, taken: u32) {
        self.all.branch(site, active, taken);
    }

    fn access(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>) {
        self.count(site, |all| all.access(site, warp_id, access));
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        self.count(arrival.site, |all| all.barrier(arrival));
    }

    fn block(&mut self, block: u64, warps: u32, threads: u32) {
        self.all.block(block, warps, threads);
    }
}
