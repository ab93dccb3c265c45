//! What a ladder computes: its buffers, its arguments, and the check of what comes out.

use crate::launch::{Arg, Launch};
use crate::registry::Rung;

/// Each byte of an output is this before a checked launch, so that a word that the kernel does not
/// write is no right answer by chance.
pub const POISON: u8 = 0xa5;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Filled from the host. An in-place rung destroys it, and it is restored before the next launch.
    Input,
    /// Written by the kernel.
    Output,
}

/// A buffer on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it is for.
    pub role: Role,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A part of an output that a check wants to see: the first `bytes` of buffer `buffer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The buffer's index in [`Problem::buffers`].
    pub buffer: usize,
    /// How many of its bytes, from the first.
    pub bytes: usize,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As the reference has it.
    Right,
    /// Not as the reference has it: which part differs, what was found and what was expected.
    Wrong(String),
}

impl Verdict {
    /// Whether the result was right.
    pub fn is_right(&self) -> bool {
        *self == Self::Right
    }
}

/// One instance of what a ladder computes, for a size: all its rungs run on the same one.
///
/// Making one is cheap; its data are made when [`Problem::input`] or [`Problem::check`] first needs them,
/// so that a problem too large for a device is refused before the host's memory is filled with it.
pub trait Problem {
    /// The size as the user gave it.
    fn n(&self) -> u64;

    /// The sides of what the grid has to cover, as [`Geometry::grid`](crate::launch::Geometry::grid)
    /// takes them.
    fn shape(&self) -> Vec<u64>;

    /// The buffers that the kernels take, inputs and outputs.
    fn buffers(&self) -> Vec<Buffer>;

    /// The bytes of an input buffer, by its index in [`Problem::buffers`]. Empty for an output.
    fn input(&self, index: usize) -> &[u8];

    /// The arguments that the ladder's kernels have in common.
    fn args(&self) -> Vec<Arg>;

    /// The bytes that have to move between memory and kernel at the least: what effective bandwidth is
    /// reckoned from. The ladder documents its convention.
    fn bytes(&self) -> u64;

    /// The parts of the outputs that [`Problem::check`] wants after this launch.
    fn wanted(&self, launch: &Launch) -> Vec<Wanted>;

    /// Compares the outputs of a launch with the reference.
    ///
    /// `outputs` are the parts that [`Problem::wanted`] names, in its order. The outputs were filled with
    /// [`POISON`] before the launch.
    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict;
}
