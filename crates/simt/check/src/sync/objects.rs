//! Checks that mbarriers are not initialized twice, and that threads do not wait for a phase that completed long ago.
//!
//! A wait by parity cannot distinguish a phase from the phase after the next one. A thread that starts its wait too
//! late therefore waits for the wrong phase. For each warp, the check tracks the last phase that the warp knows to be
//! complete. It reports a failing wait for the next phase if that phase and its successor are already complete. Warps
//! share this knowledge when they wait for each other or on another mbarrier.

use std::collections::HashMap;

use super::shared_variable;
use crate::facts::LaunchFacts;
use crate::finding::{Findings, RawFinding, ThreadAtSite};
use simt::observe::{MbarrierEvent, MbarrierUse};
use simt::run::{ravel, unravel};

/// The mbarriers of all blocks, by block and address in its shared memory.
#[derive(Default)]
pub(super) struct Objects(HashMap<(u64, u64), Object>);

struct Object {
    initialized: ThreadAtSite,
    /// The number of the current phase, from 0.
    phase: u64,
    /// For each warp of the mbarrier's block, the number of phases that the warp knows to be complete.
    known: HashMap<u32, u64>,
    max_known: u64,
}

impl Objects {
    /// Records an operation of `party` on an mbarrier.
    pub(super) fn record(
        &mut self,
        facts: &LaunchFacts,
        party: ThreadAtSite,
        event: &MbarrierEvent,
        findings: &mut Findings,
    ) {
        let MbarrierEvent { rank, at, what, .. } = *event;
        let owner = block_of(facts, party.block, rank);
        let key = (owner, at);
        let warp = party.thread / 32;
        match what {
            MbarrierUse::Init => {
                let new = Object { initialized: party, phase: 0, known: HashMap::new(), max_known: 0 };
                if let Some(before) = self.0.insert(key, new) {
                    let before = before.initialized;
                    findings.add("initialized twice", party.site, Some(before.site), 1, || RawFinding {
                        what: "an mbarrier is initialized again while it is in use, which is undefined".to_owned(),
                        action: None,
                        help: "invalidate it first (`mbarrier.inval`), or initialize it once".into(),
                        party,
                        address: Some(at),
                        place: shared_variable(facts, at),
                        other: Some(("initializes it first".to_owned(), before)),
                    });
                }
            }
            MbarrierUse::Inval => drop(self.0.remove(&key)),
            MbarrierUse::PhaseEnds => {
                if let Some(object) = self.0.get_mut(&key) {
                    object.phase += 1;
                }
            }
            // Other blocks arrive at the mbarrier, but do not wait for it.
            MbarrierUse::Bytes | MbarrierUse::CopiesArrive => {}
            MbarrierUse::Arrive | MbarrierUse::Wait { .. } if owner != party.block => {}
            MbarrierUse::Arrive => {
                if let Some(object) = self.0.get_mut(&key) {
                    object.knows(warp);
                }
            }
            MbarrierUse::Wait { over: true, .. } => {
                if let Some(object) = self.0.get_mut(&key) {
                    object.knows(warp);
                }
                let others = self.0.iter_mut().filter(|((block, place), _)| *block == owner && *place != at);
                others.for_each(|(_, object)| object.learns(warp));
            }
            MbarrierUse::Wait { over: false, by_parity } => {
                let Some(object) = self.0.get(&key).filter(|_| by_parity) else { return };
                // The wait is for the current phase, whose number equals the number of completed phases.
                let Some(known) = object.known.get(&warp).copied() else { return };
                let missed = object.phase.saturating_sub(known);
                if missed >= 2 && missed.is_multiple_of(2) {
                    findings.add("phase missed", party.site, None, 1, || RawFinding {
                        what: format!(
                            "waits for phase {known} of an mbarrier, counted from 0, by its parity {}, after {missed} \
                             more phases have completed, so it waits for phase {} instead, which has the same parity",
                            known % 2,
                            object.phase
                        ),
                        action: None,
                        help: "let the others wait for this thread before they begin another phase".into(),
                        party,
                        address: Some(at),
                        place: shared_variable(facts, at),
                        other: None,
                    });
                }
            }
        }
    }

    /// Records that all warps of a block, or some of them, have waited for each other.
    pub(super) fn block_meets(&mut self, block: u64) {
        for object in self.0.iter_mut().filter(|((owner, _), _)| *owner == block).map(|(_, object)| object) {
            let max_known = object.max_known;
            object.known.values_mut().for_each(|known| *known = max_known);
        }
    }

    pub(super) fn block_ended(&mut self, block: u64) {
        self.0.retain(|(owner, _), _| *owner != block);
    }
}

impl Object {
    /// Records that a warp knows that all phases before the current one are complete.
    fn knows(&mut self, warp: u32) {
        self.known.insert(warp, self.phase);
        self.max_known = self.max_known.max(self.phase);
    }

    /// Gives a warp the knowledge of all other warps.
    fn learns(&mut self, warp: u32) {
        let max_known = self.max_known;
        if let Some(known) = self.known.get_mut(&warp) {
            *known = max_known;
        }
    }
}

/// Returns the number of the block with this rank in the cluster of `block`.
fn block_of(facts: &LaunchFacts, block: u64, rank: u32) -> u64 {
    let cluster = facts.cluster;
    if cluster == [1; 3] {
        return block;
    }
    let (at, offset) = (unravel(block, facts.grid), unravel(rank.into(), cluster));
    let in_grid = std::array::from_fn(|axis| at[axis] / cluster[axis] * cluster[axis] + offset[axis]);
    ravel(in_grid, facts.grid)
}
