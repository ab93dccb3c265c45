//! Finding steps.

use serde::Deserialize;
use simt::Function;
use simt::code::Op;
use simt::observe::{Site, Space};

use super::Trace;

/// What to look for among a warp's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The next one.
    Step,
    /// The last one in this direction.
    End,
    /// A branch that splits the warp.
    Split,
    /// A barrier.
    Barrier,
    /// A request to global memory.
    Global,
    /// A request to shared memory.
    Shared,
    /// An instruction of the warp's lanes together: a shuffle, a vote.
    Warp,
    /// An instruction by its function and program counter.
    At(u32, u32),
}

impl Trace {
    /// The nearest step of a warp before or behind a step that is what is looked for.
    pub(crate) fn find(&self, function: &Function, step: u32, warp: u32, back: bool, target: Target) -> Option<u32> {
        let own = &self.warps.get(warp as usize)?.steps;
        // Of a warp that is elsewhere now, the step that it was at is the first one back.
        let (before, behind) = (own.partition_point(|at| *at < step), own.partition_point(|at| *at <= step));
        let is_found = |number: &usize| self.is(function, own, *number, target);
        let found = match (target, back) {
            (Target::End, true) => (before > 0).then_some(0),
            (Target::End, false) => own.len().checked_sub(1).filter(|last| *last >= behind),
            (_, true) => (0..before).rev().find(is_found),
            (_, false) => (behind..own.len()).find(is_found),
        };
        // A line may be clicked that the warp executed only before.
        let found = found.or_else(|| match target {
            Target::At(..) => (0..own.len()).find(is_found),
            _ => None,
        });
        found.map(|number| own[number])
    }

    fn is(&self, function: &Function, own: &[u32], number: usize, target: Target) -> bool {
        let step = &self.steps[own[number] as usize];
        let Site { function: at, pc } = step.site;
        let op = &function.program().functions[at as usize].code[pc as usize].op;
        let accesses = |space| self.accesses_of(own[number]).iter().any(|access| access.space == space);
        match target {
            Target::Step | Target::End => true,
            Target::Split => {
                matches!(op, Op::Branch { .. } | Op::BranchIndexed { .. })
                    && own.get(number + 1).is_some_and(|next| {
                        let next = self.steps[*next as usize].active;
                        next != step.active && next & !step.active == 0
                    })
            }
            Target::Barrier => matches!(op, Op::Barrier(_) | Op::ClusterBarrier { .. }),
            Target::Global => accesses(Space::Global),
            Target::Shared => accesses(Space::Shared),
            Target::Warp => matches!(op, Op::Warp(_) | Op::Matrix(_)),
            Target::At(function, pc) => step.site == Site { function, pc },
        }
    }
}
