//! The sanitizer `sync`: incorrect use of barriers, masks and waits.
//!
//! # Algorithm
//!
//! If no thread can continue from a wait, the simulator reports a fault, which [`faults`] describes. The sanitizer also
//! reports errors after which a GPU may continue, but whose effect the PTX ISA leaves undefined ("Parallel
//! Synchronization and Communication Instructions"):
//!
//! - threads that reach an `.aligned` barrier at different instructions, and a barrier that is used in two ways at once
//!   ([`barriers`]);
//! - masks that differ between the lanes that they name, that name lanes that have ended, or that leave out the
//!   executing lane;
//! - mbarriers that are used in a wrong phase or before they exist ([`objects`]);
//! - asynchronous copies that are still running when the block whose shared memory they use ends;
//! - blocks of a cluster that end before the other blocks have finished with their memory ([`clusters`]).
//!
//! # What it can miss
//!
//! - Barriers and masks on paths that this run does not take.
//! - A deadlock that occurs only in another order of the threads.
//! - Barriers whose number of threads happens to match in this run.

mod barriers;
mod clusters;
mod objects;

use std::sync::Arc;

use super::checker::Checker;
use super::checks::Extra;
use super::facts::LaunchFacts;
use super::faults::{
    NAME_ALL_LANES, NAME_PRESENT_LANES, absent_lanes_message, format_lanes, opcode, unnamed_lanes_message,
};
use super::finding::{self, Findings, RawFinding, ThreadAtSite};
use barriers::Barriers;
use clusters::Clusters;
use objects::Objects;
use simt::Function;
use simt::observe::{Access, BarrierArrival, MbarrierEvent, Mistake, Place, Places, Scope, Site, Space, WarpId};
use simt::run::{Simulator, unravel};

/// The state of the check during one launch.
pub(super) struct Sync {
    facts: Arc<LaunchFacts>,
    findings: Findings,
    barriers: Barriers,
    objects: Objects,
    clusters: Clusters,
}

impl Sync {
    /// Creates the check of a launch. The check also reports [`Extra::Barriers`](super::Extra::Barriers) if that option
    /// is enabled.
    pub(super) fn new(_: &mut Simulator, facts: Arc<LaunchFacts>) -> Self {
        Self {
            findings: Findings::default(),
            barriers: Barriers::new(facts.checks.has_extra(Extra::Barriers)),
            objects: Objects::default(),
            clusters: Clusters::default(),
            facts,
        }
    }
}

impl Checker for Sync {
    fn barrier(&mut self, arrival: &BarrierArrival) {
        self.barriers.arrive(&self.facts, arrival, &mut self.findings);
    }

    fn released(&mut self, block: u64, id: u32) {
        self.barriers.released(&self.facts, block, id, &mut self.findings);
        self.objects.block_meets(block);
    }

    fn mbarrier(&mut self, site: Site, warp_id: WarpId, event: &MbarrierEvent) {
        let party = party(site, warp_id, event.lanes.trailing_zeros());
        self.objects.record(&self.facts, party, event, &mut self.findings);
        self.clusters.uses_object(party, event.what, event.rank);
    }

    fn located(&mut self, site: Site, warp_id: WarpId, access: &Access<'_>, _: &Places<'_>) {
        let party = party(site, warp_id, access.mask.trailing_zeros());
        self.clusters.accesses(&self.facts, party, access.kind, access.rank);
    }

    fn fence(&mut self, _: Site, warp_id: WarpId, _: u32, _: Scope) {
        self.clusters.may_have_waited(warp_id.block);
    }

    fn cluster(&mut self, blocks: &[u64]) {
        self.clusters.begin(blocks);
    }

    fn block(&mut self, block: u64, _: u32, threads: u32) {
        self.clusters.block(block, threads);
    }

    fn cluster_barrier(&mut self, site: Site, warp_id: WarpId, lanes: u32, waits: bool) {
        if !waits {
            let party = party(site, warp_id, lanes.trailing_zeros());
            self.clusters.arrives(&self.facts, party, &mut self.findings);
        }
    }

    fn cluster_released(&mut self, block: u64) {
        self.clusters.released(block);
    }

    fn exited(&mut self, site: Site, warp_id: WarpId, lanes: u32) {
        let party = party(site, warp_id, lanes.trailing_zeros());
        self.clusters.exited(&self.facts, party, lanes.count_ones(), &mut self.findings);
        self.barriers.exited(party, lanes.count_ones());
    }

    fn block_ended(&mut self, block: u64) {
        self.barriers.block_ended(block);
        self.objects.block_ended(block);
        self.clusters.block_ended(block);
    }

    fn mistake(&mut self, site: Site, warp_id: WarpId, lanes: u32, mistake: &Mistake) {
        let party = party(site, warp_id, lanes.trailing_zeros());
        let finding = |what: String, help: &'static str| RawFinding {
            what,
            action: None,
            help: help.into(),
            party,
            address: None,
            place: None,
            other: None,
        };
        match *mistake {
            // If the value matters, the sanitizer `init` reports it.
            Mistake::AbsentSource => {}
            Mistake::UnnamedLanes => {
                self.findings.add("masks", site, None, 1, || {
                    finding(unnamed_lanes_message(opcode_at(&self.facts.function, site), lanes), NAME_ALL_LANES)
                });
            }
            Mistake::EndedLanes { lanes, at, lane } => {
                self.findings.add("masks", site, None, 1, || {
                    let other = Some(("has ended there".to_owned(), self::party(at, warp_id, lane)));
                    let what = absent_lanes_message(opcode_at(&self.facts.function, site), lanes);
                    RawFinding { other, ..finding(what, NAME_PRESENT_LANES) }
                });
            }
            Mistake::DifferentMasks { lane: (lane, mask), other: (other_lane, other_mask) } => {
                self.findings.add("masks", site, None, 1, || {
                    let what = format!(
                        "lane {lane} names lane {other_lane} in its mask {mask:#010x}, but lane {other_lane} executes \
                         the same instruction with mask {other_mask:#010x}: which lanes wait for each other is undefined"
                    );
                    let help = "give all lanes that a mask names the same mask";
                    RawFinding { party: self::party(site, warp_id, lane), ..finding(what, help) }
                });
            }
            Mistake::CopyInFlight { block, at, bytes, write } => {
                let does = if write { "into" } else { "out of" };
                self.findings.add("under way", site, None, 1, || {
                    let [x, y, z] = unravel(block, self.facts.grid);
                    let what = format!(
                        "asynchronous copy of {bytes} bytes {does} the shared memory of block ({x}, {y}, {z}) still runs \
                         when the block ends; the copy was started by {}",
                        format_lanes(lanes)
                    );
                    let help = "wait for it (`cp.async.wait_all`, `cp.async.bulk.wait_group` or its mbarrier) before the \
                                last thread of the block ends";
                    RawFinding { address: Some(at), place: shared_variable(&self.facts, at), ..finding(what, help) }
                });
            }
        }
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

/// Returns the thread of a warp's lane at an instruction.
fn party(site: Site, warp_id: WarpId, lane: u32) -> ThreadAtSite {
    ThreadAtSite { site, block: warp_id.block, thread: warp_id.warp * 32 + lane }
}

/// Returns the opcode of an instruction.
fn opcode_at(function: &Function, site: Site) -> &str {
    opcode(function.text_at(site))
}

/// Describes the variable of shared memory that contains an address.
fn shared_variable(facts: &LaunchFacts, at: u64) -> Option<String> {
    let mut named = facts.function.program().shared.iter();
    let (name, range) = named.find(|(_, range)| range.contains(&at))?;
    let place = Place { variable: Some(name), base: range.start, bytes: range.end - range.start };
    Some(finding::describe_memory(facts, Space::Shared, &place, at))
}
