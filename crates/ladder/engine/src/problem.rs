//! The problem that a ladder computes: its buffers, its arguments and the check of its results.

use std::borrow::Cow;
use std::fmt;

use bytemuck::{AnyBitPattern, NoUninit};
use serde::{Deserialize, Serialize};

use crate::launch::{Arg, Launch};
use crate::options::Options;
use rung::{DeviceProperties, Rung};

/// The value of each byte of an output before a checked launch. Because of this poison, an element that the kernel does
/// not write cannot be right by chance.
pub const POISON: u8 = 0xa5;

/// The size in bytes of the guard after every buffer that a kernel writes. A check fails when a launch changes a byte
/// of the guard.
pub const GUARD_BYTES: u64 = 256;

/// The purpose of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Filled from the host. An in-place rung overwrites the buffer, which is then restored before the next launch.
    Input,
    /// Written by the kernel.
    Output,
    /// The kernel accumulates into this buffer, which is zeroed before every launch.
    Sum,
    /// Used by blocks to communicate. The buffer is zeroed once, and every launch leaves it zeroed.
    Workspace,
    /// Used by blocks to communicate. The buffer is zeroed once, and keeps its contents between launches.
    Kept,
    /// Used by blocks to communicate. No launch relies on its previous contents.
    Scratch,
}

impl Role {
    /// Returns the value of every byte of a buffer with this role, and of its guard, before a checked launch. Returns
    /// `None` for inputs, which hold the problem's data, and for scratch memory; neither has a guard.
    pub fn initial_byte(self) -> Option<u8> {
        match self {
            Self::Input | Self::Scratch => None,
            Self::Output => Some(POISON),
            Self::Sum | Self::Workspace | Self::Kept => Some(0),
        }
    }

    /// Returns whether the buffer holds data of the problem, which come from the host.
    pub fn is_input(self) -> bool {
        self == Self::Input
    }

    /// Returns whether the buffer holds a result of the launch, which is compared with the reference.
    pub fn is_result(self) -> bool {
        matches!(self, Self::Output | Self::Sum)
    }

    /// Returns whether the buffer is filled with poison before a checked launch, because the kernel writes all of it.
    pub fn is_poisoned(self) -> bool {
        self == Self::Output
    }

    /// Returns whether the buffer is zeroed before every launch.
    pub fn is_zeroed_before_launch(self) -> bool {
        self == Self::Sum
    }

    /// Returns whether the buffer is zeroed only once, when it is allocated.
    pub fn is_zeroed_once(self) -> bool {
        matches!(self, Self::Workspace | Self::Kept)
    }

    /// Returns whether every launch must leave the buffer zeroed, because the next launch relies on it.
    pub fn is_left_zeroed(self) -> bool {
        self == Self::Workspace
    }

    /// Returns whether a launch relies on what the previous launch left in the buffer.
    pub fn is_kept(self) -> bool {
        self == Self::Kept
    }

    /// Returns whether the problem alone determines the buffer's contents after a launch. The contents of
    /// [`Role::Kept`] and [`Role::Scratch`] buffers also depend on earlier launches and on the order in which blocks
    /// run.
    pub fn is_determined(self) -> bool {
        !matches!(self, Self::Kept | Self::Scratch)
    }
}

/// A buffer on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The name of the buffer. A kernel parameter with this name receives the buffer's address.
    pub name: &'static str,
    /// The purpose of the buffer.
    pub role: Role,
    /// The size in bytes, without the guard.
    pub bytes: u64,
}

impl Buffer {
    /// Creates a buffer of `bytes` bytes for this purpose.
    pub const fn new(name: &'static str, role: Role, bytes: u64) -> Self {
        Self { name, role, bytes }
    }

    /// Returns the number of bytes to allocate: the buffer and its guard.
    pub fn allocated_bytes(&self) -> u64 {
        let guard = if self.role.initial_byte().is_some() { GUARD_BYTES } else { 0 };
        self.bytes + guard
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The output equals the reference.
    Right,
    /// The output differs from the reference. The text names the location, the actual value and the expected value.
    Wrong(String),
}

impl Verdict {
    /// Creates the verdict for a wrong element. `which` names the element. `found` is the value that the kernel left in
    /// the element, and `shown` is that value as text. `right` is the expected value as text.
    pub fn wrong_element<T: NoUninit>(
        which: impl fmt::Display,
        found: &T,
        shown: impl fmt::Display,
        right: impl fmt::Display,
    ) -> Self {
        let unwritten = match bytemuck::bytes_of(found).iter().all(|&byte| byte == POISON) {
            true => ", the value from before the launch",
            false => "",
        };
        Self::Wrong(format!("{which} is {shown}{unwritten}; {right} is right"))
    }

    /// Checks the first output, which has `length` elements. `first_wrong` compares the elements and returns the
    /// verdict for the first wrong element.
    pub fn of_output<T: AnyBitPattern>(
        outputs: &[Vec<u8>],
        length: usize,
        first_wrong: impl FnOnce(&[T]) -> Option<Self>,
    ) -> Self {
        let found = elements(outputs.first().map_or(&[], Vec::as_slice));
        match found.len() == length {
            true => first_wrong(&found).unwrap_or(Self::Right),
            false => Self::Wrong(format!("the output has {} results instead of {length}", found.len())),
        }
    }

    /// Checks that every element of the first output equals the expected one. `which` names the element at an index.
    pub fn of_elements<T: NoUninit + AnyBitPattern + PartialEq + fmt::Display>(
        outputs: &[Vec<u8>],
        expected: &[T],
        which: impl Fn(usize) -> String,
    ) -> Self {
        Self::of_output(outputs, expected.len(), |found: &[T]| {
            let at = (0..expected.len()).find(|&at| found[at] != expected[at])?;
            Some(Self::wrong_element(which(at), &found[at], found[at], expected[at]))
        })
    }

    /// Checks that every float in the first output is within a tolerance of its expected value. `tolerance` returns the
    /// largest absolute error of the element at an index, and `which` names that element.
    ///
    /// Derive the tolerance from a bound on the error of the computation, not from the results of a kernel. A sum of n
    /// terms, added in any order with the unit roundoff u, has an error of at most γ Σ|xᵢ|. Here γ = (n - 1) u / (1 -
    /// (n - 1) u) (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, §3.1 and §4.2). With this
    /// bound, a rung can add in any order, but a kernel that leaves out a term much larger than the bound is detected.
    ///
    /// Whatever the tolerance, an expected NaN only matches a NaN, and an expected infinity only matches the same
    /// infinity. An infinite tolerance, meant for elements whose sum can overflow, accepts every number and every
    /// infinity. A NaN tolerance accepts no value.
    pub fn of_floats_within<T: Float>(
        outputs: &[Vec<u8>],
        expected: &[f64],
        tolerance: impl Fn(usize) -> f64,
        which: impl Fn(usize) -> String,
    ) -> Self {
        Self::of_output(outputs, expected.len(), |found: &[T]| {
            let is_right = |at: usize| match (found[at].into(), expected[at]) {
                (found, right) if right.is_nan() => found.is_nan(),
                (found, right) if right.is_infinite() => found == right,
                (found, right) => (found - right).abs() <= tolerance(at),
            };
            let at = (0..expected.len()).find(|&at| !is_right(at))?;
            let (shown, right) = (found[at], expected[at]);
            let within = match right.is_finite() {
                true => format!(", within {:e},", tolerance(at)),
                false => String::new(),
            };
            Some(Self::wrong_element(
                which(at),
                &found[at],
                format_args!("{shown:e}"),
                format_args!("{right:e}{within}"),
            ))
        })
    }

    /// Returns whether the result was right.
    pub fn is_right(&self) -> bool {
        *self == Self::Right
    }
}

/// A floating-point type whose values are exact in an `f64`.
pub trait Float: NoUninit + AnyBitPattern + fmt::LowerExp + Into<f64> {}
impl Float for f32 {}
impl Float for f64 {}

/// A picture of a launch: the values before the launch, and below them the values after the launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// A description of the launch, for example `warp_shuffle_up by 2, width 16`.
    pub what: String,
    /// The input values.
    pub before: Vec<String>,
    /// The output values, one for each input value.
    pub after: Vec<String>,
}

/// The size of a problem in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The size in a few words, for example `n = 1000` or `31 × 33`.
    pub size: String,
    /// The caption of a table: the size and other properties of the problem.
    pub title: String,
    /// The label of the problem's row in a sweep's table.
    pub column: String,
}

impl Labels {
    /// Creates the labels of a problem whose title and row are its size.
    pub fn new(size: String) -> Self {
        Self { title: size.clone(), column: size.clone(), size }
    }
}

/// The properties of a problem that do not depend on its data: its variant and its sizes as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The variant of the ladder's computation, named as in [`Entries::PerVariant`](crate::Entries::PerVariant). Empty
    /// for the ladder's only or default variant.
    pub variant: String,
    /// The lengths that the grid must cover, in the order of [`LaunchRequest::shape`](rung::LaunchRequest::shape).
    pub shape: Vec<u64>,
    /// The minimum number of bytes that must move between memory and the kernel: the size of all inputs and outputs.
    /// Effective bandwidth is computed from this number.
    pub bytes: u64,
    /// The number of floating-point operations, if the ladder is measured in operations per second.
    pub flops: Option<u64>,
    /// The values of options that the problem chose itself.
    pub chosen: Options,
}

impl Facts {
    /// Creates the properties of a problem whose ladder has only one variant.
    pub fn new(shape: Vec<u64>, bytes: u64) -> Self {
        Self { variant: String::new(), shape, bytes, flops: None, chosen: Options::default() }
    }
}

/// An instance of a ladder's computation, with a certain size. All rungs run on the same instance.
///
/// Creating an instance is cheap. Its data are generated when [`Problem::input`] or [`Problem::check`] first needs
/// them. A problem that is too large for a device is therefore rejected before its data fill the host's memory.
///
/// # Safety
/// The implementer must ensure that the kernels of the problem's ladder, launched with its buffers and
/// [`Problem::argument`], only access [`Problem::buffers`]. No argument may be an address that a kernel could use to
/// access other memory. [`Device::launch`](crate::Device::launch) explains why.
pub unsafe trait Problem: Sync {
    /// Returns the problem's size in numbers.
    fn facts(&self) -> Facts;

    /// Returns the problem's size in words.
    fn labels(&self) -> Labels;

    /// Returns the buffers of the problem on a device. The sizes of workspaces can depend on the number of
    /// multiprocessors.
    fn buffers(&self, device: DeviceProperties) -> Vec<Buffer>;

    /// Returns the contents of the input buffer at `index` in [`Problem::buffers`]. Returns an empty slice for an
    /// output.
    fn input(&self, index: usize) -> &[u8];

    /// Returns the number or tensor map for the kernel parameter with this name, which is not the name of a buffer.
    /// Returns `None` if the ladder does not define such an argument.
    fn argument(&self, _name: &str) -> Option<Arg> {
        None
    }

    /// Returns the reason why a rung cannot compute this problem although it supports the problem's variant, and what
    /// would work. Returns `None` when the rung can compute the problem.
    fn refuses(&self, _rung: &Rung) -> Option<String> {
        None
    }

    /// Returns the sizes of a problem with about `share` of this problem's bytes. Returns `None` if the ladder has no
    /// size to change.
    fn smaller(&self, _share: f64) -> Option<Options> {
        None
    }

    /// Returns the number of bytes at the start of a result buffer that a launch writes. The default is the whole
    /// buffer. The launch must not change the bytes beyond this number.
    fn written_bytes(&self, _launch: &Launch, buffer: &Buffer) -> u64 {
        buffer.bytes
    }

    /// Compares the outputs of a launch with the reference.
    ///
    /// `outputs` holds the contents of the buffers that the launch's arguments name and that are
    /// [results](Role::is_result), in the order of the arguments. Each is [`Problem::written_bytes`] long. Before the
    /// launch, outputs were filled with [`POISON`] and sums with zeros.
    fn check(&self, rung: &Rung, launch: &Launch, outputs: &[Vec<u8>]) -> Verdict;

    /// Returns a picture of the launch's values, based on the same `outputs`, for ladders that show pictures.
    fn picture(&self, _rung: &Rung, _launch: &Launch, _outputs: &[Vec<u8>]) -> Option<Picture> {
        None
    }
}

/// Returns the total bytes of all buffers whose size depends on the problem. [`Role::Scratch`] and [`Role::Kept`]
/// buffers are not included.
pub fn buffer_bytes(problem: &dyn Problem, device: DeviceProperties) -> u64 {
    let buffers = problem.buffers(device).into_iter().filter(|buffer| buffer.role.is_determined());
    buffers.map(|buffer| buffer.bytes).sum()
}

/// Reinterprets bytes as elements; bytes after the last whole element are dropped.
pub fn elements<T: AnyBitPattern>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(elements) => Cow::Borrowed(elements),
        // The bytes are not aligned for the element type.
        Err(_) => bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect(),
    }
}

/// Scales a size by `share` and rounds down to one significant digit, so that the problem still fits after other
/// programs allocate a little more memory.
pub fn round_down(size: u64, share: f64) -> u64 {
    let fits = (size as f64 * share) as u64;
    let magnitude = 10u64.pow(fits.checked_ilog10().unwrap_or(0));
    fits / magnitude * magnitude
}

/// Formats a size with its power of two: `n = 1024 (2^10)`, `n = 1000`.
pub fn with_power(n: u64) -> String {
    if n > 1 && n.is_power_of_two() { format!("n = {n} (2^{})", n.ilog2()) } else { format!("n = {n}") }
}

#[cfg(test)]
mod tests;
