//! What is changed in a kernel: a table of mutations, each a function from an instruction to edits of the text.

mod arithmetic;
mod barrier;
mod control;
mod memory;
mod place;
mod warp;

use std::ops::Range;

pub(crate) use place::Place;

/// A kind of change.
#[derive(Debug)]
pub struct Mutation {
    /// Its name: `drop-barrier`.
    pub name: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    /// Whether it changes only which orders of accesses are possible, so that a launch that accesses the same memory in
    /// the same order is no proof that the kernel still means the same.
    pub is_ordering: bool,
    /// The edits that it makes of an instruction; none where it does not apply.
    edits: fn(&Place<'_>) -> Vec<Edit>,
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
    /// The text with this edit.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.range.start], &self.with, &text[self.range.end..]].concat()
    }
}

const fn row(name: &'static str, what: &'static str, edits: fn(&Place<'_>) -> Vec<Edit>) -> Mutation {
    Mutation { name, what, is_ordering: false, edits }
}

const fn ordering(name: &'static str, what: &'static str, edits: fn(&Place<'_>) -> Vec<Edit>) -> Mutation {
    Mutation { name, what, is_ordering: true, edits }
}

/// All mutations. A further one is a function and its row here.
#[rustfmt::skip]
pub static ALL: &[Mutation] = &[
    row("drop-barrier", "a barrier of the block or of a warp is left out", barrier::drop),
    row("move-barrier-earlier", "a barrier stands before the access, branch or label that it followed", barrier::earlier),
    row("move-barrier-later", "a barrier stands behind the access, branch or label that it preceded", barrier::later),
    row("drop-wait", "the end of a group of asynchronous copies, or the wait for it, is left out", barrier::drop_wait),
    row("wait-for-fewer", "one group of asynchronous copies more may be under way", barrier::wait_for_fewer),
    row("compare", "a comparison includes or excludes its boundary, or is of the opposite kind", control::compare),
    row("branch-always", "a branch is always taken", control::always),
    row("branch-never", "a branch is never taken", control::never),
    row("negate-guard", "a guard is negated", control::negate),
    row("drop-guard", "an instruction is executed whatever its guard says", control::drop_guard),
    row("operation", "another operation: subtraction for addition, minimum for maximum", arithmetic::operation),
    row("swap-operands", "the operands of a subtraction, division, shift or selection are exchanged", arithmetic::swap),
    row("constant", "a constant is one larger or one smaller", arithmetic::constant),
    row("offset", "an access is one element before or behind", memory::offset),
    row("plain-atomic", "an atomic operation is a load and a store", memory::plain_atomic),
    row("shuffle-mode", "a shuffle goes in another direction", warp::mode),
    row("shuffle-lane", "a shuffle is by another distance", warp::lane),
    row("shuffle-segment", "a shuffle is within other lanes", warp::segment),
    row("lane-mask", "the mask of an operation of a warp lacks a lane", warp::mask),
    ordering("drop-fence", "a fence is left out", barrier::drop_fence),
    ordering("narrow-scope", "a fence, an atomic, a load or a store is for the threads of the block only", memory::narrow),
    ordering("weaken-order", "an atomic, a load, a store or a fence orders less than it did", memory::weaken),
];

/// The mutation of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Mutation> {
    ALL.iter().find(|own| own.name == name)
}

/// The edits that all mutations make of one instruction.
pub(crate) fn edits<'a>(place: &'a Place<'a>) -> impl Iterator<Item = (&'static Mutation, Edit)> + 'a {
    ALL.iter().flat_map(move |mutation| (mutation.edits)(place).into_iter().map(move |edit| (mutation, edit)))
}

#[cfg(test)]
mod tests;
