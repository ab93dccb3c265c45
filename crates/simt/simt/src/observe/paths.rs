//! The reconvergence stack of a warp, as observers see it.

use std::fmt;

use super::Site;

/// An entry of a warp's reconvergence stack: lanes that run together, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    /// The instruction that they come to next.
    pub site: Site,
    /// The lanes. Those that stand in an entry above are somewhere else: they come back to this one.
    pub lanes: u32,
    /// The program counter where they stop and wait for the lanes of the entries below;
    /// [`NEVER`](crate::code::NEVER) if they run on to the end.
    pub reconverges_at: u32,
    /// What they wait for.
    pub waits: Waits,
}

/// What the lanes of an entry of the reconvergence stack wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waits {
    /// Nothing: they can be executed.
    Nothing,
    /// For other lanes that the `membermask` of their instruction names.
    Lanes,
    /// At this barrier of the block, for its other threads; 16 stands for the cluster's.
    Barrier(u32),
    /// At this barrier, for the rest of their warp.
    Warp(u32),
}

/// Appends the entries of a stack, the lowest first.
pub(crate) struct Paths<'a>(pub(crate) &'a dyn Fn(&mut Vec<Path>));

impl fmt::Debug for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entries = Vec::new();
        (self.0)(&mut entries);
        entries.fmt(f)
    }
}
