//! The changes to a kernel: a table of mutations. Each mutation has a function that returns the possible edits for an
//! instruction.

mod arithmetic;
mod barrier;
mod control;
mod memory;
mod place;
mod warp;

use std::ops::Range;

pub(crate) use place::InstructionSite;

/// A kind of change.
#[derive(Debug)]
pub struct Mutation {
    /// The name of the mutation, for example `drop-barrier`.
    pub name: &'static str,
    /// A short description of the change.
    pub what: &'static str,
    /// The evidence that proves a kernel with this change equivalent to the original.
    pub proof: Proof,
    /// Returns the edits for an instruction, or no edits if the mutation does not apply.
    edits: fn(&InstructionSite<'_>) -> Vec<Edit>,
}

/// The evidence that proves a mutant equivalent to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// On all problems, the mutant leaves the same contents in memory as its kernel, and no sanitizer reports a
    /// finding. Without races, the results of a kernel do not depend on the order in which its warps run.
    Memory,
    /// No launch proves equivalence, because the change allows other orders of accesses, but the simulator executes
    /// only one order.
    Nothing,
}

/// A replacement of a range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The range of replaced bytes.
    pub range: Range<usize>,
    /// The replacement text.
    pub with: String,
    /// A short description of the edit: `le instead of lt`.
    pub what: String,
}

impl Edit {
    /// Returns the text with this edit.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.range.start], &self.with, &text[self.range.end..]].concat()
    }
}

/// Constructors for the rows of the table.
mod row {
    use super::{Edit, InstructionSite, Mutation, Proof};

    type Edits = fn(&InstructionSite<'_>) -> Vec<Edit>;

    /// Creates a mutation that changes what threads do.
    pub(super) const fn act(name: &'static str, what: &'static str, edits: Edits) -> Mutation {
        Mutation { name, what, proof: Proof::Memory, edits }
    }

    /// Creates a mutation that changes the set of possible access orders.
    pub(super) const fn order(name: &'static str, what: &'static str, edits: Edits) -> Mutation {
        Mutation { name, what, proof: Proof::Nothing, edits }
    }
}

/// All mutations. To add a mutation, write a function and add its row here.
#[rustfmt::skip]
pub static ALL: &[Mutation] = &[
    row::act("drop-barrier", "a barrier of the block or of a warp is left out", barrier::drop),
    row::act("move-barrier-earlier", "a barrier is moved before the preceding access, branch or label", barrier::earlier),
    row::act("move-barrier-later", "a barrier is moved after the following access, branch or label", barrier::later),
    row::act("drop-wait", "the commit of a group of asynchronous copies, or the wait for it, is left out", barrier::drop_wait),
    row::act("wait-for-fewer", "one more group of asynchronous copies may be pending", barrier::wait_for_fewer),
    row::act("compare", "a comparison includes or excludes its boundary, or is inverted", control::compare),
    row::act("branch-always", "a branch is always taken", control::always),
    row::act("branch-never", "a branch is never taken", control::never),
    row::act("negate-guard", "a guard is negated", control::negate),
    row::act("drop-guard", "an instruction is executed without its guard", control::drop_guard),
    row::act("operation", "another operation: subtraction for addition, minimum for maximum", arithmetic::operation),
    row::act("swap-operands", "the operands of a subtraction, division, shift or selection are swapped", arithmetic::swap),
    row::act("constant", "a constant is one larger or one smaller", arithmetic::constant),
    row::act("offset", "an access is one element before or after its address", memory::offset),
    row::act("plain-atomic", "an atomic operation is replaced by a load and a store", memory::plain_atomic),
    row::act("shuffle-mode", "a shuffle has another mode", warp::mode),
    row::act("shuffle-lane", "a shuffle has another distance", warp::lane),
    row::act("shuffle-segment", "a shuffle has another segment width", warp::segment),
    row::act("lane-mask", "the lane mask of a warp operation lacks a lane", warp::mask),
    row::order("drop-fence", "a fence is left out", barrier::drop_fence),
    row::order("narrow-scope", "a fence, an atomic, a load or a store has only block scope", memory::narrow),
    row::order("weaken-order", "an atomic, a load, a store or a fence has a weaker memory order", memory::weaken),
];

/// Returns the mutation of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Mutation> {
    ALL.iter().find(|mutation| mutation.name == name)
}

/// Returns the edits of all mutations for one instruction.
pub(crate) fn edits<'a>(place: &'a InstructionSite<'a>) -> impl Iterator<Item = (&'static Mutation, Edit)> + 'a {
    ALL.iter().flat_map(move |mutation| (mutation.edits)(place).into_iter().map(move |edit| (mutation, edit)))
}

#[cfg(test)]
mod tests;
