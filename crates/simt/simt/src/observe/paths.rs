//! The reconvergence stack of a warp, as observers see it.

use std::fmt;

use super::Site;

/// An entry of a warp's reconvergence stack: lanes that run together, and their position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    /// The next instruction of the lanes.
    pub site: Site,
    /// The lanes of the entry. A lane that is also in a higher entry is at the position of that entry, and returns to
    /// this entry later.
    pub lanes: u32,
    /// The program counter at which these lanes stop and wait for the lanes of the lower entries;
    /// [`NEVER`](crate::code::NEVER) if these lanes run to the end.
    pub reconverges_at: u32,
    /// What the lanes wait for.
    pub waits: Waits,
}

/// What the lanes of an entry of the reconvergence stack wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waits {
    /// The lanes do not wait and can continue.
    Nothing,
    /// The other lanes that the `membermask` of the instruction names.
    Lanes,
    /// The other threads of the block at this barrier; number 16 is the cluster's barrier.
    Barrier(u32),
    /// The remaining lanes of the warp, which must also arrive at this barrier.
    Warp(u32),
}

/// A function that appends the entries of a stack, the lowest first.
pub(crate) struct Paths<'a>(pub(crate) &'a dyn Fn(&mut Vec<Path>));

impl fmt::Debug for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entries = Vec::new();
        (self.0)(&mut entries);
        entries.fmt(f)
    }
}
