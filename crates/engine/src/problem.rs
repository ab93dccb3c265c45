//! What a ladder computes: its buffers, its arguments, and the check of what comes out.

use std::borrow::Cow;
use std::fmt;

use bytemuck::{AnyBitPattern, NoUninit};
use serde::Serialize;

use crate::launch::{Arg, Launch};
use crate::options::Options;
use rung::Rung;

/// Each byte of an output is this before a checked launch, so that a word that the kernel does not
/// write is no right answer by chance.
pub const POISON: u8 = 0xa5;

/// Bytes behind every buffer that a kernel writes. A check fails when a launch changes one of them.
pub const GUARD_BYTES: u64 = 256;

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

impl Role {
    /// What every byte of such a buffer and of its guard is before a checked launch; `None` for an input, which has
    /// the problem's data and no guard.
    pub fn initial_byte(self) -> Option<u8> {
        match self {
            Self::Input => None,
            Self::Output => Some(POISON),
            Self::Sum | Self::Workspace => Some(0),
        }
    }
}

/// A buffer on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it is for.
    pub role: Role,
    /// Its size in bytes, without its guard.
    pub bytes: u64,
}

impl Buffer {
    /// A buffer of `bytes` bytes for this.
    pub const fn new(role: Role, bytes: u64) -> Self {
        Self { role, bytes }
    }

    /// Bytes to allocate: its own and those of its guard.
    pub fn allocated_bytes(&self) -> u64 {
        match self.role {
            Role::Input => self.bytes,
            Role::Output | Role::Sum | Role::Workspace => self.bytes + GUARD_BYTES,
        }
    }
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
    /// Wrong in one element: `which` names it, `found` is what the kernel left there, and both values are given as they
    /// are to be shown.
    pub fn wrong_element<T: NoUninit>(
        which: impl fmt::Display,
        found: &T,
        shown: impl fmt::Display,
        right: impl fmt::Display,
    ) -> Self {
        let is_unwritten = bytemuck::bytes_of(found).iter().all(|&byte| byte == POISON);
        let unwritten = match is_unwritten {
            true => ", which is what was there before",
            false => "",
        };
        Self::Wrong(format!("{which} is {shown}{unwritten}; {right} is right"))
    }

    /// Whether every element of an output is the expected one. `which` names the element at an index.
    pub fn of_elements<T: NoUninit + AnyBitPattern + PartialEq + fmt::Display>(
        output: &[u8],
        expected: &[T],
        which: impl Fn(usize) -> String,
    ) -> Self {
        let found = elements::<T>(output);
        if found.len() != expected.len() {
            return Self::Wrong(format!(
                "the output has {} elements instead of {}",
                found.len(),
                expected.len()
            ));
        }
        let mut places = found.iter().zip(expected).enumerate();
        match places.find(|(_, (found, right))| found != right) {
            None => Self::Right,
            Some((index, (found, right))) => Self::wrong_element(which(index), found, found, right),
        }
    }

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
    fn smaller(&self, _share: f64) -> Option<String> {
        None
    }

    /// The complete options that it was made from, with the values that it settled on itself.
    fn resolved_options(&self, options: Options) -> Options {
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

    /// The arguments of a rung's kernels: unless the ladder says otherwise, its buffers in their order and the sides
    /// of its shape as 32-bit numbers.
    fn args(&self, _rung: &Rung) -> Vec<Arg> {
        let buffers = (0..self.buffers().len()).map(Arg::Buffer);
        let sides = self.shape().into_iter().map(|side| Arg::U32(side as u32));
        buffers.chain(sides).collect()
    }

    /// The bytes that have to move between memory and kernel at the least, from which effective bandwidth is computed:
    /// unless the ladder says otherwise, every input and every output once.
    fn bytes(&self) -> u64 {
        let buffers = self.buffers().into_iter();
        let moved = buffers.filter(|buffer| matches!(buffer.role, Role::Input | Role::Output));
        moved.map(|buffer| buffer.bytes).sum()
    }

    /// The floating-point operations of the computation, where they are what it is measured by.
    fn flops(&self) -> Option<u64> {
        None
    }

    /// How many bytes of an output a launch writes, from the buffer's first: all of them unless the ladder says
    /// otherwise. What is behind them has to stay as it was.
    fn written_bytes(&self, _launch: &Launch, buffer: usize) -> u64 {
        self.buffers()[buffer].bytes
    }

    /// Compares the outputs of a launch with the reference.
    ///
    /// `outputs` are the [`Role::Output`] and [`Role::Sum`] buffers among the launch's arguments, in the order of the
    /// arguments, each [`Problem::written_bytes`] long. An output was filled with [`POISON`] before the launch, a sum
    /// with zeros.
    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict;

    /// What there is to see of a launch besides numbers, from the same `outputs`.
    fn picture(&self, _rung: &Rung, _launch: &Launch, _outputs: &[Vec<u8>]) -> Option<Picture> {
        None
    }
}

/// The elements in some bytes; bytes behind the last whole element are left out.
pub fn elements<T: AnyBitPattern>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(elements) => Cow::Borrowed(elements),
        // The bytes are not aligned as the elements have to be.
        Err(_) => bytes
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect(),
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
