//! Searches for steps.

use serde::Deserialize;
use simt::Function;
use simt::code::Op;
use simt::observe::{Site, Space};

use super::Trace;

/// The kind of step to find among a warp's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The next step.
    Step,
    /// The last step in the direction of the search.
    End,
    /// A branch at which the warp diverges.
    Split,
    /// A barrier.
    Barrier,
    /// A request to global memory.
    Global,
    /// A request to shared memory.
    Shared,
    /// An instruction that the warp's lanes execute together, such as a shuffle or a vote.
    Warp,
    /// The instruction with this function and program counter.
    At(u32, u32),
}

impl Trace {
    /// Returns the nearest step of a warp before or after `step` that matches `target`.
    pub(crate) fn find(&self, function: &Function, step: u32, warp: u32, back: bool, target: Target) -> Option<u32> {
        let steps = &self.warps.get(warp as usize)?.steps;
        // If another warp executed `step`, the first step backward is the warp's last step before `step`.
        let (before, after) = (steps.partition_point(|at| *at < step), steps.partition_point(|at| *at <= step));
        let is_found = |number: &usize| self.matches(function, steps, *number, target);
        let found = match (target, back) {
            (Target::End, true) => (before > 0).then_some(0),
            (Target::End, false) => steps.len().checked_sub(1).filter(|last| *last >= after),
            (_, true) => (0..before).rev().find(is_found),
            (_, false) => (after..steps.len()).find(is_found),
        };
        // The user can click a line that the warp executes only before `step`, so search all of the warp's steps.
        let found = found.or_else(|| match target {
            Target::At(..) => (0..steps.len()).find(is_found),
            _ => None,
        });
        found.map(|number| steps[number])
    }

    fn matches(&self, function: &Function, steps: &[u32], number: usize, target: Target) -> bool {
        let step = &self.steps[steps[number] as usize];
        let Site { function: at, pc } = step.site;
        let op = &function.program().functions[at as usize].code[pc as usize].op;
        let accesses = |space| self.accesses_of(steps[number]).iter().any(|access| access.space == space);
        match target {
            Target::Step | Target::End => true,
            Target::Split => {
                matches!(op, Op::Branch { .. } | Op::BranchIndexed { .. })
                    && steps.get(number + 1).is_some_and(|next| {
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
