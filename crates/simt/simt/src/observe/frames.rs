//! The frames of a warp's calls.

use super::Site;

/// The position of a function's frame in the registers and local memory of its warp. Frames of lanes that call
/// different functions may have the same position, because each lane uses only its part of the registers and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FramePlace {
    /// The index of the function in the program.
    pub function: u32,
    /// The numbers of the frame's first 32-bit register, 64-bit register, and predicate.
    pub registers: [u32; 3],
    /// The offset of the frame in local memory.
    pub local: u32,
}

/// A function call by lanes of a warp, or their return from the function. Arguments and results have already been
/// copied between the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameChange {
    /// The call instruction in the caller.
    pub call: Site,
    /// The frame of the caller.
    pub caller: FramePlace,
    /// The frame of the called function; `None` for a function of CUDA's runtime, which has already returned.
    pub callee: Option<FramePlace>,
    /// Whether the lanes have returned from the function.
    pub returns: bool,
}
