//! The frames of a warp's calls.

use super::Site;

/// Where the frame of a function lies among what its warp has. Frames of lanes that call different functions may lie at the
/// same place: each lane uses its own values there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FramePlace {
    /// Index into the functions of the program.
    pub function: u32,
    /// The numbers of its first registers of 32 bits, of 64 bits, and of its first predicate.
    pub registers: [u32; 3],
    /// Where it begins in local memory.
    pub local: u32,
}

/// Lanes of a warp have called a function, or have returned from one. Arguments and results are copied between the frames
/// by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameChange {
    /// The call, in the caller.
    pub call: Site,
    /// The frame of the caller.
    pub caller: FramePlace,
    /// The frame of the function; `None` for one of CUDA's runtime, which has returned already.
    pub callee: Option<FramePlace>,
    /// Whether the lanes have returned from it.
    pub returns: bool,
}
