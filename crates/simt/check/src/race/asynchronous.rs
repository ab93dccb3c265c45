//! Asynchronous operations as threads of their own: each begins with what its issuer knows, and others know of it when they
//! have waited for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::clocks::Node;
use super::grid::{Agent, Grid, WarpNumber};
use super::threads::Tree;
use rustc_hash::FxBuildHasher;
use simt::observe::AsyncGroup;
use simt::regs::{LANES, lanes};

/// Groups that are kept of a lane that does not wait.
const GROUPS: usize = 64;

/// The asynchronous operations of a warp.
#[derive(Debug, Clone, Default)]
pub(super) struct Issued {
    /// The clock of the last one.
    clock: u32,
    /// Of each lane the clocks at which its groups were committed: of `cp.async`, of bulk copies, and of
    /// products.
    groups: [[VecDeque<u32>; LANES]; 3],
    pub(super) waited: WaitedClocks,
}

/// The clocks of the last operations that each lane has waited for, of the agents that belong to lanes.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitedClocks(Arc<[[u32; LANES]; 3]>);

impl Issued {
    /// The clock of the last one.
    pub(super) fn clock(&self) -> u32 {
        self.clock
    }

    /// One more is issued: its clock.
    pub(super) fn issue(&mut self) -> u32 {
        self.clock += 1;
        self.clock
    }

    /// Lanes commit groups of what these agents do or wait for them: the clock up to which the last lane has waited.
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
                    if groups.len() > GROUPS {
                        groups.pop_front();
                    }
                    continue;
                }
                AsyncGroup::WaitAll => self.clock,
                AsyncGroup::Wait(left) => {
                    let over = groups.len().saturating_sub(usize::try_from(left).unwrap_or(usize::MAX));
                    let last = over.checked_sub(1).and_then(|last| groups.get(last).copied());
                    // Of those whose reads are over the writes may have to be waited for once more.
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
    /// The lanes that have waited for what an agent of theirs did at this clock.
    #[inline]
    pub(super) fn lanes(&self, agent: usize, clock: u32) -> u32 {
        let Some(waited) = self.0.get(agent.wrapping_sub(1)) else { return 0 };
        (0..LANES).filter(|lane| waited[*lane] >= clock).fold(0, |all, lane| all | 1 << lane)
    }

    /// What is known, and the operations that some lanes have waited for.
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

/// What an mbarrier hands over.
#[derive(Debug)]
struct Object {
    /// What those know that have arrived in the phase.
    arrived: Tree,
    /// What those know that arrived in the phases before.
    over: Tree,
    /// Whether the phase has ended, and the arrival that ended it may still be told.
    ends: bool,
}

impl Object {
    const NEW: Self = Self { arrived: Tree::NONE, over: Tree::NONE, ends: false };

    /// The next phase begins, if that is due.
    fn next(&mut self) {
        if std::mem::take(&mut self.ends) {
            self.over = self.over.join(&std::mem::replace(&mut self.arrived, Tree::NONE));
        }
    }
}

/// The mbarriers of the blocks that run: by block and offset.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<u64, Object, FxBuildHasher>);

/// The name of an object.
pub(super) fn object(block: u64, at: u64) -> u64 {
    block << 24 | at
}

impl Objects {
    /// It begins.
    pub(super) fn begin(&mut self, name: u64) {
        self.0.insert(name, Object::NEW);
    }

    fn get(&mut self, name: u64) -> &mut Object {
        self.0.entry(name).or_insert(Object::NEW)
    }

    /// Its phase ends.
    pub(super) fn ends(&mut self, name: u64) {
        let object = self.get(name);
        object.next();
        object.ends = true;
    }

    /// Something arrives. It `may_end` the phase whose end was told before.
    pub(super) fn arrive(&mut self, name: u64, tree: &Tree, may_end: bool) {
        let object = self.get(name);
        if !may_end {
            object.next();
        }
        object.arrived = object.arrived.join(tree);
        object.next();
    }

    /// What those know that have arrived in the phases that are over.
    pub(super) fn over(&mut self, name: u64) -> Tree {
        let object = self.get(name);
        object.next();
        object.over.clone()
    }
}
