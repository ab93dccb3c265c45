//! Asynchronous operations, modeled as separate threads. An operation starts with the knowledge of its issuer. Other
//! threads know of the operation after they have waited for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::clocks::Node;
use super::grid::{Agent, Grid, WarpNumber};
use super::threads::Tree;
use rustc_hash::FxBuildHasher;
use simt::observe::AsyncGroup;
use simt::regs::{LANES, lanes};

/// The maximum number of groups that are recorded for a lane that does not wait.
const MAX_GROUPS: usize = 64;

/// The asynchronous operations of a warp.
#[derive(Debug, Clone, Default)]
pub(super) struct Issued {
    /// The clock of the last operation.
    clock: u32,
    /// For each lane, the clocks at which its groups of `cp.async`, of bulk copies and of matrix products were
    /// committed.
    groups: [[VecDeque<u32>; LANES]; 3],
    pub(super) waited: WaitedClocks,
}

/// For each agent, the clocks of the last operations that each lane has waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitedClocks(Arc<[[u32; LANES]; 3]>);

impl Issued {
    /// Returns the clock of the last operation.
    pub(super) fn clock(&self) -> u32 {
        self.clock
    }

    /// Issues another operation and returns its clock.
    pub(super) fn issue(&mut self) -> u32 {
        self.clock += 1;
        self.clock
    }

    /// Records that lanes commit groups of operations by `agents` or wait for them. Returns the clock up to which the
    /// last lane has waited.
    pub(super) fn group(&mut self, mask: u32, agents: &[Agent], op: AsyncGroup) -> u32 {
        let queue = match agents[0] {
            Agent::Copies => 0,
            Agent::Products => 2,
            _ => 1,
        };
        let mut done = 0;
        for lane in lanes(mask) {
            let groups = &mut self.groups[queue][lane];
            done = match op {
                AsyncGroup::Commit => {
                    groups.push_back(self.clock);
                    if groups.len() > MAX_GROUPS {
                        groups.pop_front();
                    }
                    continue;
                }
                AsyncGroup::WaitAll => self.clock,
                AsyncGroup::Wait(left) => {
                    let over = groups.len().saturating_sub(usize::try_from(left).unwrap_or(usize::MAX));
                    let last = over.checked_sub(1).and_then(|last| groups.get(last).copied());
                    // Keep the groups after a wait for their reads, because a later wait may be for their writes.
                    if agents != [Agent::BulkReads] {
                        groups.drain(..over);
                    }
                    last.unwrap_or(0)
                }
            };
            let waited = Arc::make_mut(&mut self.waited.0);
            for agent in agents {
                if let Some(waited) = waited.get_mut(*agent as usize - 1) {
                    waited[lane] = done.max(waited[lane]);
                }
            }
        }
        done
    }
}

impl WaitedClocks {
    /// Returns the lanes that have waited for the operation of one of their agents at this clock.
    #[inline]
    pub(super) fn lanes(&self, agent: usize, clock: u32) -> u32 {
        let Some(waited) = self.0.get(agent.wrapping_sub(1)) else { return 0 };
        (0..LANES).filter(|lane| waited[*lane] >= clock).fold(0, |all, lane| all | 1 << lane)
    }

    /// Joins `known` with the operations that some lanes have waited for.
    pub(super) fn add_to(&self, mask: u32, warp: WarpNumber, known: &Node, grid: &Grid) -> Node {
        let agents = [Agent::Copies, Agent::BulkReads, Agent::BulkWrites];
        agents.into_iter().zip(&*self.0).fold(known.clone(), |known, (agent, waited)| {
            let mut waited = *waited;
            lanes(!mask).for_each(|lane| waited[lane] = 0);
            match waited.iter().all(|clock| *clock == 0) {
                true => known,
                false => known.join_at(grid.levels, grid.agent(warp, agent), &Node::leaf(waited)),
            }
        })
    }
}

/// The knowledge that an mbarrier transfers.
#[derive(Debug)]
struct Object {
    /// The knowledge of the threads that have arrived in the current phase.
    arrived: Tree,
    /// The knowledge of the threads that arrived in completed phases.
    over: Tree,
    /// Whether the phase has ended. The event for the arrival that ended it may still follow.
    ends: bool,
}

impl Object {
    const NEW: Self = Self { arrived: Tree::NONE, over: Tree::NONE, ends: false };

    /// Starts the next phase if the current one has ended.
    fn next(&mut self) {
        if std::mem::take(&mut self.ends) {
            self.over = self.over.join(&std::mem::replace(&mut self.arrived, Tree::NONE));
        }
    }
}

/// The mbarriers of the running blocks, by block and offset.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<u64, Object, FxBuildHasher>);

/// Returns a unique name for the address of an mbarrier.
pub(super) fn object(block: u64, at: u64) -> u64 {
    block << 24 | at
}

impl Objects {
    /// Starts an mbarrier.
    pub(super) fn begin(&mut self, name: u64) {
        self.0.insert(name, Object::NEW);
    }

    fn get(&mut self, name: u64) -> &mut Object {
        self.0.entry(name).or_insert(Object::NEW)
    }

    /// Records that the phase of an mbarrier ends.
    pub(super) fn ends(&mut self, name: u64) {
        let object = self.get(name);
        object.next();
        object.ends = true;
    }

    /// Records an arrival with its knowledge. If `may_end` is true, the arrival may belong to the phase whose end was
    /// already reported.
    pub(super) fn arrive(&mut self, name: u64, tree: &Tree, may_end: bool) {
        let object = self.get(name);
        if !may_end {
            object.next();
        }
        object.arrived = object.arrived.join(tree);
        object.next();
    }

    /// Returns the knowledge of the threads that arrived in completed phases.
    pub(super) fn over(&mut self, name: u64) -> Tree {
        let object = self.get(name);
        object.next();
        object.over.clone()
    }
}
