//! What is changed in a kernel: a table of mutations, each a function from an instruction to edits of the text.

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
    /// Its name: `drop-barrier`.
    pub name: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    /// What shows that a kernel with this change still means the same.
    pub proof: Proof,
    /// The edits that it makes of an instruction; none where it does not apply.
    edits: fn(&InstructionSite<'_>) -> Vec<Edit>,
}

/// What shows that a changed kernel means the same as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// On all problems, it leaves the same in all memory and no sanitizer finds anything. The results of a kernel without
    /// races do not depend on the order in which its warps run.
    Memory,
    /// Nothing that a launch does. For changes of which orders of accesses are possible: the machine executes one of them.
    Nothing,
}

/// A replacement of one range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// What stands there instead.
    pub with: String,
    /// What was done, in a few words: `le instead of lt`.
    pub what: String,
}

impl Edit {
    /// Returns the text with this edit.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.range.start], &self.with, &text[self.range.end..]].concat()
    }
}

/// Rows of the table.
mod row {
    use super::{Edit, InstructionSite, Mutation, Proof};

    type Edits = fn(&InstructionSite<'_>) -> Vec<Edit>;

    /// A change of what threads do.
    pub(super) const fn act(name: &'static str, what: &'static str, edits: Edits) -> Mutation {
        Mutation { name, what, proof: Proof::Memory, edits }
    }

    /// A change of which orders of accesses are possible.
    pub(super) const fn order(name: &'static str, what: &'static str, edits: Edits) -> Mutation {
        Mutation { name, what, proof: Proof::Nothing, edits }
    }
}

/// All mutations. A further one is a function and its row here.
#[rustfmt::skip]
pub static ALL: &[Mutation] = &[
    row::act("drop-barrier", "a barrier of the block or of a warp is left out", barrier::drop),
    row::act("move-barrier-earlier", "a barrier stands before the access, branch or label that it followed", barrier::earlier),
    row::act("move-barrier-later", "a barrier stands behind the access, branch or label that it preceded", barrier::later),
    row::act("drop-wait", "the end of a group of asynchronous copies, or the wait for it, is left out", barrier::drop_wait),
    row::act("wait-for-fewer", "one group of asynchronous copies more may be under way", barrier::wait_for_fewer),
    row::act("compare", "a comparison includes or excludes its boundary, or is of the opposite kind", control::compare),
    row::act("branch-always", "a branch is always taken", control::always),
    row::act("branch-never", "a branch is never taken", control::never),
    row::act("negate-guard", "a guard is negated", control::negate),
    row::act("drop-guard", "an instruction is executed whatever its guard says", control::drop_guard),
    row::act("operation", "another operation: subtraction for addition, minimum for maximum", arithmetic::operation),
    row::act("swap-operands", "the operands of a subtraction, division, shift or selection are exchanged", arithmetic::swap),
    row::act("constant", "a constant is one larger or one smaller", arithmetic::constant),
    row::act("offset", "an access is one element before or behind", memory::offset),
    row::act("plain-atomic", "an atomic operation is a load and a store", memory::plain_atomic),
    row::act("shuffle-mode", "a shuffle goes in another direction", warp::mode),
    row::act("shuffle-lane", "a shuffle is by another distance", warp::lane),
    row::act("shuffle-segment", "a shuffle is within other lanes", warp::segment),
    row::act("lane-mask", "the mask of an operation of a warp lacks a lane", warp::mask),
    row::order("drop-fence", "a fence is left out", barrier::drop_fence),
    row::order("narrow-scope", "a fence, an atomic, a load or a store is for the threads of the block only", memory::narrow),
    row::order("weaken-order", "an atomic, a load, a store or a fence orders less than it did", memory::weaken),
];

/// Returns the mutation of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Mutation> {
    ALL.iter().find(|own| own.name == name)
}

/// Returns the edits that all mutations make of one instruction.
pub(crate) fn edits<'a>(place: &'a InstructionSite<'a>) -> impl Iterator<Item = (&'static Mutation, Edit)> + 'a {
    ALL.iter().flat_map(move |mutation| (mutation.edits)(place).into_iter().map(move |edit| (mutation, edit)))
}

#[cfg(test)]
mod tests;
