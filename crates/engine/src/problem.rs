//! What a ladder computes: its buffers, its arguments, and the check of what comes out.

use serde::Serialize;

use crate::launch::{Arg, Launch};
use crate::options::Options;
use crate::peer::Peer;
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
    /// Added to by the kernel: zeroed before every launch.
    Sum,
    /// What blocks pass on to each other: zeroed once, and left as zeros by every launch.
    Workspace,
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

/// Values before and after a launch, to be shown one below the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// What was launched, in words: `warp_shuffle_up by 2, width 16`.
    pub what: String,
    /// The values that went in.
    pub before: Vec<String>,
    /// The values that came out, as many.
    pub after: Vec<String>,
}

/// One instance of what a ladder computes, for a size: all its rungs run on the same one.
///
/// Making one is cheap; its data are made when [`Problem::input`] or [`Problem::check`] first needs them,
/// so that a problem too large for a device is refused before the host's memory is filled with it.
pub trait Problem {
    /// The size in a few words: `n = 1000`, `31 × 33`.
    fn size(&self) -> String;

    /// The size and what else a caption should say of the problem.
    fn title(&self) -> String {
        self.size()
    }

    /// The column of a sweep's matrix that this problem belongs to.
    fn column(&self) -> String {
        self.size()
    }

    /// Options for a problem of about `share` of this one's bytes, as they are written on the command line,
    /// where the ladder has a size to change.
    fn smaller(&self, share: f64) -> Option<String>;

    /// The complete options that it was made from, with the values that it settled on itself.
    fn settled(&self, options: Options) -> Options {
        options
    }

    /// Which of the ladder's computations it is, as [`Entries::PerVariant`](crate::Entries::PerVariant)
    /// names them. Empty for the ladder's only or usual one.
    fn variant(&self) -> String {
        String::new()
    }

    /// The sides of what the grid has to cover, as [`Geometry::grid`](crate::launch::Geometry::grid)
    /// takes them.
    fn shape(&self) -> Vec<u64>;

    /// The buffers that the kernels take, inputs and outputs.
    fn buffers(&self) -> Vec<Buffer>;

    /// The bytes of an input buffer, by its index in [`Problem::buffers`]. Empty for an output.
    fn input(&self, index: usize) -> &[u8];

    /// The arguments of a rung's kernels.
    fn args(&self, rung: &Rung) -> Vec<Arg>;

    /// The bytes that have to move between memory and kernel at the least: what effective bandwidth is
    /// reckoned from. The ladder documents its convention.
    fn bytes(&self) -> u64;

    /// The floating-point operations of the computation, where they are what it is measured by.
    fn flops(&self) -> Option<u64> {
        None
    }

    /// The parts of the outputs that [`Problem::check`] wants after this launch.
    fn wanted(&self, launch: &Launch) -> Vec<Wanted>;

    /// Compares the outputs of a launch with the reference.
    ///
    /// `outputs` are the parts that [`Problem::wanted`] names, in its order. The outputs were filled with
    /// [`POISON`] before the launch.
    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict;

    /// Calls of NVIDIA's own libraries for the same work. Their buffers are prepared as a rung's.
    fn peers(&self) -> Vec<Peer> {
        Vec::new()
    }

    /// The parts of the outputs that [`Problem::check_peer`] wants after this peer's call.
    fn wanted_of_peer(&self, _peer: &Peer) -> Vec<Wanted> {
        Vec::new()
    }

    /// As [`Problem::check`], for one of [`Problem::peers`].
    fn check_peer(&self, peer: &Peer, _outputs: &[Vec<u8>]) -> Verdict {
        Verdict::Wrong(format!("this problem has no peer {}", peer.name))
    }

    /// What there is to see of a launch besides numbers, from the same `outputs`.
    fn picture(&self, _rung: &Rung, _launch: &Launch, _outputs: &[Vec<u8>]) -> Option<Picture> {
        None
    }
}

/// One digit and zeros of a size for which there is `share` of the room: it still fits when something else
/// has taken a little.
pub fn round_down(size: u64, share: f64) -> u64 {
    let fits = (size as f64 * share) as u64;
    let magnitude = 10u64.pow(fits.checked_ilog10().unwrap_or(0));
    fits / magnitude * magnitude
}

/// `n = 1024 (2^10)`, `n = 1000`.
pub fn with_power(n: u64) -> String {
    if n > 1 && n.is_power_of_two() {
        format!("n = {n} (2^{})", n.ilog2())
    } else {
        format!("n = {n}")
    }
}
